"""The Parquet files of a fleet: what is new is written once; deletion and compaction keep the rest."""

import itertools
import json

import duckdb
import pytest
from digd.fleet import store as module
from digd.fleet.rows import BadMessage, RunKey, decode
from digd.fleet.store import Store

DAY_MS = 86_400_000


def message(archive, entry, run_number=1, day=0, detections=()):
    body = {
        "format": 1,
        "entry": entry,
        "run": f"run-{run_number}",
        "run_number": run_number,
        "n": entry,
        "kind": "message",
        "session": "main",
        "seq": entry,
        "ts": entry,
        "arrived_ms": day * DAY_MS + entry,
        "type": "event",
        "code": None,
        "verdicts": None,
        "frame": "{}",
        "detections": [{"id": i, "rule": rule, "severity": "failure", "ts": entry} for i, rule in detections],
        "interventions": [],
        "outcomes": [],
    }
    return decode("digd.archive.t1.h1", f"{archive}:{entry}", json.dumps(body).encode())


def count(root, table="entries"):
    files = [str(path) for path in root.glob(f"v1/{table}/tenant=*/day=*/*.parquet")]
    return duckdb.sql(f"SELECT count(*) FROM read_parquet({files})").fetchall()[0][0] if files else 0


def test_a_row_that_is_there_already_is_dropped(tmp_path):
    store = Store(tmp_path)
    first = [message("a", i, detections=[(i, "deadlock")]) for i in range(1, 101)]
    assert store.write(first) == (100, 0, 0)
    assert store.write(first) == (0, 100, 0)
    later = [message("a", i) for i in range(51, 151)] + [message("b", i) for i in range(1, 51)]
    assert store.write(later + later) == (100, 200, 0)
    assert (count(tmp_path), count(tmp_path, "detections")) == (200, 100)


def test_a_crash_between_the_tables_leaves_nothing_doubled(tmp_path, monkeypatch):
    store = Store(tmp_path)
    rows = [message("a", i, detections=[(i, "deadlock")]) for i in range(1, 11)]
    add = Store._add

    def add_until_entries(self, table, partition, table_rows):
        if table == "entries":
            raise OSError("killed")
        add(self, table, partition, table_rows)

    monkeypatch.setattr(Store, "_add", add_until_entries)
    with pytest.raises(OSError):
        store.write(rows)
    monkeypatch.setattr(Store, "_add", add)
    assert store.write(rows) == (10, 0, 0)
    assert (count(tmp_path), count(tmp_path, "detections")) == (10, 10)


def test_a_deleted_run_leaves_all_files_and_does_not_come_back(tmp_path):
    store = Store(tmp_path)
    rows = [message("a", i, run_number=i % 3 + 1, day=i % 2, detections=[(i, "deadlock")]) for i in range(1, 31)]
    store.write(rows)
    assert store.delete_run(RunKey("t1", "a", 2)) == 20  # ten entries and their detections
    assert store.write(rows) == (0, 20, 10)
    assert (count(tmp_path), count(tmp_path, "detections")) == (20, 20)
    assert store.delete_run(RunKey("t1", "b", 1)) == 0, "the same number in another archive is another run"
    assert count(tmp_path) == 20


def test_compaction_joins_files_and_keeps_rows(tmp_path):
    store = Store(tmp_path)
    for i in range(1, 31):
        store.write([message("a", i, day=i % 2)])
    assert store.compact() == 28
    assert count(tmp_path) == 30
    assert store.compact() == 0
    assert store.write([message("a", i, day=i % 2) for i in range(1, 31)]) == (0, 30, 0)


@pytest.mark.parametrize("is_written", [False, True])
def test_a_compaction_that_was_killed_is_finished_or_undone(tmp_path, monkeypatch, is_written):
    store = Store(tmp_path)
    for i in range(1, 6):
        store.write([message("a", i)])
    calls = itertools.count()

    def fail(*_):
        raise OSError("killed")

    if is_written:  # the first call looks for a journal, the second removes the old files
        finish = module._finish_compaction
        monkeypatch.setattr(module, "_finish_compaction", lambda folder: fail() if next(calls) else finish(folder))
    else:
        monkeypatch.setattr(module, "_write_parquet", fail)
    with pytest.raises(OSError):
        store.compact()
    monkeypatch.undo()
    store.compact()
    assert count(tmp_path) == 5
    assert store.write([message("a", i) for i in range(1, 6)]) == (0, 5, 0)


def test_old_days_are_dropped(tmp_path):
    store = Store(tmp_path)
    store.write([message("a", i, day=i) for i in range(1, 5)])
    assert store.drop_days_before("1970-01-04") == 2
    assert count(tmp_path) == 2


@pytest.mark.parametrize(
    "subject, message_id, body, why",
    [
        ("digd.archive.t1", "a:1", b"{}", "digd.archive.TENANT.HOST"),
        ("digd.archive.t1.h1", "", b"{}", "ARCHIVE:ENTRY"),
        ("digd.archive.t1.h1", "a:1", b"[]", "expected an object"),
        ("digd.archive.t1.h1", "a:1", b'{"format":1,"run_number":"1"}', "run_number: expected int"),
        ("digd.archive.t1.h1", "a:1", b'{"format":1,"run_number":1,"kind":"message"}', "entry: expected int"),
    ],
)
def test_an_unreadable_message_is_named(subject, message_id, body, why):
    with pytest.raises(BadMessage, match=why):
        decode(subject, message_id, body)
