"""Retention deletes the runs that the configuration no longer keeps, the oldest first, and no others."""

import contextlib
import signal
import sqlite3
import time

import pytest

from live import Daemon, wait_until
from watching import Feed, get, metric

DAY_MS = 24 * 3600 * 1000


def a_run(daemon, run, end="success", bytes=100, n=2):
    with daemon.client(run=run, agents=["a", "b"]) as c:
        for i in range(n):
            c.event(f"e{i}", ["a"], event={"payload": "x" * bytes})
        if end:
            c.tell("run_ended", outcome=end)
        c.wait_acked()


def names(daemon):
    return [r["run"] for r in get(daemon, "/v1/runs?limit=500")["runs"]]


def grow_old(daemon, **days):
    """Makes stored runs older by a number of days. The daemon must be stopped."""
    db = sqlite3.connect(daemon.data / "digd.sqlite")
    for run, by in days.items():
        db.execute(
            "UPDATE runs SET opened_ms = opened_ms - ?1, ended_ms = ended_ms - ?1, heard_ms = heard_ms - ?1"
            " WHERE run = ?2",
            (by * DAY_MS, run),
        )
    db.commit()
    db.close()


def reload(daemon, config):
    daemon.config.write_text(config)
    daemon.process.send_signal(signal.SIGHUP)


def deleted(daemon, reason):
    return metric(daemon, f'digd_retention_runs_total{{reason="{reason}"}}')


def test_old_ended_runs_are_deleted_and_open_ones_kept(tmp_path):
    with Daemon(tmp_path, "threads = 2\n") as daemon:
        for run, end in (("old", "success"), ("older", "failure"), ("young", "success"), ("open", None)):
            a_run(daemon, run, end)
        daemon.stop()
        grow_old(daemon, old=8, older=30, young=6, open=400)
        daemon.config.write_text("threads = 2\n[retention]\ndays = 7\n")
        daemon.start()
        wait_until(lambda: deleted(daemon, "age") == 2, "the deletion of both old runs")
        assert names(daemon) == ["open", "young"]
        assert metric(daemon, 'digd_retention_bytes_total{reason="age"}') > 400
        assert deleted(daemon, "size") == 0 and deleted(daemon, "idle") == 0
        log = daemon.log_text()
        assert log.index('retention_deleted run="older"') < log.index('retention_deleted run="old"')
        assert "reason=age" in log
        # The names of deleted runs are free, and the other runs can be joined.
        for run in ("old", "open", "young"):
            with daemon.client(run=run, agents=["a", "b"]) as c:
                assert c.welcome["acked_seq"] == {"old": 0, "open": 2, "young": 3}[run]


def test_a_run_with_a_connected_client_is_kept(tmp_path):
    with Daemon(tmp_path, "") as daemon:
        a_run(daemon, "old")
        daemon.stop()
        grow_old(daemon, old=30)
        daemon.start()
        with daemon.client(run="old", agents=["a", "b"]) as c:
            assert c.welcome["acked_seq"] == 3
            a_run(daemon, "mark")
            reload(daemon, "[retention]\ndays = 7\n")
            daemon.wait_logged("reloaded")
            daemon.process.send_signal(signal.SIGHUP)
            c.send_raw(
                {"type": "event", "seq": 2, "event": {"id": "e1", "recipients": []}}
            )  # a known seq: answered with an ack, not run_closed
            assert c.wait_for("ack")["seq"] == 3
            assert names(daemon) == ["mark", "old"]
        wait_until(lambda: names(daemon) == ["mark"], "the deletion after the client disconnected", 30)


def test_ended_runs_with_clients_do_not_protect_later_ones(tmp_path):
    in_use = 40  # more than one portion of candidates
    with Daemon(tmp_path, "") as daemon, contextlib.ExitStack() as clients:
        for i in range(in_use):
            c = clients.enter_context(daemon.client(run=f"used{i}", agents=["a"]))
            c.tell("run_ended", outcome="success")
            c.wait_acked()
        for i in range(3):
            a_run(daemon, f"unused{i}")
        reload(daemon, "[retention]\nbytes = 1\n")
        wait_until(lambda: deleted(daemon, "size") == 3, "the deletion of the unused runs")
        assert len(names(daemon)) == in_use


def test_silent_runs_that_never_ended_are_deleted(tmp_path):
    with Daemon(tmp_path, "runs = 2\n") as daemon:
        a_run(daemon, "silent", None)
        a_run(daemon, "heard", None)
        daemon.stop()
        grow_old(daemon, silent=15, heard=13)
        daemon.config.write_text("runs = 2\n[retention]\nidle_days = 14\n")
        daemon.start()
        wait_until(lambda: deleted(daemon, "idle") == 1, "the deletion of the silent run")
        assert names(daemon) == ["heard"]
        assert metric(daemon, "digd_runs_open") == 1
        a_run(daemon, "new", None)  # there is room for a run again


def test_the_earliest_ended_runs_are_deleted_until_the_archive_fits(tmp_path):
    with Daemon(tmp_path, "") as daemon:
        for i in range(8):
            a_run(daemon, f"r{i}", bytes=300_000)
        a_run(daemon, "open", None, bytes=300_000)
        size = lambda: (daemon.data / "digd.sqlite").stat().st_size
        reload(daemon, "[retention]\nbytes = 3000000\n")
        wait_until(lambda: names(daemon) == ["open", "r7", "r6", "r5"], "the deletions by size")
        wait_until(lambda: size() < 3_000_000 + 1_100_000, "the file to shrink")
        assert deleted(daemon, "size") == 5
        # If no more runs may be deleted, digd logs that and continues.
        reload(daemon, "[retention]\nbytes = 10000\n")
        wait_until(lambda: names(daemon) == ["open"], "the deletion of all ended runs")
        wait_until(lambda: metric(daemon, "digd_retention_over_bytes") > 500_000, "the excess to be reported")
        daemon.wait_logged("retention_cannot_free")
        reload(daemon, "")
        wait_until(lambda: metric(daemon, "digd_retention_over_bytes") == 0, "the limit to be lifted")


def test_deletion_keeps_up_with_runs_that_end(tmp_path):
    """What is stored stays below the limit and what arrived in the last seconds, however long runs arrive."""
    kept, lag_s, lasts_s = 10, 5, 9
    bytes_of_run = 120_000
    with Daemon(tmp_path, f"[retention]\nbytes = {kept * bytes_of_run}\n") as daemon:
        ended_at = []
        begun = time.monotonic()
        while time.monotonic() < begun + lasts_s or len(ended_at) < 4 * kept:
            a_run(daemon, f"r{len(ended_at)}", bytes=bytes_of_run // 2)
            ended_at.append(time.monotonic())
            recent = sum(at > ended_at[-1] - lag_s for at in ended_at)
            stored = len(ended_at) - deleted(daemon, "size")
            assert stored <= kept + recent, f"{stored} runs are stored, {recent} of the last {lag_s} s"
        wait_until(lambda: len(ended_at) - deleted(daemon, "size") <= kept, "the rest of the deletions")


def test_ingest_and_feed_continue_during_a_large_deletion(tmp_path):
    with Daemon(tmp_path, "") as daemon:
        with daemon.client(run="large", agents=["a"]) as c:
            for i in range(8_000):
                c.event(f"e{i}", ["a"])
            c.tell("run_ended", outcome="success")
            c.wait_acked()
        daemon.stop()
        grow_old(daemon, large=2)
        daemon.start()
        feed = Feed(daemon)
        with daemon.client(run="other", agents=["a"]) as c:
            reload(daemon, "[retention]\ndays = 1\n")
            sent = 0

            def gone():
                nonlocal sent
                sent += 1
                c.event(f"e{sent}", ["a"])
                c.wait_acked()
                return deleted(daemon, "age") == 1

            wait_until(gone, "the deletion of the large run", 60)
            frames = feed.until(lambda f: f["type"] == "verdicts" and f["of"] == sent)
        assert [f["message"]["seq"] for f in frames if f["type"] == "message"] == list(range(1, sent + 1))
        assert {f["run"] for f in frames} == {"other"}
        feed.close()
        again = Feed(daemon, "?since=0")
        assert again.take(1)[0]["run"] == "other"
        again.close()
        assert names(daemon) == ["other"]


def test_an_interrupted_deletion_is_finished_after_the_next_start(tmp_path):
    with Daemon(tmp_path, "") as daemon:
        a_run(daemon, "cut", n=2_000)
        a_run(daemon, "kept")
        daemon.stop()
        # The state after a kill between two steps of the deletion.
        db = sqlite3.connect(daemon.data / "digd.sqlite")
        db.execute("UPDATE runs SET deleting = 1 WHERE run = 'cut'")
        db.execute("DELETE FROM entries WHERE run = 1 AND id < 700")
        db.commit()
        db.close()
        daemon.start()
        assert names(daemon) == ["kept"]
        with daemon.client(run="cut", agents=["a", "b"]) as c:  # the name is free at once
            assert c.welcome["acked_seq"] == 0
            c.event("e1", ["a"])
            c.wait_acked()
        wait_until(lambda: metric(daemon, "digd_archive_deleted_runs_total") == 1, "the rest of the deletion")
        assert names(daemon) == ["cut", "kept"]
        daemon.stop()
        db = sqlite3.connect(daemon.data / "digd.sqlite")
        assert db.execute("SELECT number, run FROM runs ORDER BY number").fetchall() == [(2, "kept"), (3, "cut")]
        assert db.execute("SELECT count(*) FROM entries WHERE run = 1").fetchone()[0] == 0
        db.close()


def test_without_configured_retention_no_run_is_deleted(tmp_path):
    with Daemon(tmp_path, "") as daemon:
        a_run(daemon, "old")
        daemon.stop()
        grow_old(daemon, old=36_000)
        daemon.start()
        a_run(daemon, "mark")
        reload(daemon, '[log]\nlevel = "debug"\n')
        daemon.wait_logged("reloaded")
        assert names(daemon) == ["mark", "old"]


@pytest.mark.parametrize("line", ["days = -1", 'days = "7"', "bytes = 1.5", "weeks = 1"])
def test_a_bad_setting_is_refused_with_its_position(tmp_path, line):
    import subprocess

    daemon = Daemon(tmp_path, f"[retention]\n{line}\n")
    got = subprocess.run([*daemon.command(), "--check-config"], capture_output=True, text=True, timeout=20)
    assert got.returncode == 2 and "digd.toml:2:" in got.stderr and "retention." in got.stderr
