"""Kills the parts of a fleet under load repeatedly. See scripts/kill-fleet; fleet_killing.py lists the checks."""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

import killing
from fleet_killing import LEASE_MS, FleetKilling
from live import Daemon
from nats_server import NatsServer


def main():
    options = argparse.ArgumentParser(prog="scripts/kill-fleet", description=__doc__)
    options.add_argument("times", nargs="?", type=int, default=300)
    options.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    options.add_argument("--lanes", type=int, default=4, help="concurrent runs")
    options.add_argument("--rest-ms", type=int, default=200, help="of a lane, between two runs")
    options.add_argument("--lease-ms", type=int, default=LEASE_MS, help="longer than this machine restarts the broker")
    arguments = options.parse_args()
    if arguments.times < 1 or arguments.lanes < 1:
        options.error("times and lanes: expected 1 or more")
    folder = Path(tempfile.mkdtemp(prefix="digd-kill-fleet-"))
    print(f"{arguments.times} kills, seed {arguments.seed}", file=sys.stderr)
    nats, experiment = NatsServer(folder / "nats"), None
    try:
        traces = killing.make_traces(arguments.seed)
        with Daemon(folder / "whole", "threads = 2\n") as whole:
            killing.record_expectations(whole, traces)
        nats.start()
        experiment = FleetKilling(
            folder, nats, traces, arguments.seed, arguments.lanes, arguments.lease_ms, arguments.rest_ms, report
        )
        tally = experiment.run(arguments.times, progress)
    except AssertionError as error:
        print(
            f"\nBROKEN: {error}\nreproduce: scripts/kill-fleet {arguments.times} --seed {arguments.seed}"
            f" --lanes {arguments.lanes} --lease-ms {arguments.lease_ms} --rest-ms {arguments.rest_ms}\n"
            f"kept: {folder}",
            file=sys.stderr,
        )
        return 1
    finally:
        if experiment is not None:
            experiment.stop()
        if nats.process is not None and nats.process.poll() is None:
            nats.kill()
    table(tally, arguments.seed)
    shutil.rmtree(folder)
    return 0


def progress(tally):
    if tally.kills.total() % 10 == 0:
        print(f"{tally.kills.total()} kills, {tally.runs} completed runs", file=sys.stderr)


def report(text):
    print(text, file=sys.stderr)


def table(tally, seed):
    rows = [
        ("seed", seed),
        *((f"kill -9 of {victim}", times) for victim, times in sorted(tally.kills.items())),
        ("completed runs, compared with undisturbed ones", tally.runs),
        ("further runs, delivered unjudged without a lease", tally.unjudged),
        ("of the completed ones with several homes", tally.runs_with_several_homes),
        ("messages in them, each once in archive and Parquet", tally.messages),
        ("connections for these runs", tally.connections),
        ("times that a daemon sent a client elsewhere", tally.moves),
        ("acked messages lost", 0),
        ("answers that differed", 0),
        ("passes over runs that workers did", tally.passes),
        ("runs attributed, compared with one process", tally.attributed),
        ("answers missed at a kill, sent again after it", tally.repeated),
        ("duration", f"{tally.seconds:.0f} s"),
    ]
    for name, value in rows:
        print(f"{name:<52} {value:>14}")


if __name__ == "__main__":
    sys.exit(main())
