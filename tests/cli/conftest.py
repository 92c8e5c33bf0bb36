import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from live import Daemon  # noqa: E402

DIGCTL = os.environ.get("DIGCTL_BIN", "build/release/bin/digctl")


@pytest.fixture
def digctl():
    """Runs digctl; returns its output and exit status."""

    def run(*args, stdin=None, timeout=60, env=None):
        return subprocess.run(
            [DIGCTL, *map(str, args)],
            input=stdin,
            capture_output=True,
            timeout=timeout,
            encoding="utf-8",
            errors="surrogateescape",
            env={**os.environ, **(env or {})},
        )

    return run


@pytest.fixture
def daemon(tmp_path):
    with Daemon(tmp_path / "d", "threads = 2\n") as running:
        yield running


TRACE = """\
{"type":"hello","protocol":1,"run":"r1","session":"main","agents":["planner","coder","tester"],\
"clock":"trace","rules":{"deadlock":{"window_ms":2000}}}
{"type":"event","seq":1,"ts":0,"event":{"id":"e1","recipients":["planner"],"kind":"problem"}}
{"type":"activation_started","seq":2,"ts":10,"activation":"v1","agent":"planner","inputs":["e1"]}
{"type":"activation_ended","seq":3,"ts":20,"activation":"v1","reactions":{"e1":"consume"},\
"outputs":[{"id":"e2","recipients":["coder"]},{"id":"e3","recipients":["tester","nobody"]},\
{"id":"e4","recipients":["reviewer"]}]}
{"type":"activation_started","seq":4,"ts":30,"activation":"v2","agent":"coder","inputs":["e2"]}
{"type":"activation_ended","seq":5,"ts":40,"activation":"v2","outputs":[{"id":"e5","recipients":[],"submit":true}]}
{"type":"time","seq":6,"ts":9000}
"""


@pytest.fixture
def trace(tmp_path):
    """A trace with an orphaned event, an early termination and a deadlock."""
    path = tmp_path / "trace.jsonl"
    path.write_text(TRACE)
    return path


# Tries to break out of HTML, Markdown, XML and the terminal.
EVIL = "\"><img src=x onerror=alert(1)><script>alert(2)</script>'`|*_[x](javascript:1)\u202e\u2066 --> ]]> \x1b[31m"


@pytest.fixture(scope="session")
def evil():
    return EVIL


@pytest.fixture(scope="session")
def evil_trace(tmp_path_factory):
    """A run in which every name is hostile, one is of maximum length, and texts have 10 kB."""
    long = ("名" * 40 + EVIL)[:150]
    lines = [
        {
            "type": "hello",
            "protocol": 1,
            "run": "r" + EVIL,
            "clock": "trace",
            "agents": ["a" + EVIL, long],
            "labels": {"l" + EVIL: EVIL},
        },
        {
            "type": "event",
            "seq": 1,
            "ts": 1,
            "event": {
                "id": "e" + EVIL,
                "kind": "k" + EVIL,
                "recipients": ["a" + EVIL, "gone" + EVIL],
                "payload": {"text": EVIL * 200},
            },
        },
        {
            "type": "activation_started",
            "seq": 2,
            "ts": 2,
            "activation": "v" + EVIL,
            "agent": "a" + EVIL,
            "inputs": ["e" + EVIL],
        },
        {"type": "activation_ended", "seq": 3, "ts": 30, "activation": "v" + EVIL, "failed": True, "error": EVIL * 200},
        {
            "type": "activation_started",
            "seq": 4,
            "ts": 40,
            "activation": "w" + EVIL,
            "agent": long,
            "inputs": ["e" + EVIL],
        },
        {
            "type": "activation_ended",
            "seq": 5,
            "ts": 50,
            "activation": "w" + EVIL,
            "outputs": [
                {"id": "o" + EVIL, "recipients": ["x" + EVIL]},
                {"id": "s" + EVIL, "recipients": [], "submit": True},
            ],
        },
        {"type": "time", "seq": 6, "ts": 90000},
    ]
    path = tmp_path_factory.mktemp("evil") / "evil.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
