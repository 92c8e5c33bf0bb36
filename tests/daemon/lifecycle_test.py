"""Start, stop, kill and recovery."""

import contextlib
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from killing import windows_trace
from live import DIGCTL, DIGD, TIMEOUT_S, Daemon, wait_until
from watching import get, metric

ABC = ["a", "b", "c"]


def run_digd(*args, **more):
    return subprocess.run([DIGD, *args], capture_output=True, text=True, timeout=TIMEOUT_S, **more)


# ---- starting


def test_help_and_version():
    assert "--check-config" in run_digd("--help").stdout
    assert run_digd("--version").stdout.startswith("digd ")


@pytest.mark.parametrize(
    "args",
    [
        ["--nonsense"],
        ["--config", "/nowhere/digd.toml"],
        ["--listen", "0.0.0.0:7344"],
        ["--listen", "[::]:7344"],
        ["--listen", "10.1.2.3:1"],
        ["--listen", "x"],
    ],
)
def test_wrong_usage_exits_with_2(args, tmp_path):
    done = run_digd("--data-dir", str(tmp_path / "d"), *args)
    assert done.returncode == 2 and done.stderr
    assert not (tmp_path / "d").exists()


def test_a_configuration_error_is_reported_with_its_position(tmp_path):
    file = tmp_path / "digd.toml"
    file.write_text("threads = 1\n[rules.deadlok]\nwindow_ms = 1\n")
    done = run_digd("--config", str(file), "--check-config")
    assert done.returncode == 2
    assert f"{file}:2:" in done.stderr and "rules.deadlock" in done.stderr
    file.write_text("threads = 1\n")
    assert run_digd("--config", str(file), "--check-config").returncode == 0


def test_a_used_port_an_unwritable_folder_and_a_locked_archive_stop_the_start(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run_digd("--listen", f"127.0.0.1:{taken.getsockname()[1]}", "--data-dir", str(tmp_path / "a"))
        assert done.returncode == 2 and "in use" in done.stderr
    (tmp_path / "file").write_text("")
    done = run_digd("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "file"))
    assert done.returncode == 2 and "data directory" in done.stderr
    with Daemon(tmp_path / "b") as daemon:
        done = run_digd("--listen", "127.0.0.1:0", "--data-dir", str(daemon.data))
        assert done.returncode == 2 and "archive" in done.stderr


def test_an_archive_of_a_later_version_is_refused(tmp_path):
    with Daemon(tmp_path) as daemon:
        assert daemon.stop() == 0
    with sqlite3.connect(daemon.data / "digd.sqlite") as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        db.execute(f"PRAGMA user_version = {version + 1}")
    done = run_digd("--listen", "127.0.0.1:0", "--data-dir", str(daemon.data))
    assert done.returncode == 2 and "archive" in done.stderr


def test_the_state_directory_of_systemd_is_used(tmp_path):
    env = {**os.environ, "STATE_DIRECTORY": str(tmp_path / "state")}
    process = subprocess.Popen([DIGD, "--listen", "127.0.0.1:0"], env=env, stderr=subprocess.PIPE)
    wait_until(lambda: (tmp_path / "state/digd.address").exists(), "the address")
    process.send_signal(signal.SIGINT)
    assert process.wait(TIMEOUT_S) == 0
    process.stderr.close()


def test_the_log_can_be_json(tmp_path):
    with Daemon(tmp_path, '[log]\nformat = "json"\n') as daemon:
        with daemon.client('a "quoted"\u202e run', place=False):
            pass
        assert daemon.stop() == 0
    lines = [json.loads(line) for line in daemon.log_text().splitlines()]
    opened = [line for line in lines if line.get("event") == "run_open"]
    assert [(line["run"], line["level"]) for line in opened] == [('a "quoted"\u202e run', "info")]
    assert isinstance(opened[0]["number"], int)
    assert not any("run=" in line.get("message", "") for line in lines)
    assert "\u202e" not in daemon.log_text()


def test_the_log_names_detections_and_how_a_run_ended(tmp_path):
    with Daemon(tmp_path, '[log]\nformat = "json"\n') as daemon:
        with daemon.client("r", agents=ABC, mode="observe") as c:
            c.event("lost", ["nobody"])
            c.tell("run_ended", outcome="failure")
            c.wait_acked()
        assert daemon.stop() == 0
    lines = [json.loads(line) for line in daemon.log_text().splitlines()]
    found = [line for line in lines if line.get("event") == "detection"]
    assert [(d["level"], d["run"], d["rule"], d["severity"], d["about"]) for d in found] == [
        ("info", "r", "orphaned_event", "failure", "lost")
    ]
    assert found[0]["healed"] is False and found[0]["cause"] == "mode" and '"lost" reaches nobody' in found[0]["reason"]
    ended = [line for line in lines if line.get("event") == "run_ended"]
    assert [(e["run"], e["outcome"], e["detections"], e["healed"]) for e in ended] == [("r", "failure", 1, 0)]


# ---- stopping


def test_sigterm_closes_connections_and_keeps_all_messages(tmp_path):
    with Daemon(tmp_path) as daemon:
        c = daemon.client(agents=ABC)
        for i in range(1, 301):
            c.event(f"e{i}", ["a"], event={"fyi": True})
        c.verdicts(300)
        process = daemon.process
        process.send_signal(signal.SIGTERM)
        assert c.closed_with() == 1001
        assert process.wait(TIMEOUT_S) == 0
        assert not (daemon.data / "digd.address").exists()
        daemon.start()
        with daemon.client(agents=ABC) as again:
            assert again.welcome["acked_seq"] == 300


def test_a_silent_client_does_not_block_the_stop(tmp_path):
    with Daemon(tmp_path) as daemon, daemon.raw() as silent:
        silent.sendall(b"GET /healthz HT")
        assert daemon.stop() == 0


def test_connections_that_arrive_during_the_stop_do_no_harm(tmp_path):
    def connect_until_refused(daemon):
        with contextlib.suppress(OSError):
            while True:
                daemon.raw().close()

    for round in range(10):
        with Daemon(tmp_path / str(round)) as daemon:
            clients = [threading.Thread(target=connect_until_refused, args=[daemon]) for _ in range(4)]
            for client in clients:
                client.start()
            time.sleep(0.02 * round)
            assert daemon.stop() == 0
            for client in clients:
                client.join()
            assert "accept_failed" not in daemon.log_text()


def test_only_the_archive_thread_runs_at_low_priority(tmp_path):
    with Daemon(tmp_path) as daemon, daemon.client(agents=ABC) as c:
        c.event("e1", ["a"], event={"fyi": True})
        c.wait_acked()  # both threads have worked by now, so both are named
        scheduling = {}  # thread name → nice value and scheduling policy (proc(5): fields 19 and 41)
        for task in Path(f"/proc/{daemon.process.pid}/task").iterdir():
            after_name = (task / "stat").read_text().rpartition(")")[2].split()
            scheduling[(task / "comm").read_text().strip()] = (int(after_name[16]), int(after_name[38]))
    ours = os.nice(0)
    assert scheduling["archive"] == (max(5, ours), os.SCHED_BATCH)
    assert {value for name, value in scheduling.items() if name.startswith("engine-")} == {
        (ours, os.sched_getscheduler(0))
    }


# ---- killed


def detections(daemon):
    with sqlite3.connect(f"file:{daemon.data}/digd.sqlite?mode=ro", uri=True) as db:
        return [json.loads(j) for (j,) in db.execute("SELECT json FROM detections ORDER BY id")]


def play(daemon, messages, kill_at=()):
    """Sends all messages, kills digd after each number of answers in `kill_at`, and resumes.

    Returns the answers by seq and the interventions by id.
    """
    answers, interventions, kill_at, heard = {}, {}, list(kill_at), 0
    done = False
    while not done:
        c = daemon.client(agents=ABC)
        acked = c.welcome["acked_seq"]
        try:
            for m in messages[acked:]:
                c.send_raw(m)
            c.send_raw(messages[-1])  # sent again: its ack follows all pending answers
            f = {"type": None}
            while c.acked < len(messages) or f["type"] != "ack":
                f = c.receive()
                if f["type"] in ("verdicts", "error"):
                    assert answers.setdefault(f["seq"], f) == f, "a repeated answer must not change"
                    heard += 1
                elif f["type"] == "intervention":
                    assert interventions.setdefault(f["id"], f) == f
                if kill_at and heard >= kill_at[0]:
                    kill_at.pop(0)
                    raise InterruptedError
            done = True
        except (InterruptedError, ConnectionClosed):
            daemon.kill()
            daemon.start()
        c.drop()
    return answers, interventions


@pytest.mark.parametrize("seed", range(4))
def test_answers_are_the_same_after_kills_at_any_point(tmp_path, seed):
    messages = windows_trace(random.Random(seed), 401)[:-1]  # the run stays open
    with Daemon(tmp_path / "whole") as daemon:
        expected = play(daemon, messages)
        expected_detections = detections(daemon)
    dice = random.Random(seed)
    with Daemon(tmp_path / "killed") as daemon:
        got = play(daemon, messages, sorted(dice.sample(range(1, 200), 4)))
        assert detections(daemon) == expected_detections
    assert expected_detections
    answers, interventions = got
    # Answers to durable messages that the client had not read are not repeated; all others are the same.
    assert answers.items() <= expected[0].items()
    assert interventions == expected[1]


def test_both_sessions_of_a_run_survive_a_kill(tmp_path):
    with Daemon(tmp_path) as daemon:
        with daemon.client("r", "one", agents=ABC) as first, daemon.client("r", "two") as second:
            first.event("e1", ["a"])
            first.wait_acked()
            second.start("v1", "a", ["e1"])
            second.start("v2", "b", ["unseen"])  # waits for reorder_ms, then is applied
            second.wait_acked(2)
        daemon.kill()
        daemon.start()
        with daemon.client("r", "one", agents=ABC) as first, daemon.client("r", "two") as second:
            assert (first.welcome["acked_seq"], second.welcome["acked_seq"]) == (1, 2)
            second.end("v1", [{"id": "e2", "recipients": ["b"]}])
            assert second.verdicts() == [{"event": "e2", "action": "deliver"}]


@pytest.mark.parametrize("back_first", ["one", "two", "nobody"])
def test_a_run_killed_before_its_session_joined_continues_and_is_exported(tmp_path, back_first):
    def say(name):
        with daemon.client("r", name, agents=ABC) as c:
            c.event(f"of {name}", ["a"])
            assert c.verdicts()[0]["action"] == "deliver"
            c.wait_acked()

    with Daemon(tmp_path) as daemon:
        with daemon.client("r", "one", agents=ABC) as c:
            c.wait_acked(0)
        daemon.stop()
        with sqlite3.connect(daemon.data / "digd.sqlite") as db:  # the state after a kill between two commits
            db.execute("DELETE FROM entries WHERE kind = 'session_joined'")
        daemon.start()
        for name in {"one": ["one", "two"], "two": ["two", "one"], "nobody": []}[back_first]:
            say(name)
        exported = subprocess.run(
            [DIGCTL, "export", "r", "--to", daemon.address], capture_output=True, text=True, timeout=TIMEOUT_S
        )
        assert exported.returncode == 0, exported.stderr
        again = subprocess.run(
            [DIGCTL, "replay", "-"], input=exported.stdout, capture_output=True, text=True, timeout=TIMEOUT_S
        )
        assert again.returncode == 0, again.stderr
        daemon.kill()
        daemon.start()  # recovery reads the run once more
        with daemon.client("r", "one", agents=ABC) as c:
            assert c.welcome["acked_seq"] == (0 if back_first == "nobody" else 1)


@pytest.mark.parametrize("clock", ["trace", "wall"])
def test_refused_frames_use_up_their_seq_across_a_kill(tmp_path, clock):
    with Daemon(tmp_path) as daemon:
        with daemon.client(clock=clock, limits={"message_bytes": 2000}) as c:
            for frame in ("{", b"\x00", '{"type":"time"}', '{"type":"nonsense","seq":4}', " " * 3000):
                c.send_raw(frame)
            c.seq = 5
            c.event("e1", ["a"])
            c.wait_acked(6)
        daemon.kill()
        daemon.start()
        with daemon.client(clock=clock) as c:
            assert c.welcome["acked_seq"] == 6
            c.event("e1", ["a"])
            assert c.error()["code"] == "duplicate_event"


def test_a_wall_clock_run_keeps_its_settings_after_a_kill(tmp_path):
    hello = dict(clock="wall", mode="shadow", rules={"deadlock": {"window_ms": 100, "max_attempts": 1}}, agents=ABC)
    with Daemon(tmp_path) as daemon:
        with daemon.client(**hello) as c:
            c.event("e1", ["a"])
            c.wait_acked()
        daemon.kill()
        daemon.config.write_text('[defaults]\nclock = "trace"\nmode = "off"\n[rules.deadlock]\nwindow_ms = 5\n')
        daemon.start()
        with daemon.client(**hello) as c:
            assert (c.welcome["mode"], c.welcome["rules"]["deadlock"]["window_ms"]) == ("shadow", 100)
        wait_until(lambda: [d for d in detections(daemon) if d["rule"] == "deadlock"], "the running window to fire")


def test_an_ended_run_stays_closed_after_a_kill(tmp_path):
    with Daemon(tmp_path) as daemon:
        with daemon.client() as c:
            c.event("e1", ["a"])
            c.tell("run_ended", outcome="failure")
            c.wait_acked()
        daemon.kill()
        daemon.start()
        with daemon.client() as c:
            assert c.welcome["acked_seq"] == 2
            c.event("e2", ["a"])
            assert c.error()["code"] == "run_closed"


def test_a_damaged_archive_is_set_aside_and_intact_runs_continue(tmp_path):
    with Daemon(tmp_path) as daemon:
        for n in range(20):
            with daemon.client(run=f"r{n}", agents=ABC) as c:
                for i in range(30):
                    c.event(f"e{i}", ["a"], event={"payload": "x" * 300})
                c.wait_acked()
        assert daemon.stop() == 0
        file = daemon.data / "digd.sqlite"
        content = bytearray(file.read_bytes())
        middle = len(content) // 4096 // 2 * 4096
        content[middle : middle + 4096] = b"\xa5" * 4096
        file.write_bytes(content)
        daemon.start()
        daemon.wait_logged("archive_damaged")
        metrics = daemon.http(f"GET /metrics HTTP/1.1\r\nHost: {daemon.address}\r\nConnection: close\r\n\r\n".encode())[
            1
        ]
        lost = int(next(line for line in metrics.splitlines() if line.startswith("digd_archive_runs_lost ")).split()[1])
        aside = [f for f in daemon.data.iterdir() if ".damaged-" in f.name and not f.name.endswith(("-wal", "-shm"))]
        cut = int(daemon.log_text().split("runs_cut=", 1)[1].split()[0])
        assert 0 < lost + cut < 20 and len(aside) == 1
        there = 0
        for n in range(20):
            with daemon.client(run=f"r{n}", agents=ABC) as again:
                there += again.welcome["acked_seq"] == 30
        assert there == 20 - lost - cut


@pytest.mark.parametrize("form", ["text", "json"])
def test_names_are_escaped_in_the_log(tmp_path, form):
    name = "x\n2026-01-01T00:00:00.000Z error forged=yes \x1b[31m\u202e\x00\"'}"
    with Daemon(tmp_path, f'[log]\nlevel = "debug"\nformat = "{form}"\n') as daemon:
        with daemon.client(
            run=name,
            session=name,
            place=False,
            agents=[name],
            labels={name: name},
            client={"name": name, "version": name},
        ) as c:
            c.event(name, [name], event={"kind": name, "payload": "the payload itself"})
            c.event(name, [name])
            assert c.error()["code"] == "duplicate_event"
            c.start(name, name, [name])
            c.tell("activation_ended", activation=name, failed=True, error=name)
            c.tell("delivery", event=name, applied="failed", reason=name)
        with daemon.client(run=name, session=name, place=False, agents=["other"], greet=False, mode="off") as c:
            c.send_raw({**c.hello, "rules": {name: {}}})
        daemon.stop()
    log = daemon.log_text()
    assert "the payload itself" not in log
    for line in log.splitlines():
        assert not line.startswith("2026-01-01") and not any(c in line for c in "\x1b\u202e\x00"), repr(line)
        if form == "json":
            assert "forged" not in json.loads(line)


@pytest.mark.parametrize("clock", ["trace", "wall"])
def test_an_open_run_of_an_older_version_continues_after_a_gap(tmp_path, clock):
    def lines(daemon):
        with sqlite3.connect(daemon.data / "digd.sqlite") as db:
            return [row[0] for row in db.execute("SELECT frame FROM entries WHERE type = 'semantics'")]

    with Daemon(tmp_path) as daemon:
        with daemon.client("r", clock=clock, agents=["a", "b"]) as c:
            c.event("pending", ["a"])
            c.wait_acked()
        daemon.stop()
        with sqlite3.connect(daemon.data / "digd.sqlite") as db:  # as version 1 wrote it
            (frame,) = db.execute("SELECT frame FROM entries WHERE kind = 'run_opened'").fetchone()
            older = {k: v for k, v in json.loads(frame).items() if k != "semantics"}
            db.execute(
                "UPDATE entries SET frame = ? WHERE kind = 'run_opened'", (json.dumps(older, separators=(",", ":")),)
            )
        for _ in range(2):  # the second start finds the line that the first one wrote
            daemon.start()
            assert get(daemon, "/v1/runs/r")["state"] == "open"
            daemon.stop()
            assert [json.loads(line)["version"] for line in lines(daemon)] == [2]
        daemon.start()
        with daemon.client("r", clock=clock, agents=["a", "b"]) as c:
            c.seq = c.welcome["acked_seq"]
            c.start("v", "b", [])
            c.end(
                "v", outputs=[{"id": "answer", "submit": True}]
            )  # pending events are unknown after a gap: no early termination
            assert c.verdicts() == [{"event": "answer", "action": "deliver"}]
            c.wait_acked()
        exported = subprocess.run(
            [DIGCTL, "export", "r", "--to", daemon.address], capture_output=True, text=True, timeout=TIMEOUT_S
        )
        again = subprocess.run(
            [DIGCTL, "replay", "-", "--output", "messages", "--format", "jsonl"],
            input=exported.stdout,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        assert '{"event":"answer","action":"deliver"}' in again.stdout
        if clock == "wall":
            assert "began under version 1" in again.stderr


def test_a_detection_at_the_end_of_a_run_is_counted_with_its_cause(tmp_path):
    with Daemon(tmp_path) as daemon:
        with daemon.client(agents=["a"]) as c:
            c.event("left", ["a"])
            c.tell("run_ended", outcome="failure")
            c.wait_acked()
        assert metric(daemon, 'digd_unhealed_total{cause="ended"}') == 1
        assert metric(daemon, 'digd_unhealed_total{cause="mode"}') == 0
