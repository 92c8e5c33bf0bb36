"""A worker does tasks of the queue until it is stopped. Any number of workers, on any hosts, share a queue."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import nats.errors
from nats.aio.msg import Msg
from nats.js import JetStreamContext

from .interrupts import run_until_interrupted
from .live import LOST_SECONDS, TROUBLES, RetryLimit, connect_unless
from .places import Fleet, Lost
from .tasks import BadTask, Failed, Refused, Task, TaskRunner, parse, version_of
from .work_queue import Outcome, WorkQueue

FETCH_SECONDS = 2.0
RETRY_SECONDS = 1.0
"""Before a task is tried again, the worker waits this time multiplied by the number of its starts."""
CLOSE_SECONDS = 5.0
LOST_STATUS = 1

T = TypeVar("T")


@dataclass
class Options:
    digctl: str
    tasks: int = 1
    tries: int = 5
    task_seconds: float = 3600.0
    ack_wait: float = 30.0
    lost_seconds: float = LOST_SECONDS
    until_empty: bool = False


class Worker:
    """Does tasks. Stops in bounded time when it is told to, when its queue is empty, or when no server answers."""

    def __init__(self, fleet: Fleet, options: Options) -> None:
        self._fleet = fleet
        self._options = options
        self._stopping = asyncio.Event()
        self._runners: list[TaskRunner] = []
        self._retry_limit = RetryLimit(fleet, options.lost_seconds)
        self._name = f"{socket.gethostname()}:{os.getpid()}"

    def stop(self) -> None:
        """The first call lets running tasks finish; then `run` returns. The second call drops them."""
        if self._stopping.is_set():
            self._drop_tasks()
        self._stopping.set()

    def _drop_tasks(self) -> None:
        for runner in self._runners:
            runner.stop()

    async def run(self) -> None:
        """Raises Lost."""
        version = await asyncio.to_thread(version_of, self._options.digctl)
        connection = await connect_unless(self._stopping, self._fleet, self._retry_limit)
        if connection is None:
            return
        self._connection = connection
        queue = WorkQueue(connection, version)
        takers: list[asyncio.Task[None]] = []
        try:
            await self._until_done(queue.open)
            print(f"digd.fleet: waiting for tasks of digctl {version}", file=sys.stderr, flush=True)
            takers = [asyncio.create_task(self._take_tasks(queue)) for _ in range(self._options.tasks)]
            await asyncio.gather(*takers)
        finally:
            self._drop_tasks()
            for taker in takers:
                taker.cancel()
            await asyncio.wait([asyncio.create_task(connection.close())], timeout=CLOSE_SECONDS)

    async def _until_done(self, request: Callable[[], Awaitable[T]]) -> T:
        """Asks the server again until it answers. Raises Lost."""
        while True:
            try:
                answer = await request()
            except TROUBLES as error:
                await self._retry_limit.wait_or_raise(error)
                continue
            self._retry_limit.record_success()
            return answer

    async def _take_tasks(self, queue: WorkQueue) -> None:
        runner = TaskRunner(self._fleet.need_root(), self._options.digctl, self._options.task_seconds)
        self._runners.append(runner)
        subscription: JetStreamContext.PullSubscription | None = None
        while not self._stopping.is_set():
            if subscription is None:
                await self._until_done(queue.open)
                subscription = await self._until_done(lambda: queue.subscribe(self._options.ack_wait))
            try:
                [message] = await subscription.fetch(1, timeout=FETCH_SECONDS)
            except (nats.errors.TimeoutError, asyncio.TimeoutError) as error:
                # Either the server answered that there is no task, or it did not answer.
                if not self._connection.is_connected:
                    await self._retry_limit.wait_or_raise(error)
                    continue
                self._retry_limit.record_success()
                if self._options.until_empty:
                    return
                continue
            except TROUBLES as error:
                subscription = None  # a server that lost its disk lost the queue too
                await self._retry_limit.wait_or_raise(error)
                continue
            self._retry_limit.record_success()
            try:
                await self._handle(queue, runner, message)
            except TROUBLES as error:
                # It is not acknowledged: the queue gives it to a worker again.
                await self._retry_limit.wait_or_raise(error)

    async def _handle(self, queue: WorkQueue, runner: TaskRunner, message: Msg) -> None:
        try:
            task = parse(message.data)
        except BadTask as error:
            print(f"digd.fleet: dropped a message of the queue: {error}", file=sys.stderr)
            await message.term()
            return
        if await queue.outcome(task) is not None:  # a copy, or its worker ended before it acknowledged the task
            await self._until_done(lambda: queue.note_runs(task))
            await message.ack()
            return
        starts = message.metadata.num_delivered
        if starts > self._options.tries:
            reason = f"{starts - 1} starts ended with their workers, and none left a reason"
            outcome: Outcome | None = Outcome(None, reason)
        else:
            outcome = await self._do(runner, task, message, starts)
        if outcome is None:
            await message.nak(delay=RETRY_SECONDS * starts)
            return
        kept = outcome
        await self._until_done(lambda: queue.keep(task, kept, self._name))
        await message.ack()
        if outcome.reason:
            print(f"digd.fleet: set aside {task.name()}: {outcome.reason}", file=sys.stderr, flush=True)

    async def _do(self, runner: TaskRunner, task: Task, message: Msg, starts: int) -> Outcome | None:
        """Does the task. Returns None if it must be tried again."""
        beat = asyncio.create_task(self._keep_alive(message))
        try:
            return Outcome(await asyncio.to_thread(runner.do, task))
        except Failed as error:
            if not runner.is_stopped and (isinstance(error, Refused) or starts >= self._options.tries):
                return Outcome(None, str(error))
            print(f"digd.fleet: {task.name()}: {error}; trying again", file=sys.stderr, flush=True)
            return None
        finally:
            beat.cancel()
            self._retry_limit.record_success()  # while it computed, it asked for nothing

    async def _keep_alive(self, message: Msg) -> None:
        while True:
            await asyncio.sleep(self._options.ack_wait / 3)
            try:
                await message.in_progress()
            except TROUBLES:
                pass  # the next one may arrive


def work(fleet: Fleet, options: Options) -> int:
    """Runs a worker until SIGINT or SIGTERM, or until the queue is empty, or until no server answers.

    The first signal lets it finish its tasks, the second drops them, the third cancels everything.
    """
    worker = Worker(fleet, options)
    try:
        run_until_interrupted(worker.run(), stops=(worker.stop, worker.stop))
    except Lost as error:
        print(f"digd.fleet: {error}; stopped", file=sys.stderr)
        return LOST_STATUS
    return 0
