"""The zoo's systems on the paper's library, here on its test double: all with ZOO=all, else a rotating sample."""

import asyncio
import json
import sqlite3
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import dig_broken  # noqa: E402, F401
import dig_systems  # noqa: E402, F401
from zoo import BROKEN, HEALTHY, assert_healthy, comparable, detections_of, execute, sample  # noqa: E402

SYSTEMS = sorted(name for name in HEALTHY if name.startswith("dig "))
BROKEN_SYSTEMS = sorted(name for name in BROKEN if name.startswith("dig "))
RULES = {
    "early_termination",
    "orphaned_event",
    "excessive_rerouting",
    "cross_lineage_aggregation",
    "repeated_subproblem",
    "deadlock",
    "missing_termination",
}


@pytest.mark.parametrize("name", sample(SYSTEMS))
def test_a_healthy_system_runs_as_without_digd(zoo_daemon, name):
    assert_healthy(HEALTHY[name], zoo_daemon.address)


@pytest.mark.parametrize("mode", ["default", "enforce"])
@pytest.mark.parametrize("name", BROKEN_SYSTEMS)
def test_a_broken_system_is_reported_and_not_changed(zoo_daemon, name, mode):
    case = BROKEN[name]
    plain, _ = execute(case, "plain", None)
    attached, probe = execute(case, mode, f"ws://{zoo_daemon.address}")
    assert comparable(attached, case.ordered) == comparable(plain, case.ordered)
    found = detections_of(zoo_daemon.address, probe)
    assert {d["rule"] for d in found} == {case.rule}
    assert [d["healed"] for d in found] == [False] * len(found)


def frames(daemon):
    with sqlite3.connect(f"file:{daemon.data}/digd.sqlite?mode=ro", uri=True) as db:
        return [json.loads(f) for (f,) in db.execute("SELECT frame FROM entries WHERE kind = 'message'")]


@pytest.mark.parametrize("name", sample(SYSTEMS))
def test_a_healthy_system_adds_no_sleep_and_holds_no_message(zoo_daemon, monkeypatch, name):
    sleeps = []
    for module in (time, asyncio):
        inner = module.sleep
        monkeypatch.setattr(module, "sleep", lambda *a, inner=inner: (sleeps.append(a), inner(*a))[1])
    execute(HEALTHY[name], "plain", None)
    plain, before = len(sleeps), len(frames(zoo_daemon))
    execute(HEALTHY[name], "enforce", f"ws://{zoo_daemon.address}")
    assert len(sleeps) == 2 * plain
    blocking = [f for f in frames(zoo_daemon)[before:] if f["type"] == "event" or f.get("outputs")]
    assert blocking and all(f.get("as_is") for f in blocking)


def test_the_zoo_has_ten_healthy_systems_and_a_broken_one_for_each_rule():
    assert len(SYSTEMS) >= 10
    assert {BROKEN[name].rule for name in BROKEN_SYSTEMS} == RULES
