"""Helpers of the framework adapters' tests: reads a run from the daemon's HTTP API."""

import json
import urllib.request

from live import TIMEOUT_S

WINDOW_MS = 400  # of rules by time; longer than a busy machine's pause between two messages


def read_run(daemon, path):
    with urllib.request.urlopen(f"http://{daemon.address}/v1/runs/{path}", timeout=TIMEOUT_S) as response:
        return json.load(response)


def fired(daemon, run, rule):
    """The detections of a rule in a run that has ended."""
    read_entries = [entry["detection"] for entry in read_run(daemon, f"{run}/detections?limit=100")["detections"]]
    return [d for d in read_entries if d["rule"] == rule]
