"""What the tests of the framework adapters share: what the daemon says of a run."""

import json
import urllib.request

from live import TIMEOUT_S

WINDOW_MS = 400  # of rules by time: longer than a busy machine pauses between two messages


def told_of(daemon, path):
    with urllib.request.urlopen(f"http://{daemon.address}/v1/runs/{path}", timeout=TIMEOUT_S) as answer:
        return json.load(answer)


def fired(daemon, run, rule):
    """The detections of a rule in a run that has ended."""
    told = [entry["detection"] for entry in told_of(daemon, f"{run}/detections?limit=100")["detections"]]
    return [d for d in told if d["rule"] == rule]
