"""Handlers of interventions that hang, raise or are cancelled: the next intervention is handled, and programs end."""

import asyncio
import subprocess
import sys
import threading

import pytest

import digd.sync
from client_helpers import async_test
from digd import interventions
from digd.interventions import InterventionQueue
from digd.messages import Intervention


def intervention(number):
    return Intervention(f"sys:{number}", "create", ("a",))


class Outcomes:
    """Queues interventions for a handler, and collects what is reported."""

    def __init__(self, handler):
        self.reported, self._arrived = [], asyncio.Event()
        self.queue = InterventionQueue(self._add, None)
        self.queue.register("*", handler)

    def _add(self, intervention, applied, reason):
        self.reported.append((intervention.id, applied, reason))
        self._arrived.set()

    async def of(self, *interventions):
        for each in interventions:
            assert self.queue.put(each) is None
        while len(self.reported) < len(interventions):
            self._arrived.clear()
            await asyncio.wait_for(self._arrived.wait(), 20)
        worker = self.queue.release_worker()
        worker.cancel()
        await asyncio.wait([worker], timeout=5)
        assert worker.cancelled()
        return self.reported


def cancelled_future():
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    return future


@pytest.mark.parametrize("is_async", [True, False])
@async_test
async def test_a_handler_that_awaits_a_cancelled_task_fails_alone(is_async):
    async def awaits(given):
        return await cancelled_future() if given.id == "sys:1" else True

    def reads(given):
        return cancelled_future().result() if given.id == "sys:1" else True

    outcomes = Outcomes(awaits if is_async else reads)
    assert await outcomes.of(intervention(1), intervention(2)) == [
        ("sys:1", "failed", "the handler was cancelled"),
        ("sys:2", "created", None),
    ]


class Unprintable(Exception):
    def __str__(self):
        raise KeyError("no text")


@pytest.mark.parametrize(
    "error, reason", [(asyncio.TimeoutError("of a tool"), "TimeoutError: of a tool"), (Unprintable(), "Unprintable")]
)
@async_test
async def test_the_error_of_a_handler_is_logged_and_reported(error, reason, caplog):
    async def raises(given):
        raise error

    outcomes = await Outcomes(raises).of(intervention(1), intervention(2))
    assert outcomes == [("sys:1", "failed", reason), ("sys:2", "failed", reason)]
    assert [r.getMessage() for r in caplog.records if r.name == "digd"] == [
        f"digd: the handler of intervention sys:{n} raised" for n in (1, 2)
    ]


@async_test
async def test_a_handler_that_takes_too_long_is_cancelled_and_the_next_one_is_called(monkeypatch):
    monkeypatch.setattr(interventions, "MAX_HANDLER_S", 0.05)
    ended = []

    async def hangs(given):
        try:
            await asyncio.Event().wait() if given.id == "sys:1" else None
        finally:
            ended.append(given.id)

    assert await Outcomes(hangs).of(intervention(1), intervention(2)) == [
        ("sys:1", "failed", "the handler took over 0.05 s"),
        ("sys:2", "created", None),
    ]
    assert ended == ["sys:1", "sys:2"]


@async_test
async def test_the_end_of_a_run_is_not_lost_while_a_handler_returns():
    let_return = asyncio.Event()

    async def waits(given):
        await let_return.wait()

    outcomes = Outcomes(waits)
    outcomes.queue.put(intervention(1))
    for _ in range(3):
        await asyncio.sleep(0)
    let_return.set()
    await asyncio.sleep(0)
    worker = outcomes.queue.release_worker()
    worker.cancel()
    await asyncio.wait([worker], timeout=2)
    assert worker.cancelled()


@async_test
async def test_a_handler_for_threads_runs_in_its_own_thread_with_its_result_and_error():
    threads = []

    def handler(given):
        threads.append(threading.current_thread())
        if given.id == "sys:2":
            raise ValueError("no")
        return "created"

    assert await Outcomes(digd.sync._in_thread(handler)).of(intervention(1), intervention(2)) == [
        ("sys:1", "created", None),
        ("sys:2", "failed", "ValueError: no"),
    ]
    assert len(set(threads)) == 2 and all(thread.daemon for thread in threads)


BLOCKED = """
import asyncio, threading, digd.sync
from digd.messages import Intervention
begun = threading.Event()
def blocks(given):
    begun.set()
    threading.Event().wait()
async def call():
    await digd.sync._in_thread(blocks)(Intervention("sys:1", "create", ()))
asyncio.run_coroutine_threadsafe(call(), digd.sync.background_loop())
assert begun.wait(20)
"""


def test_a_blocked_handler_does_not_keep_the_process_alive():
    done = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
