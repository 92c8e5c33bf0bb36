"""The Parquet files of a fleet: what is new is written once; deletion and compaction keep the rest."""

import concurrent.futures
import itertools
import json
import random

import duckdb
import pyarrow.parquet as pq
import pytest
from digd.fleet import store as module
from digd.fleet.files import LocalFiles
from digd.fleet.query import rows
from digd.fleet.rows import BadMessage, RunKey, decode
from digd.fleet.store import Store

DAY_MS = 86_400_000


MOVED = {
    "format": 1,
    "kind": "run_moved",
    "run": "run-1",
    "run_number": 5,
    "epoch": 2,
    "origin_archive": "a",
    "origin_run_number": 1,
}


BODY = {
    "format": 1,
    "entry": 1,
    "run": "run-1",
    "run_number": 1,
    "n": 1,
    "kind": "message",
    "session": "main",
    "seq": 1,
    "ts": 1,
    "arrived_ms": 1,
    "type": "event",
    "code": None,
    "verdicts": None,
    "frame": "{}",
    "detections": [],
    "interventions": [],
    "outcomes": [],
}


def message(archive, entry, run_number=1, day=0, detections=(), **origin):
    body = {
        **BODY,
        "entry": entry,
        "run": f"run-{run_number}",
        "run_number": run_number,
        "n": entry,
        "seq": entry,
        "ts": entry,
        "arrived_ms": day * DAY_MS + entry,
        "detections": [{"id": i, "rule": rule, "severity": "failure", "ts": entry} for i, rule in detections],
        **origin,
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
        return add(self, table, partition, table_rows)

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
        finish = Store._finish_compaction
        monkeypatch.setattr(
            Store, "_finish_compaction", lambda self, folder: fail() if next(calls) else finish(self, folder)
        )
    else:
        monkeypatch.setattr(module, "_parquet", fail)
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


@pytest.mark.parametrize(
    "fields, why",
    [
        ({"frame": {}}, "entries: frame: expected str, got dict"),
        ({"frame": "\ud800"}, "entries: frame: expected Unicode, got a lone surrogate"),
        ({"run": "\ud800"}, "run: expected Unicode"),
        ({"ts": 1.5}, "entries: ts: expected int, got float"),
        ({"ts": True}, "entries: ts: expected int, got bool"),
        ({"seq": 1 << 63}, "entries: seq: expected 64 bits, got a number of 64"),
        ({"n": 1 << 63}, "entries: n: expected 64 bits"),
        ({"run_number": -(1 << 63) - 1}, "run_number: expected 64 bits"),
        ({"arrived_ms": 1 << 62}, "arrived_ms: expected 0 to 253402300799999"),
        ({"arrived_ms": -1}, "arrived_ms: expected 0 to"),
        ({"detections": ["deadlock"]}, "detections: expected objects, got str"),
        ({"detections": [{"id": "1"}]}, "detections: id: expected int, got str"),
        ({"interventions": [{"id": 1}]}, "interventions: id: expected str, got int"),
        ({"outcomes": [{"outcome": ["cleared"]}]}, "outcomes: outcome: expected str, got list"),
        ({"kind": "run_deleted", "run_number": 1 << 63}, "run_number: expected 64 bits"),
        ({**MOVED, "epoch": 1 << 63}, "epoch: expected 64 bits"),
        ({**MOVED, "kind": "run_restored", "entries": 1 << 63}, "entries: expected 64 bits"),
    ],
)
def test_a_message_that_fits_no_row_is_refused_before_the_files(fields, why):
    with pytest.raises(BadMessage, match=f"^{why}"):
        decode("digd.archive.t1.h1", "a:1", json.dumps({**BODY, **fields}).encode())


@pytest.mark.parametrize("arrived_ms, day", [(0, "1970-01-01"), (253_402_300_799_999, "9999-12-31")])
def test_the_bounds_of_the_columns_are_stored(tmp_path, arrived_ms, day):
    fields = {"arrived_ms": arrived_ms, "seq": (1 << 63) - 1, "ts": -(1 << 63), "frame": "ä \U0001f600"}
    decoded = decode("digd.archive.t1.h1", "a:1", json.dumps({**BODY, **fields}).encode())
    assert Store(tmp_path).write([decoded]) == (1, 0, 0)
    found = rows(str(tmp_path), "SELECT day::VARCHAR, arrived_ms, seq, ts, frame FROM entries")[1]
    assert found == [(day, *fields.values())]


def test_a_body_that_is_nested_too_deeply_is_refused():
    with pytest.raises(BadMessage, match="body: expected JSON"):
        decode("digd.archive.t1.h1", "a:1", b"[" * 200_000)


@pytest.mark.parametrize("name", ["../tenant=other/a", "../../../../tmp/x", "a/b", "..", "a-1", "", "a" * 65, "ä"])
@pytest.mark.parametrize("kind", ["run_deleted", "run_moved", "run_restored"])
def test_names_that_lead_out_of_a_folder_are_refused(name, kind):
    body = {**MOVED, "kind": kind, "entries": 0}
    with pytest.raises(BadMessage, match="Nats-Msg-Id"):
        decode("digd.archive.t1.h1", f"{name}:deleted:5", json.dumps(body).encode())
    with pytest.raises(BadMessage, match="origin_archive: .* expected 1 to 64 letters"):
        decode("digd.archive.t1.h1", "a:deleted:5", json.dumps({**body, "origin_archive": name}).encode())


@pytest.mark.parametrize("names", ["t1.a/b", "a/b.h1", "t1.", ".h1"])
def test_a_subject_whose_names_are_no_names_is_refused(names):
    with pytest.raises(BadMessage, match="expected names of 1 to 64 letters"):
        decode(f"digd.archive.{names}", "a:1", b"{}")


def test_collectors_at_the_same_time_write_each_row_once(tmp_path):
    rows = [message("a", i, detections=[(i, "deadlock")]) for i in range(1, 201)]
    stores = [Store(tmp_path) for _ in range(4)]
    batches = [[rows[i : i + 30] for i in range(0, 200, 20)] for _ in stores]  # they overlap, and all have all
    for i, mine in enumerate(batches):
        random.Random(i).shuffle(mine)
    with concurrent.futures.ThreadPoolExecutor(len(stores)) as pool:
        written = list(pool.map(lambda pair: [pair[0].write(batch).rows for batch in pair[1]], zip(stores, batches)))
    assert sum(map(sum, written)) == 200
    assert (count(tmp_path), count(tmp_path, "detections")) == (200, 200)


def test_a_file_that_another_collector_created_first_is_read_before_the_next_try(tmp_path, monkeypatch):
    """The race itself: both have seen the same files when they create."""
    first, second = Store(tmp_path), Store(tmp_path)
    create = first._files.create

    def create_after_the_other(path, content):
        if "entries" in path and not second.conflicts:
            second.conflicts = 1
            second.write([message("a", i) for i in range(1, 6)])
        return create(path, content)

    monkeypatch.setattr(first._files, "create", create_after_the_other)
    assert first.write([message("a", i) for i in range(1, 11)]) == (5, 5, 0)
    assert first.conflicts == 1 and count(tmp_path) == 10


def test_compaction_keeps_the_highest_number(tmp_path):
    store = Store(tmp_path)
    for i in range(1, 5):
        store.write([message("a", i)])
    store.delete_run(RunKey("t1", "a", 1))
    store.compact()
    store.write([message("a", 9, run_number=2)])
    names = sorted(path.name for path in tmp_path.glob("v1/entries/*/*/*.parquet"))
    assert [name[:13] for name in names] == ["part-00000004", "part-00000005"]
    assert count(tmp_path) == 1


def test_files_without_the_newer_columns_are_read_and_joined(tmp_path):
    store = Store(tmp_path)
    store.write([message("a", 1, detections=[(1, "deadlock")])])
    path = next(tmp_path.glob("v1/detections/*/*/*.parquet"))
    pq.write_table(pq.read_table(path, partitioning=None).drop_columns(["more_evidence", "hold"]), path)
    store.write([message("a", 2, detections=[(2, "deadlock")])])
    query = "SELECT entry, hold FROM detections ORDER BY 1"
    assert rows(str(tmp_path), query)[1] == [(1, None), (2, None)]
    Store(tmp_path).compact()
    assert rows(str(tmp_path), query)[1] == [(1, None), (2, None)]
    assert len(list(tmp_path.glob("v1/detections/*/*/*.parquet"))) == 1


def test_what_a_fenced_daemon_published_leaves_the_files_and_does_not_come_back(tmp_path):
    store = Store(tmp_path)
    old = [message("a", i, detections=[(i, "deadlock")]) for i in range(1, 11)]
    store.write(old)
    moved = decode("digd.archive.t1.h2", "b:moved:5:2", json.dumps(MOVED).encode())
    assert store.keep(moved) == 0, "what counts is known only when the run is restored"
    restored = decode(
        "digd.archive.t1.h2", "b:restored:5:2", json.dumps({**MOVED, "kind": "run_restored", "entries": 7}).encode()
    )
    assert store.keep(restored) == 6  # three entries and their detections
    assert store.write(old) == (0, 7, 3)
    origin = {"run": "run-1", "epoch": 2, "origin_archive": "a", "origin_run_number": 1}
    new = [message("b", i, run_number=5, **origin) for i in range(8, 12)]
    assert store.write(new) == (4, 0, 0)
    assert store.keep(restored) == 0
    assert (count(tmp_path), count(tmp_path, "detections")) == (11, 7)
    (run,) = rows(str(tmp_path), "SELECT archive, run_number, homes, host, messages FROM runs")[1]
    assert run == ("a", 1, 2, "h1", 11)
    assert store.delete_run(RunKey("t1", "a", 1)) == 18


def test_rows_from_before_runs_had_homes_are_read_with_the_new_ones(tmp_path):
    store = Store(tmp_path)
    store.write([message("a", 1)])
    for path in tmp_path.glob("v1/*/tenant=*/day=*/*.parquet"):
        old = pq.read_table(path, partitioning=None)
        pq.write_table(old.drop_columns(["epoch", "origin_archive", "origin_run_number"]), path)
    store.write([message("a", 2), message("b", 1)])
    assert rows(str(tmp_path), "SELECT archive, messages FROM runs ORDER BY 1")[1] == [("a", 2), ("b", 1)]
    assert store.compact() == 1
    assert rows(str(tmp_path), "SELECT archive, messages FROM runs ORDER BY 1")[1] == [("a", 2), ("b", 1)]
    assert store.delete_run(RunKey("t1", "b", 1)) == 1


def test_a_listing_has_complete_files_of_all_folders_below(tmp_path):
    files = LocalFiles(str(tmp_path))
    paths = ["entries/tenant=b/day=2/x.parquet", "entries/tenant=a/day=1/y.parquet", "entries/z.parquet", "other/w"]
    for path in [*paths, "entries/.lock", "entries/tenant=a/.v.unfinished"]:
        files.put(path, b"12345")
    (tmp_path / "entries/loop").symlink_to(tmp_path / "entries", target_is_directory=True)
    (tmp_path / "entries/gone").symlink_to(tmp_path / "nowhere")
    assert [file.path for file in files.list("entries")] == sorted(paths[:3])
    assert [file.path for file in files.list("")] == sorted(paths) and files.list("nothing") == []
    before = files.list("other")
    files.put("other/w", b"54321")
    after = files.list("other")
    assert before != after and before[0].size == after[0].size == 5
