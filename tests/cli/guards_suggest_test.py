"""digctl guards suggest, against a real daemon and its archive."""

import json
import sys
import tomllib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from live import Daemon  # noqa: E402


@pytest.fixture
def daemon(tmp_path):
    with Daemon(tmp_path / "d", "threads = 2\n") as running:
        yield running


def a_run(daemon, name, outputs):
    with daemon.client(run=name, place=False, agents=["a", "b"]) as c:
        c.event("e1", ["a"])
        c.start("v1", "a", ["e1"])
        c.end("v1", [{"id": f"o{i}", "recipients": ["b"], "payload": i % 2} for i in range(outputs)])
        c.wait_acked()


def test_limits_are_proposed_from_past_runs(digctl, daemon):
    for n in (2, 4, 6):
        a_run(daemon, f"r{n}", n)
    got = digctl("guards", "suggest", "--to", daemon.address)
    assert got.returncode == 0 and "Few runs" in got.stderr
    guards = tomllib.loads(got.stdout)["guards"]
    assert guards["fan_out"] == {"max_depth": 2, "max_outputs": 12}
    assert guards["repetition"] == {"max_repeats": 6}
    assert guards["budget"]["max_activations"] == 2 and "max_tokens" not in guards["budget"]
    assert "max_outputs = 12  # 0 of 3; 6" in got.stdout
    tight = digctl("guards", "suggest", "--to", daemon.address, "--percentile", 50, "--margin", 1, "--format", "json")
    (outputs,) = [s for s in json.loads(tight.stdout)["limits"] if s["limit"] == "max_outputs"]
    assert outputs == {"guard": "fan_out", "limit": "max_outputs", "value": 4, "greatest": 6, "stopped": 1}
    stored = digctl("guards", "suggest", "--data-dir", daemon.data)
    assert stored.stdout == got.stdout


def test_without_runs_nothing_is_proposed(digctl, daemon):
    got = digctl("guards", "suggest", "--to", daemon.address)
    assert got.returncode == 2 and got.stdout == "" and "no run was opened in the last 14d" in got.stderr
    assert digctl("guards", "suggest", "--since", "soon", "--to", daemon.address).returncode == 2
