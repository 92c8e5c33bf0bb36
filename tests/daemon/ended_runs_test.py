"""Ended runs take no memory, whatever their number, and answer as before. `DIGD_ENDED_RUNS=1000000` repeats it with
more runs, and prints the seconds until digd listens."""

import os
import sqlite3
import time

import pytest

from live import Daemon, wait_until
from watching import ask, get, metric, run_path

RUNS = int(os.environ.get("DIGD_ENDED_RUNS", "20000"))
NAME_BYTES = 200
MAX_HEAP_BYTES = 1_000_000  # of the growth. With names in memory, 20,000 runs took 18.7 MB.


def name_of(i):
    return f"{i:0{NAME_BYTES}}"


def store_ended_runs(database, template):
    """Stores `RUNS` copies of a run that has ended, under other names."""
    db = sqlite3.connect(database)
    (number,) = db.execute("SELECT number FROM runs WHERE run = ?", (template,)).fetchone()
    (last,) = db.execute("SELECT max(number) FROM runs").fetchone()
    of_entry = "n, kind, session, seq, ts, arrived_ms, type, code, verdicts"
    db.execute("PRAGMA synchronous = OFF")
    db.execute(
        "WITH RECURSIVE i (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < ?1 - 1) "
        "INSERT INTO runs (number, run, opened_ms, last_ts, ended, ended_ms, bytes, heard_ms) "
        f"SELECT ?2 + 1 + i, printf('%0{NAME_BYTES}d', i), opened_ms, last_ts, ended, ended_ms, bytes, heard_ms "
        "FROM i, runs WHERE number = ?3",
        (RUNS, last, number),
    )
    db.execute(
        f"INSERT INTO entries (run, {of_entry}, frame) "
        f"SELECT r.number, {of_entry}, replace(frame, ?3, r.run) "
        "FROM runs AS r, entries AS e WHERE r.number > ?1 AND e.run = ?2",
        (last, number, template),
    )
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


@pytest.fixture
def daemon(tmp_path):
    """Its archive has one ended run, and then `RUNS` more; `heap_before` is its heap without them."""
    with Daemon(tmp_path) as daemon:
        with daemon.client("template", agents=["a"]) as c:
            c.event("e1", ["a"])
            c.tell("run_ended", outcome="success")
            c.wait_acked()
        daemon.stop()
        daemon.start()
        daemon.heap_before = metric(daemon, "digd_heap_bytes")
        daemon.stop()
        store_ended_runs(daemon.data / "digd.sqlite", "template")
        begun = time.monotonic()
        daemon.start()
        print(f"{RUNS:,} ended runs: digd listens and is ready after {time.monotonic() - begun:.2f} s")
        yield daemon


def test_they_take_no_memory(daemon):
    daemon.wait_logged(f"recovering runs=0 ended={RUNS + 1}")
    assert metric(daemon, "digd_runs_in_memory") == 0
    assert metric(daemon, "digd_heap_bytes") - daemon.heap_before < MAX_HEAP_BYTES


def test_a_hello_finds_them_and_deletion_frees_their_names(daemon):
    for i in (0, RUNS // 2, RUNS - 1):
        with daemon.client(name_of(i), agents=["a"]) as c:
            assert c.welcome["acked_seq"] == 2
            c.event("late", ["a"])
            assert c.error()["code"] == "run_closed"
    assert metric(daemon, "digd_runs_opened_total") == 0
    name = name_of(RUNS // 2)
    wait_until(lambda: ask(daemon, "DELETE", run_path(name))[0] == 204, "the deletion")
    with daemon.client(name, agents=["a"]) as c:
        assert c.welcome["acked_seq"] == 0
    assert metric(daemon, "digd_runs_opened_total") == 1
    assert get(daemon, run_path(name_of(0)))["ended"] == "success"
