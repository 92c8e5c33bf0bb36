"""What a daemon archives arrives in Parquet, once and complete, whatever is killed on the way."""

import json
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import duckdb
import pytest
from digd.fleet.query import rows
from live import TIMEOUT_S, Daemon, wait_until
from nats_server import NatsServer, has_stream_client, need_stream_client

TABLES = {
    "entries": "SELECT e.id, r.run, r.number, e.n, e.kind, e.session, e.seq, e.ts, e.type, e.code, e.verdicts, e.frame"
    " FROM entries e JOIN runs r ON r.number = e.run ORDER BY 1",
    "detections": "SELECT entry, id, rule, severity, event, agent, healed, healing, cause, json FROM detections"
    " ORDER BY 2",
    "interventions": "SELECT entry, id, action, event, ts, json FROM interventions ORDER BY 1, 2",
    "outcomes": "SELECT entry, rule, event, detected_ts, ts, outcome FROM outcomes ORDER BY 1, 2, 3",
}
PARQUET = {
    "entries": "SELECT entry, run, run_number, n, kind, session, seq, ts, type, code, verdicts, frame FROM {}"
    " ORDER BY 1",
    "detections": "SELECT entry, id, rule, severity, event, agent, healed::INT, healing, cause, detection FROM {}"
    " ORDER BY 2",
    "interventions": "SELECT entry, id, action, event, ts, intervention FROM {} ORDER BY 1, 2",
    "outcomes": "SELECT entry, rule, event, detected_ts, ts, outcome FROM {} ORDER BY 1, 2, 3",
}


def fleet_config(server, **options):
    # The server reserves a stream's maximum on the disk: the default of digd, twice, is too much for a small machine.
    options = {"stream_bytes": 256 << 20, **options}
    more = "".join(f"{name} = {json.dumps(value)}\n" for name, value in options.items())
    return f'[fleet]\nservers = ["{server.url}"]\nhost = "h1"\n{more}'


def collector(server, root, *arguments):
    command = [sys.executable, "-m", "digd.fleet", "collect", root, "--nats", server.url, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def collect(server, root, *arguments):
    """Collects until the stream is empty; returns what the collector printed."""
    running = collector(server, root, "--until-empty", "--batch-seconds", "0.5", *arguments)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 0, err
    return out


def metric(daemon, name):
    request = f"GET /metrics HTTP/1.1\r\nHost: {daemon.address}\r\nConnection: close\r\n\r\n".encode()
    for line in daemon.http(request)[1].splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    return None


def readiness(daemon):
    with urllib.request.urlopen(f"http://{daemon.address}/readyz") as answer:
        return json.load(answer)


def all_published(daemon):
    with sqlite3.connect(f"file:{daemon.data}/digd.sqlite?mode=ro", uri=True) as archive:
        last = archive.execute("SELECT max(id) FROM entries").fetchone()[0]
    with sqlite3.connect(f"file:{daemon.data}/fleet.db?mode=ro", uri=True) as store:
        return store.execute("SELECT entry FROM position").fetchone()[0] == last


def stored(daemon):
    with sqlite3.connect(f"file:{daemon.data}/digd.sqlite?mode=ro", uri=True) as archive:
        return {table: archive.execute(sql).fetchall() for table, sql in TABLES.items()}


def collected(root):
    found = {}
    for table, sql in PARQUET.items():
        files = sorted(str(path) for path in root.glob(f"v1/{table}/tenant=*/day=*/*.parquet"))
        rows = f"read_parquet({files})"
        found[table] = duckdb.sql(sql.format(rows)).fetchall() if files else []
    return found


def play(daemon, run, steps=5):
    """A run with work, and an event that reaches nobody and is healed."""
    with daemon.client(run=run, agents=["a", "b"], clock="trace") as client:
        client.event("task", ["a"], ts=0)
        for i in range(steps):
            client.start(f"v{i}", "a" if i % 2 == 0 else "b", ["task" if i == 0 else f"e{i - 1}"], ts=10 * i + 1)
            client.event(f"e{i}", ["b" if i % 2 == 0 else "a"], source=f"v{i}", ts=10 * i + 2)
            client.verdicts()
            client.end(f"v{i}", ts=10 * i + 3)
        client.start("last", "a", [f"e{steps - 1}"] if steps % 2 == 0 else [], ts=10 * steps)
        client.event("lost", ["nobody"], source="last", ts=10 * steps + 1)
        client.verdicts()
        client.end("last", ts=10 * steps + 2)
        client.tell("run_ended", outcome="success", ts=10 * steps + 3)
        client.wait_acked()


def test_parquet_has_what_the_archive_has(nats, tmp_path):
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        for i in range(5):
            play(daemon, f"r{i}")
        wait_until(lambda: all_published(daemon), "the publication")
        printed = collect(nats, tmp_path / "lake")
        expected = stored(daemon)
        assert collected(tmp_path / "lake") == expected
        assert len(expected["detections"]) >= 5, "the runs show something"
        assert printed.startswith(f"{len(expected['entries'])} entries")
        assert metric(daemon, "digd_fleet_published_total") == len(expected["entries"])
        wait_until(lambda: metric(daemon, "digd_fleet_lag_entries") == 0, "no lag")
        runs = subprocess.run(
            [sys.executable, "-m", "digd.fleet", "runs", tmp_path / "lake", "--format", "json"],
            capture_output=True,
            text=True,
        )
        got = [json.loads(line) for line in runs.stdout.splitlines()]
        assert [(run["run"], run["host"], run["ended"]) for run in got] == [
            (f"r{i}", "h1", "success") for i in range(5)
        ], runs.stderr


def test_a_second_signal_ends_a_collector_that_waits_for_a_batch(nats, tmp_path):
    lake = tmp_path / "lake"
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        play(daemon, "r0")
        wait_until(lambda: all_published(daemon), "the publication")
        # Each row is a batch, so the collector stores them all and then waits for the next.
        running = collector(nats, lake, "--batch-seconds", "600", "--batch-rows", "1")
        try:
            expected = stored(daemon)
            wait_until(lambda: collected(lake) == expected, "all rows")
            time.sleep(0.5)  # for the acknowledgement of the last one
            running.send_signal(signal.SIGTERM)
            with pytest.raises(subprocess.TimeoutExpired):
                running.wait(1)
            running.send_signal(signal.SIGTERM)
            assert running.wait(20) == 128 + signal.SIGTERM
        finally:
            running.kill()
            running.communicate()


@pytest.mark.parametrize("seed", [1, 2])
def test_kills_lose_and_double_nothing(nats, tmp_path, seed):
    rng = random.Random(seed)
    lake = tmp_path / "lake"
    daemon = Daemon(tmp_path / "d", fleet_config(nats)).start()
    running = collector(nats, lake, "--batch-seconds", "0.1", "--batch-rows", "40")
    try:
        for i in range(12):
            play(daemon, f"r{i}", steps=rng.randint(1, 20))
            victim = rng.choice(["daemon", "nats", "collector"])
            time.sleep(rng.random() * 0.3)  # the moment of the kill is part of the seed
            if victim == "daemon":
                daemon.kill()
                daemon.start()
            elif victim == "nats":
                nats.kill()
                nats.start()
            else:
                running.kill()
                running.communicate()
                running = collector(nats, lake, "--batch-seconds", "0.1", "--batch-rows", "40")
        wait_until(lambda: all_published(daemon), "the publication", within=90)
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)
        expected = stored(daemon)
        # What a killed collector had taken comes again after the ack wait.
        deadline = time.monotonic() + 150
        while len(collected(lake)["entries"]) < len(expected["entries"]) and time.monotonic() < deadline:
            collect(nats, lake)
        assert collected(lake) == expected
    finally:
        if running.poll() is None:
            running.kill()
            running.communicate()
        assert daemon.stop() == 0


def test_a_deleted_run_leaves_parquet(nats, tmp_path):
    lake = tmp_path / "lake"
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        play(daemon, "keep")
        play(daemon, "drop")
        wait_until(lambda: all_published(daemon), "the publication")
        collect(nats, lake)
        request = urllib.request.Request(f"http://{daemon.address}/v1/runs/drop", method="DELETE")
        assert urllib.request.urlopen(request).status == 204
        wait_until(lambda: metric(daemon, "digd_fleet_deletions_total") == 1, "the deletion in the stream")
        collect(nats, lake)
        assert collected(lake) == stored(daemon)
        notes = [json.loads(path.read_bytes()) for path in lake.glob("v1/deleted/tenant=default/*.json")]
        assert [(note["run_number"], note["state"]) for note in notes] == [(2, "done")]


def test_runs_deleted_while_the_stream_is_away_are_published_later(nats, tmp_path):
    lake = tmp_path / "lake"
    daemon = Daemon(tmp_path / "d", fleet_config(nats)).start()
    play(daemon, "drop")
    wait_until(lambda: all_published(daemon), "the publication")
    collect(nats, lake)
    nats.kill()
    request = urllib.request.Request(f"http://{daemon.address}/v1/runs/drop", method="DELETE")
    assert urllib.request.urlopen(request).status == 204
    daemon.kill()
    nats.start()
    daemon.start()
    wait_until(lambda: metric(daemon, "digd_fleet_deletions_total") == 1, "the deletion in the stream", within=60)
    collect(nats, lake)
    assert collected(lake)["entries"] == []
    assert daemon.stop() == 0


def test_without_its_stream_a_daemon_works_and_is_ready_with_a_note(tmp_path):
    need_stream_client()
    server = NatsServer(tmp_path / "nats")
    with Daemon(tmp_path / "d", fleet_config(server)) as daemon:
        play(daemon, "r1")  # waits for its acks
        wait_until(lambda: readiness(daemon).get("notes"), "the note")
        assert readiness(daemon)["ready"] is True
        assert readiness(daemon)["notes"][0]["code"] == "fleet"
        wait_until(lambda: metric(daemon, "digd_fleet_lag_entries") > 0, "the lag", within=60)
        with server:
            wait_until(lambda: all_published(daemon), "the publication", within=60)
            wait_until(lambda: "notes" not in readiness(daemon), "no note")
            collect(server, tmp_path / "lake")
            assert collected(tmp_path / "lake") == stored(daemon)


def test_an_entry_beyond_the_servers_limit_is_cut_and_counted(tmp_path):
    need_stream_client()
    with NatsServer(tmp_path / "nats", max_payload=16_384) as server:
        with Daemon(tmp_path / "d", fleet_config(server)) as daemon:
            with daemon.client(run="r1", agents=["a"]) as client:
                client.event("large", ["a"], event={"payload": {"text": "x" * 30_000}})
                client.wait_acked()
            wait_until(lambda: all_published(daemon), "the publication")
            assert metric(daemon, "digd_fleet_cut_total") == 1
            collect(server, tmp_path / "lake")
            files = str(tmp_path / "lake/v1/entries/tenant=*/day=*/*.parquet")
            cut = duckdb.sql(f"SELECT run, type, frame FROM '{files}' WHERE cut").fetchall()
            assert cut == [("r1", "event", None)]


def test_an_entry_with_more_rows_than_a_message_holds_stops_nothing(tmp_path):
    need_stream_client()
    with NatsServer(tmp_path / "nats", max_payload=1_350) as server:
        with Daemon(tmp_path / "d", fleet_config(server)) as daemon:
            play(daemon, "r1")
            wait_until(lambda: all_published(daemon), "the publication")
            collect(server, tmp_path / "lake")
            found, expected = collected(tmp_path / "lake"), stored(daemon)
            assert [row[:9] for row in found["entries"]] == [row[:9] for row in expected["entries"]]
            assert len(found["detections"]) < len(expected["detections"])
            assert metric(daemon, "digd_fleet_cut_total") > 0


def test_a_connection_that_nats_ended_is_replaced(nats, tmp_path):
    config = nats.config.read_text()
    more = "url = \"ws://127.0.0.1:1\"\nlease_ms = 1500\n"
    with Daemon(tmp_path / "d", fleet_config(nats) + more) as daemon:
        play(daemon, "r1")
        nats.kill()
        nats.config.write_text(config + 'authorization { user: "u", password: "p" }\n')
        nats.start()
        # Refused twice, the library ends the connection permanently. A new one is refused too.
        names = ("digd_fleet_reconnects_total", "digd_fleet_lease_held")
        wait_until(lambda: "Authorization" in str(readiness(daemon).get("notes")), "the refusal", within=60)
        nats.kill()
        nats.config.write_text(config)
        nats.start()
        wait_until(lambda: [metric(daemon, name) for name in names] == [1, 1], "new connections", within=60)
        assert metric(daemon, "digd_fleet_homes_reconnects_total") >= 1
        play(daemon, "r2")


def test_no_answer_and_no_log_shows_a_password_of_nats(tmp_path):
    need_stream_client()
    servers = json.dumps(["nats://user:s3cret@127.0.0.1:1"])
    config = f'[fleet]\nservers = {servers}\nhost = "h1"\nurl = "ws://127.0.0.1:1"\n'
    with Daemon(tmp_path / "d", config) as daemon:

        def notes():
            found = {note["code"]: note["message"] for note in readiness(daemon).get("notes", [])}
            return found if all("NATS at" in found.get(code, "") for code in ("fleet", "fleet_lease")) else None

        for text in wait_until(notes, "the notes").values():
            assert 'NATS at "nats://…@127.0.0.1:1"' in text
        daemon.wait_logged("fleet_waits")
        assert daemon.stop() == 0
        assert "s3cret" not in daemon.log_text()


def test_a_full_stream_refuses_and_the_archive_keeps_what_waits(nats, tmp_path):
    with Daemon(tmp_path / "d", fleet_config(nats, stream_bytes=20_000)) as daemon:
        for i in range(10):
            play(daemon, f"r{i}")
        wait_until(lambda: "maximum bytes" in str(readiness(daemon).get("notes")), "the note about the full stream")
        wait_until(lambda: metric(daemon, "digd_fleet_lag_entries") > 0, "the lag", within=60)
        play(daemon, "after")  # waits for its acks


def test_foreign_messages_are_kept_aside_and_stop_nothing(nats, tmp_path):
    lake = tmp_path / "lake"
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        play(daemon, "r1")
        wait_until(lambda: all_published(daemon), "the publication")
        nats.publish("digd.archive.default.h2", b"not JSON", {"Nats-Msg-Id": "x:1"})
        nats.publish("digd.archive.default.h2", b'{"format":9}', {"Nats-Msg-Id": "x:2"})
        entry = {"format": 1, "entry": 1, "run": "r", "run_number": 1, "n": 1, "kind": "message", "arrived_ms": 1}
        entry |= {"detections": [], "interventions": [], "outcomes": []}
        for i, fields in enumerate(({"frame": {}}, {"detections": [1]}, {"arrived_ms": 1 << 62}, {"run": "\ud800"})):
            body = json.dumps({**entry, **fields}).encode()
            nats.publish("digd.archive.default.h2", body, {"Nats-Msg-Id": f"x:{i + 3}"})
        assert "6 rejected" in collect(nats, lake)
        assert collected(lake) == stored(daemon)
        why = sorted(json.loads(path.read_bytes())["why"] for path in lake.glob("v1/rejected/*.json"))
        wanted = ("arrived_ms: ", "body: expected JSON", "detections: ", "entries: frame: ")
        assert all(map(str.startswith, why, wanted)) and why[4:] == [
            "format: this collector knows 1, got 9",
            "run: expected Unicode, got a lone surrogate",
        ]


@pytest.mark.parametrize(
    "line, why",
    [
        ('tenant = "a.b"', "fleet.tenant"),
        ('host = "*"', "fleet.host"),
        ('servers = ["http://h"]', "nats://"),
    ],
)
def test_a_wrong_fleet_is_refused_at_the_start(tmp_path, line, why):
    servers = "" if line.startswith("servers") else 'servers = ["nats://127.0.0.1:1"]\n'
    daemon = Daemon(tmp_path, f"[fleet]\n{servers}{line}\n")
    done = subprocess.run([*daemon.command(), "--check-config"], capture_output=True, text=True)
    assert done.returncode != 0 and why in done.stdout + done.stderr


def test_the_check_of_a_fleet_says_whether_digd_starts(tmp_path):
    daemon = Daemon(tmp_path, '[fleet]\nservers = ["nats://127.0.0.1:1"]\n')
    checked = subprocess.run([*daemon.command(), "--check-config"], capture_output=True, text=True)
    if has_stream_client():
        assert checked.returncode == 0, checked.stderr
        with daemon:
            assert readiness(daemon)["ready"] is True
        return
    assert checked.returncode == 2 and "built without the client of NATS" in checked.stderr
    started = subprocess.run(daemon.command(), capture_output=True, text=True, timeout=TIMEOUT_S)
    assert (started.returncode, started.stderr) == (2, checked.stderr)


def test_the_questions_of_the_docs_have_answers(nats, tmp_path):
    page = (Path(__file__).parents[2] / "docs/fleet.md").read_text()
    questions = re.findall(r"^```sql\n(.*?)^```$", page, re.M | re.S)
    assert len(questions) == 10
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        play(daemon, "r1")
        wait_until(lambda: all_published(daemon), "the publication")
        collect(nats, tmp_path / "lake")
    answers = [rows(str(tmp_path / "lake"), question)[1] for question in questions]
    assert answers[0] == [("success", 1)]
    assert ("orphaned_event", 1) in [(rule, times) for rule, times, _ in answers[1]]


def test_a_collector_that_reaches_no_server_logs_that_and_can_be_stopped(tmp_path):
    running = collector(NatsServer(tmp_path / "nats"), tmp_path / "lake")  # a server that was never started
    try:
        assert "Connect call failed" in running.stderr.readline()
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 0
