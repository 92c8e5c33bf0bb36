"""Passes on workers, for the tests of them: the runs of a fleet, and how they are asked for."""

from digctl_fleet_test import digctl, output
from live import DIGCTL

RUNS = [f"r{i}" for i in range(6)]
CHIEF = ["attribute", "chief", "--format", "json"]


def wrapper(path, script):
    """A digctl that runs a script of bash first, with its arguments in "$@"; `--version` is left alone."""
    path.write_text(f'#!/bin/bash\n[ "$1" = --version ] && exec {DIGCTL} --version\n{script}\nexec {DIGCTL} "$@"\n')
    path.chmod(0o755)
    return path


def both(nats, root):
    return ["--fleet", root, "--fleet", nats.url, "--on-workers"]


def on_workers(nats, root, *command):
    return digctl(*command, *both(nats, root), timeout=120)


def one_by_one(data, runs, *command):
    return "".join(output(*command[:2], run, *command[2:], "--data-dir", data) for run in runs)


def queued(nats):
    found = nats.request("$JS.API.STREAM.INFO.digd_work")
    return found["state"]["messages"] if "state" in found else None
