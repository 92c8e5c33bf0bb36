"""The queue of tasks in JetStream, and where their results are.

Tasks are messages of the stream `digd_work`, one subject for each version of digctl: other versions may compute other
bytes. A worker acknowledges a task after its outcome is in the stream `digd_results`, which keeps the last message of
each subject (ID is the task's, RUN stands for a run):

    digd.results.part.ID.N          a piece of a large result
    digd.results.outcome.ID         JSON: the result, or the number and the digest of its pieces, or why it failed
    digd.results.of.RUN.ID          the task names this run
    digd.results.deleted.RUN        the run was deleted: outcomes of its tasks are not kept

A worker writes them in this order. When they are too old or too large for the stream, the stream drops them in the same
order: the pieces first.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import nats.js.errors
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DiscardPolicy, RawStreamMsg, RetentionPolicy, StreamConfig

from .rows import RunKey
from .tasks import Task

STREAM = "digd_work"
RESULTS = "digd_results"
KEEP_SECONDS = 7 * 24 * 3600
MAX_QUEUE_BYTES = 256 << 20
"""A full queue refuses more tasks; the asker waits."""
MAX_RESULTS_BYTES = 1 << 30
"""More results push out the oldest; an asker that still needs one submits its task again."""
MAX_PIECE = 128 << 10
"""A larger result is in pieces."""
MAX_PUTS = 16
"""Pieces on their way to the server at one time."""
MAX_PENDING = 100_000
NO_MESSAGE = 10043
"""The server's code for a sequence that it does not have."""
GONE = "the run was deleted"


class Outcome(NamedTuple):
    result: bytes | None
    reason: str = ""
    """Why the task failed permanently; empty: it did not."""
    pieces: int = 0
    """How many pieces the result has; `fetch` reads them."""
    digest: str = ""


def _token(run: RunKey) -> str:
    return hashlib.sha256("/".join(map(str, run)).encode()).hexdigest()[:32]


def _runs_of(task: Task) -> list[RunKey]:
    return [RunKey(run.tenant, run.archive, run.run_number) for run in task.runs]


async def _next(js: JetStreamContext, subject: str) -> RawStreamMsg | None:
    try:
        return await js.get_msg(RESULTS, seq=1, subject=subject, next=True)
    except nats.js.errors.NotFoundError:
        return None


async def _erase(js: JetStreamContext, subject: str) -> None:
    """Deletes the messages of a subject, and overwrites them."""
    while (message := await _next(js, subject)) is not None:
        assert message.seq is not None
        try:
            await js.delete_msg(RESULTS, message.seq)
        except nats.js.errors.APIError as error:
            if error.err_code != NO_MESSAGE:  # another program deleted it, or it was too old
                raise


async def _forget(js: JetStreamContext, task_id: str) -> None:
    await _erase(js, f"digd.results.outcome.{task_id}")
    await _erase(js, f"digd.results.part.{task_id}.*")


async def forget_run(js: JetStreamContext, run: RunKey) -> None:
    """Removes the results of tasks that name the run; workers store no further ones. Raises what requests raise."""
    try:
        await js.stream_info(RESULTS)
    except nats.js.errors.NotFoundError:
        return  # there was no pass
    token = _token(run)
    # This comes first: a worker that stores an outcome later finds this message, and removes the outcome.
    await js.publish(f"digd.results.deleted.{token}", b"")
    while (message := await _next(js, f"digd.results.of.{token}.*")) is not None:
        assert message.subject is not None
        await _forget(js, message.subject.rpartition(".")[2])
        await _erase(js, message.subject)


class WorkQueue:
    def __init__(self, connection: Client, version: str) -> None:
        self._js: JetStreamContext = connection.jetstream()
        self._max_piece = min(MAX_PIECE, connection.max_payload // 2)
        token = re.sub(r"[^A-Za-z0-9]", "-", version)
        self._subject = f"digd.work.{token}"
        self._durable = f"workers-{token}"

    async def open(self) -> None:
        """Creates the streams unless they exist."""
        queue = StreamConfig(
            STREAM,
            subjects=["digd.work.*"],
            retention=RetentionPolicy.WORK_QUEUE,
            discard=DiscardPolicy.NEW,
            max_age=KEEP_SECONDS,
            max_bytes=MAX_QUEUE_BYTES,
        )
        results = StreamConfig(
            RESULTS,
            subjects=["digd.results.>"],
            max_msgs_per_subject=1,
            discard=DiscardPolicy.OLD,
            max_age=KEEP_SECONDS,
            max_bytes=MAX_RESULTS_BYTES,
        )
        for config in (queue, results):
            try:
                await self._js.stream_info(str(config.name))
            except nats.js.errors.NotFoundError:
                await self._js.add_stream(config)

    async def submit(self, task: Task, again: str = "") -> None:
        """Puts the task into the queue. JetStream drops a copy within two minutes; after that, a worker drops it."""
        headers = {"Nats-Msg-Id": task.id() + again}
        await self._js.publish(self._subject, task.text().encode(), headers=headers)

    async def subscribe(self, ack_wait: float) -> JetStreamContext.PullSubscription:
        config = ConsumerConfig(
            durable_name=self._durable,
            filter_subject=self._subject,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=ack_wait,
            max_ack_pending=MAX_PENDING,
        )
        return await self._js.pull_subscribe(self._subject, durable=self._durable, stream=STREAM, config=config)

    async def waiting_workers(self) -> int:
        """About how many workers wait for a task or do one."""
        try:
            info = await self._js.consumer_info(STREAM, self._durable)
        except nats.js.errors.NotFoundError:
            return 0
        return (info.num_waiting or 0) + (info.num_ack_pending or 0)

    async def is_empty(self) -> bool:
        return (await self._js.stream_info(STREAM)).state.messages == 0

    async def outcome(self, task: Task) -> Outcome | None:
        """None: there is none yet."""
        try:
            message = await self._js.get_last_msg(RESULTS, f"digd.results.outcome.{task.id()}")
        except nats.js.errors.NotFoundError:
            return None
        stored: dict[str, Any] = json.loads(message.data or b"{}")
        if "failed" in stored:
            return Outcome(None, stored["failed"])
        if "result" in stored:
            return Outcome(base64.b64decode(stored["result"]))
        return Outcome(None, pieces=stored["pieces"], digest=stored["digest"])

    async def fetch(self, task: Task, outcome: Outcome) -> bytes | None:
        """Joins the result from its pieces. Returns None if the stream lacks some of them."""
        pieces = []
        for i in range(outcome.pieces):
            message = await _next(self._js, f"digd.results.part.{task.id()}.{i}")
            if message is None:
                return None
            pieces.append(message.data or b"")
        result = b"".join(pieces)
        return result if hashlib.sha256(result).hexdigest() == outcome.digest else None

    async def forget(self, task: Task) -> None:
        await _forget(self._js, task.id())

    async def is_deleted(self, task: Task) -> bool:
        """Whether a run of the task was deleted."""
        for run in _runs_of(task):
            if await _next(self._js, f"digd.results.deleted.{_token(run)}") is not None:
                return True
        return False

    async def keep(self, task: Task, outcome: Outcome, worker: str) -> None:
        stored: dict[str, Any] = {"worker": worker}
        result = outcome.result
        if outcome.reason:
            stored |= {"failed": outcome.reason, "task": task.name()}
        elif result is not None and len(result) * 4 // 3 < self._max_piece:
            stored["result"] = base64.b64encode(result).decode()
        elif result is not None:
            pieces = [result[at : at + self._max_piece] for at in range(0, len(result), self._max_piece)]
            await self._put((f"digd.results.part.{task.id()}.{i}", piece) for i, piece in enumerate(pieces))
            stored |= {"pieces": len(pieces), "digest": hashlib.sha256(result).hexdigest()}
        await self._put([(f"digd.results.outcome.{task.id()}", json.dumps(stored).encode())])
        await self.note_runs(task)

    async def note_runs(self, task: Task) -> None:
        """Records the task's runs, so that `forget_run` finds its outcome. Removes the outcome if a run was deleted."""
        tokens = [_token(run) for run in _runs_of(task)]
        await self._put((f"digd.results.of.{token}.{task.id()}", b"") for token in tokens)
        if not await self.is_deleted(task):
            return
        await self.forget(task)
        for token in tokens:
            await _erase(self._js, f"digd.results.of.{token}.{task.id()}")
        # This names no run.
        await self._put([(f"digd.results.outcome.{task.id()}", json.dumps({"failed": GONE}).encode())])

    async def _put(self, messages: Iterable[tuple[str, bytes]]) -> None:
        free = asyncio.Semaphore(MAX_PUTS)

        async def put(subject: str, data: bytes) -> None:
            async with free:
                await self._js.publish(subject, data)

        await asyncio.gather(*(put(*message) for message in messages))
