"""The Parquet files of a fleet, below one folder of a local file system.

    ROOT/v1/TABLE/tenant=TENANT/day=DAY/part-….parquet    the rows (rows.py has the columns)
    ROOT/v1/deleted/tenant=TENANT/ARCHIVE-RUN.json        a run that was deleted, and when that was done
    ROOT/v1/rejected/….json                               messages that no collector could read
    ROOT/v1/.lock

A file appears under its name only when it is complete and synced. Any number of collectors may write below the same
folder: a lock orders them. A row whose (archive, entry) its partition already has is dropped, however late it comes.
Readers take no lock. Errors: OSError and pyarrow's; what was not written is not acknowledged to the stream.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .rows import SCHEMA_VERSION, TABLES, BadMessage, Partition, Rows, RunKey, as_table, sort

ROW_GROUP = 64 * 1024


class Written(NamedTuple):
    rows: int
    """Entries that are new."""
    repeated: int
    """Entries that the files had already."""
    deleted: int
    """Entries of runs that were deleted."""


class Store:
    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = pathlib.Path(root) / f"v{SCHEMA_VERSION}"
        self.root.mkdir(parents=True, exist_ok=True)

    # ---- writing

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with open(self.root / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def write(self, batch: Iterable[Rows]) -> Written:
        """Writes the rows that are new. When it returns, they are on the disk."""
        by_partition: dict[Partition, dict[tuple[str, int], Rows]] = defaultdict(dict)
        repeated = 0
        for rows in batch:
            key = _key(rows)
            known = by_partition[rows.partition]
            repeated += key in known
            known[key] = rows
        written = deleted = 0
        with self._locked():
            for partition, entries in by_partition.items():
                for key in [key for key, rows in entries.items() if self._is_deleted(rows.run)]:
                    del entries[key]
                    deleted += 1
                # Entries last: a crash before that leaves no entry without its other rows.
                for table in ("outcomes", "interventions", "detections", "entries"):
                    there = self._known_keys(table, partition, entries)
                    fresh = [row for key, rows in entries.items() if key not in there for row in rows.tables[table]]
                    if table == "entries":
                        repeated += len(there)
                        written += len(fresh)
                    if fresh:
                        self._add(table, partition, as_table(table, fresh))
        return Written(written, repeated, deleted)

    def delete_run(self, run: RunKey) -> int:
        """Removes a run from all files, and notes that. Returns the number of rows removed."""
        removed = 0
        with self._locked():
            # The note comes first: rows that arrive after a crash are dropped.
            self._note_deleted(run, done=False)
            for table in TABLES:
                for path in sorted((self.root / table / f"tenant={run.tenant}").glob("day=*/*.parquet")):
                    removed += _remove_run(path, run)
            self._note_deleted(run, done=True)
        return removed

    def reject(self, subject: str, message_id: str, data: bytes, why: str) -> None:
        """Keeps a message that cannot be read, for people."""
        folder = self.root / "rejected"
        folder.mkdir(exist_ok=True)
        note = {"subject": subject, "id": message_id, "why": why, "body": data.decode(errors="backslashreplace")}
        name = hashlib.sha256(subject.encode() + b"\0" + message_id.encode() + b"\0" + data).hexdigest()[:24]
        _write_file(folder / f"{name}.json", json.dumps(note).encode())

    def compact(self, max_files: int = 1) -> int:
        """Joins the files of each partition that has more than `max_files`. Returns how many files that removed.

        A query that runs at the same moment may see rows of the joined files twice.
        """
        removed = 0
        for folder in sorted(self.root.glob("*/tenant=*/day=*")):
            with self._locked():
                removed += _compact(folder, max_files)
        return removed

    def drop_days_before(self, day: str) -> int:
        """Deletes the partitions of earlier days (2026-01-31). Returns how many."""
        dropped = 0
        with self._locked():
            for folder in sorted(self.root.glob("*/tenant=*/day=*")):
                if folder.name.removeprefix("day=") < day:
                    shutil.rmtree(folder)
                    dropped += 1
        return dropped

    # ---- inside the lock

    def _folder(self, table: str, partition: Partition) -> pathlib.Path:
        return self.root / table / f"tenant={partition.tenant}" / f"day={partition.day}"

    def _add(self, table: str, partition: Partition, rows: pa.Table) -> None:
        folder = self._folder(table, partition)
        folder.mkdir(parents=True, exist_ok=True)
        first, last = rows["entry"][0].as_py(), rows["entry"][-1].as_py()
        name = hashlib.sha256(f"{rows['archive'][0]} {first} {last} {rows.num_rows} {os.urandom(8)!r}".encode())
        _write_parquet(folder / f"part-{name.hexdigest()[:20]}.parquet", rows)

    def _known_keys(
        self, table: str, partition: Partition, entries: dict[tuple[str, int], Rows]
    ) -> set[tuple[str, int]]:
        """Those of `entries` that the partition has. Reads only row groups whose statistics allow one of them."""
        wanted: dict[str, tuple[int, int]] = {}
        for archive, entry in entries:
            low, high = wanted.get(archive, (entry, entry))
            wanted[archive] = (min(low, entry), max(high, entry))
        found: set[tuple[str, int]] = set()
        for path in self._folder(table, partition).glob("*.parquet"):
            with pq.ParquetFile(path) as file:
                groups = [
                    group
                    for group in range(file.num_row_groups)
                    if any(
                        _may_have(file, group, "archive", archive, archive)
                        and _may_have(file, group, "entry", low, high)
                        for archive, (low, high) in wanted.items()
                    )
                ]
                if groups:
                    keys = file.read_row_groups(groups, columns=["archive", "entry"])
                    found.update(zip(keys["archive"].to_pylist(), keys["entry"].to_pylist()))
        return found & entries.keys()

    def _deleted_path(self, run: RunKey) -> pathlib.Path:
        return self.root / "deleted" / f"tenant={run.tenant}" / f"{run.archive}-{run.run_number}.json"

    def _is_deleted(self, run: RunKey) -> bool:
        return self._deleted_path(run).exists()

    def _note_deleted(self, run: RunKey, done: bool) -> None:
        path = self._deleted_path(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        when = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        _write_file(path, json.dumps({**run._asdict(), "state": "done" if done else "begun", "when": when}).encode())


def _key(rows: Rows) -> tuple[str, int]:
    entry = rows.tables["entries"][0]
    return entry["archive"], entry["entry"]


def _may_have(file: pq.ParquetFile, group: int, column: str, low: Any, high: Any) -> bool:
    at = file.schema_arrow.get_field_index(column)
    statistics = file.metadata.row_group(group).column(at).statistics
    if statistics is None or not statistics.has_min_max:
        return True
    return bool(statistics.min <= high and low <= statistics.max)


def _sync_folder(folder: pathlib.Path) -> None:
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(at)
    finally:
        os.close(at)


def _put_in_place(written: pathlib.Path, path: pathlib.Path) -> None:
    with open(written, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(written, path)
    _sync_folder(path.parent)


def _write_file(path: pathlib.Path, content: bytes) -> None:
    written = path.with_name(f".{path.name}.{os.getpid()}")
    written.write_bytes(content)
    _put_in_place(written, path)


def _write_parquet(path: pathlib.Path, rows: pa.Table) -> None:
    written = path.with_name(f".{path.name}.{os.getpid()}")
    pq.write_table(rows, written, compression="zstd", row_group_size=ROW_GROUP)
    _put_in_place(written, path)


def _remove_run(path: pathlib.Path, run: RunKey) -> int:
    with pq.ParquetFile(path) as file:
        groups = range(file.num_row_groups)
        if not any(
            _may_have(file, group, "run_number", run.run_number, run.run_number)
            and _may_have(file, group, "archive", run.archive, run.archive)
            for group in groups
        ):
            return 0
        rows = file.read()
    is_of_run = pc.and_(pc.equal(rows["archive"], run.archive), pc.equal(rows["run_number"], run.run_number))
    kept = rows.filter(pc.invert(is_of_run))
    if kept.num_rows == rows.num_rows:
        return 0
    if kept.num_rows == 0:
        path.unlink()
        _sync_folder(path.parent)
    else:
        _write_parquet(path, kept)
    return int(rows.num_rows - kept.num_rows)


def _compact(folder: pathlib.Path, max_files: int) -> int:
    _finish_compaction(folder)
    parts = sorted(folder.glob("*.parquet"))
    if len(parts) <= max(max_files, 1):
        return 0
    joined = sort(pa.concat_tables([pq.read_table(part, partitioning=None) for part in parts]))
    name = hashlib.sha256(" ".join(part.name for part in parts).encode()).hexdigest()[:20]
    journal = folder / ".compaction.json"
    _write_file(journal, json.dumps({"new": f"part-{name}.parquet", "old": [part.name for part in parts]}).encode())
    _write_parquet(folder / f"part-{name}.parquet", joined)
    _finish_compaction(folder)
    return len(parts) - 1


def _finish_compaction(folder: pathlib.Path) -> None:
    """Removes the old files if the new one is in place; after a crash before that, the old ones stay."""
    journal = folder / ".compaction.json"
    if not journal.exists():
        return
    plan = json.loads(journal.read_bytes())
    if (folder / plan["new"]).exists():
        for old in plan["old"]:
            (folder / old).unlink(missing_ok=True)
    journal.unlink()
    _sync_folder(folder)


__all__ = ["BadMessage", "Store", "Written"]
