"""Creates an archive with a few small runs for the migration tests: one file for each schema version.

    DIGD_BIN=OLD/digd PYTHONPATH=tests/daemon python3 tests/archive/stored/make.py v1.db

Run it once, with a digd that writes that version. Never change a stored file.
"""

import http.client
import shutil
import sqlite3
import sys
import tempfile

from live import Daemon


def ask(daemon, method, path, body=None):
    host, port = daemon.address.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=20)
    c.request(method, path, body)
    assert c.getresponse().status < 300, path
    c.close()


def ended(daemon):
    """Two sessions, a healed orphan, a submit, a refused message."""
    with daemon.client("ended", "main", agents=["planner", "coder"], labels={"task": "t1"}) as c:
        with daemon.client("ended", "second", agents=["tester"]) as other:
            c.event("task", ["planner"], ts=1, event={"kind": "problem", "payload": {"text": "naïve “payload” \u202e"}})
            c.start("v1", "planner", ["task"], ts=2)
            c.end("v1", [{"id": "plan", "recipients": ["nobody"], "payload": {"n": 1.50}}], ts=3)
            c.event("task", ["planner"], ts=4)  # again: refused
            c.wait_acked()
            other.event("fyi", ["coder"], ts=5, event={"fyi": True})
            other.wait_acked()
            c.start("v2", "planner", ["plan"], ts=6)
            c.end("v2", [{"id": "answer", "recipients": [], "submit": True}], ts=7)
            c.tell("run_ended", outcome="success", ts=8)
            c.wait_acked()


def waiting(daemon):
    """An open run with unanswered interventions."""
    with daemon.client("waiting", agents=["a", "b"], rules={"deadlock": {"window_ms": 2000}}) as c:
        c.event("e1", ["a"], ts=0, event={"payload": "p" * 300})
        c.start("v1", "a", ["e1"], ts=10)
        c.end("v1", [{"id": "e2", "recipients": ["b"]}], ts=20)
        c.tell("time", ts=9000)
        c.wait_acked()


def shadowed(daemon):
    """A run in shadow with a hostile name; the operator switches its mode in between."""
    with daemon.client('<b>"\x1b[31m', place=False, agents=["a"], mode="shadow") as c:
        c.start("v1", "a", [], ts=1)
        c.end("v1", [{"id": "lost", "recipients": ["ghost"]}], ts=2)
        c.wait_acked()
        ask(daemon, "PUT", "/v1/mode", '{"mode":"observe"}')
        c.start("v2", "a", [], ts=3)
        c.end("v2", [{"id": "lost2", "recipients": ["ghost"]}], ts=4)
        c.wait_acked()
        ask(daemon, "PUT", "/v1/mode", '{"mode":"enforce"}')


def failed(daemon):
    with daemon.client("failed", agents=["a"]) as c:
        c.event("e1", ["a"], ts=1)
        c.start("v1", "a", ["e1"], ts=2)
        c.end("v1", failed=True, error="timeout", ts=3)
        c.tell("run_ended", outcome="failure", ts=4)
        c.wait_acked()


def deleted(daemon):
    """A deleted run: its numbers stay reserved although no row has them."""
    with daemon.client("deleted", agents=["a"]) as c:
        c.event("e1", ["a"], ts=1)
        c.wait_acked()
    ask(daemon, "DELETE", "/v1/runs/deleted")


def measured(daemon):
    """A run that reports metrics at its end; not in v1.db."""
    with daemon.client("measured", agents=["planner", "coder"], mode="shadow") as c:
        c.event("task", ["planner"], ts=1)
        c.start("v1", "planner", ["task"], ts=2)
        c.end("v1", [{"id": "lost", "recipients": ["nobody"]}], ts=3)
        c.start("v2", "coder", [], ts=4)
        c.end("v2", ts=5)
        c.tell("run_ended", outcome="failure", metrics={"cost": 0.25, "note": "naïve"}, ts=6)
        c.wait_acked()


def limited(daemon):
    """A run whose pending events a limit made digd forget, and one whose judging a limit stopped.

    Not in v1.db and v2.db.
    """
    with daemon.client("forgetful", agents=["a"], over_limit={"live_events": "gap"}) as c:
        for i in range(25):
            c.event(f"e{i}", ["a"], ts=i)
        c.wait_acked()
    with daemon.client("unjudged", agents=["a"], over_limit={"recipients": "observe"}) as c:
        c.event("wide", [f"a{i}" for i in range(51)], ts=1)
        c.wait_acked()


def adopted(daemon):
    """An open run of an earlier version of the rules, which the daemon continues; not in v1.db, v2.db."""
    with daemon.client("adopted", agents=["a"]) as c:
        c.event("e1", ["a"], ts=1)
        c.wait_acked()
    daemon.stop()
    with sqlite3.connect(daemon.data / "digd.sqlite") as db:
        db.execute(
            "UPDATE entries SET frame = replace(frame, ',\"semantics\":2', '') WHERE kind = 'run_opened'"
            " AND run = (SELECT number FROM runs WHERE run = 'adopted')"
        )
    daemon.start()


def main(to):
    with tempfile.TemporaryDirectory() as folder:
        with Daemon(folder, "threads = 1\n[limits]\nrecipients = 50\nlive_events = 20\n") as daemon:
            for make in (ended, waiting, shadowed, failed, deleted, measured, limited, adopted):
                make(daemon)
            daemon.stop()
            shutil.copy(daemon.data / "digd.sqlite", to)
    db = sqlite3.connect(f"file:{to}?mode=ro&immutable=1", uri=True)
    print("version", *db.execute("PRAGMA user_version").fetchone())
    for table in ("runs", "entries", "detections", "interventions", "outcomes"):
        print(table, *db.execute(f"SELECT count(*) FROM {table}").fetchone())


main(sys.argv[1])
