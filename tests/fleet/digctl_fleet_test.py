"""`digctl --fleet` reads runs from Parquet and from the stream, and says the same as from the daemon's archive."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from counted_runs import PLAYS, counts_of_show, counts_of_tail, tail_of
from fleet_test import all_published, collect, fleet_config, play
from live import DIGCTL, Daemon, wait_until

def environment(**more):
    return {**os.environ, "DIGD_PYTHON": sys.executable, **more}


def digctl(*arguments, **more):
    return subprocess.run([DIGCTL, *map(str, arguments)], capture_output=True, text=True, env=environment(), **more)


def output(*arguments):
    done = digctl(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def play_with_usage(daemon, run, outcome="success", labels=None):
    with daemon.client(run=run, agents=["a", "b"], clock="trace", labels=labels or {}) as client:
        client.event("task", ["a"], ts=0)
        client.start("v0", "a", ["task"], ts=1)
        client.event("e0", ["b"], source="v0", ts=2)
        client.verdicts()
        client.end("v0", ts=3, usage={"input_tokens": 120, "output_tokens": 30, "cost": 0.25})
        client.start("v1", "b", ["e0"], ts=4)
        client.event("lost", ["nobody"], source="v1", ts=5)
        client.verdicts()
        client.end("v1", ts=6, usage={"input_tokens": 7, "cost": 0.000001})
        client.tell("run_ended", outcome=outcome, metrics={"score": 0.5}, ts=7)
        client.wait_acked()


@pytest.fixture
def collected_runs(nats, tmp_path):
    """The data directory and the Parquet files of the same runs."""
    lake = tmp_path / "lake"
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        for i in range(3):
            play(daemon, f"r{i}", steps=3 + i)
        play_with_usage(daemon, "paid", "failure", {"team": "x"})
        with daemon.client(run="open", agents=["a"], clock="trace") as client:
            client.event("task", ["a"], ts=0)
            client.wait_acked()
        wait_until(lambda: all_published(daemon), "the publication")
        collect(nats, lake)
    return daemon.data, lake


COMMANDS = [
    ["runs", "--format", "jsonl"],
    ["show", "r1", "--svg"],
    ["report", "paid", "--format", "html"],
    ["export", "r0", "--format", "dig.graph.v2"],
    ["pilot", "--format", "json"],
    ["attribute", "chief", "paid", "--format", "json"],
]


def without_the_time_now(text):
    """`pilot` says when it was asked."""
    if not text.startswith("{") or '"since_ms"' not in text:
        return text
    answer = json.loads(text)
    return {name: value for name, value in answer.items() if name not in ("since_ms", "until_ms")}


def test_commands_say_the_same_of_a_fleet_as_of_the_archive(collected_runs):
    data, lake = collected_runs
    for command in COMMANDS:
        assert without_the_time_now(output(*command, "--fleet", lake)) == without_the_time_now(
            output(*command, "--data-dir", data)
        ), command
    factors = ["causal", "factors"]
    assert output(*factors, "--fleet", lake) == output(*factors, data)
    explain = ["causal", "explain", "--target", "messages", "--permutations", "99"]
    from_fleet, from_archive = digctl(*explain, "--fleet", lake), digctl(*explain, data)
    assert from_fleet.stdout == from_archive.stdout and from_fleet.returncode == from_archive.returncode


def check_views(seen, *source):
    """Compares what views of a fleet with one run count with `seen`, the run in the daemon's own report."""
    (listed,) = json.loads(output("runs", "--format", "json", *source))
    for name in ("messages", "refused", "detections", "healed"):
        assert listed["counts"][name] == seen[name], name
    assert (listed["run"], listed["ended"], listed["last_ts"]) == (seen["id"], seen["outcome"], seen["last_ts"])
    report = json.loads(output("report", seen["id"], "--format", "json", "--budget", 0, *source))
    assert report["run"] == seen and len(report["detections"]) == seen["detections"]
    shown = counts_of_show(output("show", seen["id"], "--no-legend", *source))
    first_row, last_row, unit = shown.pop("rows")
    assert first_row == 0 and abs(last_row - (seen["last_ts"] - seen["first_ts"])) < unit
    assert shown == {name: seen[name] for name in shown}


@pytest.mark.parametrize("play", PLAYS)
def test_every_view_of_a_fleet_has_the_counts_of_the_daemons_api(nats, tmp_path, play):
    lake = tmp_path / "lake"
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        runs = []
        tailed = counts_of_tail(
            tail_of("--jsonl", "--fleet", nats.url, play=lambda: runs.append(play(daemon)), env=environment())
        )
        wait_until(lambda: all_published(daemon), "the publication")
        with urllib.request.urlopen(f"http://{daemon.address}/v1/runs/{runs[0]}/report") as answer:
            seen = json.load(answer)["run"]
        lake.mkdir()
        check_views(seen, "--fleet", lake, "--fleet", nats.url)  # nothing is collected yet
        collect(nats, lake)
    check_views(seen, "--fleet", lake)
    assert tailed == {name: seen[name] for name in tailed}


def test_the_fleet_may_be_named_before_the_command(collected_runs):
    _, lake = collected_runs
    assert output("--fleet", lake, "show", "r1") == output("show", "r1", "--fleet", lake)
    refused = digctl("--fleet", lake, "health")
    assert refused.returncode == 2 and "health reads no fleet" in refused.stderr


def test_a_condition_selects_runs(collected_runs):
    _, lake = collected_runs
    listed = output("runs", "--format", "jsonl", "--fleet", lake, "--where", "labels ->> '$.team' = 'x'")
    assert [json.loads(line)["run"] for line in listed.splitlines()] == ["paid"]
    wrong = digctl("runs", "--fleet", lake, "--where", "no_such_column = 1")
    assert wrong.returncode == 2 and "--where" in wrong.stderr


def test_runs_that_are_not_collected_yet_are_read_from_the_stream(nats, tmp_path):
    lake = tmp_path / "lake"
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        play(daemon, "old")
        wait_until(lambda: all_published(daemon), "the publication")
        collect(nats, lake)
        with daemon.client(run="new", agents=["a"], clock="trace") as client:
            client.event("task", ["a"], ts=0)
            client.wait_acked()
            wait_until(lambda: all_published(daemon), "the publication")
            for command in (["runs", "--format", "jsonl"], ["show", "new"], ["export", "new"], ["export", "old"]):
                live = output(*command, "--fleet", lake, "--fleet", nats.url)
                assert live == output(*command, "--data-dir", daemon.data), command
        missing = digctl("show", "new", "--fleet", lake)
        assert missing.returncode == 2 and 'there is no run "new"' in missing.stderr


def test_runs_of_several_hosts_do_not_meet(nats, tmp_path):
    lake = tmp_path / "lake"
    data = []
    for host in ("h1", "h2"):
        config = fleet_config(nats).replace('host = "h1"', f'host = "{host}"')
        with Daemon(tmp_path / host, config) as daemon:
            play(daemon, f"on-{host}", steps=4)
            play(daemon, "same", steps=2)
            wait_until(lambda: all_published(daemon), "the publication")
            data.append(daemon.data)
    collect(nats, lake)
    listed = [json.loads(line) for line in output("runs", "--format", "jsonl", "--fleet", lake).splitlines()]
    assert [(run["run"], run["number"]) for run in listed] == [("same", 4), ("on-h2", 3), ("same", 2), ("on-h1", 1)]
    for i, host in enumerate(("h1", "h2")):
        run = f"on-{host}"
        assert output("export", run, "--fleet", lake) == output("export", run, "--data-dir", data[i])
        alone = output("export", "same", "--fleet", lake, "--where", f"host = '{host}'")
        assert alone == output("export", "same", "--data-dir", data[i])


def lines_until_the_end(running):
    frames = []
    while not frames or frames[-1].get("message", {}).get("type") != "run_ended":
        frames.append(json.loads(running.stdout.readline()))
    return frames


def test_the_tail_shows_what_the_feed_shows(nats, tmp_path):
    with Daemon(tmp_path / "d", fleet_config(nats)) as daemon:
        running = subprocess.Popen(
            [DIGCTL, "tail", "--jsonl", "--payloads", "--fleet", nats.url],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        try:
            assert "listening" in running.stderr.readline()
            play(daemon, "r1")
            got = lines_until_the_end(running)
        finally:
            running.terminate()
            running.communicate()
        feed = subprocess.Popen(
            [DIGCTL, "tail", "--jsonl", "--payloads", "--since", "0", "--to", daemon.address],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            expected = lines_until_the_end(feed)
        finally:
            feed.terminate()
            feed.communicate()
        for frame in got:
            assert (frame.pop("tenant"), frame.pop("host")) == ("default", "h1")
        assert got == expected
        assert {"detection", "verdicts", "message"} <= {frame["type"] for frame in got}


def test_a_missing_extra_is_named(tmp_path):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    bare.chmod(0o755)
    done = subprocess.run(
        [DIGCTL, "runs", "--fleet", tmp_path], capture_output=True, text=True, env=environment(DIGD_PYTHON=str(bare))
    )
    assert done.returncode == 2 and "pip install 'WHEEL[fleet]'" in done.stderr
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "duckdb.py").write_text("raise ImportError('No module named duckdb')")
    done = subprocess.run(
        [DIGCTL, "runs", "--fleet", tmp_path],
        capture_output=True,
        text=True,
        env=environment(PYTHONPATH=str(blocked)),
    )
    assert done.returncode == 2 and "duckdb" in done.stderr and "pip install 'WHEEL[fleet]'" in done.stderr


def test_no_folder_is_left_behind(collected_runs, tmp_path):
    _, lake = collected_runs
    folder = tmp_path / "tmp"
    folder.mkdir()
    done = subprocess.run(
        [DIGCTL, "show", "r1", "--fleet", lake], capture_output=True, text=True, env=environment(TMPDIR=str(folder))
    )
    assert done.returncode == 0 and list(Path(folder).iterdir()) == []
