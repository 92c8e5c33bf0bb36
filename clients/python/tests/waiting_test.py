"""Waiting with a time limit, cancelling an agent's work, and the texts of errors: the program's tasks stay its own."""

import asyncio
import sys
import threading

import pytest

import digd
from client_helpers import async_test, wait_for
from digd.activation import error_text
from digd.cancellation import Cancellable
from digd.line import Mail
from digd.waiting import wait_at_most

HAS_UNCANCEL = sys.version_info >= (3, 11)  # and TaskGroup


@async_test
async def test_a_wait_ends_with_its_work_or_at_its_limit():
    never = asyncio.ensure_future(asyncio.Event().wait())
    assert await wait_at_most(asyncio.sleep(0), 30)
    assert not await wait_at_most(never, 0.01) and never.cancelled()


async def cancelled_as_its_event_comes(waits, event):
    """Cancels a task in the turn of the loop in which its event comes. Returns whether the cancellation was lost."""
    task = asyncio.ensure_future(waits)
    for _ in range(3):
        await asyncio.sleep(0)
    event.set()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    return not task.cancelled()


@async_test
async def test_a_wait_does_not_lose_the_cancellation_of_its_task():
    event = asyncio.Event()
    assert not await cancelled_as_its_event_comes(wait_at_most(event.wait(), 30), event)


@async_test
async def test_an_agent_that_waits_for_mail_can_always_be_cancelled():
    mail = Mail()

    async def wait_twice():
        await mail.wait("a", lambda agent: False, 30)

    assert not await cancelled_as_its_event_comes(wait_twice(), mail._woken_event)


class Unprintable(Exception):
    def __str__(self):
        raise KeyError("no text")


def test_an_error_without_a_text_has_the_name_of_its_class():
    assert error_text(ValueError("x")) == "ValueError: x"
    assert error_text(ValueError()) == "ValueError"
    assert error_text(Unprintable()) == "Unprintable"


@async_test
async def test_an_error_that_cannot_be_printed_reaches_the_program(daemon):
    async with digd.Run(agents=["a"], url=f"ws://{daemon.address}") as run:
        with pytest.raises(Unprintable):
            async with run.activation("a"):
                raise Unprintable


# ---- cancelling the work of an agent


@async_test
async def test_a_cancelled_agents_task_group_ends_its_tasks():
    ended = []

    async def child():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("child")

    async def work():
        if not HAS_UNCANCEL:
            return await asyncio.gather(child())
        async with asyncio.TaskGroup() as group:
            group.create_task(child())

    cancellable = Cancellable(work())
    asyncio.get_running_loop().call_later(0.01, cancellable.cancel, "stop")
    with pytest.raises(digd.Cancelled, match="stop"):
        await cancellable
    assert ended == ["child"] and cancellable.is_interrupted
    assert not HAS_UNCANCEL or asyncio.current_task().cancelling() == 0
    await asyncio.sleep(0)  # no cancellation is left


@async_test
async def test_a_cancelled_agents_timeout_ends_what_it_waits_for():
    inner = asyncio.ensure_future(asyncio.Event().wait())
    cancellable = Cancellable(asyncio.wait_for(inner, 30))
    asyncio.get_running_loop().call_later(0.01, cancellable.cancel, "stop")
    with pytest.raises(digd.Cancelled):
        await cancellable
    await asyncio.wait([inner], timeout=5)
    assert inner.cancelled()


@async_test
async def test_work_that_catches_its_cancellation_continues():
    async def work():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            return "cleaned up"

    cancellable = Cancellable(work())
    asyncio.get_running_loop().call_later(0.01, cancellable.cancel, "stop")
    assert await cancellable == "cleaned up"
    await asyncio.sleep(0)
    if sys.version_info >= (3, 11):
        assert asyncio.current_task().cancelling() == 0


class Interleaved(Cancellable):
    """A Cancellable whose task begins while another thread is inside `cancel`, right after the read of the task."""

    @property
    def _task(self):
        task = self._begun
        if threading.current_thread() is not threading.main_thread() and self.begin is not None:
            begin, self.begin = self.begin, None
            begin()
        return task

    @_task.setter
    def _task(self, task):
        self._begun = task

    begin = None


@async_test
async def test_a_cancellation_while_the_work_begins_is_not_lost():
    loop, begun = asyncio.get_running_loop(), threading.Event()
    outcome = []

    async def work():
        await asyncio.Event().wait()

    cancellable = Interleaved(work())

    async def run():
        try:
            await cancellable
        except BaseException as error:
            outcome.append(type(error))
        finally:
            begun.set()

    def begin():
        loop.call_soon_threadsafe(lambda: tasks.append(loop.create_task(run())))
        begun.wait(1)

    tasks = []
    cancellable.begin = begin
    thread = threading.Thread(target=cancellable.cancel, args=("stop",))
    thread.start()
    await wait_for(lambda: outcome, "the end of the work")
    thread.join()
    assert outcome == [digd.Cancelled]


@async_test
async def test_a_task_that_the_program_cancels_too_ends_as_cancelled():
    """Python 3.10 cannot tell the two cancellations apart; there the caller gets `Cancelled`."""
    cancellable = Cancellable(asyncio.Event().wait())

    async def run():
        await cancellable

    task = asyncio.ensure_future(run())
    await asyncio.sleep(0)
    cancellable.cancel("stop")
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled() if HAS_UNCANCEL else isinstance(task.exception(), digd.Cancelled)
