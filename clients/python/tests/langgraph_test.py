"""The LangGraph adapter in real graphs: what it reports, what healing does, and what it leaves alone.

tests/zoo/langgraph compares whole systems with and without digd; here are the details.
"""

import asyncio
import dataclasses
import json
import operator
import socket
import sqlite3
import time
from typing import Annotated, TypedDict

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import CachePolicy, Command, RetryPolicy, Send, interrupt
from pydantic import BaseModel

import digd.langgraph
import digd.session
import digd.sync
from client_helpers import async_test, nobody, url_of
from digd.langgraph import add_text, internals
from digd.langgraph.node import WatchedNode

PATIENT = {"window_ms": 1500, "max_attempts": 1}  # longer than a busy machine takes from one node to the next


class State(TypedDict):
    log: Annotated[list, operator.add]


class Team:
    """A graph of nodes that note when they ran and which texts they had."""

    def __init__(self, state=State):
        self.builder = StateGraph(state)
        self.ran = []
        self.notes = {}

    def node(self, name, *results, asks=True, **more):
        """A node that returns these results in turn, then the last one. A callable result is called with the state."""
        times = iter(range(1000))

        def work(state):
            self.ran.append(name)
            self.notes.setdefault(name, []).extend(digd.langgraph.notes() if asks else ())
            result = results[min(next(times), len(results) - 1)] if results else {"log": [name]}
            return result(state) if callable(result) else result

        self.builder.add_node(name, work, **more)
        return self

    def edges(self, *edges):
        for start, end in edges:
            self.builder.add_edge(start, end)
        return self

    def compile(self, daemon, checkpointer=None, cache=None, **options):
        digd.langgraph.instrument(self.builder, **{"url": url_of(daemon), "mode": "enforce", **options})
        return self.builder.compile(checkpointer=checkpointer, cache=cache)


def rows(daemon, query):
    with sqlite3.connect(f"file:{daemon.data}/digd.sqlite?mode=ro", uri=True) as db:
        return db.execute(query).fetchall()


def fired(daemon):
    """(rule, healing) of all detections, in order."""
    return rows(daemon, "SELECT rule, healing FROM detections ORDER BY id")


def frames(daemon, type):
    stored = [json.loads(f) for (f,) in rows(daemon, "SELECT frame FROM entries WHERE kind = 'message' ORDER BY id")]
    return [f for f in stored if f["type"] == type]


def started(daemon):
    return [(f["agent"], f["inputs"]) for f in frames(daemon, "activation_started") if f["agent"] != START]


def outputs(daemon):
    """(recipients, fyi, submit) of all events, in order."""
    return [
        (e["recipients"], bool(e.get("fyi")), bool(e.get("submit")))
        for f in frames(daemon, "activation_ended")
        for e in f.get("outputs", ())
    ]


@pytest.fixture(autouse=True)
def nothing_is_refused(request):
    daemon = request.getfixturevalue("daemon") if "daemon" in request.fixturenames else None
    yield
    assert daemon is None or rows(daemon, "SELECT code, frame FROM entries WHERE kind = 'refused'") == []


# ---- a graph as events


def test_a_chain_is_one_event_for_each_edge_and_the_last_node_submits(daemon):
    team = Team().node("a").node("b").edges((START, "a"), ("a", "b"), ("b", END))
    assert team.compile(daemon).invoke({"log": []})["log"] == ["a", "b"]
    assert outputs(daemon) == [(["a"], False, False), ([], True, False), (["b"], False, False), ([], False, True)]
    assert started(daemon) == [("a", ["e1"]), ("b", ["e3"])]
    assert frames(daemon, "run_ended")[0]["outcome"] == "success"


def test_a_fan_out_is_an_event_for_each_target(daemon):
    team = Team().node("a").node("b").node("c").edges((START, "a"), ("a", "b"), ("a", "c"))
    team.builder.add_conditional_edges("a", lambda s: [Send("c", {"log": []}), Send("c", {"log": []})], ["c"])
    team.compile(daemon).invoke({"log": []})
    (a,) = [f for f in frames(daemon, "activation_ended") if f["activation"] == "v3"]
    assert sorted(o["recipients"] for o in a["outputs"]) == [["b"], ["c"], ["c"], ["c"]]


def test_branches_that_end_are_inputs_of_one_answer(daemon):
    team = Team().node("a").node("b").node("b2").edges((START, "a"), (START, "b"), ("b", "b2"), ("a", END), ("b2", END))
    team.compile(daemon).invoke({"log": []})
    assert [o for o in outputs(daemon) if not o[0]] == [([], True, False)] * 3 + [
        ([], False, True)
    ]  # START's, a's, b2's, the answer
    agent, inputs = started(daemon)[-1]
    assert agent == "b2" and len(inputs) == 2
    assert fired(daemon) == []


def test_an_answer_that_is_named_is_submitted_by_its_node(daemon):
    team = Team().node("writer").node("log1").node("log2").edges((START, "writer"), (START, "log1"), ("log1", "log2"))
    team.compile(daemon, submits=["writer"]).invoke({"log": []})
    assert started(daemon)[-1][0] == "writer" and frames(daemon, "run_ended")[0]["outcome"] == "success"


def test_a_run_without_the_named_answer_ends_without_success(daemon):
    team = Team().node("a").node("writer").edges((START, "a"), ("a", END), ("writer", END))
    team.compile(daemon, submits=["writer"]).invoke({"log": []})
    assert "outcome" not in frames(daemon, "run_ended")[0]


def test_a_bare_goto_is_a_new_event_and_going_back_is_a_reroute(daemon):
    team = Team().node("a", Command(goto="b"), {"log": ["a"]}).node("b", Command(goto="c")).node("c", Command(goto="a"))
    team.edges((START, "a")).compile(daemon).invoke({"log": []})
    ended = [f.get("reactions") for f in frames(daemon, "activation_ended")]
    assert ended == [None, None, None, {"e4": {"reroute": ["a"]}}, None]


def test_a_goto_with_an_update_makes_new_work(daemon):
    back_and_forth = [Command(update={"log": [1]}, goto="b")] * 5
    team = Team().node("a", *back_and_forth, {"log": ["end"]}).node("b", Command(goto="a", update={"log": [2]}))
    team.edges((START, "a")).compile(daemon).invoke({"log": []})
    assert all("reactions" not in f for f in frames(daemon, "activation_ended")) and fired(daemon) == []


def test_a_join_takes_up_what_arrived_at_different_times(daemon):
    team = Team().node("a").node("b").node("b2").node("join")
    team.edges((START, "a"), (START, "b"), ("b", "b2"), (["a", "b2"], "join"), ("join", END))
    team.compile(daemon).invoke({"log": []})
    (inputs,) = [i for agent, i in started(daemon) if agent == "join"]
    assert len(inputs) == 2 and team.ran.count("join") == 1


def test_a_join_that_also_has_an_edge_leaves_what_waits_for_the_others(daemon):
    team = Team().node("a").node("b").node("b2").node("join")
    team.edges((START, "a"), (START, "b"), ("b", "b2"), ("b", "join"), (["a", "b2"], "join"), ("join", END))
    team.compile(daemon).invoke({"log": []})
    assert [len(i) for agent, i in started(daemon) if agent == "join"] == [1, 2, 2]  # the last is the answer


def test_a_send_reaches_its_own_task(daemon):
    team = Team().node("part", lambda state: {"log": [state["n"]]}).edges(("part", END))
    team.builder.add_conditional_edges(START, lambda state: [Send("part", {"n": n}) for n in (1, 2, 3)])
    assert team.compile(daemon).invoke({"log": []})["log"] == [1, 2, 3]
    assert sorted(i for agent, i in started(daemon)[:3]) == [["e1"], ["e2"], ["e3"]]


def test_a_cached_node_counts_as_having_run(daemon):
    team = Team().node("a").node("b", cache_policy=CachePolicy()).node("c").edges((START, "a"), ("a", "b"), ("b", "c"))
    graph = team.compile(daemon, cache=InMemoryCache())
    for _ in range(2):
        graph.invoke({"log": []})
    assert team.ran == ["a", "b", "c", "a", "c"]
    assert [agent for agent, _ in started(daemon)] == ["a", "b", "c"] * 2
    assert [f["outcome"] for f in frames(daemon, "run_ended")] == ["success"] * 2 and fired(daemon) == []


def test_a_retry_has_the_same_inputs(daemon):
    def fail(state):
        raise ConnectionError("no model")

    policy = RetryPolicy(initial_interval=0.001, jitter=False)
    Team().node("a", fail, {"log": ["a"]}, retry_policy=policy).edges((START, "a"), ("a", END)).compile(daemon).invoke(
        {"log": []}
    )
    failed = [f for f in frames(daemon, "activation_ended") if f.get("failed")]
    assert [f["error"] for f in failed] == ["ConnectionError: no model"]
    assert started(daemon) == [("a", ["e1"])] * 2


def test_an_error_handler_takes_up_the_inputs_of_the_node_that_failed(daemon):
    def fail(state):
        raise ConnectionError("no model")

    team = Team().node("a", fail, error_handler=lambda state: {"log": ["handled"]}).edges((START, "a"), ("a", END))
    assert team.compile(daemon).invoke({"log": []})["log"] == ["handled"]
    assert [i for _, i in started(daemon)] == [["e1"]] * 3 and fired(daemon) == []


def test_an_exception_reaches_the_caller_and_the_run_failed(daemon):
    def fail(state):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Team().node("a", fail).edges((START, "a"), ("a", END)).compile(daemon).invoke({"log": []})
    assert frames(daemon, "run_ended")[0]["outcome"] == "failure" and fired(daemon) == []


def test_an_interrupt_leaves_its_inputs_waiting_and_can_be_resumed(daemon):
    team = Team().node("a", lambda state: {"log": [interrupt("go on?")]}).edges((START, "a"), ("a", END))
    graph = team.compile(daemon, InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    assert "__interrupt__" in graph.invoke({"log": []}, config)
    assert graph.invoke(Command(resume="yes"), config)["log"] == ["yes"]
    assert [f["reactions"] for f in frames(daemon, "activation_ended") if f.get("reactions")] == [{"e1": "wait"}]
    assert [f["outcome"] for f in frames(daemon, "run_ended")] == ["success"] * 2 and fired(daemon) == []


@async_test
async def test_a_node_with_a_timeout_is_watched_from_the_first_step_of_a_resumed_thread(daemon):
    async def work(state):
        return {"log": [interrupt("go on?")]}

    builder = StateGraph(State)
    builder.add_node("a", work, timeout=60)
    builder.add_edge(START, "a")
    digd.langgraph.instrument(builder, url=url_of(daemon))
    graph = builder.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    await graph.ainvoke({"log": []}, config)
    assert (await graph.ainvoke(Command(resume="yes"), config))["log"] == ["yes"]
    assert [agent for agent, _ in started(daemon)] == ["a", "a"]


@async_test
async def test_a_cancelled_invocation_is_an_aborted_run(daemon):
    begun = asyncio.Event()

    async def wait(state):
        begun.set()
        await asyncio.Event().wait()

    builder = StateGraph(State)
    builder.add_node("a", wait)
    builder.add_edge(START, "a")
    task = asyncio.ensure_future(digd.langgraph.instrument(builder, url=url_of(daemon)).compile().ainvoke({"log": []}))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert frames(daemon, "run_ended")[0]["outcome"] == "aborted"


# ---- graphs in graphs


@pytest.mark.parametrize("place", ["node", "function"])
def test_an_instrumented_graph_in_another_is_a_run_of_its_own_with_its_own_names(daemon, place):
    inner = Team().node("x").node("y").edges((START, "x"), ("x", "y"), ("y", END)).compile(daemon)
    team = Team().node("b")
    team.builder.add_node("sub", inner if place == "node" else lambda state: {"log": inner.invoke(state)["log"]})
    team.edges((START, "sub"), ("sub", "b"), ("b", END)).compile(daemon, run_id=lambda config: "outer").invoke(
        {"log": []}
    )
    agents = {}
    for run, frame in rows(
        daemon, "SELECT runs.run, frame FROM entries JOIN runs ON number = entries.run WHERE kind = 'message'"
    ):
        frame = json.loads(frame)
        if frame["type"] == "activation_started" and frame["agent"] != START:
            agents.setdefault(run, []).append(frame["agent"])
    assert agents.pop("outer") == ["sub", "b"] and list(agents.values()) == [["x", "y"]]
    opened = [json.loads(f) for (f,) in rows(daemon, "SELECT frame FROM entries WHERE kind = 'run_opened'")]
    assert [sorted(hello["agents"]) for hello in opened] == [["b", "sub"], ["x", "y"]]
    assert opened[1]["labels"] == {"parent_run": "outer"}
    assert fired(daemon) == []


@pytest.mark.parametrize("watch_inner", [True, False])
def test_a_subgraph_that_commands_its_parent_is_judged_there(daemon, watch_inner):
    inner = StateGraph(State)
    inner.add_node(
        "x", lambda s: Command(update={"log": ["x"]}, goto="b" if s["log"] else "ghost", graph=Command.PARENT)
    )
    inner.add_edge(START, "x")
    if watch_inner:
        digd.langgraph.instrument(inner, url=url_of(daemon))
    inner = inner.compile()

    def sub(state):
        digd.langgraph.notes()
        return inner.invoke(state)

    team = Team().node("b")
    team.builder.add_node("sub", sub)
    team.edges((START, "sub"), ("b", END))
    assert team.compile(daemon).invoke({"log": []})["log"][-1] == "b"
    assert fired(daemon)[0] == ("orphaned_event", "reroute")


# ---- healing


def test_an_orphaned_event_comes_back_to_its_author_who_mends_it(daemon, caplog):
    team = (
        Team()
        .node("a", Command(update={"log": ["a"]}, goto=["ghost", "ghost"]), Command(update={"log": ["a"]}, goto="b"))
        .node("b")
    )
    team.edges((START, "a"), ("b", END))
    assert team.compile(daemon).invoke({"log": []})["log"] == ["a", "a", "b"]
    assert fired(daemon) == [("orphaned_event", "reroute")]
    (note,) = team.notes["a"]
    assert '"ghost"' in note and '"b"' in note and START not in note
    assert [f["applied"] for f in frames(daemon, "delivery")] == ["rerouted"]
    assert "unknown channel" not in caplog.text  # LangGraph never saw the write


def test_a_retry_has_the_text_again_and_it_is_reported_once(daemon):
    def fail(state):
        team.notes.setdefault("failed", []).extend(digd.langgraph.notes())
        raise ConnectionError("no model")

    policy = RetryPolicy(initial_interval=0.001, jitter=False)
    team = (
        Team()
        .node("a", *[Command(goto="b")] * 2, fail, {"log": ["a"]}, retry_policy=policy)
        .node("b", Command(goto="a"))
    )
    team.edges((START, "a")).compile(daemon, inject=lambda state, text: {**state}).invoke({"log": []})
    assert len(team.notes["failed"]) == 1 and len(team.notes["a"]) == 2
    assert [f["applied"] for f in frames(daemon, "delivery")] == ["injected"]


@pytest.mark.parametrize("options, runs", [({}, 6), ({"max_returns_per_agent": 2}, 3), ({"max_added_ms": 0}, 1)])
def test_a_node_that_learns_nothing_is_not_run_again_for_ever(daemon, options, runs):
    team = Team().node("a", Command(update={"log": ["a"]}, goto="ghost")).edges((START, "a"))
    team.compile(daemon, **options).invoke({"log": []})
    assert team.ran == ["a"] * runs


def test_what_healing_changes_never_reaches_a_cache(daemon):
    cache = InMemoryCache()
    team = Team().node("a", Command(update={"log": ["a"]}, goto="ghost"), cache_policy=CachePolicy())
    team.edges((START, "a"))
    for _ in range(2):
        assert team.compile(daemon, cache=cache).invoke({"log": []})["log"] == ["a"]
    assert team.ran == ["a"] and frames(daemon, "delivery")[0]["applied"] == "as_is"


def test_a_cached_node_reads_no_text(daemon):
    policy = CachePolicy(key_func=lambda state: str(len(team.ran)))
    team = Team().node("a", *[Command(goto="b")] * 2, {"log": ["a"]}, cache_policy=policy)
    team.node("b", Command(goto="a")).edges((START, "a"))
    team.compile(daemon, cache=InMemoryCache(), inject=lambda state, text: {"log": [text]}).invoke({"log": []})
    assert fired(daemon) == [("excessive_rerouting", "inject")] and team.notes["a"] == []
    assert [f["applied"] for f in frames(daemon, "delivery")] == ["as_is"]


def test_a_node_that_cannot_read_is_not_run_again(daemon):
    team = Team().node("a", Command(update={"log": ["a"]}, goto="ghost"), asks=False).edges((START, "a"))
    assert team.compile(daemon).invoke({"log": []})["log"] == ["a"]
    (answer,) = frames(daemon, "delivery")
    assert answer["applied"] == "as_is" and "notes()" in answer["reason"]


def test_work_that_is_passed_to_and_fro_carries_a_text(daemon):
    team = Team().node("a", *[Command(goto="b")] * 2, {"log": ["a"]}).node("b", Command(goto="a")).edges((START, "a"))
    team.compile(daemon).invoke({"log": []})
    assert fired(daemon) == [("excessive_rerouting", "inject")]
    (note,) = team.notes["a"]
    assert "3" in note and frames(daemon, "delivery")[0]["applied"] == "injected"


def test_a_text_that_no_node_asked_for_is_not_reported_as_injected(daemon):
    team = (
        Team().node("a", *[Command(goto="b")] * 2, {"log": ["a"]}, asks=False).node("b", Command(goto="a"), asks=False)
    )
    team.edges((START, "a")).compile(daemon).invoke({"log": []})
    assert [f["applied"] for f in frames(daemon, "delivery")] == ["as_is"]


def test_an_answer_is_given_back_while_a_join_still_waits(daemon):
    team = Team().node("a").node("never").node("join").node("quick", {"log": ["quick"]}, Command(goto="never"))
    team.edges((START, "a"), ("a", "quick"), (["a", "never"], "join"), ("join", END))
    assert team.compile(daemon).invoke({"log": []})["log"] == ["a", "quick", "never", "join"]
    assert fired(daemon)[0] == ("early_termination", "reroute")
    assert any("still unresolved" in note for note in team.notes["quick"])


def test_a_join_that_waits_for_ever_is_reported_when_the_run_ends(daemon):
    team = Team().node("a").node("never").node("join").edges((START, "a"), (["a", "never"], "join"), ("join", END))
    assert team.compile(daemon, InMemorySaver()).invoke({"log": []}, {"configurable": {"thread_id": "t"}})["log"] == [
        "a"
    ]
    assert [rule for rule, _ in fired(daemon)] == ["deadlock"]


def test_a_join_that_waits_for_ever_is_woken_if_the_user_waits_for_it(daemon):
    team = Team().node("a").node("never").node("join", {"log": ["joined"]})
    team.edges((START, "a"), (["a", "never"], "join"), ("join", END))
    graph = team.compile(
        daemon,
        InMemorySaver(),
        wait_for_healing_ms=60_000,
        rules={"deadlock": PATIENT, "early_termination": {"mode": "observe"}},
    )
    result = graph.invoke({"log": []}, {"configurable": {"thread_id": "t"}})
    assert fired(daemon)[0] == ("deadlock", "create")
    assert "joined" in result["log"] and team.notes["never"]
    assert frames(daemon, "delivery")[0]["applied"] == "created"


@pytest.mark.parametrize("heal_errors", [False, True])
def test_a_graph_that_raised_is_only_woken_if_the_user_wants_it(daemon, heal_errors):
    team = Team().node("a", *[Command(update={"log": [0]}, goto="a")] * 9, {"log": ["end"]}).edges((START, "a"))
    graph = team.compile(
        daemon,
        InMemorySaver(),
        wait_for_healing_ms=60_000 if heal_errors else 1,
        heal_errors=heal_errors,
        rules={"deadlock": PATIENT},
    )
    config = {"configurable": {"thread_id": "t"}, "recursion_limit": 6}
    if heal_errors:
        assert graph.invoke({"log": []}, config)["log"][-1] == "end"
    else:
        with pytest.raises(GraphRecursionError):
            graph.invoke({"log": []}, config)
        assert fired(daemon) == [] and team.ran == ["a"] * 6  # the user chose the limit


def test_a_loop_that_hits_the_default_recursion_limit_is_reported(daemon, monkeypatch):
    monkeypatch.setattr(internals, "DEFAULT_RECURSION_LIMIT", 6)
    team = Team().node("a", *[Command(update={"log": [0]}, goto="a")] * 9).edges((START, "a"))
    graph = team.compile(daemon)
    with pytest.raises(GraphRecursionError):
        graph.invoke({"log": []}, {"recursion_limit": 6})
    assert [rule for rule, _ in fired(daemon)] == ["deadlock"]


def test_a_chat_model_reads_the_text_as_a_human_message_that_stays_out_of_the_state(daemon):
    read = []

    def agent(state: MessagesState):
        read.append(state["messages"])
        return Command(
            update={"messages": [AIMessage("x")]}, goto=END if "ghost" in state["messages"][-1].content else "ghost"
        )

    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_edge(START, "agent")
    graph = digd.langgraph.instrument(builder, url=url_of(daemon), mode="enforce").compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    graph.invoke({"messages": [("user", "hello")]}, config)
    assert all(isinstance(m, BaseMessage) for m in read[1]) and isinstance(read[1][-1], HumanMessage)
    assert [m.type for m in graph.get_state(config).values["messages"]] == ["human", "ai", "ai"]


def test_in_shadow_nothing_is_waited_for_and_nothing_changes(daemon):
    team = Team().node("a", Command(update={"log": ["a"]}, goto="ghost")).edges((START, "a"))
    assert team.compile(daemon, mode=None).invoke({"log": []})["log"] == ["a"]
    assert fired(daemon)[0] == ("orphaned_event", "reroute") and team.notes == {"a": []}


# ---- add_text


class Chat(BaseModel):
    messages: list


@dataclasses.dataclass
class Talk:
    messages: list


ASKED = AIMessage("", tool_calls=[{"name": "t", "args": {}, "id": "1"}])


@pytest.mark.parametrize(
    "make", [lambda m: {"messages": m, "x": 1}, lambda m: Chat(messages=m), lambda m: Talk(m), lambda m: m]
)
def test_a_text_is_added_to_a_copy_of_what_holds_messages(make):
    state = make([HumanMessage("hi")])
    changed = add_text(state, "stop")
    messages_of = lambda s: s if isinstance(s, list) else s["messages"] if isinstance(s, dict) else s.messages  # noqa: E731
    assert type(changed) is type(state) and len(messages_of(state)) == 1
    assert messages_of(changed)[-1] == HumanMessage("stop")


@pytest.mark.parametrize(
    "state",
    [
        {"log": []},
        {"messages": []},
        {"messages": [{"role": "user", "content": "hi"}]},
        {"messages": "hi"},
        "hi",
        None,
        7,
        object(),
        {"messages": [HumanMessage("hi"), ASKED]},
        {"messages": (HumanMessage("hi"),)},
        Talk(["hi"]),
        [],
    ],
)
def test_application_data_is_left_alone(state):
    assert add_text(state, "stop") is state


def test_the_answer_of_a_tool_may_be_followed_by_a_text():
    state = {"messages": [HumanMessage("hi"), ASKED, ToolMessage("ok", tool_call_id="1")]}
    assert len(add_text(state, "stop")["messages"]) == 4


# ---- how it is attached


def is_watched(graph):
    return any(isinstance(node.node, WatchedNode) for node in graph.nodes.values())


def test_instrumenting_twice_is_instrumenting_once(daemon):
    team = Team().node("a").edges((START, "a"), ("a", END))
    for _ in range(2):
        graph = team.compile(daemon)
        assert digd.langgraph.instrument(graph, url=url_of(daemon)) is graph
    graph.invoke({"log": []})
    assert team.ran == ["a"] and len(frames(daemon, "run_ended")) == 1


def test_mode_off_leaves_no_trace_and_undoes_what_was_done(monkeypatch):
    builder = Team().node("a").edges((START, "a"), ("a", END)).builder
    builder.compile()
    before = dict(vars(builder))
    digd.langgraph.instrument(builder, url=nobody())
    graph = builder.compile()
    assert is_watched(graph) and type(graph) is not CompiledStateGraph
    monkeypatch.setenv("DIGD_MODE", "off")
    digd.langgraph.instrument(graph)
    digd.langgraph.instrument(builder)
    assert (
        vars(builder) == before
        and type(graph) is CompiledStateGraph
        and "_digd" not in vars(graph)
        and not is_watched(graph)
    )
    assert graph.invoke({"log": []}) == {"log": ["a"]}


@pytest.mark.parametrize(
    "wrong", [object(), lambda state: state, Team().node("a").edges((START, "a")).builder.compile().nodes["a"]]
)
def test_anything_but_a_graph_is_an_error_that_says_what_to_pass(wrong):
    with pytest.raises(TypeError, match="StateGraph"):
        digd.langgraph.instrument(wrong)


def test_a_wrong_address_is_an_error_when_the_graph_is_instrumented():
    with pytest.raises(ValueError, match="unix:"):
        digd.langgraph.instrument(Team().builder, url="http://example.org")


def test_a_compiled_graph_of_a_subclass_keeps_its_class(daemon):
    class Own(CompiledStateGraph):
        def greet(self):
            return "hello"

    team = Team().node("a").edges((START, "a"), ("a", END))
    graph = team.builder.compile()
    graph.__class__ = Own
    digd.langgraph.instrument(graph, url=url_of(daemon))
    assert isinstance(graph, Own) and graph.greet() == "hello" and graph.invoke({"log": []})["log"] == ["a"]
    digd.langgraph.instrument(graph, mode="off")
    assert type(graph) is Own


def test_nothing_of_digd_is_in_configurations_and_checkpoints(daemon):
    seen = []

    def look(state, config):
        seen.append(repr(sorted(config["configurable"])) + repr(config["metadata"]))
        return {"log": [interrupt("?")]}

    saver = InMemorySaver()
    team = Team()
    team.builder.add_node("a", look)
    team.builder.add_conditional_edges(START, lambda s: [Send("a", {"n": 1})], ["a"])
    team.compile(daemon, saver).invoke({"log": []}, {"configurable": {"thread_id": "t"}})
    stored = repr(list(saver.list(None)))
    assert "digd" not in seen[0] and "digd" not in stored and "Send(node='a', arg={'n': 1})" in stored


def test_without_a_daemon_a_graph_runs_as_ever():
    team = Team().node("a").node("b").edges((START, "a"), ("a", "b"), ("b", END))
    digd.langgraph.instrument(team.builder, url=nobody())
    assert team.builder.compile().invoke({"log": []})["log"] == ["a", "b"]


def test_a_defect_of_the_adapter_is_logged_once_and_does_not_reach_the_graph(daemon, monkeypatch, caplog):
    def broken(*_):
        raise KeyError("LangGraph has changed")

    monkeypatch.setattr("digd.langgraph.watch.Watch._plan", broken)
    team = Team().node("a").node("b").edges((START, "a"), ("a", "b"), ("b", END))
    assert team.compile(daemon).invoke({"log": []})["log"] == ["a", "b"]
    assert [r.message for r in caplog.records if "unwatched" in r.message] and len(caplog.records) == 1


def test_a_defect_at_the_end_of_a_graph_is_logged_and_does_not_reach_its_caller(daemon, monkeypatch, caplog):
    def broken(*_):
        raise KeyError("LangGraph has changed")

    monkeypatch.setattr("digd.langgraph.watch.Watch.answer", broken)
    team = Team().node("a").edges((START, "a"), ("a", END))
    assert team.compile(daemon).invoke({"log": []})["log"] == ["a"]
    assert len([r for r in caplog.records if "unwatched" in r.message]) == 1


@async_test
async def test_in_shadow_nothing_blocks_the_event_loop_of_the_caller(daemon, monkeypatch):
    """`langgraph dev` raises where a call blocks the event loop."""
    inner = digd.sync.Run._run_on_loop

    def checked(run, work):
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return inner(run, work)
        work.close()
        raise AssertionError("a call that blocks the event loop")

    monkeypatch.setattr(digd.sync.Run, "_run_on_loop", checked)
    graph = Team().node("a").node("b").edges((START, "a"), ("a", "b"), ("b", END)).compile(daemon, mode="shadow")
    assert (await graph.ainvoke({"log": []}))["log"] == ["a", "b"]
    assert [chunk async for chunk in graph.astream({"log": []})] == [{"a": {"log": ["a"]}}, {"b": {"log": ["b"]}}]


@pytest.mark.parametrize("mode", ["shadow", "enforce"])
def test_a_daemon_that_never_answers_costs_one_short_wait(mode, monkeypatch, caplog):
    monkeypatch.setattr(digd.session, "MAX_FIRST_CONNECTION_S", 0.25)
    monkeypatch.setattr(digd.session, "_silent_until", {})
    monkeypatch.setattr(digd.session, "_missing_daemons", set())
    with socket.create_server(("127.0.0.1", 0)) as hung:
        url = f"ws://127.0.0.1:{hung.getsockname()[1]}"
        team = Team().node("a").node("b").edges((START, "a"), ("a", "b"), ("b", END))
        graph = digd.langgraph.instrument(team.builder, url=url, mode=mode).compile()
        begun = time.monotonic()
        for _ in range(20):
            assert graph.invoke({"log": []})["log"] == ["a", "b"]
        took_s = time.monotonic() - begun
    assert took_s < 20 * digd.session.MAX_FIRST_CONNECTION_S  # once, and not for each invocation
    assert len([r for r in caplog.records if "no daemon" in r.message]) == 1
