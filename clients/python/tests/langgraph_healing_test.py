"""The LangGraph adapter: healing, and the texts that nodes read."""

import dataclasses

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import CachePolicy, Command, RetryPolicy
from pydantic import BaseModel

import digd.langgraph
from client_helpers import url_of
from digd.langgraph import add_text, internals
from langgraph_helpers import PATIENT, Team, fired, frames, nothing_is_refused  # noqa: F401


def test_an_orphaned_event_returns_to_its_author(daemon, caplog):
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


def test_a_retry_gets_the_text_again_and_reports_it_once(daemon):
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
def test_a_node_that_repeats_its_error_runs_a_bounded_number_of_times(daemon, options, runs):
    team = Team().node("a", Command(update={"log": ["a"]}, goto="ghost")).edges((START, "a"))
    team.compile(daemon, **options).invoke({"log": []})
    assert team.ran == ["a"] * runs


def test_healing_never_changes_a_cache(daemon):
    cache = InMemoryCache()
    team = Team().node("a", Command(update={"log": ["a"]}, goto="ghost"), cache_policy=CachePolicy())
    team.edges((START, "a"))
    for _ in range(2):
        assert team.compile(daemon, cache=cache).invoke({"log": []})["log"] == ["a"]
    assert team.ran == ["a"] and frames(daemon, "delivery")[0]["applied"] == "as_is"


def test_a_cached_node_gets_no_text(daemon):
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


def test_work_that_is_passed_back_and_forth_gets_a_text(daemon):
    team = Team().node("a", *[Command(goto="b")] * 2, {"log": ["a"]}).node("b", Command(goto="a")).edges((START, "a"))
    team.compile(daemon).invoke({"log": []})
    assert fired(daemon) == [("excessive_rerouting", "inject")]
    (note,) = team.notes["a"]
    assert "3" in note and frames(daemon, "delivery")[0]["applied"] == "injected"


def test_a_text_that_no_node_reads_is_not_reported_as_injected(daemon):
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


def test_a_join_that_never_completes_is_reported_when_the_run_ends(daemon):
    team = Team().node("a").node("never").node("join").edges((START, "a"), (["a", "never"], "join"), ("join", END))
    assert team.compile(daemon, InMemorySaver()).invoke({"log": []}, {"configurable": {"thread_id": "t"}})["log"] == [
        "a"
    ]
    assert [rule for rule, _ in fired(daemon)] == ["deadlock"]


def test_a_join_that_never_completes_is_woken_if_the_user_waits_for_it(daemon):
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
def test_a_graph_that_raised_is_woken_only_with_heal_errors(daemon, heal_errors):
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


def test_shadow_waits_for_nothing_and_changes_nothing(daemon):
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
def test_a_text_is_added_to_a_copy_of_the_messages(make):
    state = make([HumanMessage("hi")])
    changed = add_text(state, "stop")

    def messages_of(holder):
        if isinstance(holder, list):
            return holder
        return holder["messages"] if isinstance(holder, dict) else holder.messages

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
def test_application_data_stays_unchanged(state):
    assert add_text(state, "stop") is state


def test_a_text_may_follow_the_answer_of_a_tool():
    state = {"messages": [HumanMessage("hi"), ASKED, ToolMessage("ok", tool_call_id="1")]}
    assert len(add_text(state, "stop")["messages"]) == 4
