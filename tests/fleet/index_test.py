"""The index of a viewer: it reads many small files in few pieces, within its bounds, and counts what SQL counts."""

import asyncio
import json
import threading
import time
from types import SimpleNamespace

import pytest
from digd.fleet import index as module
from digd.fleet import live_rows as of_stream
from digd.fleet import view as view_module
from digd.fleet.files import File, LocalFiles
from digd.fleet.index import FleetIndex
from digd.fleet.live_rows import LiveRows
from digd.fleet.places import parse
from digd.fleet.query import rows
from digd.fleet.rows import TABLES, Moved, RunKey
from digd.fleet.store import Store
from digd.fleet.view import View
from store_test import message

TOTALS = "SELECT run, messages, detections, opened_ms, heard_ms FROM runs ORDER BY run"
SQL = """
SELECT run, messages, (SELECT count(*) FROM detections AS d WHERE d.run = r.run) AS detections, opened_ms, heard_ms
FROM runs AS r ORDER BY run
"""
DAYS = 6


def fill(root, files, first=1, day=None):
    """One run for each file of entries; every second one has a file of detections too."""
    store = Store(root)
    for i in range(first, first + files):
        found = [(i, "deadlock")] if i % 2 else []
        entries = [2 * i - 1, 2 * i]
        at = i % DAYS if day is None else day
        store.write([message("a", n, run_number=i, day=at, detections=found) for n in entries])


def read_all(index):
    """Returns the number of pieces."""
    index.list_files()
    pieces = 1
    while index.read_pieces(max_pieces=1):
        pieces += 1
    return pieces


def totals(index):
    return index.cursor().execute(TOTALS).fetchall()


@pytest.fixture
def lake(tmp_path):
    fill(tmp_path / "lake", 40)
    return tmp_path / "lake"


def index_of(lake, tmp_path):
    return FleetIndex(str(lake), str(tmp_path / "spill"))


def names(count, table="entries", day="2026-01-01", size=1000):
    folder = f"{table}/tenant=t/day={day}"
    return [File(f"{folder}/part-{i:08}.parquet", "v", size) for i in range(count)]


def test_many_small_files_of_few_days_are_few_pieces_newest_first():
    days = [f"2026-01-{day:02}" for day in range(1, 31)]
    files = [file for day in days for table in TABLES for file in names(50, table, day)]
    pieces = module._pieces(files, 0)
    assert sorted(sum(pieces, [])) == sorted(files) and len(pieces) < 40
    assert len(pieces[0]) == module.FIRST_FILES and max(map(len, pieces)) == module.MAX_PIECE_FILES
    assert all(len({file.path.partition("/")[0] for file in piece}) == 1 for piece in pieces)
    for table in TABLES:
        of_table = [file.path for piece in pieces for file in piece if file.path.startswith(table)]
        assert of_table == sorted(of_table, reverse=True)


def test_a_piece_is_bounded_by_its_bytes():
    pieces = module._pieces(names(10, size=module.MAX_PIECE_BYTES // 3) + names(1, day="2025-01-01", size=1 << 40), 99)
    assert [len(piece) for piece in pieces] == [3, 3, 3, 1, 1]


def test_files_are_listed_once_and_counted_as_sql_counts(lake, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FIRST_FILES", 4)
    listed = []
    plain = LocalFiles.list
    monkeypatch.setattr(LocalFiles, "list", lambda self, prefix: listed.append(prefix) or plain(self, prefix))
    index = index_of(lake, tmp_path)
    assert 3 < read_all(index) < 12
    assert [listed.count(table) for table in TABLES] == [1] * len(TABLES)
    assert (index.read_files, index.total_files, index.left_out_files) == (60, 60, 0)
    assert totals(index) == rows(str(lake), SQL)[1]
    fill(lake, 3, first=41)
    assert index.needs_listing and read_all(index) == 2
    assert totals(index) == rows(str(lake), SQL)[1] and len(totals(index)) == 43
    Store(lake).compact()
    read_all(index)
    assert index.read_files == 2 * DAYS - DAYS // 2 and totals(index) == rows(str(lake), SQL)[1]
    Store(lake).delete_run(RunKey("t1", "a", 7))
    read_all(index)
    assert totals(index) == rows(str(lake), SQL)[1] and len(totals(index)) == 42


def test_the_page_has_answers_while_a_piece_is_read(lake, tmp_path, monkeypatch):
    index = index_of(lake, tmp_path)
    reads, resume = threading.Event(), threading.Event()
    plain = module.read

    def slow(*given):
        reads.set()
        resume.wait(20)
        return plain(*given)

    monkeypatch.setattr(module, "read", slow)
    reader = threading.Thread(target=read_all, args=(index,))
    reader.start()
    try:
        assert reads.wait(20)
        asker = threading.Thread(target=lambda: totals(index) == [] and index.entry_files())
        asker.start()
        asker.join(10)
        assert not asker.is_alive()
    finally:
        resume.set()
        reader.join(20)
    assert len(totals(index)) == 40


def test_what_is_new_is_read_before_older_files_that_wait(lake, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FIRST_FILES", 1)
    monkeypatch.setattr(module, "MAX_PIECE_FILES", 2)
    index = index_of(lake, tmp_path)
    index.list_files()
    assert index.read_pieces(max_pieces=1) and not index.needs_listing
    fill(lake, 1, first=41, day=DAYS)
    index._next_listing = time.monotonic()
    assert index.needs_listing
    index.list_files()
    assert index.read_pieces(max_pieces=1)
    index._merge()
    assert "run-41" in {run for run, *_ in totals(index)} and len(totals(index)) < 5


def test_a_file_that_goes_while_it_is_read_is_listed_again(lake, tmp_path):
    index = index_of(lake, tmp_path)
    index.list_files()
    Store(lake).compact()
    assert index.read_pieces() and not index.is_listed and index.needs_listing
    assert read_all(index) > 1 and index.is_listed
    assert totals(index) == rows(str(lake), SQL)[1]


def test_the_log_shows_how_many_files_are_read(lake, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(module, "FIRST_FILES", 4)
    monkeypatch.setattr(view_module, "PROGRESS_SECONDS", 0)
    answers = []
    view = View(parse([str(lake)]), str(tmp_path), 1, answers.append)
    while view._refresh():
        pass
    view._refresh()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "digd.fleet: read 4 of 60 files" and lines[-1] == "digd.fleet: read 60 of 60 files"
    assert view._fleet({})["files"] == {"read": 60, "total": 60, "left_out": 0, "complete": True, "problem": ""}


def test_a_broken_file_is_a_reason_and_not_a_file_that_went(lake, tmp_path):
    file = next(lake.glob("v1/entries/*/*/*.parquet"))
    file.write_bytes(b"nonsense")
    index = index_of(lake, tmp_path)
    index.list_files()
    with pytest.raises(OSError, match=file.name):
        index.read_pieces()


def test_beyond_the_bound_the_oldest_files_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_PARTS", 10)
    lake = tmp_path / "lake"
    for day in range(10):
        fill(lake, 2, first=2 * day + 1, day=day)
    index = index_of(lake, tmp_path)
    newest = lambda: sorted(int(run.removeprefix("run-")) for run, *_ in totals(index))  # noqa: E731
    read_all(index)
    assert newest() == list(range(11, 21)) and index.left_out_files == 15
    index.list_files()
    assert index._waiting == [] and index.left_out_files == 15
    fill(lake, 2, first=21, day=10)  # the newest are shown, and older ones leave
    read_all(index)
    assert newest() == list(range(13, 23)) and index.left_out_files == 17
    Store(lake).drop_days_before("1970-01-10")
    read_all(index)
    assert newest() == list(range(19, 23)) and index.left_out_files == 0


def live_rows(*entries):
    live = LiveRows(parse(["nats://127.0.0.1:1"]), lambda: None)
    for i, rows_ in enumerate(entries):
        live._add(i + 1, rows_, 100)
    return live


def test_rows_of_the_stream_are_bounded_and_leave_with_it(monkeypatch):
    entries = [message("a", n, run_number=n) for n in range(1, 11)]
    monkeypatch.setattr(of_stream, "MAX_BYTES", 550)
    live = live_rows(*entries)
    assert [rows_.n for rows_ in live.rows()] == [6, 7, 8, 9, 10] and live.dropped == 5
    live._forget_drops(4)
    assert live.dropped == 5
    live._forget_drops(5)
    assert live.dropped == 0
    live._forget_before(9)
    assert [rows_.n for rows_ in live.rows()] == [9, 10] and live.rows_of(RunKey("t1", "a", 8)) == []


def test_what_a_new_home_did_not_keep_leaves_the_rows_of_the_stream():
    first = [message("a", n) for n in range(1, 5)]
    later = message("b", 1, run_number=9, origin_archive="a", origin_run_number=1, epoch=2, n=3)
    live = live_rows(*first, later)
    live._keep(Moved(RunKey("t1", "a", 1), 2, 2))
    assert [(rows_.epoch, rows_.n) for rows_ in live.rows()] == [(1, 1), (1, 2), (2, 3)]


def test_of_the_deleted_runs_of_the_stream_the_latest_are_kept(monkeypatch, capfd):
    monkeypatch.setattr(of_stream, "MAX_DELETED", 3)
    live = live_rows()
    runs = [RunKey("t1", "a", n) for n in range(1, 7)]
    for run in [*runs[:3], runs[0], *runs[3:]]:
        live._delete(run)
    assert live.deleted() == set(runs[3:]) and live.dropped_deletions == 3
    assert capfd.readouterr().err.count("more than 3 deleted runs; the oldest are forgotten") == 1
    live._add(1, message("a", 1, run_number=6), 100)
    assert live.rows() == []


def test_beyond_the_bound_of_hosts_the_known_ones_are_still_updated(monkeypatch):
    sent = [("h1", 1), ("h2", 1), ("h3", 1), ("h1", 2)]

    async def tail(*_):
        for host, lag in sent:
            data = json.dumps({"format": 1, "lag": lag}).encode()
            yield SimpleNamespace(subject=f"digd.host.t1.{host}", data=data)

    monkeypatch.setattr(of_stream, "MAX_HOSTS", 2)
    monkeypatch.setattr(of_stream.live, "tail", tail)
    live = live_rows()
    asyncio.run(live._records())
    assert {record["host"]: record["lag"] for record in live.hosts()} == {"h1": 2, "h2": 1}
