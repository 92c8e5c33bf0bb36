"""The canary, which enforces in a share of the shadow runs, and the comparison of its groups."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from live import DIGD, Daemon  # noqa: E402
from piloting import SHARE, a_run, asking, detections, is_enforced, orphan, pilot, request  # noqa: E402

RUNS = [f"run-{i}" for i in range(24)]


@pytest.fixture
def canary(tmp_path):
    with Daemon(tmp_path / "d", f"threads = 2\nenforce_share = {SHARE}\n") as running:
        yield running


def test_the_hash_of_the_run_decides_its_canary_group(canary):
    assert 4 < sum(map(is_enforced, RUNS)) < 16
    for i, run in enumerate(RUNS):
        welcome = a_run(canary, run, mode="shadow") if i % 2 else silent_run(canary, run)
        assert welcome["mode"] == ("enforce" if is_enforced(run) else "shadow"), run
    groups = pilot(canary)["canary"]["groups"]
    assert groups["enforce"]["runs"] == sum(map(is_enforced, RUNS))
    assert groups["shadow"]["runs"] == len(RUNS) - groups["enforce"]["runs"]


def silent_run(daemon, run, **hello):
    with daemon.client(run=run, place=False, agents=["critic"], **hello) as c:
        orphan(c)
        c.tell("run_ended", outcome="success")
        c.wait_acked()
        return c.welcome


ENFORCED = next(f"e{i}" for i in range(100) if is_enforced(f"e{i}"))
SHADOWED = next(f"s{i}" for i in range(100) if not is_enforced(f"s{i}"))


def test_a_mode_requested_in_hello_overrides_the_canary(canary):
    for mode in ("off", "observe", "enforce"):
        for run in (ENFORCED, SHADOWED):
            assert silent_run(canary, run + mode, mode=mode)["mode"] == mode
    assert pilot(canary)["canary"] is None


@pytest.mark.parametrize(
    "config, mode", [('[caps]\nmode = "shadow"\n', "shadow"), ('[defaults]\nmode = "observe"\n', "observe")]
)
def test_a_configured_mode_overrides_the_canary(tmp_path, config, mode):
    with Daemon(tmp_path / "d", f"enforce_share = 1\n{config}") as daemon:
        assert silent_run(daemon, "r1")["mode"] == mode
        assert pilot(daemon)["canary"] is None


def test_the_operators_switch_overrides_the_canary(canary):
    assert request(canary, "PUT", "/v1/mode", {"mode": "observe"})[0] == 200
    assert silent_run(canary, ENFORCED)["mode"] == "observe"
    assert pilot(canary)["canary"] is None


@pytest.mark.parametrize("run, mode", [(ENFORCED, "enforce"), (SHADOWED, "shadow")])
def test_a_run_keeps_its_group_over_a_reconnect_a_kill_and_a_changed_share(canary, run, mode):
    asks = {"agents": ["critic"], "mode": "shadow"}
    with canary.client(run=run, **asks) as c:
        orphan(c)
        c.wait_acked()
        with canary.client(run=run, session="second", **asks) as other:
            assert other.welcome["mode"] == mode
    canary.kill()
    canary.config.write_text("threads = 2\n")
    canary.start()
    with canary.client(run=run, **asks) as c:
        assert c.welcome["mode"] == mode and c.welcome["acked_seq"] == 2
        c.tell("run_ended", outcome="success")
        c.wait_acked()
    with canary.client(run=run, **asks) as c:  # read back from the archive
        assert c.welcome["mode"] == mode and c.welcome["acked_seq"] == 3
    groups = pilot(canary)["canary"]["groups"]
    assert groups[mode]["runs"] == 1


def test_a_replay_uses_the_recorded_mode(digctl, canary, tmp_path):
    for run, healed in ((ENFORCED, True), (SHADOWED, False)):
        silent_run(canary, run)
        trace = tmp_path / "trace.jsonl"
        trace.write_text(asking(digctl, canary)("export", run, "--format", "trace").stdout)
        replayed = digctl("replay", trace, "--format", "jsonl", "--output", "detections")
        (again,) = [json.loads(line) for line in replayed.stdout.splitlines()]
        (live,) = [entry["detection"] for entry in detections(canary, run)]
        assert again["healed"] == live["healed"] == healed


def test_the_two_groups_are_compared_with_intervals(digctl, canary):
    runs = [f"run-{i}" for i in range(40)]
    for i, run in enumerate(runs):
        enforced = is_enforced(run)
        a_run(
            canary,
            run,
            end="success" if enforced or i % 2 else "failure",
            metrics={"cost": 0.5 if enforced else 0.25, "note": "x"},
            lost=("lost", "lost2") if enforced else ("lost",),
        )
    answer = pilot(canary)["canary"]
    enforced, shadowed, difference = answer["groups"]["enforce"], answer["groups"]["shadow"], answer["difference"]
    assert enforced["success"]["value"] == enforced["success"]["high"] == 1 and 0.7 < enforced["success"]["low"] < 1
    assert 0.3 < shadowed["success"]["value"] < 0.7
    assert difference["success"]["low"] > 0 and difference["success"]["low"] < difference["success"]["value"]
    assert (enforced["calls"]["value"], shadowed["calls"]["value"]) == (2, 1)
    assert difference["calls"] == {"value": 1, "low": 1, "high": 1}
    assert difference["metrics"]["cost"]["value"] == 0.25 and list(difference["metrics"]) == ["cost"]
    assert enforced["time_ms"]["low"] <= enforced["time_ms"]["value"] <= enforced["time_ms"]["high"]
    assert "Wilson" in answer["method"] and "Welch" in answer["method"]
    text = asking(digctl, canary)("pilot", "--width", "200").stdout
    assert "Canary:" in text and "100.0 %" in text and "Newcombe" in text
    assert re.search(r"^cost +0\.5 \[0\.5, 0\.5\]", text, re.M)


def test_a_group_of_one_run_has_no_interval_of_means(canary):
    silent_run(canary, ENFORCED)
    answer = pilot(canary)["canary"]
    assert answer["groups"]["enforce"]["calls"] is None and answer["difference"]["calls"] is None
    assert answer["difference"]["success"] is None and answer["groups"]["enforce"]["success"]["value"] == 1


@pytest.mark.parametrize("bad", ["-0.1", "1.1", '"0.1"', "nan", "inf", "true"])
def test_a_share_is_a_number_from_0_to_1(tmp_path, bad):
    config = tmp_path / "digd.toml"
    config.write_text(f"enforce_share = {bad}\n")
    got = subprocess.run([DIGD, "--config", config, "--check-config"], capture_output=True, text=True)
    assert got.returncode != 0 and "must be a number from 0 to 1" in got.stderr
