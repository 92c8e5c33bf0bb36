"""Reads the stream of a fleet: what collectors have not stored yet, and what comes from now on.

It uses consumers of its own that live as long as the reader, so it takes nothing from the collectors.
"""

from __future__ import annotations

import asyncio
import json
import math
import ssl
import sys
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import nats.errors
import nats.js.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, DiscardPolicy, StreamConfig

from .places import Fleet, Lost, WrongUse
from .rows import BadMessage, Moved, Rows, RunKey, decode

STREAM = "digd"
CONSUMER = "collector"
SUBJECTS = "digd.archive.>"
HOSTS = "digd_hosts"
"""The stream with the latest record of each host."""
HOST_SUBJECTS = "digd.host.>"
MAX_HOSTS_BYTES = 16 << 20
MAX_LIVE = 1_000_000
"""Messages that a reader takes from the stream at most. Beyond that, collectors are too far behind."""
BATCH = 1000
IDLE_SECONDS = 5.0
SILENCE_SECONDS = 2.0
"""How long a reader of old messages waits for the next ones before it asks whether there are any."""
MAX_SILENCES = 5
RETRY_SECONDS = 1.0
OPEN_SECONDS = 30.0
PING_SECONDS = 20
"""Two unanswered pings end a connection whose server is silent."""
LOST_SECONDS = 300.0
TROUBLES = (nats.errors.Error, asyncio.TimeoutError, OSError)
"""What a request to a server that is away or restarts can raise."""


class _Client(Client):
    """Insists on TLS where the fleet does. nats-py takes what the server offers, and sends credentials without it."""

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        is_web = self._current_server is not None and self._current_server.uri.scheme in ("ws", "wss")
        if initial_connection and "tls" in self.options and not is_web and not info.get("tls_required"):
            raise nats.errors.Error("the server offers no TLS")
        await super()._process_info(info, initial_connection)


async def _open(**options: Any) -> Client:
    client = _Client()
    await client.connect(**options, connect_timeout=5)
    return client


def _say(text: str) -> None:
    print(f"digd.fleet: {text}", file=sys.stderr, flush=True)


class RetryLimit:
    """How long a program goes on while no request to the servers succeeds."""

    def __init__(self, fleet: Fleet, seconds: float = LOST_SECONDS, say: Callable[[str], None] = _say) -> None:
        self._servers = fleet.shown_servers
        self._seconds = seconds
        self._say = say
        self._last_success = time.monotonic()

    def record_success(self) -> None:
        """A request succeeded."""
        self._last_success = time.monotonic()

    async def wait_or_raise(self, error: BaseException) -> None:
        """Says why a request failed, and waits before the next one. Raises Lost."""
        if time.monotonic() - self._last_success > self._seconds:
            raise Lost(f"{self._servers}: {error or type(error).__name__}, for {self._seconds:g} seconds")
        self.report(error)
        await asyncio.sleep(RETRY_SECONDS)

    def report(self, error: BaseException) -> None:
        """Prints why a request failed, and that the program tries again."""
        self._say(f"{error or type(error).__name__}; trying again")


async def connect(fleet: Fleet, reconnects: int = 3, retry_limit: RetryLimit | None = None) -> Client:
    """`reconnects`: how often it retries, even before the first connection; -1: as long as `retry_limit` allows."""
    retry_limit = retry_limit or RetryLimit(fleet, math.inf)

    async def on_error(error: Exception) -> None:
        if isinstance(error, ssl.SSLError) and error.reason == "APPLICATION_DATA_AFTER_CLOSE_NOTIFY":
            return  # the connection was closed
        retry_limit.report(error)

    reason: Exception | None = None

    async def remember(error: Exception) -> None:
        """Keeps the error: `connect` itself may report only that there is no server."""
        nonlocal reason
        reason = error

    options = fleet.connect_options()
    tries = 0
    while True:
        try:
            # nats-py waits forever after a TLS handshake that failed, unless it may not connect again.
            first = await _open(**options, allow_reconnect=False, max_reconnect_attempts=1, error_cb=remember)
            await first.close()
            # It also tries forever if the server ends now.
            opening = _open(**options, max_reconnect_attempts=reconnects, error_cb=on_error, ping_interval=PING_SECONDS)
            return await asyncio.wait_for(opening, OPEN_SECONDS)
        except TROUBLES as raised:
            error = reason if reason is not None and isinstance(raised, nats.errors.NoServersError) else raised
            tries += 1
            if 0 <= reconnects < tries:
                raise WrongUse(f"{fleet.shown_servers}: {error or type(error).__name__}") from None
            await retry_limit.wait_or_raise(error)


async def connect_unless(stopping: asyncio.Event, fleet: Fleet, retry_limit: RetryLimit | None = None) -> Client | None:
    """Connects, however long that takes. Returns None if `stopping` is set first."""
    opening = asyncio.create_task(connect(fleet, -1, retry_limit))
    stop = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait({opening, stop}, return_when=asyncio.FIRST_COMPLETED)
        return await opening if opening.done() else None
    finally:
        opening.cancel()
        stop.cancel()


async def collected(js: JetStreamContext) -> int:
    """The stream's sequence up to which collectors have stored everything."""
    try:
        info = await js.consumer_info(STREAM, CONSUMER)
    except nats.js.errors.NotFoundError:
        return 0
    return info.ack_floor.stream_seq if info.ack_floor is not None else 0


async def keep_host_records(js: JetStreamContext) -> None:
    """Creates the stream that has the latest record of each host, if there is none and the server allows it."""
    config = StreamConfig(
        name=HOSTS,
        subjects=[HOST_SUBJECTS],
        max_msgs_per_subject=1,
        max_bytes=MAX_HOSTS_BYTES,
        discard=DiscardPolicy.OLD,
    )
    try:
        try:
            await js.stream_info(HOSTS)
        except nats.js.errors.NotFoundError:
            await js.add_stream(config)
    except TROUBLES as error:
        print(f"digd.fleet: no records of hosts: {error or type(error).__name__}", file=sys.stderr)


async def _subscribe(
    js: JetStreamContext, subject: str = SUBJECTS, stream: str = STREAM, **start: Any
) -> tuple[JetStreamContext.PullSubscription, int]:
    """Subscribes. Returns the subscription, and the number of messages that the stream already has for it."""
    # Without a durable name, and removed by the server after a minute without a reader.
    config = ConsumerConfig(
        name=uuid.uuid4().hex,
        filter_subject=subject,
        ack_policy=AckPolicy.NONE,
        inactive_threshold=60,
        mem_storage=True,
        **start,
    )
    created = await js.add_consumer(stream, config)
    return await js.pull_subscribe_bind(created.name, stream), created.num_pending or 0


def decoded_message(message: Msg) -> Rows | RunKey | Moved | None:
    try:
        return decode(message.subject, (message.headers or {}).get("Nats-Msg-Id", ""), message.data)
    except BadMessage:
        return None  # a collector writes it to `rejected/`


async def _messages(
    js: JetStreamContext, first: int, last: int, subject: str = SUBJECTS
) -> AsyncIterator[Msg]:
    """The stream's messages with the sequences `first` to `last`. Removed messages are skipped.

    Raises OSError if the server sends nothing for MAX_SILENCES requests.
    """
    at = first - 1
    silences = 0
    while at < last:
        try:
            # A new consumer each time: the server may have sent messages that a broken connection lost.
            start: dict[str, Any] = {"deliver_policy": DeliverPolicy.BY_START_SEQUENCE, "opt_start_seq": at + 1}
            subscription, waiting = await _subscribe(js, subject, **start)
            if waiting == 0:
                return  # the rest was removed
            received = 0
            while at < last:
                batch = await subscription.fetch(BATCH, timeout=SILENCE_SECONDS)
                silences = 0
                for message in batch:
                    received += 1
                    if message.metadata.sequence.consumer != received:
                        raise nats.errors.Error(f"messages after {at} were lost")
                    at = message.metadata.sequence.stream
                    if at <= last:
                        yield message
        except (nats.errors.Error, asyncio.TimeoutError) as error:
            silences += 1
            if silences >= MAX_SILENCES:
                raise OSError(f"the stream {STREAM}: {error or type(error).__name__}, {silences} times") from None
            await asyncio.sleep(RETRY_SECONDS)


async def messages_of(js: JetStreamContext, run: RunKey, first: int) -> set[int]:
    """The sequences of a run's messages from `first` on: its entries, also void ones, and its `run_moved` messages.

    Raises OSError, and what requests raise.
    """
    found: set[int] = set()
    last = (await js.stream_info(STREAM)).state.last_seq
    async for message in _messages(js, first, last, f"digd.archive.{run.tenant}.>"):
        decoded = decoded_message(message)
        if isinstance(decoded, (Rows, Moved)) and decoded.run == run:
            found.add(message.metadata.sequence.stream)
    return found


async def uncollected(fleet: Fleet) -> list[Rows]:
    """The rows of messages that no collector has acknowledged, without those of runs deleted meanwhile."""
    connection = await connect(fleet)
    try:
        js = connection.jetstream()
        try:
            last = (await js.stream_info(STREAM)).state.last_seq
        except nats.js.errors.NotFoundError:
            return []
        first = await collected(js) + 1
        if first > last:
            return []
        if last - first >= MAX_LIVE:
            behind = last - first + 1
            raise WrongUse(f"the collectors are {behind} messages behind; at most {MAX_LIVE} can be read live")
        found: list[Rows] = []
        deleted: set[RunKey] = set()
        async for message in _messages(js, first, last):
            decoded = decoded_message(message)
            if isinstance(decoded, RunKey):
                deleted.add(decoded)
            elif isinstance(decoded, Rows):
                found.append(decoded)
        return [rows for rows in found if rows.run not in deleted]
    finally:
        await connection.close()


Start = Callable[[JetStreamContext], Awaitable[dict[str, Any]]]


async def _messages_from_now(js: JetStreamContext) -> dict[str, Any]:
    return {"deliver_policy": DeliverPolicy.NEW}


async def uncollected_first(js: JetStreamContext) -> dict[str, Any]:
    """For `tail`: from the first message that no collector has acknowledged."""
    return {"deliver_policy": DeliverPolicy.BY_START_SEQUENCE, "opt_start_seq": await collected(js) + 1}


def latest_messages(count: int) -> Start:
    """For `tail`: begins with the latest `count` messages."""

    async def begin(js: JetStreamContext) -> dict[str, Any]:
        state = (await js.stream_info(STREAM)).state
        first = max(state.first_seq, state.last_seq - count + 1, 1)
        return {"deliver_policy": DeliverPolicy.BY_START_SEQUENCE, "opt_start_seq": first}

    return begin


async def latest_of_each(js: JetStreamContext) -> dict[str, Any]:
    """For `tail`: the latest message of each subject, and then the new ones."""
    return {"deliver_policy": DeliverPolicy.LAST_PER_SUBJECT}


async def tail(
    fleet: Fleet,
    begin: Start = _messages_from_now,
    subject: str = SUBJECTS,
    stream: str = STREAM,
    retry_limit: RetryLimit | None = None,
) -> AsyncIterator[Msg | None]:
    """Yields None when it has subscribed, then each message in order. Waits until the server and the stream exist."""
    retry_limit = retry_limit or RetryLimit(fleet, math.inf)
    connection = await connect(fleet, reconnects=-1, retry_limit=retry_limit)
    try:
        js = connection.jetstream()
        start: dict[str, Any] | None = None
        subscription: JetStreamContext.PullSubscription | None = None
        listens = False
        while True:
            try:
                if start is None:
                    start = await begin(js)
                if subscription is None:
                    subscription, _ = await _subscribe(js, subject, stream, **start)
                if not listens:
                    listens = True
                    yield None
                batch = await subscription.fetch(BATCH, timeout=IDLE_SECONDS)
            except (nats.errors.TimeoutError, asyncio.TimeoutError):
                continue
            except nats.js.errors.NotFoundError:
                subscription = None  # there is no such stream yet
                await asyncio.sleep(RETRY_SECONDS)
                continue
            except nats.errors.Error as error:
                retry_limit.report(error)
                subscription = None  # the server may have lost the consumer with its memory
                await asyncio.sleep(RETRY_SECONDS)
                continue
            for message in batch:
                start = {
                    "deliver_policy": DeliverPolicy.BY_START_SEQUENCE,
                    "opt_start_seq": message.metadata.sequence.stream + 1,
                }
                yield message
    finally:
        await connection.close()


async def follow(fleet: Fleet, run: str = "") -> None:
    """Prints messages as they come, as JSON lines: the message with `tenant`, `host` and `archive`.

    The first line, {}, says that it listens.
    """
    async for message in tail(fleet):
        if message is None:
            print("{}", flush=True)
            continue
        decoded = decoded_message(message)
        if not isinstance(decoded, Rows) or (run and decoded.tables["entries"][0]["run"] != run):
            continue
        body = json.loads(message.data)
        entry = decoded.tables["entries"][0]
        place = {"tenant": decoded.partition.tenant, "host": entry["host"], "archive": entry["archive"]}
        print(json.dumps({**body, **place}, ensure_ascii=False), flush=True)
