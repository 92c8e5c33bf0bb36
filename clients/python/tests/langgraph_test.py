"""The LangGraph adapter in real LangGraph graphs: each rule fires, and the nodes see the effect of the healing."""

import json
import operator
import sqlite3
from typing import Annotated, TypedDict

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt

import digd.langgraph
from client_helpers import async_test, nobody, url_of

WINDOW = {"window_ms": 40, "max_attempts": 1}
PATIENT = {"window_ms": 1500, "max_attempts": 1}  # longer than a busy machine takes from one node to the next


class State(TypedDict):
    log: Annotated[list, operator.add]


class Team:
    """A graph of nodes that note when they ran and what they were told."""

    def __init__(self, state=State):
        self.builder = StateGraph(state)
        self.ran = []
        self.told = {}

    def node(self, name, *results, **more):
        """A node that returns these results one after the other, the last one for ever; what is callable is called."""
        times = iter(range(1000))

        def work(state):
            self.ran.append(name)
            self.told.setdefault(name, []).append(digd.langgraph.notes())
            result = results[min(next(times), len(results) - 1)] if results else {"log": [name]}
            return result(state) if callable(result) else result

        self.builder.add_node(name, work, **more)
        return self

    def edges(self, *edges):
        for start, end in edges:
            self.builder.add_edge(start, end)
        return self

    def compile(self, daemon, checkpointer=None, **options):
        digd.langgraph.instrument(self.builder, url=url_of(daemon), run_id=lambda config: "run", **options)
        return self.builder.compile(checkpointer=checkpointer)

    def notes_of(self, name):
        return [note for notes in self.told.get(name, ()) for note in notes]


def rows(daemon, query):
    with sqlite3.connect(f"file:{daemon.data}/digd.sqlite?mode=ro", uri=True) as db:
        return db.execute(query).fetchall()


def fired(daemon):
    """(rule, healing) of all detections, in order."""
    return rows(daemon, "SELECT rule, healing FROM detections ORDER BY id")


def frames(daemon, type):
    said = [json.loads(f) for (f,) in rows(daemon, "SELECT frame FROM entries WHERE kind = 'message' ORDER BY id")]
    return [f for f in said if f["type"] == type]


def refused(daemon):
    return rows(daemon, "SELECT code, frame FROM entries WHERE kind = 'refused'")


@pytest.fixture(autouse=True)
def nothing_is_refused(daemon):
    yield
    assert refused(daemon) == []


# ---- the seven rules


def test_an_orphaned_event_comes_back_to_its_author_who_mends_it(daemon):
    team = Team().node("a", Command(update={"log": ["a"]}, goto="ghost"), Command(update={"log": ["a"]}, goto="b")).node("b")
    team.edges((START, "a"), ("b", END))
    assert team.compile(daemon).invoke({"log": []})["log"] == ["a", "a", "b"]
    assert fired(daemon) == [("orphaned_event", "reroute")]
    (note,) = team.notes_of("a")
    assert '"ghost"' in note and '"b"' in note
    assert frames(daemon, "delivery")[0]["applied"] == "rerouted"


def test_an_answer_that_comes_too_early_is_given_back_by_running_its_node_again(daemon):
    team = Team().node("a").node("b").node("quick").node("slow").node("slower")
    team.edges((START, "a"), (START, "b"), ("a", "quick"), ("b", "slow"), ("slow", "slower"), ("slower", "quick"), ("quick", END))
    team.compile(daemon).invoke({"log": []})
    assert ("early_termination", "reroute") in fired(daemon)
    assert team.ran.count("quick") >= 2
    assert any("was not accepted yet" in note and "still unresolved" in note for note in team.notes_of("quick"))


def test_an_event_handed_on_too_often_carries_a_text(daemon):
    hand_on = [Command(goto=n) for n in "bcd"]
    team = Team().node("a", hand_on[0]).node("b", hand_on[1]).node("c", hand_on[2]).node("d").edges((START, "a"), ("d", END))
    team.compile(daemon).invoke({"log": []})
    assert fired(daemon) == [("excessive_rerouting", "inject")]
    (note,) = team.notes_of("d")
    assert "3" in note
    assert [f["reactions"] for f in frames(daemon, "activation_ended")[:3]] == [{"e1": {"reroute": [n]}} for n in "bcd"]


def test_results_of_separate_problems_meeting_at_a_node_carry_their_ancestry(daemon):
    parts = lambda state: Command(update={"log": ["split"]}, goto=[Send("meet", {"log": ["1"]}), Send("meet", {"log": ["2"]})])  # noqa: E731
    team = Team().node("a", parts).node("b", parts).node("meet").edges((START, "a"), (START, "b"), ("meet", END))
    team.compile(daemon).invoke({"log": []})
    assert ("cross_lineage_aggregation", "inject") in fired(daemon)
    assert team.notes_of("meet")


def test_two_nodes_on_the_same_problem_are_told_to_whom_their_work_goes(daemon):
    team = Team().node("a").node("b").node("c").edges((START, "a"), (START, "b"), ("a", "c"), ("b", "c"), ("c", END))
    team.compile(daemon).invoke({"log": []})
    assert ("repeated_subproblem", "inject") in fired(daemon)
    assert team.notes_of("c")


def test_a_join_that_waits_for_ever_is_woken(daemon):
    """b is never led to, so the join of a and b never comes about; LangGraph alone would end without a word."""
    team = Team().node("a").node("b").node("join", {"log": ["joined"]})
    team.builder.add_edge(["a", "b"], "join")
    team.edges((START, "a"), ("join", END))
    graph = team.compile(daemon, InMemorySaver(), rules={"deadlock": PATIENT, "early_termination": {"mode": "observe"}})
    result = graph.invoke({"log": []}, {"configurable": {"thread_id": "t"}})
    assert fired(daemon)[0] == ("deadlock", "create")
    assert "joined" in result["log"] and team.notes_of("join") and team.notes_of("b")
    assert {"e2": "wait"} in [f.get("reactions") for f in frames(daemon, "activation_ended")]
    assert [f["applied"] for f in frames(daemon, "delivery")][0] == "created"


def test_a_run_that_ends_without_an_answer_is_asked_for_one(daemon):
    team = Team().node("a", {"log": ["a"]}, Command(update={"log": ["answer"]}, goto=END)).edges((START, "a"))
    graph = team.compile(daemon, InMemorySaver(), rules={"missing_termination": WINDOW})
    result = graph.invoke({"log": []}, {"configurable": {"thread_id": "t"}})
    assert fired(daemon) == [("missing_termination", "create")]
    assert result["log"] == ["a", "answer"] and len(team.notes_of("a")) == 1


def test_without_a_checkpointer_a_stopped_graph_is_not_woken_and_nothing_waits(daemon):
    team = Team().node("a").edges((START, "a"))
    graph = team.compile(daemon, rules={"missing_termination": {"window_ms": 3_600_000}})
    assert graph.invoke({"log": []})["log"] == ["a"]


# ---- what is gated


def test_a_goto_does_not_cancel_a_static_edge_and_both_are_told(daemon):
    team = Team().node("a", Command(update={"log": ["a"]}, goto="b")).node("b").node("c")
    team.edges((START, "a"), ("a", "c"), ("b", END), ("c", END))
    team.compile(daemon, rules={"early_termination": {"mode": "off"}}).invoke({"log": []})
    assert sorted(team.ran) == ["a", "b", "c"]
    outputs = frames(daemon, "activation_ended")[0]["outputs"]
    assert [o["recipients"] for o in outputs] == [["b"], ["c"]]


def test_conditional_edges_see_the_state_after_the_node(daemon):
    team = Team().node("a").node("b").node("c").edges((START, "a"), ("b", END), ("c", END))
    team.builder.add_conditional_edges("a", lambda state: "b" if state["log"] == ["a"] else "c", ["b", "c"])
    team.compile(daemon).invoke({"log": []})
    assert team.ran == ["a", "b"]


def test_each_send_is_an_event_of_its_own_and_reaches_its_task(daemon):
    team = Team().node("part", lambda state: {"log": [state["n"]]}).node("all").edges(("part", "all"), ("all", END))
    team.builder.add_conditional_edges(START, lambda state: [Send("part", {"n": n}) for n in (1, 2, 3)])
    result = team.compile(daemon, rules={"early_termination": {"mode": "off"}}).invoke({"log": []})
    assert result["log"] == [1, 2, 3, "all"]
    # The three run at the same time, and start in any order.
    assert sorted(f["inputs"] for f in frames(daemon, "activation_started") if f["agent"] == "part") == [["e1"], ["e2"], ["e3"]]


def test_a_send_to_nobody_comes_back(daemon):
    lost = lambda state: Command(update={"log": ["a"]}, goto=Send("ghost", {"log": []}))  # noqa: E731
    team = Team().node("a", lost, {"log": ["mended"]}).edges((START, "a"), ("a", END))
    team.compile(daemon).invoke({"log": []})
    assert fired(daemon)[0] == ("orphaned_event", "reroute") and team.notes_of("a")


def test_a_join_runs_once_when_all_have_arrived(daemon):
    team = Team().node("a").node("b").node("b2").node("join")
    team.builder.add_edge(["a", "b2"], "join")
    team.edges((START, "a"), (START, "b"), ("b", "b2"), ("join", END))
    team.compile(daemon).invoke({"log": []})
    assert team.ran.count("join") == 1
    joins = [f for f in frames(daemon, "activation_started") if f["agent"] == "join"]
    assert len(joins[0]["inputs"]) == 1 and len(joins[-1]["inputs"]) == 2


@pytest.mark.parametrize("watch_inner", [True, False])
def test_a_subgraph_that_commands_its_parent_is_gated_there(daemon, watch_inner):
    inner = StateGraph(State)
    inner.add_node("x", lambda state: Command(update={"log": ["x"]}, goto="ghost" if not state["log"] else "b", graph=Command.PARENT))
    inner.add_edge(START, "x")
    if watch_inner:
        digd.langgraph.instrument(inner)
    team = Team().node("b")
    team.builder.add_node("sub", inner.compile())
    team.edges((START, "sub"), ("b", END))
    assert team.compile(daemon).invoke({"log": []})["log"][-1] == "b"
    assert fired(daemon)[0] == ("orphaned_event", "reroute")
    agents = [f["agent"] for f in frames(daemon, "activation_started")]
    assert agents.count("sub") == 2 and agents.count("sub/x") == (2 if watch_inner else 0)


# ---- what else a run can do


def test_a_chat_model_is_shown_the_text_as_a_message(daemon):
    model, seen = FakeListChatModel(responses=["I asked the wrong one", "done"]), []

    def agent(state: MessagesState):
        seen.append([m.content if hasattr(m, "content") else m["content"] for m in state["messages"]])
        said = model.invoke(state["messages"])
        return Command(update={"messages": [said]}, goto="ghost" if len(seen) == 1 else END)

    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_edge(START, "agent")
    graph = digd.langgraph.instrument(builder, url=url_of(daemon)).compile()
    result = graph.invoke({"messages": [("user", "hello")]})
    assert "ghost" in seen[1][-1] and [m.content for m in result["messages"]][-1] == "done"


def test_a_node_that_fails_ends_its_activation_failed_and_a_retry_has_the_same_inputs(daemon):
    from langgraph.types import RetryPolicy

    def fail(state):
        raise ConnectionError("no model")

    team = Team().node("a", fail, {"log": ["a"]}, retry_policy=RetryPolicy(initial_interval=0.01)).edges((START, "a"), ("a", END))
    team.compile(daemon).invoke({"log": []})
    failed, ended = frames(daemon, "activation_ended")
    assert (failed["failed"], failed["error"]) == (True, "ConnectionError: no model")
    assert [f["inputs"] for f in frames(daemon, "activation_started")] == [["e1"], ["e1"]]


def test_an_exception_reaches_the_caller_and_the_run_failed(daemon):
    def fail(state):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Team().node("a", fail).edges((START, "a"), ("a", END)).compile(daemon).invoke({"log": []})
    assert frames(daemon, "run_ended")[0]["outcome"] == "failure"


def test_an_interrupt_leaves_its_inputs_waiting_and_can_be_resumed(daemon):
    team = Team().node("a", lambda state: {"log": [interrupt("go on?")]}).edges((START, "a"), ("a", END))
    digd.langgraph.instrument(team.builder, url=url_of(daemon))
    graph = team.builder.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    assert "__interrupt__" in graph.invoke({"log": []}, config)
    assert frames(daemon, "activation_ended")[0]["reactions"] == {"e1": "wait"}
    assert graph.invoke(Command(resume="yes"), config)["log"] == ["yes"]


@async_test
async def test_the_same_on_an_event_loop(daemon):
    ran = []

    async def a(state):
        ran.append(digd.langgraph.notes())
        return Command(update={"log": ["a"]}, goto="ghost" if len(ran) == 1 else "b")

    async def b(state):
        return {"log": ["b"]}

    builder = StateGraph(State)
    builder.add_node("a", a)
    builder.add_node("b", b)
    builder.add_edge(START, "a")
    builder.add_edge("b", END)
    graph = digd.langgraph.instrument(builder, url=url_of(daemon)).compile()
    assert (await graph.ainvoke({"log": []}))["log"] == ["a", "a", "b"]
    assert [len(notes) for notes in ran] == [0, 1]
    chunks = [chunk async for chunk in graph.astream({"log": []}, stream_mode="updates")]
    assert [list(c) for c in chunks] == [["a"], ["b"]]


def test_the_drawing_is_that_of_the_plain_graph(daemon):
    def build():
        team = Team().node("a").node("b").node("c").edges((START, "a"), ("b", "c"), ("c", END))
        team.builder.add_conditional_edges("a", lambda state: "b", {"b": "b", "end": END})
        return team

    assert build().compile(daemon).get_graph().draw_mermaid() == build().builder.compile().get_graph().draw_mermaid()


def test_without_a_daemon_a_graph_runs_as_ever():
    team = Team().node("a").node("b").edges((START, "a"), ("a", "b"), ("b", END))
    digd.langgraph.instrument(team.builder, url=nobody())
    assert team.builder.compile().invoke({"log": []})["log"] == ["a", "b"]
