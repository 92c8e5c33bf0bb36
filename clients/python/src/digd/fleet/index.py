"""The totals of each run of a fleet, kept up to date while files appear and go.

A file that changes counts as a new file, so the index reads each file once, those of the newest day first. It keeps the
totals of each run, rule and host in each file, and adds up those of all files. A deleted run leaves the totals as soon
as the index finds the note about its deletion. The index divides the listed files into pieces. One query reads a piece,
and all files of a piece belong to one table.
Threads: one thread calls `list_files`, `read_pieces` and `take_live`. Any thread may call the rest, also meanwhile.
Bounds: `MAX_PARTS` pairs of a run and a file; beyond that, the oldest files are left out. A piece has at most
`MAX_PIECE_FILES` files and `MAX_PIECE_BYTES`, or one larger file. DuckDB uses at most `MEMORY`, and writes what exceeds
it to the folder. The reader holds a few row groups of each of `MAX_OPEN` files. Errors: OSError, duckdb.Error.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from .files import File, Files, open_files
from .query import PARTITIONS, live_table
from .rows import SCHEMA_VERSION, TABLES, Rows, RunKey

MAX_PARTS = 4_000_000
MAX_PIECE_BYTES = 16 << 20
MAX_PIECE_FILES = 512
FIRST_FILES = 16
"""Files of the first piece. Each piece may have twice as many as the one before, so the first runs are there early."""
MAX_PIECES = 1 << 30
BATCH_ROWS = 1 << 14
MAX_BATCHES = 4
"""Batches that the reader has ready."""
MAX_OPEN = 4
"""Files that it opens ahead."""
LISTING_SECONDS = 30.0
"""While pieces wait, files are listed again so often: what is new meanwhile is read first."""
MEMORY = "1GB"
Place = tuple[Any, ...]
TABLE_ORDER = {table: i for i, table in enumerate(TABLES)}
LIVE = 0
"""The id in the table `files` that stands for the rows of the stream."""

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
SELECT file, tenant, host, archive AS publisher, coalesce(origin_archive, archive) AS archive,
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
SELECT file, tenant, coalesce(origin_archive, archive) AS archive,
  coalesce(origin_run_number, run_number) AS run_number, {} FROM arrived
"""
ADD_RUNS = """
INSERT INTO run_parts
SELECT file, tenant, archive, run_number, any_value(run), max(epoch), arg_max(host, epoch), min(arrived_ms),
  max(arrived_ms), max(n), max(ts), count(*) FILTER (kind = 'message'), count(*) FILTER (kind = 'refused'), max(ended),
  max(arrived_ms) FILTER (ended IS NOT NULL), max(labels), max(mode), sum(bytes), sum(input_tokens),
  sum(output_tokens), sum(cost)
FROM piece GROUP BY file, tenant, archive, run_number
"""
ADD_HOSTS = """
INSERT INTO host_parts
SELECT file, tenant, host, max(arrived_ms), count(*) FILTER (kind = 'message'), count(*)
FROM piece GROUP BY file, tenant, host
"""
ADD_RULES = """
INSERT INTO rule_parts
SELECT file, tenant, archive, run_number, rule, count(*), count(*) FILTER (healed)
FROM piece GROUP BY file, tenant, archive, run_number, rule
"""
ADD_OTHERS = """
INSERT INTO other_parts
SELECT DISTINCT file, tenant, archive, run_number FROM piece
"""
RANGES = """
SELECT publisher, min(entry), max(entry)
FROM (SELECT publisher, entry, entry - row_number() OVER (PARTITION BY publisher ORDER BY entry) AS island
      FROM (SELECT DISTINCT publisher, entry FROM piece))
GROUP BY publisher, island
"""
# `number` orders runs by their opening. `name` is the run in addresses. The latest of the runs with the same id has
# this id as its name; the others have ID~ARCHIVE-NUMBER.
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
    """For each archive: the ranges of entry numbers that the files contain."""

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
        """`root`: the place of the files; None: the index has only rows of the stream. `folder`: for DuckDB's files."""
        place = root if root is None or "://" in root else os.path.abspath(root)
        self.files: Files | None = open_files(place, f"v{SCHEMA_VERSION}") if place is not None else None
        self._database = duckdb.connect(
            config={"memory_limit": MEMORY, "threads": 2, "temp_directory": os.path.join(folder, "duckdb")}
        )
        self._lock = threading.Lock()
        """No thread holds it while rows are read, so the page gets its answers meanwhile."""
        self._db = self.cursor()
        self._db.execute(TABLES_OF_PARTS)
        self._db.execute("INSERT INTO files VALUES (?, 'live')", [LIVE])
        self._db.execute(MERGE)
        self._ids: dict[str, tuple[int, File]] = {}
        """The files that were read, by path."""
        self._next_id = LIVE + 1
        self._waiting: list[list[File]] = []
        self._pieces_read = 0
        self.is_listed = False
        """False: the files were never listed, or a file disappeared while it was read."""
        self._next_listing = 0.0
        self._oldest: Place = ()
        """Files before this place are left out."""
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
        """A new connection to the totals, for use by one thread."""
        with self._lock:
            found = self._database.cursor()
        found.execute("SET python_enable_replacements = false")  # names mean tables alone
        return found

    # ---- reading files

    @property
    def needs_listing(self) -> bool:
        """Whether to call `list_files` before `read_pieces`."""
        return not self.is_listed or not self._waiting or time.monotonic() >= self._next_listing

    def list_files(self) -> None:
        """Finds what is new, and drops what is gone."""
        if self.files is None:
            return
        # Entries first: a collector writes them last, so all that came with them is listed too.
        listed = [file for table in TABLES for file in self.files.list(table) if file.name.endswith(".parquet")]
        there = {file.path: file for file in listed}
        gone = {id_ for path, (id_, file) in self._ids.items() if there.get(path) != file}
        self._must_merge = self._drop(gone) or self._must_merge
        if self._count_parts() < MAX_PARTS // 2:
            self._oldest = ()
        fresh = [file for path, file in there.items() if path not in self._ids]
        kept = [file for file in fresh if _place(file) >= self._oldest]
        self.total_files, self.left_out_files = len(there), len(fresh) - len(kept)
        self._waiting = _pieces(kept, self._pieces_read)
        self.is_listed = True
        self._next_listing = time.monotonic() + LISTING_SECONDS

    def read_pieces(self, max_pieces: int = MAX_PIECES, adds_up: bool = True) -> bool:
        """Reads listed files. Returns whether some are still unread.

        If a file has disappeared, it stops, and `needs_listing` is true. Without `adds_up` only `take_live` renews the
        totals: until it drops the rows of the stream that the files now have, these would count twice.
        """
        if self.files is None:
            return False
        for _ in range(min(max_pieces, len(self._waiting))):
            if not self._read(self.files, self._waiting[0]):
                self.is_listed = False
                break
            self._waiting.pop(0)
            self._pieces_read += 1
            self._must_merge = True
            self._keep_bound()
        more = bool(self._waiting)
        self._must_merge = self._find_deleted(self.files) or self._must_merge
        # While there is more to read, adding up takes at most a quarter of the time.
        if adds_up and self._must_merge and (not more or time.monotonic() >= self._next_merge):
            self._merge()
        return more

    def _count_parts(self) -> int:
        ((parts,),) = self._db.execute("SELECT count(*) FROM run_parts").fetchall()
        return int(parts)

    def _keep_bound(self) -> None:
        """Beyond `MAX_PARTS` parts, drops the oldest files, and all unread files that are older than the kept ones."""
        surplus = self._count_parts() - MAX_PARTS
        if surplus <= 0:
            return
        parts = dict(self._db.execute("SELECT file, count(*) FROM run_parts GROUP BY file").fetchall())
        dropped: set[int] = set()
        oldest: Place = ()
        for id_, file in sorted(self._ids.values(), key=lambda known: _place(known[1])):
            oldest = _place(file)
            if surplus <= 0:
                break
            surplus -= parts.get(id_, 0)
            dropped.add(id_)
        self._drop(dropped)
        waiting = [[file for file in piece if _place(file) >= oldest] for piece in self._waiting]
        self.left_out_files += len(dropped) + sum(map(len, self._waiting)) - sum(map(len, waiting))
        self._waiting = [piece for piece in waiting if piece]
        self._oldest = oldest

    def _drop(self, gone: set[int]) -> bool:
        if not gone:
            return False
        with self._transaction():
            for table in PARTS:
                self._db.execute(f"DELETE FROM {table} WHERE file IN (SELECT unnest(?))", [list(gone)])
            self._db.execute("DELETE FROM files WHERE id IN (SELECT unnest(?))", [list(gone)])
        with self._lock:
            self._ids = {path: known for path, known in self._ids.items() if known[0] not in gone}
        return True

    def _read(self, files: Files, piece: list[File]) -> bool:
        """Reads a piece. Returns False if a file disappeared meanwhile; then nothing was read."""
        table = _table_of(piece[0])
        ids = {file.path: self._next_id + i for i, file in enumerate(piece)}
        try:
            reader = read(files, table, [file.path for file in piece], COLUMNS[table])
            self._db.register("arrived", _numbered(reader, files, ids))
            self._db.execute(f"CREATE OR REPLACE TEMP TABLE piece AS {_selection(table)}")
        except (FileNotFoundError, duckdb.Error, pa.ArrowException) as error:
            if isinstance(error, FileNotFoundError) or not _are_there(files, piece):
                return False
            raise OSError(f"{files.root}: {error}") from None
        finally:
            self._db.unregister("arrived")
        with self._transaction():
            named = pa.table({"id": pa.array(list(ids.values()), pa.int32()), "path": list(ids)})
            self._db.register("named", named)
            self._db.execute("INSERT INTO files SELECT id, path FROM named")
            self._db.unregister("named")
            self._add(table)
        if table == "entries":
            for archive, low, high in self._db.execute(RANGES).fetchall():
                self.known.add(archive, low, high)
        self._db.execute("DROP TABLE piece")
        self._next_id += len(piece)
        with self._lock:
            self._ids |= {file.path: (ids[file.path], file) for file in piece}
        return True

    def _add(self, table: str) -> None:
        adding = {"entries": [ADD_RUNS, ADD_HOSTS], "detections": [ADD_RULES]}
        for sql in adding.get(table, [ADD_OTHERS]):
            self._db.execute(sql)

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
        with self._transaction():
            self._db.execute(MERGE)
        self._must_merge = False
        self._next_merge = time.monotonic() + 3 * (time.monotonic() - began)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    # ---- rows of the stream

    def take_live(self, rows: Sequence[Rows], deleted: Iterable[RunKey]) -> None:
        """Replaces the rows that only the stream has."""
        self._note_deleted(set(deleted))
        with self._transaction():
            for table in PARTS:
                self._db.execute(f"DELETE FROM {table} WHERE file = ?", [LIVE])
            for table in TABLES if rows else ():
                arrived = live_table(table, rows)
                file = pa.repeat(pa.scalar(LIVE, pa.int32()), arrived.num_rows)
                self._db.register("arrived", arrived.append_column("file", file))
                self._db.execute(f"CREATE OR REPLACE TEMP TABLE piece AS {_selection(table)}")
                self._db.unregister("arrived")
                self._add(table)
                self._db.execute("DROP TABLE piece")
        self._merge()

    # ---- the files of one run, or of all

    def paths_of(self, run: RunKey) -> dict[str, list[str]]:
        """By table: the files with rows of the run."""
        sql = """
            SELECT DISTINCT f.path FROM (
              SELECT file, tenant, archive, run_number FROM run_parts
              UNION ALL SELECT file, tenant, archive, run_number FROM rule_parts
              UNION ALL SELECT file, tenant, archive, run_number FROM other_parts) AS p
            JOIN files AS f ON f.id = p.file
            WHERE tenant = ? AND archive = ? AND run_number = ? AND f.id <> ?
        """
        found: dict[str, list[str]] = {table: [] for table in TABLES}
        for (path,) in self.cursor().execute(sql, [*run, LIVE]).fetchall():
            found[path.partition("/")[0]].append(path)
        return found

    def entry_files(self) -> list[File]:
        """The files of the table `entries` that were read, newest first."""
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
    """A reader of record batches; `__filename` is the last column. A column that a file lacks is null."""
    system, base = files.dataset()
    schema = pa.schema([*TABLES[table], *(pa.field(name, kind) for name, kind in PARTITIONS)])
    dataset = ds.dataset(
        [f"{base}/{path}" for path in paths],
        schema=schema,
        filesystem=system,
        format="parquet",
        partitioning=ds.partitioning(pa.schema(PARTITIONS), flavor="hive"),
    )
    scanner = dataset.scanner(
        columns=[*columns, "__filename"],
        filter=where,
        batch_size=BATCH_ROWS,
        batch_readahead=MAX_BATCHES,
        fragment_readahead=MAX_OPEN,
    )
    return scanner.to_reader()


def _numbered(reader: Any, files: Files, ids: dict[str, int]) -> Any:
    """The batches with the column `file`, the file's id, in place of `__filename`. Each batch comes from one file."""
    at = reader.schema.get_field_index("__filename")
    schema = reader.schema.set(at, pa.field("file", pa.int32()))
    start = len(files.dataset()[1]) + 1

    def batches() -> Iterator[Any]:
        for batch in reader:
            if batch.num_rows > 0:
                columns = batch.columns
                id_ = ids[columns[at][0].as_py()[start:]]
                columns[at] = pa.repeat(pa.scalar(id_, pa.int32()), batch.num_rows)
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _are_there(files: Files, piece: list[File]) -> bool:
    there = {file.path for folder in {file.folder for file in piece} for file in files.list(folder)}
    return all(file.path in there for file in piece)


def place_of_file(file: File) -> tuple[str, str]:
    """Orders files by day, and those of a day by number."""
    return _day_of(file), file.path


def _selection(table: str) -> str:
    return ENTRIES if table == "entries" else OTHERS.format("rule, healed" if table == "detections" else "1 AS one")


def _place(file: File) -> Place:
    """Orders files by age: by day; within a day, the files of `entries` first; then by number."""
    return _day_of(file), _table_of(file) != "entries", file.name, file.path


def _pieces(fresh: list[File], pieces_read: int) -> list[list[File]]:
    """Divides the files into pieces of one table each, the newest first. Days with few files share pieces.

    Among the days that share pieces, the files of `entries` come first, because all other rows belong to an entry.
    """
    pieces: list[list[File]] = []
    span: list[File] = []
    for _, of_day in itertools.groupby(sorted(fresh, key=_place, reverse=True), key=_day_of):
        span += of_day
        if sum(_table_of(file) == "entries" for file in span) >= _max_files(pieces_read + len(pieces)):
            pieces += _cut(span, pieces_read + len(pieces))
            span = []
    return pieces + _cut(span, pieces_read + len(pieces))


def _max_files(pieces_before: int) -> int:
    return min(FIRST_FILES << min(pieces_before, 16), MAX_PIECE_FILES)


def _cut(span: list[File], pieces_before: int) -> list[list[File]]:
    pieces: list[list[File]] = []
    size = 0
    for file in sorted(span, key=lambda file: TABLE_ORDER[_table_of(file)]):
        last = pieces[-1] if pieces else []
        is_full = len(last) >= _max_files(pieces_before + max(len(pieces) - 1, 0)) or size + file.size > MAX_PIECE_BYTES
        if not last or is_full or _table_of(last[0]) != _table_of(file):
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
