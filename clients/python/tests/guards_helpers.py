"""Helpers of the tests of guards: what the guards of a run found, and a person who decides about its holds."""

import contextlib
import json
import threading
import urllib.error
import urllib.request

from framework_runs import read_run
from live import TIMEOUT_S

POLL_S = 0.02


def run_ids(daemon):
    with urllib.request.urlopen(f"http://{daemon.address}/v1/runs", timeout=TIMEOUT_S) as response:
        return [run["run"] for run in json.load(response)["runs"]]


def detections_of_guard(daemon, guard, run=None):
    """The detections of a guard, in order; of the daemon's only run if none is named."""
    if run is None:
        (run,) = run_ids(daemon)
    read_entries = [entry["detection"] for entry in read_run(daemon, f"{run}/detections?limit=100")["detections"]]
    return [d for d in read_entries if d["rule"] == guard]


def holds_of(daemon, run):
    try:
        return read_run(daemon, f"{run}/holds")["holds"]
    except urllib.error.HTTPError as error:
        assert error.code == 404  # the daemon has dropped the run since the list was read
        return []


def decide(daemon, run, hold, decision, text=None):
    """Posts a decision; returns whether the hold was still open."""
    body = json.dumps({"decision": decision, "text": text, "by": "kim"}).encode()
    request = urllib.request.Request(
        f"http://{daemon.address}/v1/runs/{run}/holds/{hold}", body, {"Content-Type": "application/json"}
    )
    try:
        urllib.request.urlopen(request, timeout=TIMEOUT_S).close()
    except urllib.error.HTTPError as error:
        assert error.code == 409, error.read()
        return False
    return True


@contextlib.contextmanager
def person(daemon, *decisions):
    """A person who decides about the holds of all runs in turn, the last decision for all further ones.

    Each decision is a word, or a word and a text. Yields the list of the holds that the person has decided about.
    """
    decided, stop = [], threading.Event()

    def watch():
        while not stop.wait(POLL_S):
            for run in run_ids(daemon):
                for hold in holds_of(daemon, run):
                    choice = decisions[min(len(decided), len(decisions) - 1)]
                    word, text = choice if isinstance(choice, tuple) else (choice, None)
                    if decide(daemon, run, hold["hold"], word, text):
                        decided.append(hold)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield decided
    finally:
        stop.set()
        thread.join()
