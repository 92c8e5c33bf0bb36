"""What only the stream has: rows that the files do not have yet, runs deleted meanwhile, and the records of hosts.

A thread follows the stream with consumers of its own; it takes nothing from the collectors. Threads: any. Bounds:
`MAX_ROWS` entries, beyond which the oldest are dropped and counted; `MAX_HOSTS` records. Failure: `state` has the
reason, and the thread tries again.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import nats.errors
import nats.js.errors

from . import live
from .index import Ranges
from .places import Fleet
from .rows import Rows, RunKey

MAX_ROWS = 200_000
MAX_HOSTS = 10_000
POLL_SECONDS = 5.0
MAX_RECORD_BYTES = 4096


class Known(NamedTuple):
    sequence: int
    rows: Rows


class LiveRows:
    def __init__(self, fleet: Fleet, changed: Callable[[], None]) -> None:
        """`changed` is called on the thread of this object."""
        self._fleet, self._changed = fleet, changed
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, int], Known] = {}
        self._by_run: dict[RunKey, dict[tuple[str, int], Rows]] = {}
        self._deleted: set[RunKey] = set()
        self._hosts: dict[tuple[str, str], dict[str, Any]] = {}
        self._collected = 0
        self.dropped = 0
        self.changes = 0
        """Increases with each message."""
        self._state: dict[str, Any] = {"connected": False, "waiting": None, "problem": "not connected yet"}

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
        with self._lock:
            return {**self._state, "rows": len(self._rows), "dropped": self.dropped}

    def collected(self) -> int:
        """The sequence up to which everything is in files that are older than this call."""
        with self._lock:
            return self._collected

    def remove_collected(self, files: Ranges, upto: int) -> bool:
        """Forgets what the files have. `upto`: `collected` before the files were read. Returns whether it did."""
        with self._lock:
            gone = [key for key, known in self._rows.items() if known.sequence <= upto or key in files]
            for key in gone:
                self._remove(key)
            return bool(gone)

    # ---- its thread

    def _remove(self, key: tuple[str, int]) -> None:
        run = self._rows.pop(key).rows.run
        of_run = self._by_run.get(run, {})
        of_run.pop(key, None)
        if not of_run:
            self._by_run.pop(run, None)

    def _add(self, sequence: int, rows: Rows) -> None:
        entry = rows.tables["entries"][0]
        key = (entry["archive"], entry["entry"])
        with self._lock:
            if rows.run in self._deleted or key in self._rows:
                return
            self._rows[key] = Known(sequence, rows)
            self._by_run.setdefault(rows.run, {})[key] = rows
            if len(self._rows) > MAX_ROWS:
                self._remove(next(iter(self._rows)))
                self.dropped += 1
            self.changes += 1

    def _delete(self, run: RunKey) -> None:
        with self._lock:
            self._deleted.add(run)
            for key in list(self._by_run.get(run, {})):
                self._remove(key)
            self.changes += 1

    async def _follow(self) -> None:
        await asyncio.gather(*(self._forever(work) for work in (self._rows_of_stream, self._records, self._poll)))

    async def _forever(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            try:
                await work()
            except Exception as error:  # the reader sees the problem; only a new try can end it
                self._note(False, problem=str(error) or type(error).__name__)
            await asyncio.sleep(live.RETRY_SECONDS)

    def _note(self, connected: bool, **more: Any) -> None:
        with self._lock:
            self._state = {"connected": connected, "waiting": None, "problem": "", **more}

    async def _rows_of_stream(self) -> None:
        async for message in live.tail(self._fleet, live.uncollected_first):
            if message is None:
                continue
            decoded = live.decoded_message(message)
            if isinstance(decoded, Rows):
                self._add(message.metadata.sequence.stream, decoded)
            elif isinstance(decoded, RunKey):
                self._delete(decoded)
            self._changed()

    async def _records(self) -> None:
        async for message in live.tail(self._fleet, live.latest_of_each, live.HOST_SUBJECTS, live.HOSTS):
            if message is not None and (record := host_record(message.subject, message.data)) is not None:
                with self._lock:
                    if len(self._hosts) < MAX_HOSTS:
                        self._hosts[record["tenant"], record["host"]] = record

    async def _poll(self) -> None:
        connection = await live.connect(self._fleet, reconnects=-1)
        try:
            js = connection.jetstream()
            while True:
                try:
                    upto = await live.collected(js)
                    last = (await js.stream_info(live.STREAM)).state.last_seq
                    with self._lock:
                        self._collected = upto
                    self._note(True, waiting=max(last - upto, 0))
                except nats.js.errors.NotFoundError:
                    self._note(True, problem="no daemon has created the stream yet")
                except (nats.errors.Error, asyncio.TimeoutError) as error:
                    self._note(False, problem=str(error) or type(error).__name__)
                await asyncio.sleep(POLL_SECONDS)
        finally:
            await connection.close()


def host_record(subject: str, data: bytes) -> dict[str, Any] | None:
    """The record of `digd.host.TENANT.HOST`, with these two names. None: it is not readable."""
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
