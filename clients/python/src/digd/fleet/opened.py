"""The runs that a viewer has opened. Their rows, later ones too, go to a program that writes an archive.

One counter numbers the rows of all runs, so rows of different archives never share a number. Thread: one at a time.
Bounds: `MAX_RUNS` runs of `MAX_BYTES` each. While a run is read, all its rows except entries are in memory. Failure:
`Refused`, OSError, duckdb.Error, pyarrow.ArrowException.
"""

from __future__ import annotations

import heapq
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow.compute as pc

from .index import FleetIndex, read
from .live_rows import LiveRows
from .page import Refused, now_ms
from .query import FETCH
from .rows import KEYS, OTHER_TABLES, TABLES, Rows, RunKey

MAX_RUNS = 64
MAX_BYTES = 1 << 30
"""Of the stored JSON of a run."""
GAP_MS = 30_000
"""After this time, an entry that is still missing is skipped."""
ENTRY_FIELDS = (
    *("entry", "run_number", "n", "kind", "session", "seq", "ts", "arrived_ms", "type", "code", "verdicts", "frame"),
)

Entry = dict[str, Any]
"""A row of `entries` with the lists `detections`, `interventions` and `outcomes`."""


@dataclass
class OpenedRun:
    name: str
    key: RunKey
    run: str
    number: int
    last_n: int = 0


class OpenedRuns:
    def __init__(self, index: FleetIndex, live: LiveRows | None, write: Callable[[str], None], first: int) -> None:
        """`write` gets lines. `first`: the least number that no row of the archive has had."""
        self._index, self._live, self._write = index, live, write
        self._next = first
        self._runs: dict[str, OpenedRun] = {}

    def open(self, name: str) -> int:
        """Writes the rows of the run. Returns its number in the archive."""
        row = self._resolve(name)
        if row is None:
            raise Refused(404, "no_such_run", "the fleet has no such run")
        known = self._runs.get(name)
        if known is not None:
            return known.number
        if len(self._runs) >= MAX_RUNS:
            raise Refused(503, "busy", f"{MAX_RUNS} runs are open; try again")
        if row["bytes"] > MAX_BYTES:
            raise Refused(413, "too_large", f"the run has {row['bytes']} bytes; a page shows at most {MAX_BYTES}")
        opened = OpenedRun(name, _key(row), row["run"], self._take_number())
        try:
            self._send_new(opened)
        except BaseException:  # the archive may have a part of the run
            self._write(f"forget {opened.number}")
            raise
        if opened.last_n == 0:
            raise Refused(404, "no_such_run", "the rows of the run are gone")
        self._runs[name] = opened
        return opened.number

    def close(self, name: str) -> None:
        self._runs.pop(name, None)

    def update(self) -> None:
        """Sends the rows that came since, and forgets runs that were deleted."""
        for run in list(self._runs.values()):
            row = self._resolve(run.name)
            if row is None or _key(row) != run.key:
                self.close(run.name)
                self._write(f"forget {run.number}")
            elif row["last_n"] > run.last_n or any(rows.n > run.last_n for rows in self._live_rows(run.key)):
                self._send_new(run)

    # ----

    def _resolve(self, name: str) -> dict[str, Any] | None:
        db = self._index.cursor()
        sql = "SELECT tenant, archive, run_number, run, last_n, bytes FROM runs WHERE "
        found = db.execute(sql + "name = ?", [name]).fetchall()
        if not found and (match := re.fullmatch(r"(.*)~([0-9A-Za-z_]+)-(\d{1,18})", name, re.DOTALL)):
            where = "run = ? AND archive = ? AND run_number = ?"
            found = db.execute(sql + where, [match[1], match[2], int(match[3])]).fetchall()
        names = ("tenant", "archive", "run_number", "run", "last_n", "bytes")
        return dict(zip(names, found[0])) if found else None

    def _live_rows(self, key: RunKey) -> list[Rows]:
        return self._live.rows_of(key) if self._live is not None else []

    def _take_number(self) -> int:
        self._next += 1
        return self._next - 1

    def _send_new(self, run: OpenedRun) -> None:
        sent = False
        for entry in self._new_entries(run):
            is_late = entry["arrived_ms"] < now_ms() - GAP_MS
            if entry["n"] > run.last_n + 1 and run.last_n > 0 and not is_late:
                break  # the rows before it are on their way
            self._write("row " + json.dumps(self._numbered(run, entry), ensure_ascii=False, separators=(",", ":")))
            run.last_n = entry["n"]
            sent = True
        if sent:
            self._write("commit")

    def _new_entries(self, run: OpenedRun) -> Iterator[Entry]:
        """The entries after `last_n`, in order. If several homes have an entry `n`, that of the latest counts."""
        live = sorted(
            (_entry_of(rows) for rows in self._live_rows(run.key) if rows.n > run.last_n),
            key=lambda entry: (entry["n"], -entry["epoch"]),
        )
        is_complete = bool(live) and live[0]["n"] == run.last_n + 1 and live[-1]["n"] - run.last_n == len(live)
        stored = iter(()) if is_complete else self._stored_entries(run)
        last = run.last_n
        for entry in _merged(stored, iter(live)):
            if entry["n"] > last:
                last = entry["n"]
                yield entry

    def _stored_entries(self, run: OpenedRun) -> Iterator[Entry]:
        if self._index.files is None:
            return
        paths = self._index.paths_of(run.key)
        if not paths["entries"]:
            return
        of_run = pc.field("run") == run.run
        beside: dict[tuple[str, int], dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        for table in OTHER_TABLES:
            order = "id" if table == "detections" else "position"
            for row in self._rows(table, paths[table], run, of_run, order):
                beside[row["archive"], row["entry"]][table].append(row)
        fresh = of_run & (pc.field("n") > run.last_n)
        for entry in self._rows("entries", paths["entries"], run, fresh, "n, epoch DESC"):
            entry.update({table: beside[entry["archive"], entry["entry"]][table] for table in OTHER_TABLES})
            yield entry

    def _rows(self, table: str, paths: list[str], run: OpenedRun, where: Any, order: str) -> Iterator[dict[str, Any]]:
        if not paths:
            return
        assert self._index.files is not None
        names = [field.name for field in TABLES[table] if field.name != "sequence"]
        db = duckdb.connect(config={"threads": 1, "memory_limit": "1GB"})
        try:
            db.register("arrived", read(self._index.files, table, paths, ["tenant", *names], where))
            columns = ", ".join(f'"{name}"' for name in names)
            sql = (
                f"SELECT {columns} FROM (SELECT * REPLACE (coalesce(epoch, 1) AS epoch) FROM arrived)"
                " WHERE tenant = ? AND coalesce(origin_archive, archive) = ?"
                f" AND coalesce(origin_run_number, run_number) = ? ORDER BY {order}"
            )
            cursor = db.execute(sql, list(run.key))
            while batch := cursor.fetchmany(FETCH):
                for row in batch:
                    yield dict(zip(names, row))
        finally:
            db.close()

    def _numbered(self, run: OpenedRun, entry: Entry) -> dict[str, Any]:
        line: dict[str, Any] = {name: entry.get(name) for name in ENTRY_FIELDS}
        line |= {"entry": self._take_number(), "run": run.name, "run_number": run.number}
        for table in OTHER_TABLES:
            line[table] = [{name: row[name] for name in row if name not in (*KEYS, "position")} for row in entry[table]]
        ids = [row["id"] for row in line["detections"]]
        if ids:
            shift = self._next - min(ids)
            for row in line["detections"]:
                row["id"] += shift
            line["detection_shift"] = shift
            self._next += max(ids) - min(ids) + 1
        return line


def _key(row: dict[str, Any]) -> RunKey:
    return RunKey(row["tenant"], row["archive"], row["run_number"])


def _entry_of(rows: Rows) -> Entry:
    columns = {table: [field.name for field in TABLES[table]] for table in OTHER_TABLES}
    entry = dict(rows.tables["entries"][0])
    for table in OTHER_TABLES:
        entry[table] = [{name: row.get(name) for name in columns[table]} for row in rows.tables[table]]
    return entry


def _merged(first: Iterable[Entry], second: Iterable[Entry]) -> Iterator[Entry]:
    return iter(heapq.merge(first, second, key=lambda entry: (entry["n"], -entry["epoch"])))
