"""The zoo's LangGraph systems: all of them with ZOO=all, else a rotating sample."""

import asyncio
import collections
import json
import sqlite3
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import langgraph_agents  # noqa: E402, F401
import langgraph_broken  # noqa: E402, F401
import langgraph_shapes  # noqa: E402, F401
import langgraph_states  # noqa: E402, F401
import langgraph_threads  # noqa: E402, F401
from digd.session import Session  # noqa: E402
import zoo  # noqa: E402
from zoo import BROKEN, HEALTHY, assert_broken, assert_healthy, execute, sample  # noqa: E402

SYSTEMS = sorted(name for name in HEALTHY if name.startswith("langgraph "))


@pytest.mark.parametrize("name", sample(SYSTEMS))
def test_a_healthy_system_runs_as_without_digd(zoo_daemon, name):
    assert_healthy(HEALTHY[name], zoo_daemon.address)


@pytest.mark.parametrize("name", sorted(name for name in BROKEN if name.startswith("langgraph ")))
def test_a_broken_system_is_reported_and_healed(zoo_daemon, name):
    assert_broken(BROKEN[name], zoo_daemon.address)


@pytest.fixture
def count(monkeypatch):
    """Counts sleeps, and waits for a verdict."""
    found = collections.Counter()

    def counted(owner, name, label, counts=lambda *_: True):
        inner = getattr(owner, name)

        def call(*args, **kwargs):
            found[label] += counts(*args)
            return inner(*args, **kwargs)

        monkeypatch.setattr(owner, name, call)

    counted(time, "sleep", "sleeps")
    counted(asyncio, "sleep", "sleeps")
    counted(Session, "verdicts", "waits", lambda _, ticket: ticket.verdicts is None)
    return found


@pytest.mark.parametrize("name", sample(SYSTEMS))
def test_a_healthy_system_waits_once_for_each_held_message(zoo_daemon, count, name):
    execute(HEALTHY[name], "plain", None)
    plain = count["sleeps"]
    count.clear()
    before = len(held_frames(zoo_daemon))
    execute(HEALTHY[name], "enforce", f"ws://{zoo_daemon.address}")
    assert count["sleeps"] == plain
    assert count["waits"] == len(held_frames(zoo_daemon)) - before


def held_frames(daemon):
    """The recorded messages that blocked events."""
    with sqlite3.connect(f"file:{daemon.data}/digd.sqlite?mode=ro", uri=True) as db:
        frames = [json.loads(f) for (f,) in db.execute("SELECT frame FROM entries WHERE kind = 'message'")]
    return [
        f
        for f in frames
        if f["type"] == "event"
        or f.get("outputs")
        or any(isinstance(r, dict) for r in (f.get("reactions") or {}).values())
    ]


def test_the_zoo_has_at_least_thirty_healthy_systems():
    assert len(SYSTEMS) >= 30


def test_limits_suggested_by_half_of_the_systems_fit_the_others(tmp_path):
    zoo.assert_suggested_limits_fit(SYSTEMS, tmp_path)
