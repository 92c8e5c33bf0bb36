"""The totals of each run of a fleet, kept up to date while files appear and go.

A file has one content for each version, so it is read once, the newest day first. What a file says about a run, a rule
and a host is kept; what several files say is added up. Deleted runs are left out as soon as their note is there.
Threads: `refresh` and `take_live` one; `cursor` any. Bounds: `MAX_PARTS` rows, beyond which the oldest files are left
out; `PIECE_BYTES` of files are read at a time. Errors: OSError.
"""

from __future__ import annotations

import bisect
import os
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from .files import File, Files, LocalFiles, open_files
from .query import PARTITIONS, live_table
from .rows import SCHEMA_VERSION, TABLES, Rows, RunKey

MAX_PARTS = 4_000_000
PIECE_BYTES = 32 << 20
PIECE_FILES = 256
MAX_PIECES = 1 << 30
MEMORY = "1GB"
LIVE = 0
"""The number of the file that stands for rows of the stream."""

TABLES_OF_PARTS = """
CREATE TABLE files (id INTEGER PRIMARY KEY, path VARCHAR);
CREATE TABLE run_parts (file INTEGER, tenant VARCHAR, archive VARCHAR, run_number BIGINT, run VARCHAR, epoch BIGINT,
  host VARCHAR, opened_ms BIGINT, heard_ms BIGINT, last_n BIGINT, last_ts BIGINT, messages BIGINT, refused BIGINT,
  ended VARCHAR, ended_ms BIGINT, labels VARCHAR, mode VARCHAR, bytes BIGINT, input_tokens DOUBLE,
  output_tokens DOUBLE, cost DOUBLE);
CREATE TABLE rule_parts (file INTEGER, tenant VARCHAR, archive VARCHAR, run_number BIGINT, rule VARCHAR,
  detections BIGINT, healed BIGINT);
CREATE TABLE other_parts (file INTEGER, tenant VARCHAR, archive VARCHAR, run_number BIGINT);
CREATE TABLE host_parts (file INTEGER, tenant VARCHAR, host VARCHAR, heard_ms BIGINT, messages BIGINT,
  entries BIGINT);
CREATE TABLE deleted (tenant VARCHAR, archive VARCHAR, run_number BIGINT);
"""
PARTS = ("run_parts", "rule_parts", "other_parts", "host_parts")

# The frames of refused messages may be no JSON; CASE reads only the others.
_USAGE = """
CASE WHEN kind = 'message' AND contains(frame, '"usage"') THEN TRY_CAST(frame ->> '$.usage.{}' AS DOUBLE) END
"""
ENTRIES = f"""
SELECT __filename AS name, tenant, host, archive AS publisher, coalesce(origin_archive, archive) AS archive,
  coalesce(origin_run_number, run_number) AS run_number, run, coalesce(epoch, 1) AS epoch, entry, n, ts, arrived_ms,
  kind, strlen(frame) AS bytes,
  CASE WHEN kind = 'message' AND type = 'run_ended' THEN coalesce(frame ->> '$.outcome', 'unknown') END AS ended,
  CASE WHEN kind = 'run_opened' THEN frame ->> '$.labels' END AS labels,
  CASE WHEN kind = 'run_opened' THEN frame ->> '$.mode' END AS mode,
  {_USAGE.format("input_tokens")} AS input_tokens, {_USAGE.format("output_tokens")} AS output_tokens,
  {_USAGE.format("cost")} AS cost
FROM arrived
"""
OTHERS = """
SELECT __filename AS name, tenant, coalesce(origin_archive, archive) AS archive,
  coalesce(origin_run_number, run_number) AS run_number, {} FROM arrived
"""
ADD_RUNS = """
INSERT INTO run_parts
SELECT f.id, tenant, archive, run_number, any_value(run), max(epoch), arg_max(host, epoch), min(arrived_ms),
  max(arrived_ms), max(n), max(ts), count(*) FILTER (kind = 'message'), count(*) FILTER (kind = 'refused'), max(ended),
  max(arrived_ms) FILTER (ended IS NOT NULL), max(labels), max(mode), sum(bytes), sum(input_tokens),
  sum(output_tokens), sum(cost)
FROM piece AS p JOIN files AS f ON f.path = p.name GROUP BY f.id, tenant, archive, run_number
"""
ADD_HOSTS = """
INSERT INTO host_parts
SELECT f.id, tenant, host, max(arrived_ms), count(*) FILTER (kind = 'message'), count(*)
FROM piece AS p JOIN files AS f ON f.path = p.name GROUP BY f.id, tenant, host
"""
ADD_RULES = """
INSERT INTO rule_parts
SELECT f.id, tenant, archive, run_number, rule, count(*), count(*) FILTER (healed)
FROM piece AS p JOIN files AS f ON f.path = p.name GROUP BY f.id, tenant, archive, run_number, rule
"""
ADD_OTHERS = """
INSERT INTO other_parts
SELECT DISTINCT f.id, tenant, archive, run_number FROM piece AS p JOIN files AS f ON f.path = p.name
"""
RANGES = """
SELECT publisher, min(entry), max(entry)
FROM (SELECT publisher, entry, entry - row_number() OVER (PARTITION BY publisher ORDER BY entry) AS island
      FROM (SELECT DISTINCT publisher, entry FROM piece))
GROUP BY publisher, island
"""
# `number` orders runs by their opening. `name` is what addresses call a run: its id, which the latest run of that id
# has alone.
MERGE = """
CREATE OR REPLACE TABLE runs AS
WITH merged AS (
  SELECT tenant, archive, run_number, any_value(run) AS run, arg_max(host, epoch) AS host,
    min(opened_ms) AS opened_ms, max(heard_ms) AS heard_ms, max(last_n) AS last_n, max(last_ts) AS last_ts,
    sum(messages)::BIGINT AS messages, sum(refused)::BIGINT AS refused, max(ended) AS ended,
    max(ended_ms) AS ended_ms, max(labels) AS labels, max(mode) AS mode, sum(bytes)::BIGINT AS bytes,
    sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, sum(cost) AS cost
  FROM run_parts ANTI JOIN deleted USING (tenant, archive, run_number)
  GROUP BY tenant, archive, run_number),
found AS (
  SELECT tenant, archive, run_number, sum(detections)::BIGINT AS detections, sum(healed)::BIGINT AS healed
  FROM rule_parts GROUP BY ALL)
SELECT merged.*, coalesce(detections, 0) AS detections, coalesce(healed, 0) AS healed,
  opened_ms * 1000 + row_number() OVER (PARTITION BY opened_ms ORDER BY tenant, archive, run_number) - 1 AS number,
  CASE WHEN row_number() OVER (PARTITION BY run ORDER BY opened_ms DESC, archive DESC, run_number DESC) = 1 THEN run
       ELSE run || '~' || archive || '-' || run_number END AS name
FROM merged LEFT JOIN found USING (tenant, archive, run_number);
CREATE OR REPLACE TABLE rules AS
SELECT tenant, archive, run_number, rule, sum(detections)::BIGINT AS detections, sum(healed)::BIGINT AS healed
FROM rule_parts SEMI JOIN runs USING (tenant, archive, run_number) GROUP BY ALL;
CREATE OR REPLACE TABLE hosts AS
SELECT tenant, host, max(heard_ms) AS heard_ms, sum(messages)::BIGINT AS messages FROM host_parts GROUP BY ALL;
"""


class Ranges:
    """The entries of each archive that the files have."""

    def __init__(self) -> None:
        self._of: dict[str, list[tuple[int, int]]] = {}

    def add(self, archive: str, low: int, high: int) -> None:
        known = self._of.setdefault(archive, [])
        at = bisect.bisect_left(known, (low, low))
        if at > 0 and known[at - 1][1] >= low - 1:
            at -= 1
        end = at
        while end < len(known) and known[end][0] <= high + 1:
            low, high = min(low, known[end][0]), max(high, known[end][1])
            end += 1
        known[at:end] = [(low, high)]

    def __contains__(self, key: tuple[str, int]) -> bool:
        known = self._of.get(key[0], [])
        at = bisect.bisect_right(known, (key[1], 1 << 62)) - 1
        return at >= 0 and known[at][0] <= key[1] <= known[at][1]


class FleetIndex:
    def __init__(self, root: str | None, folder: str) -> None:
        """`folder`: for what does not fit into memory."""
        place = root if root is None or "://" in root else os.path.abspath(root)
        self.files: Files | None = open_files(place, f"v{SCHEMA_VERSION}") if place is not None else None
        self._db = duckdb.connect(
            config={"memory_limit": MEMORY, "threads": 2, "temp_directory": os.path.join(folder, "duckdb")}
        )
        self._db.execute("SET python_enable_replacements = false")  # names mean tables alone
        self._db.execute(TABLES_OF_PARTS)
        self._db.execute("INSERT INTO files VALUES (?, 'live')", [LIVE])
        self._db.execute(MERGE)
        self._ids: dict[str, tuple[int, File]] = {}
        """The files that were read, by path."""
        self._next_id = LIVE + 1
        self._lock = threading.Lock()
        self.known = Ranges()
        self.deleted: set[RunKey] = set()
        self.total_files = self.left_out_files = 0
        self._must_merge = False
        self._next_merge = 0.0

    @property
    def has_news(self) -> bool:
        """Whether the totals lack something that was read."""
        return self._must_merge

    @property
    def read_files(self) -> int:
        return len(self._ids)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """For one thread."""
        with self._lock:
            return self._db.cursor()

    # ---- reading files

    def refresh(self, max_pieces: int = MAX_PIECES, adds_up: bool = True) -> bool:
        """Reads what is new, at most so many pieces. Returns whether there is more.

        Without `adds_up` the totals wait for `take_live`, because rows of the stream are in the files now.
        """
        if self.files is None:
            return False
        with self._lock:
            fresh, gone = self._difference(self.files)
            changed = self._drop(gone)
            pieces = _pieces(fresh)
            for piece in pieces[:max_pieces]:
                changed = self._read(self.files, piece) or changed
            more = len(pieces) > max_pieces
            self._must_merge = self._find_deleted(self.files) or changed or self._must_merge
            # While there is more to read, adding up takes at most a quarter of the time.
            if adds_up and self._must_merge and (not more or time.monotonic() >= self._next_merge):
                self._merge()
            return more

    def _difference(self, files: Files) -> tuple[list[File], list[int]]:
        there = {
            file.path: file for table in TABLES for file in files.list(table) if file.name.endswith(".parquet")
        }
        gone = [id_ for path, (id_, file) in self._ids.items() if there.get(path) != file]
        fresh = [file for path, file in there.items() if path not in self._ids or self._ids[path][1] != file]
        fresh.sort(key=lambda file: (_day_of(file), file.name), reverse=True)
        self.total_files = len(there)
        ((parts,),) = self._db.execute("SELECT count(*) FROM run_parts").fetchall()
        self.left_out_files = len(fresh) if parts >= MAX_PARTS else 0
        return (fresh if parts < MAX_PARTS else []), gone

    def _drop(self, gone: Sequence[int]) -> bool:
        if not gone:
            return False
        for table in PARTS:
            self._db.execute(f"DELETE FROM {table} WHERE file IN (SELECT unnest(?))", [list(gone)])
        self._db.execute("DELETE FROM files WHERE id IN (SELECT unnest(?))", [list(gone)])
        self._ids = {path: (id_, file) for path, (id_, file) in self._ids.items() if id_ not in set(gone)}
        return True

    def _read(self, files: Files, piece: list[File]) -> bool:
        """All of one table. False: a file went meanwhile, so nothing was read."""
        table = _table_of(piece[0])
        names = {file.path: (self._next_id + i, file) for i, file in enumerate(piece)}
        try:
            reader = read(files, table, [file.path for file in piece], COLUMNS[table])
            self._db.register("arrived", reader)
            self._db.execute(f"CREATE OR REPLACE TEMP TABLE piece AS {_selection(table)}")
        except (FileNotFoundError, duckdb.Error, pa.ArrowException) as error:
            if any(files.read(file.path) is None for file in piece[:1]) or isinstance(error, FileNotFoundError):
                return False
            raise OSError(f"{files.root}: {error}") from None
        finally:
            self._db.unregister("arrived")
        _, base = files.dataset()
        self._db.executemany(
            "INSERT INTO files VALUES (?, ?)", [(id_, f"{base}/{path}") for path, (id_, _) in names.items()]
        )
        self._next_id += len(piece)
        self._ids |= names
        if table == "entries":
            for archive, low, high in self._db.execute(RANGES).fetchall():
                self.known.add(archive, low, high)
        self._add(table)
        return True

    def _add(self, table: str) -> None:
        adding = {"entries": [ADD_RUNS, ADD_HOSTS], "detections": [ADD_RULES]}
        for sql in adding.get(table, [ADD_OTHERS]):
            self._db.execute(sql)
        self._db.execute("DROP TABLE piece")

    def _find_deleted(self, files: Files) -> bool:
        noted = {key for file in files.list("deleted") if (key := _deleted_run(file)) is not None}
        return self._note_deleted(noted)

    def _note_deleted(self, runs: set[RunKey]) -> bool:
        fresh = runs - self.deleted
        if not fresh:
            return False
        self.deleted |= fresh
        self._db.executemany("INSERT INTO deleted VALUES (?, ?, ?)", [tuple(run) for run in fresh])
        return True

    def _merge(self) -> None:
        began = time.monotonic()
        self._db.execute("BEGIN")
        self._db.execute(MERGE)
        self._db.execute("COMMIT")
        self._must_merge = False
        self._next_merge = time.monotonic() + 3 * (time.monotonic() - began)

    # ---- rows of the stream

    def take_live(self, rows: Sequence[Rows], deleted: Iterable[RunKey]) -> None:
        """Replaces the rows that only the stream has."""
        with self._lock:
            self._note_deleted(set(deleted))
            for table in PARTS:
                self._db.execute(f"DELETE FROM {table} WHERE file = ?", [LIVE])
            for table in TABLES if rows else ():
                arrived = live_table(table, rows)
                self._db.register("arrived", arrived.append_column("__filename", pa.array(["live"] * arrived.num_rows)))
                self._db.execute(f"CREATE OR REPLACE TEMP TABLE piece AS {_selection(table)}")
                self._db.unregister("arrived")
                self._add(table)
            self._merge()

    # ---- the files of one run, or of all

    def paths_of(self, run: RunKey) -> dict[str, list[str]]:
        """By table: the files with rows of the run."""
        db = self.cursor()
        sql = """
            SELECT DISTINCT f.path FROM (
              SELECT file, tenant, archive, run_number FROM run_parts
              UNION ALL SELECT file, tenant, archive, run_number FROM rule_parts
              UNION ALL SELECT file, tenant, archive, run_number FROM other_parts) AS p
            JOIN files AS f ON f.id = p.file
            WHERE tenant = ? AND archive = ? AND run_number = ? AND f.id <> ?
        """
        found: dict[str, list[str]] = {table: [] for table in TABLES}
        if self.files is None:
            return found
        start = len(self.files.dataset()[1]) + 1
        for (path,) in db.execute(sql, [*run, LIVE]).fetchall():
            path = path[start:]
            found[path.partition("/")[0]].append(path)
        return found

    def entry_files(self) -> list[File]:
        """Those that were read, newest first."""
        with self._lock:
            found = [file for _, file in self._ids.values() if _table_of(file) == "entries"]
        return sorted(found, key=place_of_file, reverse=True)


COLUMNS = {
    "entries": [
        *("tenant", "host", "archive", "origin_archive", "run_number", "origin_run_number", "run", "epoch", "entry"),
        *("n", "ts", "arrived_ms", "kind", "type", "frame"),
    ],
    "detections": ["tenant", "archive", "origin_archive", "run_number", "origin_run_number", "rule", "healed"],
    "interventions": ["tenant", "archive", "origin_archive", "run_number", "origin_run_number"],
    "outcomes": ["tenant", "archive", "origin_archive", "run_number", "origin_run_number"],
}


def read(files: Files, table: str, paths: Iterable[str], columns: Sequence[str], where: Any = None) -> Any:
    """A reader of record batches; `__filename` is the last column. Files of an earlier digd have nulls in new ones."""
    system, base = files.dataset()
    schema = pa.schema([*TABLES[table], *(pa.field(name, kind) for name, kind in PARTITIONS)])
    dataset = ds.dataset(
        [f"{base}/{path}" for path in paths],
        schema=schema,
        filesystem=system,
        format="parquet",
        partitioning=ds.partitioning(pa.schema(PARTITIONS), flavor="hive"),
    )
    return dataset.scanner(columns=[*columns, "__filename"], filter=where).to_reader()


def place_of_file(file: File) -> tuple[str, str]:
    """Orders files by day, and those of a day by number."""
    return _day_of(file), file.path


def _selection(table: str) -> str:
    return ENTRIES if table == "entries" else OTHERS.format("rule, healed" if table == "detections" else "1 AS one")


def _pieces(fresh: list[File]) -> list[list[File]]:
    """Entries before the rest of the same day, which names only runs that have entries."""
    pieces: list[list[File]] = []
    size = 0
    for file in sorted(fresh, key=lambda file: (_day_of(file), _table_of(file) == "entries"), reverse=True):
        last = pieces[-1] if pieces else None
        is_full = last is None or len(last) >= PIECE_FILES or size + file.size > PIECE_BYTES
        if last is None or is_full or _table_of(last[0]) != _table_of(file):
            last, size = [], 0
            pieces.append(last)
        last.append(file)
        size += file.size
    return pieces


def _table_of(file: File) -> str:
    return file.path.partition("/")[0]


def _day_of(file: File) -> str:
    return file.folder.rpartition("day=")[2]


def _deleted_run(file: File) -> RunKey | None:
    """deleted/tenant=TENANT/ARCHIVE-RUN.json"""
    archive, _, number = file.name.removesuffix(".json").rpartition("-")
    tenant = file.folder.rpartition("tenant=")[2]
    return RunKey(tenant, archive, int(number)) if archive and number.isdigit() else None


__all__ = ["FleetIndex", "LocalFiles", "Ranges", "read"]
