"""The healing bench gives the same results through the real daemon as with the engine in its own process."""

import asyncio
import json
import subprocess
import urllib.request
from collections import Counter

import pytest

import daemon as through_daemon

COUNTED = (
    "detections",
    "healed",
    "cleared",
    "recurred",
    "unresolved",
    "refused",
    "right",
)  # only the in-process bench counts these


def in_process(agents, integers, seeds, arm):
    command = [
        through_daemon.BENCH,
        "--agents",
        str(agents),
        "--integers",
        str(integers),
        "--first-seed",
        "1",
        "--seeds",
        str(seeds),
        "--arm",
        arm,
        "--threads",
        "2",
    ]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    usual = (run for run in map(json.loads, lines) if run["follow"] == 0.75)
    return {run["seed"]: run for run in usual}


def detections_of(daemon, run):
    """From the daemon's archive: how often each rule fired in a run, and how often it was healed."""
    fired, healed, cursor = Counter(), Counter(), ""
    while True:
        with urllib.request.urlopen(f"http://{daemon.address}/v1/runs/{run}/detections?limit=100{cursor}") as answer:
            page = json.load(answer)
        for d in page["detections"]:
            fired[d["detection"]["rule"]] += 1
            healed[d["detection"]["rule"]] += d["detection"]["healed"]
        if not page.get("next"):
            return fired, healed
        cursor = f"&cursor={page['next']}"


def without_zeros(counts):
    return {rule: n for rule, n in counts.items() if n}


@pytest.mark.parametrize(
    ("agents", "integers", "seeds", "arm"),
    [(3, 1_000, 3, "enforce"), (6, 10_000, 2, "enforce"), (6, 10_000, 1, "observe")],
)
def test_the_daemon_gives_the_results_of_the_engine(daemon, agents, integers, seeds, arm):
    expected = in_process(agents, integers, seeds, arm)
    assert len(expected) == seeds
    for seed, engine in expected.items():
        run = f"bench-{agents}-{integers}-{arm}-{seed}"
        lived = asyncio.run(through_daemon.play(f"ws://{daemon.address}", run, agents, integers, seed, arm))
        assert {k: v for k, v in lived.items() if k not in COUNTED} == {
            k: v for k, v in engine.items() if k not in COUNTED
        }
        fired, healed = detections_of(daemon, run)
        assert fired == without_zeros(engine["detections"])
        assert without_zeros(healed) == without_zeros(engine["healed"])


def test_some_compared_runs_are_healed():
    """Guards the comparison above against runs without healings."""
    assert sum(sum(run["healed"].values()) for run in in_process(6, 10_000, 2, "enforce").values()) > 5
