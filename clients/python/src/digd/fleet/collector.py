"""Moves messages from the stream into Parquet files.

It acknowledges a message to the stream only after its rows are on the disk under their final names. So a collector may
be killed at any time: the stream delivers what was not acknowledged again, and the files drop what they have already.
Any number of collectors share the consumer `collector`; the server gives each message to one of them.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import nats.errors
import nats.js.errors
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from . import live
from .interrupts import run_until_interrupted
from .live import CONSUMER, STREAM, SUBJECTS, connect_unless, messages_of
from .places import Fleet
from .rows import BadMessage, Moved, Rows, RunKey, decode
from .store import Store
from .work_queue import NO_MESSAGE, RESULTS, forget_run

MAX_BYTES = 64 << 20
"""A batch ends with the message that passes this."""
MAX_DELETIONS = 64
"""Messages whose deletion waits for the server's answer at one time."""
FAILURE_PAUSE = 2.0
"""Seconds after a batch that could not be stored."""


@dataclass
class Counts:
    rows: int = 0
    repeated: int = 0
    deleted_runs: int = 0
    rejected: int = 0
    failed: int = 0
    """Batches that the files did not take; the stream delivers them again."""
    began: float = field(default_factory=time.monotonic)

    def text(self) -> str:
        rate = self.rows / max(time.monotonic() - self.began, 0.001)
        return (
            f"{self.rows} entries ({rate:.0f} a second), {self.repeated} repeated, {self.deleted_runs} runs deleted, "
            f"{self.rejected} rejected"
        )


@dataclass
class Options:
    fleet: Fleet
    batch_rows: int = 10_000
    batch_seconds: float = 2.0
    ack_wait_seconds: float = 60.0
    until_empty: bool = False
    """Stop once the stream has nothing more, instead of waiting."""


class Collector:
    def __init__(self, store: Store, options: Options) -> None:
        self._store = store
        self._options = options
        self._stopping = asyncio.Event()
        self._js: JetStreamContext | None = None
        self.counts = Counts()

    def stop(self) -> None:
        """Finishes the batch, then `run` returns."""
        self._stopping.set()

    async def run(self) -> None:
        connection = await connect_unless(self._stopping, self._options.fleet)
        if connection is None:
            return
        try:
            self._js = connection.jetstream()
            await live.keep_host_records(self._js)
            subscription = await self._subscribe(self._js)
            while subscription is not None and not self._stopping.is_set():
                batch = await self._fetch(subscription)
                if batch:
                    await self._handle(batch)
                elif self._options.until_empty and await self._is_empty(subscription):
                    return
        finally:
            await connection.close()

    async def _subscribe(self, js: JetStreamContext) -> JetStreamContext.PullSubscription | None:
        """Waits until the stream exists. Returns None if the collector was told to stop."""
        config = ConsumerConfig(
            durable_name=CONSUMER,
            ack_policy=AckPolicy.EXPLICIT,
            deliver_policy=DeliverPolicy.ALL,
            ack_wait=self._options.ack_wait_seconds,
            max_ack_pending=4 * self._options.batch_rows,
        )
        while not self._stopping.is_set():
            try:
                return await js.pull_subscribe(SUBJECTS, durable=CONSUMER, stream=STREAM, config=config)
            except (nats.errors.Error, asyncio.TimeoutError) as error:
                # Before the first daemon connects there is no stream.
                print(f"digd.fleet: waiting for the stream {STREAM}: {error}", file=sys.stderr)
                await asyncio.sleep(1)
        return None

    async def _is_empty(self, subscription: JetStreamContext.PullSubscription) -> bool:
        """Asks the server: a batch is also empty while the server is away or slow."""
        try:
            return (await subscription.consumer_info()).num_pending == 0
        except (nats.errors.Error, asyncio.TimeoutError) as error:
            print(f"digd.fleet: {error or type(error).__name__}; trying again", file=sys.stderr)
            await asyncio.sleep(0.5)
            return False

    async def _fetch(self, subscription: JetStreamContext.PullSubscription) -> list[Msg]:
        batch: list[Msg] = []
        size = 0
        deadline = time.monotonic() + self._options.batch_seconds
        while len(batch) < self._options.batch_rows and size < MAX_BYTES and not self._stopping.is_set():
            left = deadline - time.monotonic()
            if left <= 0 and batch:
                break
            try:
                wanted = min(1000, self._options.batch_rows - len(batch))
                batch_part = await subscription.fetch(wanted, timeout=max(left, 0.1))
            except (nats.errors.TimeoutError, asyncio.TimeoutError):
                break
            except nats.errors.Error as error:
                print(f"digd.fleet: {error or type(error).__name__}; trying again", file=sys.stderr)
                await asyncio.sleep(0.5)
                break
            batch += batch_part
            size += sum(len(message.data) for message in batch_part)
        return batch

    async def _forget(self, sequences: Iterable[int]) -> None:
        """Deletes messages from the stream, which overwrites them. Raises OSError."""
        js = self._js
        assert js is not None
        free = asyncio.Semaphore(MAX_DELETIONS)

        async def forget(sequence: int) -> None:
            async with free:
                try:
                    await js.delete_msg(STREAM, sequence)
                except nats.js.errors.APIError as error:
                    if error.err_code != NO_MESSAGE and error.code != 404:  # deleted before, or too old
                        raise OSError(f"the stream {STREAM}: {error}") from None
                except (nats.errors.Error, asyncio.TimeoutError) as error:
                    raise OSError(f"the stream {STREAM}: {error or type(error).__name__}") from None

        await asyncio.gather(*(forget(sequence) for sequence in sequences))

    async def _delete(self, run: RunKey) -> None:
        """Removes a run from the stream, the files, and the results of passes.

        The messages go first, because only the files tell where the stream has them. The results go last: by then no
        worker can read the run. If the run moved, the files lack the void messages of its earlier homes, so the
        collector searches the stream for them.
        """
        assert self._js is not None
        sequences = set(await asyncio.to_thread(self._store.begin_deletion, run))
        if await asyncio.to_thread(self._store.has_moved, run):
            try:
                sequences |= await messages_of(self._js, run, min(sequences, default=1))
            except (nats.errors.Error, asyncio.TimeoutError) as error:
                raise OSError(f"the stream {STREAM}: {error or type(error).__name__}") from None
        await self._forget(sequences)
        await asyncio.to_thread(self._store.delete_run, run)
        try:
            await forget_run(self._js, run)
        except (nats.errors.Error, asyncio.TimeoutError) as error:
            raise OSError(f"the stream {RESULTS}: {error or type(error).__name__}") from None
        await asyncio.to_thread(self._store.finish_deletion, run)

    async def _handle(self, batch: list[Msg]) -> None:
        rows: list[Rows] = []
        deleted: list[RunKey] = []
        moved: list[Moved] = []
        rejected: list[tuple[str, str, bytes, str]] = []
        for message in batch:
            message_id = (message.headers or {}).get("Nats-Msg-Id", "")
            try:
                sequence = message.metadata.sequence.stream
                decoded = decode(message.subject, message_id, message.data, sequence)
            except BadMessage as error:
                rejected.append((message.subject, message_id, message.data, str(error)))
                continue
            if isinstance(decoded, RunKey):
                deleted.append(decoded)
            elif isinstance(decoded, Moved):
                moved.append(decoded)
            else:
                rows.append(decoded)
        try:
            for note in rejected:
                await asyncio.to_thread(self._store.reject, *note)
            written = await asyncio.to_thread(self._store.write, rows)
            for run_moved in moved:
                await asyncio.to_thread(self._store.keep, run_moved)
            if written.deleted:
                late = await asyncio.to_thread(self._store.deleted_among, rows)
                await self._forget([row.tables["entries"][0]["sequence"] for row in late])
            for run in deleted:
                await self._delete(run)
        except OSError as error:
            # Nothing is acknowledged: the stream delivers the batch again.
            self.counts.failed += 1
            print(f"digd.fleet: {error}; trying again", file=sys.stderr)
            for message in batch:
                await message.nak(delay=FAILURE_PAUSE)
            await asyncio.sleep(FAILURE_PAUSE)
            return
        self.counts.rejected += len(rejected)
        self.counts.rows += written.rows
        self.counts.repeated += written.repeated
        self.counts.deleted_runs += len(deleted)
        for message in batch:
            await message.ack()
        print(f"digd.fleet: {self.counts.text()}", file=sys.stderr)


def collect(root: str, options: Options) -> Counts:
    """Runs a collector until SIGINT or SIGTERM, or until the stream is empty.

    The first signal lets it store the batch that it has, the second cancels that.
    """
    collector = Collector(Store(root), options)
    run_until_interrupted(collector.run(), stops=(collector.stop,))
    return collector.counts
