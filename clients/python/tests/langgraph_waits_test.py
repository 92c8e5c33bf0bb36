"""The LangGraph adapter never blocks an event loop or a shutdown, and reports what a cancelled graph did once."""

import asyncio
import logging
import threading
import time
import uuid

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START
from langgraph.types import Command

import digd.langgraph
import digd.sync
from client_helpers import async_test, unused_address, wait_for
from digd.langgraph.graph import _wait_for_end
from digd.langgraph.options import Options
from digd.langgraph.watch import Watch
from digd.messages import Intervention
from langgraph_helpers import Team, frames, nothing_is_refused, started  # noqa: F401


@async_test
async def test_a_graph_cancelled_while_it_waits_for_a_verdict_ends_each_activation_once(daemon, caplog, monkeypatch):
    waits = asyncio.Event()

    async def never(steps):
        next(steps)
        waits.set()
        await asyncio.Event().wait()

    graph = Team().node("a").edges((START, "a"), ("a", END)).compile(daemon)
    begin = Watch.begin

    def begin_node(watch, node, task, input):
        if node == "a":
            monkeypatch.setattr("digd.langgraph.node.drive_async", never)
        return begin(watch, node, task, input)

    monkeypatch.setattr(Watch, "begin", begin_node)
    task = asyncio.ensure_future(graph.ainvoke({"log": []}))
    await asyncio.wait_for(waits.wait(), 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    ends = [f["activation"] for f in frames(daemon, "activation_ended")]
    assert len(ends) == len(set(ends)) and frames(daemon, "run_ended")[0]["outcome"] == "aborted"
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []


@async_test
async def test_healing_does_not_block_the_event_loop_of_the_caller(daemon, monkeypatch):
    inner = digd.sync.Run._run_on_loop
    blocked = []

    def checked(run, work):
        blocked.append(run)
        return inner(run, work)

    lost = Command(update={"log": ["a"]}, goto="ghost")
    team = Team().node("a", lost, Command(update={"log": ["a"]}, goto="b")).node("b")
    graph = team.edges((START, "a"), ("b", END)).compile(daemon)
    monkeypatch.setattr(digd.sync.Run, "_run_on_loop", checked)
    assert (await graph.ainvoke({"log": []}))["log"] == ["a", "a", "b"]
    assert blocked == [] and [f["applied"] for f in frames(daemon, "delivery")] == ["rerouted"]


def stopped_watch(**options):
    settings = Options(digd.langgraph.add_text, None, None, **options, holds="wait", run={})
    watch = Watch(digd.sync.Run("r", [], mode="off"), settings, {"a": None}, can_wake=True)
    watch._is_stopped = True
    return watch


def test_the_end_of_a_graph_ends_its_wait_for_healing():
    watch = stopped_watch(wait_for_healing_ms=60_000, heal_errors=False)
    calls = []
    thread = threading.Thread(target=lambda: calls.append(watch.next_call()))
    thread.start()
    begun = time.monotonic()
    watch.end(KeyboardInterrupt())
    thread.join(30)
    assert calls == [None] and time.monotonic() - begun < 20
    assert not watch.wake(Intervention("sys:1", "create", ("a",)))


@async_test
async def test_a_graph_cancelled_while_it_waits_for_healing_leaves_no_thread(daemon, monkeypatch):
    threads, next_call = [], Watch.next_call

    def watched_call(watch):
        threads.append(threading.current_thread())
        try:
            return next_call(watch)
        finally:
            threads.pop()

    monkeypatch.setattr(Watch, "next_call", watched_call)
    team = Team().node("a").node("never").node("join").edges((START, "a"), (["a", "never"], "join"), ("join", END))
    rules = {"deadlock": {"mode": "observe"}, "early_termination": {"mode": "observe"}}
    graph = team.compile(daemon, InMemorySaver(), wait_for_healing_ms=60_000, rules=rules)
    task = asyncio.ensure_future(graph.ainvoke({"log": []}, {"configurable": {"thread_id": "t"}}))
    await wait_for(lambda: threads, "the wait for healing")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wait_for(lambda: not threads, "the end of the thread")


def test_a_stream_that_the_collector_ends_on_the_background_loop_does_not_wait_for_it():
    async def collect():
        begun = time.monotonic()
        _wait_for_end(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), digd.sync.background_loop()))
        return time.monotonic() - begun

    took_s = asyncio.run_coroutine_threadsafe(collect(), digd.sync.background_loop()).result(20)
    assert took_s < 1


@pytest.mark.parametrize(
    "wrong, error",
    [({"max_returns_per_agnet": 1}, TypeError), ({"client": {}}, TypeError), ({"max_added_ms": -1}, ValueError)],
)
def test_a_wrong_argument_raises_when_the_graph_is_instrumented(wrong, error):
    builder = Team().node("a").edges((START, "a")).builder
    with pytest.raises(error):
        digd.langgraph.instrument(builder, url=unused_address(), **wrong)
    assert digd.langgraph.instrument(builder, mode="off") is builder


def test_a_run_id_of_another_type_is_its_text(daemon):
    run_id = uuid.uuid4()
    graph = Team().node("a").edges((START, "a"), ("a", END)).compile(daemon, run_id=lambda config: run_id)
    assert graph.invoke({"log": []})["log"] == ["a"]
    assert [agent for agent, _ in started(daemon)] == ["a"]


def test_in_shadow_no_added_time_is_spent(daemon, caplog):
    graph = Team().node("a").node("b").edges((START, "a"), ("a", "b"), ("b", END))
    graph = graph.compile(daemon, mode="shadow", max_added_ms=0)
    assert graph.invoke({"log": []})["log"] == ["a", "b"]
    ended = frames(daemon, "activation_ended")
    assert ended and not any(f.get("as_is") for f in ended)
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []
