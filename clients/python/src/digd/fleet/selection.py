"""Runs of a fleet for programs that read archives: each row as one JSON object in a line.

A line has the fields of a message of the stream (docs/fleet.md). `digctl` writes an archive from the lines. If the runs
come from several archives, runs, entries and detections get new numbers, so that no number occurs twice.
`detection_shift` is what was added to the numbers of detections.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import duckdb

from .interrupts import run_until_interrupted
from .places import Fleet, WrongUse
from .query import FETCH, connect
from .rows import KEYS, ORIGIN, OTHER_TABLES, TABLES, Rows


class Wanted(NamedTuple):
    where: str = ""
    """A condition on the columns of `runs`; empty: all."""
    run: str = ""
    """A run's id; if several runs have it, the latest counts. Empty: all runs."""
    limit: int = 0
    """The maximum number of runs, the newest ones; 0: no maximum."""
    since_ms: int = 0
    """Only runs that were opened at this time or later."""


class SelectedRun(NamedTuple):
    tenant: str
    host: str
    archive: str
    run_number: int
    run: str
    opened_ms: int
    last_entry: int | None = None
    """The last entry that counts; None: all entries count."""
    entries: int | None = None
    """The number of entries that count; None: unknown."""
    missing: int = 0
    """How many entries before the last one the files lack: not collected yet, or in days that were dropped."""


def open_fleet(fleet: Fleet) -> duckdb.DuckDBPyConnection:
    """The stored rows, and those that only the stream has, if it is named."""
    live: list[Rows] = []
    if fleet.servers:
        from .live import uncollected  # only this needs NATS

        # Reads the stream before the files. So a row that is collected meanwhile is in at least one of the two.
        live = run_until_interrupted(uncollected(fleet))
    return connect(fleet.need_root(), live)


def select(db: duckdb.DuckDBPyConnection, wanted: Wanted) -> list[SelectedRun]:
    """Oldest first."""
    sql = "SELECT tenant, host, archive, run_number, run, opened_ms FROM runs WHERE opened_ms >= ?"
    values: list[Any] = [wanted.since_ms]
    if wanted.run:
        sql += " AND run = ?"
        values.append(wanted.run)
    if wanted.where:
        sql += f" AND ({wanted.where})"
    limit = 1 if wanted.run else wanted.limit
    sql += " ORDER BY opened_ms DESC, archive DESC, run_number DESC" + (f" LIMIT {limit}" if limit else "")
    try:
        found = db.execute(sql, values).fetchall()
    except duckdb.Error as error:
        raise WrongUse(f"--where: {error}") from None
    runs = [SelectedRun(*row) for row in reversed(found)]
    # Runs of one archive keep their numbers, and readers of archives go by these.
    return sorted(runs, key=lambda run: run.run_number) if len({run.archive for run in runs}) == 1 else runs


def as_it_is_now(db: duckdb.DuckDBPyConnection, runs: list[SelectedRun]) -> list[SelectedRun]:
    """The runs with the counts of their entries, and with their last entry now, so that later entries do not count."""
    _select_into(db, runs)
    sql = (
        "SELECT r.archive, r.run_number, max(r.entry), count(*), max(r.n) - count(DISTINCT r.n)"
        " FROM entries AS r JOIN selected AS s ON r.archive = s.archive AND r.run_number = s.run_number GROUP BY ALL"
    )
    ends = {(archive, number): end for archive, number, *end in db.execute(sql).fetchall()}
    found = ((run, *ends.get((run.archive, run.run_number), (0, 0, 0))) for run in runs)
    return [
        run._replace(last_entry=last, entries=count, missing=missing) for run, last, count, missing in found if count
    ]


def _rows_of(db: duckdb.DuckDBPyConnection, table: str) -> Iterator[dict[str, Any]]:
    """The rows of the selected runs, in order. Several tables can be read at once, but not `entries` twice."""
    names = [field.name for field in TABLES[table] if field.name != "sequence"]
    columns = ", ".join(f'r."{name}"' for name in names)
    order = {"entries": "", "detections": ", r.id"}.get(table, ", r.position")
    sql = (
        f"SELECT {columns}, s.number, s.entry_shift, s.detection_shift FROM {table} AS r"
        f" JOIN selected AS s ON r.archive = s.archive AND r.run_number = s.run_number"
        f" WHERE s.last_entry IS NULL OR r.entry <= s.last_entry ORDER BY s.number, r.entry{order}"
    )
    if table == "entries":
        cursor = db.execute(sql)
    else:  # a connection has one result at a time, and other connections know no registered data
        db.execute(f"CREATE OR REPLACE TABLE selected_{table} AS {sql}")
        cursor = db.cursor().execute(f"FROM selected_{table}")
    while batch := cursor.fetchmany(FETCH):
        for row in batch:
            yield dict(zip([*names, "number", "entry_shift", "detection_shift"], row))


def _select_into(db: duckdb.DuckDBPyConnection, runs: list[SelectedRun]) -> None:
    db.execute(
        "CREATE OR REPLACE TABLE selected (archive VARCHAR, run_number BIGINT, number BIGINT, entry_shift BIGINT,"
        " detection_shift BIGINT, last_entry BIGINT)"
    )
    numbers = [run.run_number for run in runs]
    several = len({run.archive for run in runs}) > 1 or numbers != sorted(numbers)
    shifts: dict[str, tuple[int, int]] = {}
    if several:
        entry_shift = detection_shift = 0
        for archive in dict.fromkeys(run.archive for run in runs):
            shifts[archive] = (entry_shift, detection_shift)
            for table, column in (("entries", "entry"), ("detections", "id")):
                last = db.execute(f"SELECT max({column}) FROM {table} WHERE archive = ?", [archive]).fetchone()
                step = (last[0] or 0) if last else 0
                if table == "entries":
                    entry_shift += step
                else:
                    detection_shift += step
    selected = [
        (
            run.archive,
            run.run_number,
            i + 1 if several else run.run_number,
            *shifts.get(run.archive, (0, 0)),
            run.last_entry,
        )
        for i, run in enumerate(runs)
    ]
    if selected:
        db.executemany("INSERT INTO selected VALUES (?, ?, ?, ?, ?, ?)", selected)


def lines(db: duckdb.DuckDBPyConnection, runs: list[SelectedRun]) -> Iterable[str]:
    """The rows of the runs, run by run, each run in its order."""
    _select_into(db, runs)
    beside = {table: _rows_of(db, table) for table in OTHER_TABLES}
    ahead = {table: next(rows, None) for table, rows in beside.items()}
    for row in _rows_of(db, "entries"):
        at = (row["number"], row["entry"])
        line = {name: row[name] for name in row if name not in ("host", "archive", "cut", *ORIGIN)}
        for table, rows in beside.items():
            of_entry: list[dict[str, Any]] = []
            while (item := ahead[table]) is not None and (item["number"], item["entry"]) <= at:
                if (item["number"], item["entry"]) == at:
                    of_entry.append(item)
                ahead[table] = next(rows, None)
            line[table] = [_moved(table, item) for item in of_entry]
        line["run_number"] = line.pop("number")
        line["entry"] += line.pop("entry_shift")
        yield json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def _moved(table: str, row: dict[str, Any]) -> dict[str, Any]:
    dropped = (*KEYS, "number", "entry_shift", "detection_shift", "position")
    kept = {name: row[name] for name in row if name not in dropped}
    if table == "detections":
        kept["id"] += row["detection_shift"]
    return kept
