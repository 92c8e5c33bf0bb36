"""Kills a digd under load repeatedly and reports lost messages. See scripts/kill; killing.py lists the checks."""

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
    options.add_argument("--longest-ms", type=float, default=120, help="the longest time under load before a kill")
    options.add_argument("--lanes", type=int, default=4, help="concurrent runs")
    arguments = options.parse_args()
    if arguments.times < 1 or arguments.lanes < 1:
        options.error("times and lanes: expected 1 or more")
    folder = Path(tempfile.mkdtemp(prefix="digd-kill-"))
    print(f"{arguments.times} kills, seed {arguments.seed}", file=sys.stderr)
    daemon = None
    try:
        traces = killing.make_traces(arguments.seed)
        with Daemon(folder / "whole", "threads = 2\n") as whole:
            killing.record_expectations(whole, traces)
        daemon = Daemon(folder / "killed", "threads = 2\n")
        experiment = killing.Killing(daemon, traces, arguments.seed, arguments.lanes, arguments.longest_ms)
        tally = experiment.run(arguments.times, progress)
    except AssertionError as error:
        print(
            f"\nBROKEN: {error}\nreproduce: scripts/kill {arguments.times} --seed {arguments.seed}\nkept: {folder}",
            file=sys.stderr,
        )
        return 1
    finally:
        if daemon is not None and daemon.process is not None and daemon.process.poll() is None:
            daemon.kill()
    table(tally, arguments.seed, traces)
    shutil.rmtree(folder)
    return 0


def progress(tally):
    if tally.kills % 50 == 0:
        print(f"{tally.kills} kills, {tally.runs} completed runs, {tally.seconds:.0f} s", file=sys.stderr)


def table(tally, seed, traces):
    rows = [
        ("seed", seed),
        ("kill -9", tally.kills),
        ("of these during startup", tally.kills_while_starting),
        ("completed runs, compared with undisturbed ones", tally.runs),
        ("messages in them, each archived once", tally.messages),
        ("connections for these runs", tally.connections),
        (
            "detections in an undisturbed trace, min to max",
            "{} to {}".format(min(len(t.detections) for t in traces), max(len(t.detections) for t in traces)),
        ),
        ("acked messages lost", 0),
        ("answers or graphs that differed", 0),
        ("answers missed at a kill, sent again after it", tally.repeated),
        ("waiting agents without an answer", 0),
        (
            "start to listening, median and maximum",
            "{:.0f} ms, {:.0f} ms".format(statistics.median(tally.recoveries), max(tally.recoveries)),
        ),
        ("duration", f"{tally.seconds:.0f} s"),
    ]
    for name, value in rows:
        print(f"{name:<52} {value:>14}")


if __name__ == "__main__":
    sys.exit(main())
