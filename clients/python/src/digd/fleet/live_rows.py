"""Keeps what only the stream has: rows that no file has yet, runs deleted since, and the records of hosts.

If the fleet names no files, it keeps all rows of the stream, even those that a collector has stored elsewhere. A
thread follows the stream with consumers of its own, so it takes no message from the collectors. Threads: any. Bounds:
`MAX_ROWS` entries, `MAX_BYTES` of their messages, and `MAX_DELETED` deleted runs; beyond these the oldest are dropped
and counted. `MAX_HOSTS` records; beyond that, new hosts are left out. Failure: `state` names the servers and the
reason, and the thread tries again.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import nats.errors
import nats.js.errors
from nats.js import JetStreamContext

from . import live
from .index import Ranges
from .places import Fleet
from .rows import Moved, Rows, RunKey

MAX_ROWS = 200_000
MAX_BYTES = 256 << 20
MAX_DELETED = 100_000
TOO_MANY = "the oldest messages are not shown; name the place of the Parquet files too"
MAX_HOSTS = 10_000
POLL_SECONDS = 5.0
MAX_RECORD_BYTES = 4096


class Known(NamedTuple):
    sequence: int
    rows: Rows
    size: int
    """Bytes of the message."""


class LiveRows:
    def __init__(self, fleet: Fleet, changed: Callable[[], None]) -> None:
        """`changed` is called on the thread of this object."""
        self._fleet, self._changed = fleet, changed
        self._is_alone = fleet.root is None
        self._retry_limit = live.RetryLimit(fleet, math.inf, self._report)
        self._trouble = ""
        """Why connecting failed; empty once a server has answered."""
        self._denied = ""
        """The right that this user lacks, until a message comes."""
        self._logged = ""
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, int], Known] = {}
        self._bytes = 0
        self._by_run: dict[RunKey, dict[tuple[str, int], Rows]] = {}
        self._deleted: dict[RunKey, None] = {}
        """The latest last."""
        self._hosts: dict[tuple[str, str], dict[str, Any]] = {}
        self._collected = 0
        self.dropped = 0
        """Entries dropped from `rows` since the files, or the stream's beginning, last passed all dropped ones."""
        self._dropped_upto = 0
        """The sequence of the latest dropped entry."""
        self.dropped_deletions = 0
        self.changes = 0
        """Increases with each message."""
        problem = f"{fleet.shown_servers}: not connected yet"
        self._state: dict[str, Any] = {"connected": False, "waiting": None, "problem": problem}

    def start(self) -> None:
        threading.Thread(target=lambda: asyncio.run(self._follow()), name="stream", daemon=True).start()

    # ---- for other threads

    def rows(self) -> list[Rows]:
        """In the order of the stream."""
        with self._lock:
            return [known.rows for known in self._rows.values()]

    def rows_of(self, run: RunKey) -> list[Rows]:
        with self._lock:
            return list(self._by_run.get(run, {}).values())

    def deleted(self) -> set[RunKey]:
        with self._lock:
            return set(self._deleted)

    def hosts(self) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._hosts.values())

    def state(self) -> dict[str, Any]:
        """The state of the stream. `dropped`: how many uncollected entries were dropped from `rows`."""
        with self._lock:
            return {**self._state, "rows": len(self._rows), "dropped": 0 if self._is_alone else self.dropped}

    def collected(self) -> int:
        """The sequence up to which the files have every message at the time of this call; 0 without files."""
        with self._lock:
            return self._collected

    def remove_collected(self, files: Ranges, upto: int) -> bool:
        """Drops rows that the files have; returns whether there were any. `upto`: `collected` before the listing."""
        with self._lock:
            gone = [key for key, known in self._rows.items() if known.sequence <= upto or key in files]
            for key in gone:
                self._remove(key)
            return bool(gone)

    # ---- its thread

    def _remove(self, key: tuple[str, int]) -> None:
        known = self._rows.pop(key)
        self._bytes -= known.size
        run = known.rows.run
        of_run = self._by_run.get(run, {})
        of_run.pop(key, None)
        if not of_run:
            self._by_run.pop(run, None)

    def _add(self, sequence: int, rows: Rows, size: int) -> None:
        entry = rows.tables["entries"][0]
        key = (entry["archive"], entry["entry"])
        with self._lock:
            if rows.run in self._deleted or key in self._rows:
                return
            self._rows[key] = Known(sequence, rows, size)
            self._bytes += size
            self._by_run.setdefault(rows.run, {})[key] = rows
            while len(self._rows) > MAX_ROWS or self._bytes > MAX_BYTES:
                oldest = next(iter(self._rows))
                self._dropped_upto = max(self._dropped_upto, self._rows[oldest].sequence)
                self._remove(oldest)
                self.dropped += 1
            self.changes += 1

    def _delete(self, run: RunKey) -> None:
        with self._lock:
            self._deleted.pop(run, None)
            self._deleted[run] = None
            if len(self._deleted) > MAX_DELETED:
                del self._deleted[next(iter(self._deleted))]
                self.dropped_deletions += 1
            for key in list(self._by_run.get(run, {})):
                self._remove(key)
            self.changes += 1
        if self.dropped_deletions == 1:
            self._log(f"the stream names more than {MAX_DELETED} deleted runs; the oldest are forgotten")

    def _keep(self, moved: Moved) -> None:
        """Removes what earlier homes published beyond what the new home kept."""
        with self._lock:
            for key, rows in list(self._by_run.get(moved.run, {}).items()):
                if moved.entries is not None and rows.epoch < moved.epoch and rows.n > moved.entries:
                    self._remove(key)
            self.changes += 1

    def _forget_drops(self, upto: int) -> None:
        """Sets `dropped` to 0 if the latest dropped entry has a sequence of at most `upto`.

        upto: the sequence up to which the files have every message; without files, up to which the stream has none.
        """
        with self._lock:
            if self._dropped_upto <= upto:
                self.dropped = 0

    def _forget_before(self, sequence: int) -> None:
        """Removes the rows of messages that have left the stream."""
        with self._lock:
            gone = [key for key, known in self._rows.items() if known.sequence < sequence]
            for key in gone:
                self._remove(key)
            self.changes += len(gone)
        if gone:
            self._changed()

    async def _follow(self) -> None:
        await asyncio.gather(*(self._forever(work) for work in (self._rows_of_stream, self._records, self._poll)))

    async def _forever(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            try:
                await work()
            except Exception as error:  # the reader sees the problem; only a new try can end it
                self._report(str(error) or type(error).__name__)
            await asyncio.sleep(live.RETRY_SECONDS)

    def _report(self, trouble: str) -> None:
        """Notes why the stream cannot be read."""
        self._trouble = trouble
        if "permissions violation" in trouble.lower():
            self._denied = trouble
        self._note(False, problem=trouble)

    def _note(self, connected: bool, problem: str = "", **more: Any) -> None:
        if problem != "":
            problem = f"{self._fleet.shown_servers}: {problem}"
            self._log(problem)
        with self._lock:
            self._state = {"connected": connected, "waiting": None, "problem": problem, **more}

    def _log(self, text: str) -> None:
        if text != self._logged:
            print(f"digd.fleet: {text}", file=sys.stderr, flush=True)
        self._logged = text

    async def _rows_of_stream(self) -> None:
        begin = live.latest_messages(MAX_ROWS) if self._is_alone else live.uncollected_first
        async for message in live.tail(self._fleet, begin, retry_limit=self._retry_limit):
            if message is None:
                continue
            self._denied = ""
            decoded = live.decoded_message(message)
            if isinstance(decoded, Rows):
                self._add(message.metadata.sequence.stream, decoded, len(message.data))
            elif isinstance(decoded, RunKey):
                self._delete(decoded)
            elif isinstance(decoded, Moved):
                self._keep(decoded)
            self._changed()

    async def _records(self) -> None:
        """Follows the records of hosts. A user without the right to read them still gets the runs."""
        stream = (live.HOST_SUBJECTS, live.HOSTS, live.RetryLimit(self._fleet, math.inf, self._log))
        async for message in live.tail(self._fleet, live.latest_of_each, *stream):
            if message is not None and (record := host_record(message.subject, message.data)) is not None:
                host = record["tenant"], record["host"]
                with self._lock:
                    if host in self._hosts or len(self._hosts) < MAX_HOSTS:
                        self._hosts[host] = record

    async def _poll(self) -> None:
        connection = await live.connect(self._fleet, -1, self._retry_limit)
        try:
            js = connection.jetstream()
            while True:
                try:
                    await self._ask(js)
                except nats.js.errors.NotFoundError:
                    self._trouble = ""
                    self._note(True, problem="no daemon has created the stream yet")
                except (nats.errors.Error, asyncio.TimeoutError) as error:
                    self._report(self._trouble or str(error) or type(error).__name__)
                await asyncio.sleep(POLL_SECONDS)
        finally:
            await connection.close()

    async def _ask(self, js: JetStreamContext) -> None:
        upto = 0 if self._is_alone else await live.collected(js)
        state = (await js.stream_info(live.STREAM)).state
        self._trouble = ""
        waiting = None if self._is_alone else max(state.last_seq - upto, 0)
        problem = ""
        self._forget_drops(state.first_seq - 1 if self._is_alone else upto)
        if self._is_alone:
            self._forget_before(state.first_seq)
            problem = TOO_MANY if state.messages > MAX_ROWS or self.dropped > 0 else ""
        with self._lock:
            self._collected = upto
        self._note(self._denied == "", self._denied or problem, waiting=waiting)


def host_record(subject: str, data: bytes) -> dict[str, Any] | None:
    """Parses the record of a host, and adds the tenant and the host from the subject. None: the record is not valid."""
    parts = subject.split(".")
    if len(parts) != 4 or parts[:2] != ["digd", "host"] or len(data) > MAX_RECORD_BYTES:
        return None
    try:
        body = json.loads(data)
    except ValueError:
        return None
    if not isinstance(body, dict) or body.get("format") != 1:
        return None
    kinds = {"version": str, "sent_ms": int, "started_ms": int, "every_ms": int, "lag": int, "open_runs": int}
    kinds |= {"published": int, "failed": int, "stopping": bool}
    known = {name: body[name] for name, kind in kinds.items() if type(body.get(name)) is kind}
    return {"tenant": parts[2], "host": parts[3], **known}
