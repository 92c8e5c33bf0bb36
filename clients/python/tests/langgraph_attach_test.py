"""The LangGraph adapter: attaching, detaching, and no effect on the program."""

import asyncio
import socket
import time

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send, interrupt

import digd.langgraph
import digd.session
import digd.sync
from client_helpers import async_test, unused_address, url_of
from digd.langgraph.node import WatchedNode
from langgraph_helpers import Team, frames, nothing_is_refused  # noqa: F401


def is_watched(graph):
    return any(isinstance(node.node, WatchedNode) for node in graph.nodes.values())


def test_instrumenting_twice_is_instrumenting_once(daemon):
    team = Team().node("a").edges((START, "a"), ("a", END))
    for _ in range(2):
        graph = team.compile(daemon)
        assert digd.langgraph.instrument(graph, url=url_of(daemon)) is graph
    graph.invoke({"log": []})
    assert team.ran == ["a"] and len(frames(daemon, "run_ended")) == 1


def test_mode_off_undoes_an_earlier_instrument(monkeypatch):
    builder = Team().node("a").edges((START, "a"), ("a", END)).builder
    builder.compile()
    before = dict(vars(builder))
    digd.langgraph.instrument(builder, url=unused_address())
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
def test_anything_but_a_graph_raises_an_error_that_names_the_types(wrong):
    with pytest.raises(TypeError, match="StateGraph"):
        digd.langgraph.instrument(wrong)


def test_a_wrong_address_raises_when_the_graph_is_instrumented():
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


def test_without_a_daemon_a_graph_runs_as_before():
    team = Team().node("a").node("b").edges((START, "a"), ("a", "b"), ("b", END))
    digd.langgraph.instrument(team.builder, url=unused_address())
    assert team.builder.compile().invoke({"log": []})["log"] == ["a", "b"]


def test_an_error_of_the_adapter_is_logged_once_and_does_not_reach_the_graph(daemon, monkeypatch, caplog):
    def broken(*_):
        raise KeyError("LangGraph has changed")

    monkeypatch.setattr("digd.langgraph.watch.Watch._plan", broken)
    team = Team().node("a").node("b").edges((START, "a"), ("a", "b"), ("b", END))
    assert team.compile(daemon).invoke({"log": []})["log"] == ["a", "b"]
    assert [r.message for r in caplog.records if "unwatched" in r.message] and len(caplog.records) == 1


def test_an_error_at_the_end_of_a_graph_is_logged_and_does_not_reach_its_caller(daemon, monkeypatch, caplog):
    def broken(*_):
        raise KeyError("LangGraph has changed")

    monkeypatch.setattr("digd.langgraph.watch.Watch.answer", broken)
    team = Team().node("a").edges((START, "a"), ("a", END))
    assert team.compile(daemon).invoke({"log": []})["log"] == ["a"]
    assert len([r for r in caplog.records if "unwatched" in r.message]) == 1


@async_test
async def test_shadow_does_not_block_the_event_loop_of_the_caller(daemon, monkeypatch):
    """`langgraph dev` raises if a call blocks the event loop."""
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
    # Only of this address: clients of earlier tests may still retry theirs.
    assert len([r for r in caplog.records if f"no daemon at {url} " in r.message]) == 1
