"""The Parquet files of a fleet, below a folder or a bucket of S3 (files.py).

    ROOT/v1/TABLE/tenant=TENANT/day=DAY/part-….parquet    the rows (rows.py has the columns)
    ROOT/v1/deleted/tenant=TENANT/ARCHIVE-RUN.json        a run that was deleted, and when that was done
    ROOT/v1/moved/tenant=TENANT/ARCHIVE-RUN-EPOCH.json    a run that another daemon took over, and what it kept
    ROOT/v1/rejected/….json                               messages that no collector could read
    ROOT/v1/.lock                                         of those who rewrite files

Any number of collectors write below the same root. The files of a partition have numbers. A collector reads which keys
(archive, entry) the files up to number N have, leaves these out, and creates the file N + 1. If another collector has
created that meanwhile, it begins again: so a row is never there twice, however late it comes again. Only `compact`,
`delete_run`, `keep` and `drop_days_before` change or remove files; a lock orders them, and the highest number of a
partition stays. Errors: OSError, pyarrow's, and BadMessage for rows that do not fit the columns; what was not written
is not acknowledged to the stream.
"""

from __future__ import annotations

import bisect
import datetime
import hashlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .files import File, Files, open_files
from .rows import SCHEMA_VERSION, TABLES, Moved, Partition, Rows, RunKey, as_table, sort

ROW_GROUP = 64 * 1024
MAX_TRIES = 1000
"""Of creating a file while other collectors create files."""
MAX_JOINED = 256 << 20
"""Bytes of files that compaction joins into one; it needs some ten times that in memory."""
MAX_KNOWN = 20_000
"""Files whose keys are remembered."""
WRITE_ORDER = ("outcomes", "interventions", "detections", "entries")
"""Entries last: a crash before that leaves no entry without its other rows."""

Ranges = dict[str, list[tuple[int, int]]]
"""By archive: the entries of a file, as sorted ranges without gaps."""


class Written(NamedTuple):
    rows: int
    """Entries that are new."""
    repeated: int
    """Entries that the files had already."""
    deleted: int
    """Entries of runs that were deleted, and those of daemons that were no longer the home of the run."""


class Store:
    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._files: Files = open_files(root, f"v{SCHEMA_VERSION}")
        self._known: dict[File, Ranges] = {}
        self.conflicts = 0
        """Files that another collector had created first."""

    # ---- writing

    def write(self, batch: Iterable[Rows]) -> Written:
        """Writes the rows that are new. When it returns, they are durable."""
        by_partition: dict[Partition, dict[tuple[str, int], Rows]] = defaultdict(dict)
        repeated = 0
        for rows in batch:
            key = _key(rows)
            known = by_partition[rows.partition]
            repeated += key in known
            known[key] = rows
        written = deleted = 0
        for partition, entries in by_partition.items():
            gone = self._deleted_runs(partition.tenant)
            moves = self._moved_runs(partition.tenant, entries.values())
            is_out = [key for key, rows in entries.items() if _deleted_path(rows.run) in gone or _is_void(rows, moves)]
            for key in is_out:
                del entries[key]
                deleted += 1
            for table in WRITE_ORDER:
                fresh = self._add(table, partition, entries)
                if table == "entries":
                    written += fresh
                    repeated += len(entries) - fresh
            # A run that was deleted while its rows were written.
            gone = self._deleted_runs(partition.tenant) - gone
            for run in {rows.run for rows in entries.values() if _deleted_path(rows.run) in gone}:
                deleted += sum(rows.run == run for rows in entries.values())
                self.delete_run(run)
            # A run that moved while its rows were written.
            for run, notes in self._moved_runs(partition.tenant, entries.values()).items():
                for note in set(notes) - set(moves.get(run, ())):
                    self.keep(note)
        return Written(written, repeated, deleted)

    def begin_deletion(self, run: RunKey) -> list[int]:
        """Notes that a run is being deleted: rows that arrive from now on are dropped.

        Returns the sequences in the stream of the run's messages that the files have.
        """
        self._note_deleted(run, done=False)
        found: list[int] = []
        for part in self._parts(f"entries/tenant={run.tenant}"):
            if self._may_have(part, run):
                rows = self._read(part)
                found += rows.filter(_is_of(rows, run))["sequence"].drop_null().to_pylist()
        return sorted(found)

    def delete_run(self, run: RunKey) -> int:
        """Removes a run from all files. Returns the number of rows removed."""
        removed = 0
        with self._files.locked():
            if self.deletion(run) is None:  # the note comes first: rows that arrive from now on are dropped
                self._note_deleted(run, done=False)
            for table in TABLES:
                for file in self._parts(f"{table}/tenant={run.tenant}"):
                    removed += self._remove_run(file, run)
        return removed

    def finish_deletion(self, run: RunKey) -> None:
        """Notes that the deletion is complete: neither the stream, the files nor the results have the run any more."""
        self._note_deleted(run, done=True)

    def keep(self, moved: Moved) -> int:
        """Removes what earlier homes published beyond what the new home kept. Returns the number of rows removed."""
        if moved.entries is None:
            return 0
        removed = 0
        with self._files.locked():
            # The note comes first: void rows that arrive from now on are dropped.
            self._note_moved(moved)
            tenant = f"tenant={moved.run.tenant}"
            void: set[tuple[str, int]] = set()
            for file in self._parts(f"entries/{tenant}"):
                void |= self._void_keys(file, moved)
            for table in WRITE_ORDER if void else ():
                for file in self._parts(f"{table}/{tenant}"):
                    if {archive for archive, _ in void} & self._ranges(file).keys():
                        rows = self._read(file)
                        pairs = zip(rows["archive"].to_pylist(), rows["entry"].to_pylist())
                        which = pa.array([pair not in void for pair in pairs], pa.bool_())
                        removed += self._keep_rows(file, rows, which)
        return removed

    def reject(self, subject: str, message_id: str, data: bytes, why: str) -> None:
        """Keeps a message that cannot be read, for people."""
        note = {"subject": subject, "id": message_id, "why": why, "body": data.decode(errors="backslashreplace")}
        name = hashlib.sha256(subject.encode() + b"\0" + message_id.encode() + b"\0" + data).hexdigest()[:24]
        self._files.put(f"rejected/{name}.json", json.dumps(note).encode())

    def compact(self, max_files: int = 1) -> int:
        """Joins the files of each partition that has more than `max_files`. Returns how many files that removed.

        A query that runs at the same moment may see rows of the joined files twice.
        """
        self._files.remove_unfinished()
        removed = 0
        for table in TABLES:
            for folder in self._folders(table):
                step = 1
                while step > 0:
                    with self._files.locked():
                        step = self._compact(folder, max_files)
                    removed += step
        return removed

    def drop_days_before(self, day: str) -> int:
        """Deletes the partitions of earlier days (2026-01-31). Returns how many."""
        dropped = 0
        with self._files.locked():
            for table in TABLES:
                for folder in self._folders(table):
                    if folder.rpartition("day=")[2] < day:
                        for file in self._files.list(folder):
                            self._files.delete(file.path)
                        dropped += 1
        return dropped

    def deletion(self, run: RunKey) -> dict[str, Any] | None:
        """The note about a deleted run: its `state` is begun or done. None: it was not deleted."""
        note = self._files.read(_deleted_path(run))
        return json.loads(note) if note is not None else None

    def deleted_among(self, batch: Iterable[Rows]) -> list[Rows]:
        """The rows of the batch that belong to deleted runs."""
        batch = list(batch)
        gone = {tenant: self._deleted_runs(tenant) for tenant in {rows.partition.tenant for rows in batch}}
        return [rows for rows in batch if _deleted_path(rows.run) in gone[rows.partition.tenant]]

    def has_moved(self, run: RunKey) -> bool:
        prefix = f"{run.archive}-{run.run_number}-"
        return any(file.name.startswith(prefix) for file in self._files.list(f"moved/tenant={run.tenant}"))

    # ---- adding rows

    def _add(self, table: str, partition: Partition, entries: dict[tuple[str, int], Rows]) -> int:
        """Returns how many rows were new."""
        folder = f"{table}/tenant={partition.tenant}/day={partition.day}"
        for _ in range(MAX_TRIES):
            parts = self._parts(folder)
            there = self._known_keys(parts, entries)
            fresh = [row for key, rows in entries.items() if key not in there for row in rows.tables[table]]
            if not fresh:
                return 0
            name = f"part-{1 + max((_number(part) for part in parts), default=0):08}.parquet"
            if self._files.create(f"{folder}/{name}", _parquet(as_table(table, fresh))):
                return len(fresh)
            self.conflicts += 1
        raise OSError(f"{folder}: no file could be created in {MAX_TRIES} tries")

    def _parts(self, folder: str) -> list[File]:
        return [file for file in self._files.list(folder) if file.name.endswith(".parquet")]

    def _folders(self, table: str) -> list[str]:
        return sorted({file.folder for file in self._files.list(table)})

    def _known_keys(self, parts: list[File], wanted: dict[tuple[str, int], Rows]) -> set[tuple[str, int]]:
        by_archive: dict[str, list[int]] = defaultdict(list)
        for archive, entry in sorted(wanted):
            by_archive[archive].append(entry)
        found: set[tuple[str, int]] = set()
        for part in parts:
            ranges = self._ranges(part)
            for archive in by_archive.keys() & ranges.keys():
                entries = by_archive[archive]
                for low, high in ranges[archive]:
                    at = bisect.bisect_left(entries, low), bisect.bisect_right(entries, high)
                    found.update((archive, entry) for entry in entries[at[0] : at[1]])
        return found

    def _ranges(self, part: File) -> Ranges:
        known = self._known.get(part)
        if known is None:
            with self._files.open(part.path) as opened:
                keys = pq.read_table(opened, columns=["archive", "entry"], partitioning=None)
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[part] = _ranges_of(keys)
        return known

    # ---- deletion

    def _deleted_runs(self, tenant: str) -> set[str]:
        return {file.path for file in self._files.list(f"deleted/tenant={tenant}")}

    def _note_deleted(self, run: RunKey, done: bool) -> None:
        when = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        note = {**run._asdict(), "state": "done" if done else "begun", "when": when}
        self._files.put(_deleted_path(run), json.dumps(note).encode())

    def _remove_run(self, part: File, run: RunKey) -> int:
        if not self._may_have(part, run):
            return 0
        rows = self._read(part)
        return self._keep_rows(part, rows, pc.invert(_is_of(rows, run)))

    def _may_have(self, part: File, run: RunKey) -> bool:
        """Whether the file may have rows of the run. Those of later homes name another archive."""
        if run.archive in self._ranges(part):
            return True
        with self._files.open(part.path) as opened, pq.ParquetFile(opened) as file:
            if "origin_archive" not in file.schema_arrow.names:
                return False
            return run.archive in set(file.read(columns=["origin_archive"])["origin_archive"].to_pylist())

    def _keep_rows(self, part: File, rows: pa.Table, which: pa.Array) -> int:
        kept = rows.filter(which)
        if kept.num_rows < rows.num_rows:
            # Even without rows the file stays: it may have the highest number.
            self._files.put(part.path, _parquet(kept))
        return int(rows.num_rows - kept.num_rows)

    def _read(self, part: File) -> pa.Table:
        with self._files.open(part.path) as opened:
            rows = pq.read_table(opened, partitioning=None)
        schema = TABLES[part.path.partition("/")[0]]
        # Files of an earlier digd lack the newer columns.
        columns = [rows[f.name] if f.name in rows.column_names else pa.nulls(rows.num_rows, f.type) for f in schema]
        return _with_origin(pa.table(columns, schema=schema))

    # ---- runs that moved

    def _note_moved(self, moved: Moved) -> None:
        note = {**moved.run._asdict(), "epoch": moved.epoch, "entries": moved.entries}
        path = f"moved/tenant={moved.run.tenant}/{moved.run.archive}-{moved.run.run_number}-{moved.epoch}.json"
        self._files.put(path, json.dumps(note).encode())

    def _moved_runs(self, tenant: str, entries: Iterable[Rows]) -> dict[RunKey, list[Moved]]:
        """The notes about these runs."""
        wanted = {f"{rows.run.archive}-{rows.run.run_number}": rows.run for rows in entries}
        notes: dict[RunKey, list[Moved]] = defaultdict(list)
        for file in self._files.list(f"moved/tenant={tenant}"):
            run = wanted.get(file.name.rpartition("-")[0])
            content = self._files.read(file.path) if run is not None else None
            if run is not None and content is not None:
                note = json.loads(content)
                notes[run].append(Moved(run, note["epoch"], note["entries"]))
        return notes

    def _void_keys(self, part: File, moved: Moved) -> set[tuple[str, int]]:
        if not self._may_have(part, moved.run):
            return set()
        rows = self._read(part)
        is_later = pc.and_(pc.less(rows["epoch"], moved.epoch), pc.greater(rows["n"], moved.entries))
        void = rows.filter(pc.and_(_is_of(rows, moved.run), is_later))
        return set(zip(void["archive"].to_pylist(), void["entry"].to_pylist()))

    # ---- compaction

    def _compact(self, folder: str, max_files: int) -> int:
        self._finish_compaction(folder)
        parts = self._parts(folder)
        if len(parts) <= max(max_files, 1):
            return 0
        parts = _small_neighbours(parts)
        if len(parts) < 2:
            return 0
        joined = sort(pa.concat_tables([self._read(part) for part in parts]))
        digest = hashlib.sha256(" ".join(f"{part.path} {part.version}" for part in parts).encode()).hexdigest()[:12]
        # The number stays the highest, so that no collector creates a number that another has used.
        new = f"part-{max(_number(part) for part in parts):08}-{digest}.parquet"
        plan = {"new": new, "old": [part.name for part in parts]}
        self._files.put(f"{folder}/.compaction.json", json.dumps(plan).encode())
        self._files.put(f"{folder}/{new}", _parquet(joined))
        self._finish_compaction(folder)
        return len(parts) - 1

    def _finish_compaction(self, folder: str) -> None:
        """Removes the old files if the new one is in place; after a crash before that, the old ones stay."""
        journal = self._files.read(f"{folder}/.compaction.json")
        if journal is None:
            return
        plan = json.loads(journal)
        if self._files.read(f"{folder}/{plan['new']}") is not None:
            for old in plan["old"]:
                self._files.delete(f"{folder}/{old}")
        self._files.delete(f"{folder}/.compaction.json")


def _with_origin(rows: pa.Table) -> pa.Table:
    """Fills the columns that files from before runs had homes lack."""
    for name, value in (("epoch", 1), ("origin_archive", rows["archive"]), ("origin_run_number", rows["run_number"])):
        at = rows.column_names.index(name)
        rows = rows.set_column(at, rows.schema.field(name), pc.coalesce(rows[name], value))
    return rows


def _is_of(rows: pa.Table, run: RunKey) -> Any:
    return pc.and_(
        pc.equal(rows["origin_archive"], run.archive), pc.equal(rows["origin_run_number"], run.run_number)
    )


def _is_void(rows: Rows, moves: dict[RunKey, list[Moved]]) -> bool:
    return any(note.epoch > rows.epoch and rows.n > (note.entries or 0) for note in moves.get(rows.run, ()))


def _deleted_path(run: RunKey) -> str:
    return f"deleted/tenant={run.tenant}/{run.archive}-{run.run_number}.json"


def _key(rows: Rows) -> tuple[str, int]:
    entry = rows.tables["entries"][0]
    return entry["archive"], entry["entry"]


def _number(part: File) -> int:
    """The number in the file's name; 0 for a file of an older digd, which gave no numbers."""
    match = re.match(r"part-(\d{8})[-.]", part.name)
    return int(match[1]) if match else 0


def _small_neighbours(parts: list[File]) -> list[File]:
    """The first files in order of their numbers that fit into one."""
    chosen: list[File] = []
    size = 0
    for part in sorted(parts, key=lambda part: (_number(part), part.name)):
        if size + part.size > MAX_JOINED:
            if len(chosen) > 1:
                break
            chosen, size = [], 0
        if part.size <= MAX_JOINED:
            chosen.append(part)
            size += part.size
    return chosen


def _parquet(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="zstd", row_group_size=ROW_GROUP)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _ranges_of(keys: pa.Table) -> Ranges:
    ranges: Ranges = {}
    keys = keys.sort_by([("archive", "ascending"), ("entry", "ascending")])
    for archive, entry in zip(keys["archive"].to_pylist(), keys["entry"].to_pylist()):
        of_archive = ranges.setdefault(archive, [])
        if of_archive and entry <= of_archive[-1][1] + 1:
            of_archive[-1] = (of_archive[-1][0], max(entry, of_archive[-1][1]))
        else:
            of_archive.append((entry, entry))
    return ranges

