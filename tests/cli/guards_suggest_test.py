"""digctl guards suggest, against a real daemon and its archive."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from live import DIGD  # noqa: E402


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
    assert guards["budget"].get("max_ms", 60_000) >= 60_000, "the time of a short run says nothing about the next run"
    assert "max_outputs = 12  # 0 of 3; 6" in got.stdout
    tight = digctl("guards", "suggest", "--to", daemon.address, "--percentile", 50, "--margin", 1, "--format", "json")
    (outputs,) = [s for s in json.loads(tight.stdout)["limits"] if s["limit"] == "max_outputs"]
    assert outputs == {"guard": "fan_out", "limit": "max_outputs", "value": 4, "greatest": 6, "stopped": 1}
    stored = digctl("guards", "suggest", "--data-dir", daemon.data)
    assert stored.stdout == got.stdout


def test_the_daemon_accepts_the_proposed_limits(digctl, daemon, tmp_path):
    with daemon.client(run="r1", place=False, agents=["a", "b"]) as c:
        c.event("e1", ["a"])
        c.start("v1", "a", ["e1"])
        c.tell("usage", activation="v1", usage={"input_tokens": 812, "cost": 2, "model_calls": 1})
        c.end("v1", [{"id": "o1", "recipients": ["b"], "payload": 1}])
        c.wait_acked()
    got = digctl("guards", "suggest", "--to", daemon.address)
    guards = tomllib.loads(got.stdout)["guards"]
    assert guards["budget"]["max_cost"] == 4.0 and guards["budget"]["max_tokens"] == 1700, got.stdout
    config = tmp_path / "digd.toml"
    config.write_text(got.stdout)
    checked = subprocess.run([DIGD, "--check-config", "--config", str(config)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    config.write_text(got.stdout.replace("max_tokens", "max_words"))
    assert subprocess.run([DIGD, "--check-config", "--config", str(config)], capture_output=True).returncode != 0


def test_without_runs_nothing_is_proposed(digctl, daemon):
    got = digctl("guards", "suggest", "--to", daemon.address)
    assert got.returncode == 2 and got.stdout == "" and "no run was opened in the last 14d" in got.stderr
    assert digctl("guards", "suggest", "--since", "soon", "--to", daemon.address).returncode == 2
