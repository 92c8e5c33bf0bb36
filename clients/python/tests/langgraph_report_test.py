"""The LangGraph adapter: a graph as events and activations.

tests/zoo/langgraph compares whole systems with and without digd. These tests cover the details.
"""

import asyncio
import json

import pytest
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import CachePolicy, Command, RetryPolicy, Send, interrupt

import digd.langgraph
from client_helpers import async_test, url_of
from langgraph_helpers import State, Team, fired, frames, nothing_is_refused, outputs, rows, started  # noqa: F401


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


def test_ended_branches_are_inputs_of_one_answer(daemon):
    team = Team().node("a").node("b").node("b2").edges((START, "a"), (START, "b"), ("b", "b2"), ("a", END), ("b2", END))
    team.compile(daemon).invoke({"log": []})
    assert [o for o in outputs(daemon) if not o[0]] == [([], True, False)] * 3 + [
        ([], False, True)
    ]  # START's, a's, b2's, the answer
    agent, inputs = started(daemon)[-1]
    assert agent == "b2" and len(inputs) == 2
    assert fired(daemon) == []


def test_a_named_answer_node_submits(daemon):
    team = Team().node("writer").node("log1").node("log2").edges((START, "writer"), (START, "log1"), ("log1", "log2"))
    team.compile(daemon, submits=["writer"]).invoke({"log": []})
    assert started(daemon)[-1][0] == "writer" and frames(daemon, "run_ended")[0]["outcome"] == "success"


def test_a_run_without_the_named_answer_has_no_outcome(daemon):
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


def test_a_join_takes_up_events_of_different_steps(daemon):
    team = Team().node("a").node("b").node("b2").node("join")
    team.edges((START, "a"), (START, "b"), ("b", "b2"), (["a", "b2"], "join"), ("join", END))
    team.compile(daemon).invoke({"log": []})
    (inputs,) = [i for agent, i in started(daemon) if agent == "join"]
    assert len(inputs) == 2 and team.ran.count("join") == 1


def test_a_join_that_also_has_an_edge_leaves_the_joined_events_pending(daemon):
    team = Team().node("a").node("b").node("b2").node("join")
    team.edges((START, "a"), (START, "b"), ("b", "b2"), ("b", "join"), (["a", "b2"], "join"), ("join", END))
    team.compile(daemon).invoke({"log": []})
    assert [len(i) for agent, i in started(daemon) if agent == "join"] == [1, 2, 2]  # the last is the answer


def test_a_send_reaches_its_own_task(daemon):
    team = Team().node("part", lambda state: {"log": [state["n"]]}).edges(("part", END))
    team.builder.add_conditional_edges(START, lambda state: [Send("part", {"n": n}) for n in (1, 2, 3)])
    assert team.compile(daemon).invoke({"log": []})["log"] == [1, 2, 3]
    assert sorted(i for agent, i in started(daemon)[:3]) == [["e1"], ["e2"], ["e3"]]


def test_a_cached_node_counts_as_run(daemon):
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
def test_an_instrumented_inner_graph_is_a_separate_run_with_its_own_names(daemon, place):
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
    # The two runs belong to different engine threads, so their entries may reach the archive in either order.
    opened = [json.loads(f) for (f,) in rows(daemon, "SELECT frame FROM entries WHERE kind = 'run_opened'")]
    inner_hello, outer_hello = sorted(opened, key=lambda hello: "b" in hello["agents"])
    assert sorted(outer_hello["agents"]) == ["b", "sub"] and sorted(inner_hello["agents"]) == ["x", "y"]
    assert inner_hello["labels"] == {"parent_run": "outer"}
    assert fired(daemon) == []


@pytest.mark.parametrize("watch_inner", [True, False])
def test_a_command_to_the_parent_gets_its_verdict_in_the_parents_run(daemon, watch_inner):
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
