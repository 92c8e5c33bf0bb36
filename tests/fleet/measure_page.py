"""How long the fleet page takes over many small files: writes them, starts a viewer, and asks it what the page asks."""

import argparse
import datetime
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

import pyarrow as pa
from digd.fleet.rows import TABLES, sort
from digd.fleet.store import _parquet
from live import Daemon
from measure_fleet import sentences, shown

TEAMS = ("search", "billing", "support", "research", "release")
HOSTS = 20
DAY_MS = 86_400_000
ENTRIES_OF_RUN = 7
MESSAGES_OF_RUN = 5
WITH_DETECTION = 3
"""One of so many runs has a detection, an intervention and an outcome."""
TIMEOUT_S = 3600.0
FIRST_POLL_S, POLL_S = 0.1, 1.0
"""Before the first runs, and then: the page asks every second while files are read."""
QUESTIONS = 5
OPENED = {
    "semantics": 2,
    "rules": {
        "early_termination": {"mode": "enforce", "kinds": [], "max_attempts": 3},
        "orphaned_event": {"mode": "enforce", "window_ms": 5000, "max_attempts": 3},
        "excessive_rerouting": {"mode": "enforce", "max_reroutes": 2},
        "cross_lineage_aggregation": {"mode": "enforce", "kinds": []},
        "deadlock": {"mode": "enforce", "window_ms": 10000, "max_attempts": 3},
        "missing_termination": {"mode": "enforce", "window_ms": 10000, "max_attempts": 3},
    },
    "healing": {"budget": 1000, "max_returns_per_agent": 5},
    "limits": {"stalled_ms": 300000, "settled_events": 100000, "message_bytes": 1048576, "live_events": 1000000},
    "capabilities": {"inject": True, "reroute": True, "create": True},
    "witness": False,
}
"""The part of `run_opened` that is the same in all runs."""


def say(text):
    print(text, file=sys.stderr, flush=True)


# ---- writing the files


def frames_of(run, team, dice, texts):
    """A short run: two events with what agents say, one activation with its usage."""
    hello = {"type": "hello", "protocol": 1, "run": run, "session": "main", "agents": ["a", "b"]}
    labels = {"team": team, "version": f"1.{dice.randrange(4)}"}
    usage = {"input_tokens": dice.randint(200, 4000), "output_tokens": dice.randint(20, 600), "cost": 0.01}
    event = {"id": "task", "recipients": ["a"], "payload": {"text": dice.choice(texts)}}
    answer = {"id": "e0", "recipients": ["b"], "source": "v0", "payload": {"text": dice.choice(texts)}}
    outcome = dice.choice(("success", "success", "success", "failure"))
    return [
        ("run_opened", "hello", {**hello, "mode": "enforce", "clock": "trace", **OPENED, "labels": labels}),
        ("session_joined", "hello", {**hello, "labels": labels}),
        ("message", "event", {"type": "event", "event": event, "ts": 0}),
        ("message", "activation_started", {"type": "activation_started", "activation": "v0", "inputs": ["task"]}),
        ("message", "event", {"type": "event", "event": answer, "ts": 50}),
        ("message", "activation_ended", {"type": "activation_ended", "activation": "v0", "usage": usage, "ts": 60}),
        ("message", "run_ended", {"type": "run_ended", "outcome": outcome, "ts": 100}),
    ]


class Part:
    """The rows that a collector writes at once."""

    def __init__(self):
        self.columns = {table: {name: [] for name in schema.names} for table, schema in TABLES.items()}

    def add(self, table, **row):
        for name, values in self.columns[table].items():
            values.append(row.get(name))

    def add_run(self, number, opened_ms, dice, texts):
        """Runs count from 0, and each host has every `HOSTS`th of them."""
        team = dice.choice(TEAMS)
        run = f"{team}-{number:07}"
        host, of_host = number % HOSTS + 1, number // HOSTS + 1
        archive = f"arch{host}"
        key = {"host": f"h{host}", "archive": archive, "run": run, "run_number": of_host, "epoch": 1}
        key |= {"origin_archive": archive, "origin_run_number": of_host}
        for i, (kind, type_, frame) in enumerate(frames_of(run, team, dice, texts)):
            at = {"entry": of_host * ENTRIES_OF_RUN + i, "arrived_ms": opened_ms + 20 * i}
            row = {"n": i + 1, "kind": kind, "type": type_, "session": "main", "seq": i, "ts": 20 * i, "cut": False}
            self.add("entries", **key, **at, **row, sequence=at["entry"], frame=json.dumps(frame))
        if number % WITH_DETECTION == 0:
            rule = dice.choice(("orphaned_event", "deadlock", "excessive_rerouting"))
            healed = dice.random() < 0.7
            found = {"id": number, "rule": rule, "severity": "failure", "ts": 50, "event": "e0", "healed": healed}
            self.add("detections", **key, **at, **found, session="main", at=3, detection=json.dumps(found))
            self.add("interventions", **key, **at, id=f"i{number}", action="reroute", event="e0", ts=50, position=0)
            self.add("outcomes", **key, **at, rule=rule, event="e0", detected_ts=50, ts=100, outcome="resolved")

    def write(self, root, day, number):
        for table, columns in self.columns.items():
            rows = pa.table(columns, schema=TABLES[table])
            folder = root / "v1" / table / "tenant=default" / f"day={day}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"part-{number:08}.parquet").write_bytes(_parquet(sort(rows)))


def write_files(root, given):
    """`given.files` files: as many of each table, in `given.days` days that end today. Returns how many there are."""
    dice, texts = random.Random(given.seed), sentences()
    parts = max(given.files // len(TABLES), 1)
    today = int(time.time() * 1000) // DAY_MS * DAY_MS
    for i in range(parts):
        day = i * given.days // parts
        start = today - (given.days - 1 - day) * DAY_MS
        runs = range(i * given.runs // parts, (i + 1) * given.runs // parts)
        part = Part()
        for number in runs:
            opened = start + (number - runs.start) * 40_000_000 // len(runs) + (i % 50) * 800
            part.add_run(number, opened, dice, texts)
        part.write(root, datetime.datetime.fromtimestamp(start / 1000, datetime.timezone.utc).date(), i + 1)
        if i % 100 == 99:
            say(f"wrote {(i + 1) * len(TABLES):,} of {parts * len(TABLES):,} files")
    return parts * len(TABLES)


# ---- asking the viewer


def get(viewer, path):
    """The answer's JSON; None while digd.fleet starts."""
    try:
        with urllib.request.urlopen(f"http://{viewer.address}{path}", timeout=TIMEOUT_S) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code != 503:
            raise
        return None


def memory_mb(process, name):
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split(name + ":")[1].split()[0]) / 1000


def wait_for_files(viewer, begun, runs):
    """Seconds until the list has runs, and until all files are read."""
    first = None
    while True:
        assert time.monotonic() < begun + TIMEOUT_S, "the files are not read"
        if first is None and (get(viewer, "/v1/fleet/runs?limit=1") or {}).get("runs"):
            first = time.monotonic() - begun
            say(f"the first runs after {first:.1f} s")
        fleet = get(viewer, "/v1/fleet")
        if fleet is not None:
            assert fleet["files"]["problem"] == "", fleet["files"]["problem"]
            if fleet["files"]["complete"] and fleet["totals"]["runs"] == runs:
                return first, time.monotonic() - begun, fleet
        time.sleep(FIRST_POLL_S if first is None else POLL_S)


def seconds_for(viewer, path):
    """The median of some answers."""
    seconds = []
    for _ in range(QUESTIONS):
        begun = time.monotonic()
        assert get(viewer, path) is not None
        seconds.append(time.monotonic() - begun)
    return statistics.median(seconds)


def measure(folder, given):
    files = write_files(folder / "fleet", given)
    say("starting the viewer")
    load = os.getloadavg()[0]
    begun = time.monotonic()
    config = f"[fleet]\nview = {json.dumps([str(folder / 'fleet')])}\n"
    with Daemon(folder / "viewer", config) as viewer:
        first, all_read, fleet = wait_for_files(viewer, begun, given.runs)
        assert fleet["totals"]["messages"] == given.runs * MESSAGES_OF_RUN, fleet["totals"]
        assert fleet["totals"]["detections"] == -(-given.runs // WITH_DETECTION), fleet["totals"]
        (reader,) = subprocess.check_output(["pgrep", "-P", str(viewer.process.pid)]).split()
        return {
            "cores": os.cpu_count(),
            "load average (1 minute)": load,
            "runs": given.runs,
            "files": files,
            "MB of files": sum(file.stat().st_size for file in (folder / "fleet").rglob("*.parquet")) / 1e6,
            "seconds to the first runs": first,
            "seconds to all read": all_read,
            "seconds for totals by team": seconds_for(viewer, "/v1/fleet?by=label:team"),
            "seconds for the newest 50 runs": seconds_for(viewer, "/v1/fleet/runs?limit=50"),
            "MB of memory, digd.fleet": memory_mb(int(reader), "VmRSS"),
            "MB of memory, digd.fleet at most": memory_mb(int(reader), "VmHWM"),
            "MB of memory, digd": memory_mb(viewer.process.pid, "VmRSS"),
        }


def main():
    options = argparse.ArgumentParser(prog="scripts/measure-page", description=__doc__)
    options.add_argument("--runs", type=int, default=1_000_000)
    options.add_argument("--files", type=int, default=6_000)
    options.add_argument("--days", type=int, default=30)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--keep", action="store_true", help="leave the files")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="digd-measure-page-"))
    os.environ.setdefault("DIGD_PYTHON", sys.executable)
    try:
        found = measure(folder, given)
    finally:
        if given.keep:
            say(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    if given.json:
        print(json.dumps(found))
        return 0
    for name, value in found.items():
        print(f"{name:<36} {shown(value):>12}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
