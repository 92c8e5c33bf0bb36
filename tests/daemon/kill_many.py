"""Kills a digd under load again and again, and says what was lost. See scripts/kill; what is checked: killing.py."""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

import killing
from live import Daemon


def main():
    options = argparse.ArgumentParser(prog="scripts/kill", description=__doc__)
    options.add_argument("times", nargs="?", type=int, default=1000)
    options.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    options.add_argument("--longest-ms", type=float, default=120, help="a life lasts up to so long under load")
    options.add_argument("--lanes", type=int, default=4, help="runs at once")
    asked = options.parse_args()
    if asked.times < 1 or asked.lanes < 1:
        options.error("times and lanes: expected 1 or more")
    folder = Path(tempfile.mkdtemp(prefix="digd-kill-"))
    print(f"{asked.times} kills, seed {asked.seed}", file=sys.stderr)
    daemon = None
    try:
        traces = killing.make_traces(asked.seed)
        with Daemon(folder / "whole", "threads = 2\n") as whole:
            killing.learn(whole, traces)
        daemon = Daemon(folder / "killed", "threads = 2\n")
        tried = killing.Killing(daemon, traces, asked.seed, asked.lanes, asked.longest_ms)
        tally = tried.go(asked.times, progress)
    except AssertionError as broken:
        print(f"\nBROKEN: {broken}\nrepeat: scripts/kill {asked.times} --seed {asked.seed}\nkept: {folder}", file=sys.stderr)
        return 1
    finally:
        if daemon is not None and daemon.process is not None and daemon.process.poll() is None:
            daemon.kill()
    table(tally, asked.seed, traces)
    shutil.rmtree(folder)
    return 0


def progress(tally):
    if tally.kills % 50 == 0:
        print(f"{tally.kills} kills, {tally.runs} runs through, {tally.seconds:.0f} s", file=sys.stderr)


def table(tally, seed, traces):
    rows = [
        ("seed", seed),
        ("kill -9", tally.kills),
        ("of these while it started", tally.kills_while_starting),
        ("runs through, compared with undisturbed ones", tally.runs),
        ("messages in them, each archived once", tally.messages),
        ("connections these took", tally.connections),
        ("detections in an undisturbed trace, least to most", "{} to {}".format(
            min(len(t.detections) for t in traces), max(len(t.detections) for t in traces))),
        ("acked messages lost", 0),
        ("answers or graphs that differed", 0),
        ("start to listening, median and longest", "{:.0f} ms, {:.0f} ms".format(
            statistics.median(tally.recoveries), max(tally.recoveries))),
        ("took", f"{tally.seconds:.0f} s"),
    ]
    for name, value in rows:
        print(f"{name:<52} {value:>14}")


if __name__ == "__main__":
    sys.exit(main())
