"""digctl runs, show, tail, export, delete and mode against a real daemon; runs, show and export also on its archive."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from live import TIMEOUT_S, Daemon, wait_until  # noqa: E402
from scripted_daemon import unused_port  # noqa: E402
from tail_helpers import DIGCTL, Tail, is_harmless  # noqa: E402

EVIL = 'a"\x1b[2J\x1b]0;owned\x07\x9b31m\u202eb\\'


@pytest.fixture
def ask(digctl, daemon):
    return lambda command, *args, **more: digctl(command, *args, "--to", daemon.address, **more)


def work(c, n=1, payload="a secret"):
    for i in range(1, n + 1):
        c.event(f"e{i}", ["a"], event={"payload": {"text": payload}})
        c.start(f"v{i}", "a", [f"e{i}"])
        c.end(f"v{i}", [{"id": f"o{i}", "recipients": ["b"], "payload": [payload]}])


def orphan(c, id="lost"):
    c.start("v" + id, "a", [])
    c.end("v" + id, [{"id": id, "recipients": ["ghost"]}])


def a_run(daemon, run="r1", n=2, end=None, **hello):
    with daemon.client(run=run, place=False, agents=["a", "b"], **hello) as c:
        work(c, n)
        orphan(c)
        if end:
            c.tell("run_ended", outcome=end)
        c.wait_acked()


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


# ---- runs


def test_runs_are_listed_newest_first_with_their_outcomes(ask, daemon):
    a_run(daemon, "first", end="success")
    a_run(daemon, "second", n=3)
    got = ask("runs")
    assert got.returncode == 0, got.stderr
    head, *rows = got.stdout.splitlines()
    assert head.split() == ["opened", "state", "mode", "messages", "detections", "healed", "size", "run"]
    assert [r.split()[-1] for r in rows] == ["second", "first"]
    assert rows[0].split()[2:7] == ["open", "enforce", "11", "1", "1"] and rows[1].split()[2] == "success"
    assert "\x1b" not in got.stdout and "\x1b[32m" in ask("runs", "--color", "always").stdout


def test_runs_as_json_lines_equal_the_daemons_answer(ask, daemon):
    a_run(daemon)
    got = lines(ask("runs", "--format", "jsonl").stdout)
    assert [(r["run"], r["state"], r["counts"]["healed"]) for r in got] == [("r1", "open", 1)]
    assert got[0]["bytes"] > 500 and got[0]["heard_ms"] >= got[0]["opened_ms"]
    assert json.loads(ask("runs", "--format", "json").stdout) == got


def test_all_pages_are_listed_up_to_the_limit(ask, daemon):
    for i in range(205):  # a page has 200
        with daemon.client(run=f"r{i}", agents=["a"]) as c:
            pass
    c = daemon.client(run="mark", agents=["a"])
    c.event("e", ["a"])
    c.wait_acked()
    c.close()
    wait_until(lambda: len(ask("runs", "--format", "jsonl").stdout.splitlines()) == 206, "all runs")
    assert [r["run"] for r in lines(ask("runs", "--format", "jsonl", "--limit", 3).stdout)] == ["mark", "r204", "r203"]
    assert len(ask("runs").stdout.splitlines()) == 207


def test_an_archive_without_runs_is_not_an_error(ask):
    assert json.loads(ask("runs", "--format", "json").stdout) == []
    got = ask("runs")
    assert (got.returncode, got.stdout) == (0, "") and "no runs yet" in got.stderr


# ---- export


def test_an_exported_run_replays_to_the_live_answers(ask, digctl, daemon, tmp_path):
    live = []
    with daemon.client(agents=["a", "b"]) as c:
        work(c, 3)
        orphan(c)
        c.send_raw({"type": "event", "seq": c.seq + 1, "event": {"id": "e1", "recipients": ["a"]}})  # refused
        c.seq += 1
        c.send_raw(
            '{"type":"event",\n  "seq":%d,\r\n  "event":{"id":"spread\\nout",\n"recipients":["a"]}}' % (c.seq + 1)
        )
        c.seq += 1
        c.tell("run_ended", outcome="success")
        while len([f for f in live if f["type"] in ("verdicts", "error")]) < 9:
            live.append(c.receive())
        c.wait_acked()
    got = ask("export", "r1", "-o", tmp_path / "t.jsonl")
    assert got.returncode == 0, got.stderr
    assert (tmp_path / "t.jsonl").read_text().count("\n") == c.seq + 1
    again = lines(digctl("replay", tmp_path / "t.jsonl", "--output", "messages", "--format", "jsonl").stdout)
    strip = lambda frames: [f for f in frames if f["type"] in ("verdicts", "error", "intervention")]
    assert strip(again) == strip(live)
    assert ask("export", "r1").stdout == (tmp_path / "t.jsonl").read_text()


def test_a_trace_sent_in_many_chunks_is_complete(ask, daemon, tmp_path):
    with daemon.client(agents=["a", "b"]) as c:
        for i in range(60):
            c.event(f"e{i}", ["a"], event={"payload": "x" * 100_000})
        c.wait_acked()
    assert ask("export", "r1", "-o", tmp_path / "t").returncode == 0
    exported = lines((tmp_path / "t").read_text())
    assert [m.get("seq") for m in exported] == [None, *range(1, 61)]
    assert all(len(m["event"]["payload"]) == 100_000 for m in exported[1:])
    status, answer = daemon.http(
        f"GET /v1/runs/r1/trace HTTP/1.1\r\nHost: {daemon.address}\r\nConnection: close\r\n\r\n".encode()
    )
    assert status == 200 and "chunked" in answer and answer.endswith("\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    "format, begin", [("json", "{"), ("dot", "digraph"), ("graphml", "<?xml"), ("dig.graph.v2", "{")]
)
def test_graphs_are_exported_from_the_daemon_and_from_its_archive(ask, digctl, daemon, format, begin):
    a_run(daemon)
    got = ask("export", "r1", "--format", format)
    assert got.returncode == 0 and got.stdout.startswith(begin), got.stderr
    assert digctl("export", "r1", "--format", format, "--data-dir", daemon.data).stdout == got.stdout


def test_a_failed_export_keeps_the_old_file(ask, tmp_path):
    (tmp_path / "t").write_text("old")
    got = ask("export", "none", "-o", tmp_path / "t")
    assert got.returncode == 2 and 'there is no run "none"' in got.stderr
    assert (tmp_path / "t").read_text() == "old" and len(list(tmp_path.glob("t*"))) == 1


def test_a_run_name_can_be_any_text(ask, daemon):
    for run in ("a/b?c#d e%", "übung", "..", EVIL):
        a_run(daemon, run)
        assert json.loads(ask("export", run).stdout.splitlines()[0])["run"] == run


# ---- show


def test_a_run_of_the_daemon_is_shown_like_its_trace(ask, digctl, daemon, tmp_path):
    a_run(daemon)
    ask("export", "r1", "-o", tmp_path / "t")
    for options in ([], ["--svg"], ["--dot"], ["--agent", "b"], ["--rule", "orphaned_event", "--text"]):
        got = ask("show", "r1", *options)
        assert got.returncode == 0 and got.stdout == digctl("show", tmp_path / "t", *options).stdout, (
            options,
            got.stderr,
        )
        assert digctl("show", "r1", "--data-dir", daemon.data, *options).stdout == got.stdout
    assert "OE" in ask("show", "r1").stdout


@pytest.mark.parametrize("format", ["html", "md", "json"])
def test_a_report_is_the_same_from_the_daemon_its_archive_and_the_trace(ask, digctl, daemon, tmp_path, format):
    a_run(daemon, end="failure")
    got = ask("report", "r1", "--format", format)
    assert got.returncode == 0, got.stderr
    assert digctl("report", "r1", "--format", format, "--data-dir", daemon.data).stdout == got.stdout
    ask("export", "r1", "-o", tmp_path / "r1")
    from_trace = digctl("report", tmp_path / "r1", "--format", format).stdout
    name = str(tmp_path / "r1")
    for written in (name, name.replace("_", r"\_")):  # Markdown escapes underscores
        from_trace = from_trace.replace(written, "r1")
    assert from_trace == got.stdout
    none = ask("report", "nothing")
    assert none.returncode == 2 and none.stdout == "" and "no run" in none.stderr


def test_a_file_takes_precedence_over_a_run_of_that_name(ask, trace, daemon):
    a_run(daemon, str(trace))
    assert "planner" in ask("show", trace).stdout
    got = ask("show", "nowhere")
    assert got.returncode == 2 and 'there is no run "nowhere"' in got.stderr and "no such file" in got.stderr


# ---- reading the archive without a daemon


def test_the_archive_gives_the_same_output_without_the_daemon(ask, digctl, daemon):
    a_run(daemon, "one", end="success")
    a_run(daemon, "two")
    commands = (["runs", "--format", "jsonl"], ["runs"], ["show", "one"], ["export", "two"])
    live = [ask(*c).stdout for c in commands]
    assert all(live)
    daemon.stop()
    before = (daemon.data / "digd.sqlite").read_bytes()
    assert [digctl(*c, "--data-dir", daemon.data).stdout for c in commands] == live
    assert (daemon.data / "digd.sqlite").read_bytes() == before


def test_a_missing_or_outdated_archive_is_refused_with_the_reason(digctl, tmp_path):
    got = digctl("runs", "--data-dir", tmp_path)
    assert got.returncode == 2 and "there is no archive" in got.stderr
    stored = Path(__file__).parents[1] / "archive/stored/v1.db"
    (tmp_path / "digd.sqlite").write_bytes(stored.read_bytes())
    got = digctl("runs", "--data-dir", tmp_path)
    assert got.returncode == 2 and "schema version 1" in got.stderr and "start digd" in got.stderr
    (tmp_path / "digd.sqlite").write_text("Dear reader, this is no database. " * 50)
    got = digctl("runs", "--data-dir", tmp_path)
    assert got.returncode == 2 and "database" in got.stderr


def test_a_stored_archive_is_migrated_and_its_runs_continue(digctl, tmp_path):
    stored = Path(__file__).parents[1] / "archive/stored/v1.db"
    daemon = Daemon(tmp_path, "")
    daemon.data.mkdir()
    (daemon.data / "digd.sqlite").write_bytes(stored.read_bytes())
    with daemon:
        daemon.wait_logged("archive_migrating from=1 to=2", "recovering runs=2 ended=2", "recovered runs=2 failed=0")
        got = lines(digctl("runs", "--format", "jsonl", "--to", daemon.address).stdout)
        assert [(r["run"], r["state"], r["counts"]["messages"]) for r in got] == [
            ("failed", "ended", 4),
            ('<b>"\x1b[31m', "open", 4),
            ("waiting", "open", 4),
            ("ended", "ended", 7),
        ]
        with daemon.client("waiting", agents=["a", "b"], rules={"deadlock": {"window_ms": 2000}}) as c:
            assert c.welcome["acked_seq"] == 4
            assert {c.wait_for("intervention")["id"] for _ in range(3)} == {"sys:1", "sys:2", "sys:3"}
            c.event("more", ["a"], ts=9001)
            assert c.verdicts()[0]["action"] == "deliver"
            c.wait_acked()
        assert (
            "2 detections"
            in digctl("replay", "-", stdin=digctl("export", '<b>"\x1b[31m', "--to", daemon.address).stdout).stderr
        )


# ---- tail


def test_tail_prints_events_as_sentences(ask, daemon):
    a_run(daemon, n=1, end="success")
    with Tail(daemon, "r1", "--since", 0) as tail:
        got = "".join(tail.until("the run ends: success"))
    for words in (
        "e1 → a",
        "a starts v1 with e1",
        "v1 ends",
        "o1 → b",
        "! orphaned_event lost (healed: reroute)",
        "+ reroute lost → a",
    ):
        assert words in got, (words, got)
    assert "secret" not in got and "\x1b" not in got


def test_tail_prints_colour_and_payloads_if_requested(daemon):
    a_run(daemon, n=1, end="success")
    with Tail(daemon, "--since", 0, "--payloads", "--color", "always") as tail:
        got = "".join(tail.until("the run ends"))
    assert "\x1b[1;31m! orphaned_event" in got and '{"text":"a secret"}' in got and "r1" in got


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_tail_and_its_array(daemon, number):
    a_run(daemon, n=2, end="success")
    with Tail(daemon, "--since", 0, "--format", "jsonl") as tail:
        lines = tail.until("run_ended")
    with Tail(daemon, "--since", 0, "--format", "json") as tail:
        # Its last record has no line end yet.
        output, got = tail.process.stdout.fileno(), b""
        while b"run_ended" not in got:
            got += os.read(output, 1 << 16)
        tail.process.send_signal(number)
        while piece := os.read(output, 1 << 16):
            got += piece
        assert tail.process.wait(TIMEOUT_S) == 0 and tail.process.stderr.read() == ""
    assert json.loads(got)[: len(lines)] == [json.loads(line) for line in lines]  # an outcome may follow
    with Tail(daemon, "--format", "json") as empty:
        wait_until(lambda: daemon.log_text().count("feed_open") == 3, "the feed reader to connect")
        empty.process.send_signal(number)
        assert empty.process.stdout.read() == "[]\n" and empty.process.wait(TIMEOUT_S) == 0


def test_tail_shows_a_payload_that_nests_deeply(daemon):
    payload = "deep"
    for _ in range(40):
        payload = [payload]
    with daemon.client(run="r1", agents=["a"]) as c:
        c.event("e1", ["a"], event={"payload": payload})
        c.tell("run_ended", outcome="success")
        c.wait_acked()
    with Tail(daemon, "--since", 0, "--payloads", "--jsonl") as tail:
        frames = [json.loads(line) for line in tail.until("run_ended")]
    (event,) = [f["message"]["event"] for f in frames if f["type"] == "message" and "event" in f["message"]]
    assert event["payload"] == payload


def test_tail_starts_with_the_next_message(daemon):
    a_run(daemon, "before")
    with Tail(daemon, "--jsonl") as tail:
        daemon.wait_logged("feed_open")
        a_run(daemon, "after", n=1)
        got = [json.loads(line) for line in tail.take(4)]
    assert {f["run"] for f in got} == {"after"} and got[0]["message"]["event"]["id"] == "e1"


def test_tail_misses_nothing_and_repeats_nothing_over_restarts(tmp_path):
    port = unused_port()
    with Daemon(tmp_path, "threads = 2\n", listen=f"127.0.0.1:{port}") as daemon:
        with Tail(daemon, "--jsonl") as tail:
            daemon.wait_logged("feed_open")
            # The first restart happens before tail received anything.
            daemon.kill()
            daemon.start()
            sent = 0
            for round in range(3):
                with daemon.client(agents=["a", "b"]) as c:
                    for _ in range(50):
                        sent += 1
                        c.event(f"e{sent}", ["a"])
                        c.start(f"v{sent}", "a", [f"e{sent}"])
                        c.end(f"v{sent}")
                    c.wait_acked()
                    c.drop()
                daemon.kill() if round != 1 else daemon.stop()
                daemon.start()
            with daemon.client(agents=["a", "b"]) as c:
                c.tell("run_ended", outcome="success")
                c.wait_acked()
            frames = [json.loads(line) for line in tail.until('"run_ended"')]
    seqs = [f["message"]["seq"] for f in frames if f["type"] == "message"]
    assert seqs == list(range(1, 3 * sent + 2))
    assert len(frames) == len({json.dumps(f) for f in frames})


def test_tail_gives_up_if_the_daemon_does_not_come_back(daemon):
    with Tail(daemon, "--tries", 2) as tail:
        daemon.wait_logged("feed_open")
        daemon.stop()
        assert tail.process.wait(TIMEOUT_S) == 2
        assert "is still unreachable" in tail.process.stderr.read()


# ---- delete


def test_a_deleted_run_is_gone(ask, daemon):
    a_run(daemon)
    got = ask("delete", "r1", "--yes")
    assert got.returncode == 0 and 'Run "r1" is deleted' in got.stderr
    assert ask("runs").stdout == ""
    got = ask("delete", "r1", "--yes")
    assert got.returncode == 2 and 'there is no run "r1"' in got.stderr


def test_without_a_terminal_delete_needs_yes(ask, daemon):
    a_run(daemon)
    got = ask("delete", "r1", stdin="y\n")
    assert got.returncode == 2 and "--yes" in got.stderr
    assert "r1" in ask("runs").stdout


@pytest.mark.parametrize("answer, status", [("n\n", 2), ("\n", 2), ("y\n", 0)])
def test_on_a_terminal_delete_asks_for_confirmation(daemon, answer, status):
    a_run(daemon, EVIL)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [DIGCTL, "delete", EVIL, "--to", daemon.address], stdin=theirs, stderr=subprocess.PIPE, encoding="utf-8"
    )
    os.close(theirs)
    os.write(ours, answer.encode())
    stderr = process.stderr.read()
    assert process.wait(TIMEOUT_S) == status
    process.stderr.close()
    os.close(ours)
    assert "permanently?" in stderr and is_harmless(stderr)


# ---- mode


def test_mode_shows_and_sets_the_mode(ask, daemon):
    got = ask("mode")
    assert (got.returncode, got.stdout) == (0, "enforce\n") and "digd heals" in got.stderr
    with daemon.client(agents=["a", "b"]) as c:
        work(c)
        c.wait_acked()
        got = ask("mode", "observe")
        assert (got.returncode, got.stdout) == (0, "observe\n")
        assert "1 open run changed" in got.stderr and "until the daemon restarts" in got.stderr
        orphan(c)
        assert c.verdicts(4 + 1)[0]["action"] == "deliver"
    assert ask("mode").stdout == "observe\n"


def test_mode_lists_the_healings_that_shadow_suppressed(ask, daemon):
    assert "withheld" not in ask("mode").stderr
    a_run(daemon, "healed")
    assert "no healing was withheld" in ask("mode").stderr
    a_run(daemon, "r2", mode="shadow")
    a_run(daemon, "r3", mode="shadow")
    got = ask("mode").stderr
    assert "In the latest 3 runs, shadow would have done:\n  orphaned_event: reroute 2 times" in got
    assert "1 time\n" in ask("mode", "--runs", 1).stderr
    assert "would have" not in ask("mode", "--runs", 0).stderr


# ---- hostile names


@pytest.mark.parametrize("terminal", [False, True])
def test_names_are_escaped_on_the_terminal(daemon, terminal):
    with daemon.client(EVIL, place=False, agents=[EVIL, "b"]) as c:
        c.event("e" + EVIL, [EVIL], event={"kind": EVIL, "payload": {EVIL: EVIL}})
        c.start("v" + EVIL, EVIL, ["e" + EVIL])
        c.end("v" + EVIL, [{"id": "o" + EVIL, "recipients": ["ghost" + EVIL]}])
        c.start("w" + EVIL, EVIL, [])
        c.end("w" + EVIL, failed=True, error=EVIL)
        c.tell("run_ended", outcome="failure")
        c.wait_acked()
    commands = (
        ["runs"],
        ["runs", "--format", "jsonl"],
        ["show", EVIL, "--text"],
        ["show", EVIL, "--dot"],
        ["mode"],
        ["export", EVIL],
        ["export", EVIL, "--format", "graphml"],
        ["show", EVIL + "none"],
        ["export", EVIL + "none"],
        ["delete", EVIL + "none", "--yes"],
    )
    for command in commands:
        if not terminal and command[:1] == ["export"]:
            continue  # a file gets the names unescaped
        output = run_on_terminal(daemon, command) if terminal else run_piped(daemon, command)
        assert output and is_harmless(re.sub("\x1b\\[[0-9;]*m", "", output) if terminal else output), (command, output)
        assert "\x1b[2J" not in output and "\x1b]" not in output
    for options in (["--payloads"], ["--payloads", "--jsonl"]):
        with Tail(daemon, "--since", 0, *options) as tail:
            output = "".join(tail.until("failure"))
        assert is_harmless(output), output
        if "--jsonl" in options:
            assert json.loads(output.splitlines()[0])["message"]["event"]["payload"] == {EVIL: EVIL}


def run_piped(daemon, command):
    got = subprocess.run([DIGCTL, *command, "--to", daemon.address], capture_output=True, encoding="utf-8", timeout=60)
    return got.stdout + got.stderr


def run_on_terminal(daemon, command):
    ours, theirs = pty.openpty()
    process = subprocess.Popen([DIGCTL, *command, "--to", daemon.address], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    output = b""
    try:
        while chunk := os.read(ours, 65536):
            output += chunk
    except OSError:
        pass  # the other end of the terminal is closed
    process.wait(TIMEOUT_S)
    os.close(ours)
    return output.decode().replace("\r\n", "\n")
