"""Overload begins and ends with its cause, and frees memory; so does the end of runs."""

import os
import signal

from limits_table import RecordingClient, export, replayed, toml
from live import Client, Daemon, wait_until
from watching import get, metric, work


def test_overload_begins_and_ends_with_its_cause(tmp_path):
    with Daemon(tmp_path) as daemon, daemon.client("large") as large, daemon.client("small") as small:
        work(large, 30)
        work(small, 2)
        small.wait_acked(), large.wait_acked()
        assert get(daemon, "/readyz")["ready"]
        daemon.config.write_text(toml("overload.memory_bytes", 1))
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: metric(daemon, 'digd_overload_action{action="refuse"}') == 1, "the overload")
        wait_until(lambda: get(daemon, "/v1/runs/large")["unjudged"] == "overload", "the largest run to be released")
        daemon.config.write_text("")
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: metric(daemon, 'digd_overload_action{action="refuse"}') == 0, "the end of the overload")
        assert metric(daemon, 'digd_overload_begun_total{action="refuse"}') == 1
        assert get(daemon, "/readyz")["ready"]
        # Judging begins again, with an empty graph.
        large.wait_for("judging_resumed")
        wait_until(lambda: get(daemon, "/v1/runs/large")["unjudged"] is None, "the line in the archive")
        assert metric(daemon, "digd_judging_resumed_total") >= 1
        daemon.wait_logged("judging_resumed run=")
        large.event("after", [])
        assert [d["rule"] for d in large.verdicts()[0]["detections"]] == ["orphaned_event"]
        large.wait_acked()
        with daemon.client("new") as new:
            assert new.welcome["mode"] == "enforce"


def send_one_and_overload(daemon, client):
    """Sends an event, and then makes digd release the run for want of memory."""
    client.event("e1", ["a"])
    client.wait_acked()
    daemon.config.write_text(toml("overload.memory_bytes", 1) + "refuse = 0\n")
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: get(daemon, "/v1/runs/r1")["unjudged"], "the run to be released")


def test_a_run_released_for_memory_replays_exactly(tmp_path):
    with Daemon(tmp_path) as daemon:
        with RecordingClient(daemon, "r1", agents=["a"]) as c:
            send_one_and_overload(daemon, c)
            c.event("lost", ["nobody there"])
            c.wait_acked()
        assert replayed(export(daemon)) == c.frames
        assert c.frames[-1]["verdicts"] == [{"event": "lost", "action": "deliver"}]


def test_a_run_that_is_judged_again_replays_exactly_and_survives_a_kill(tmp_path):
    with Daemon(tmp_path) as daemon:
        with RecordingClient(daemon, "r1", agents=["a"]) as c:
            send_one_and_overload(daemon, c)
            c.event("unjudged", ["ghost"])
            c.wait_acked()
            daemon.config.write_text("")
            daemon.process.send_signal(signal.SIGHUP)
            c.wait_for("judging_resumed")
            c.event("e1", ["ghost"])  # the id is unknown, the roster is not
            assert [d["rule"] for d in c.verdicts()[0]["detections"]] == ["orphaned_event"]
            c.wait_acked()
        assert replayed(export(daemon)) == c.frames
        daemon.kill()
        daemon.start()
        with daemon.client("r1", agents=["a"]) as again:
            assert "unjudged" not in again.welcome
            again.event("e1", ["ghost"])
            assert again.error()["code"] == "duplicate_event"  # of the graph that began again
            again.wait_acked()  # the archive has it
        assert replayed(export(daemon), status=2)[: len(c.frames)] == c.frames


def test_finished_runs_leave_nothing_in_memory(tmp_path):
    """Checks counters, not bytes. `DIGD_FINISHED_RUNS=10000` repeats it with more runs."""
    runs = int(os.environ.get("DIGD_FINISHED_RUNS", "200"))
    with Daemon(tmp_path) as daemon:
        for first in range(0, runs, 50):
            batch = [Client(daemon, f"r{i}", greet=False) for i in range(first, min(first + 50, runs))]
            for c in batch:
                c.send_raw(c.hello)
                c.event("e1", ["a"])
                c.tell("run_ended", outcome="success")
            for c in batch:
                c.wait_acked()
                c.drop()
        wait_until(lambda: metric(daemon, "digd_connections") <= 1, "the connections to go")
        assert metric(daemon, "digd_runs_ended_total") == runs
        assert metric(daemon, "digd_runs_open") == 0
        wait_until(lambda: metric(daemon, "digd_runs_in_memory") == 0, "ended runs to leave memory")
        assert get(daemon, f"/v1/runs/r{runs - 1}")["ended"] == "success"


def test_memory_pressure_shrinks_the_credits(tmp_path):
    others = "no_new_runs = 0\nobserve = 0\nrefuse = 0\n"
    for limit, is_short in ((0, False), (1, True)):
        with (
            Daemon(tmp_path / str(limit), toml("overload.memory_bytes", limit) + others) as daemon,
            daemon.client() as c,
        ):
            for i in range(900):  # below the credits, 1,024; above a sixteenth of them
                c.event(f"e{i}", ["a"])
            c.wait_acked()
            assert (metric(daemon, 'digd_limits_hit_total{limit="credits"}') > 0) == is_short
