"""The zoo of systems of the OpenAI Agents SDK."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import zoo  # noqa: E402

import openai_agents.broken  # noqa: E402, F401
import openai_agents.healthy_checks  # noqa: E402, F401
import openai_agents.healthy_edges  # noqa: E402, F401
import openai_agents.healthy_flows  # noqa: E402, F401
import openai_agents.healthy_handoffs  # noqa: E402, F401
import openai_agents.healthy_random  # noqa: E402, F401
import openai_agents.healthy_single  # noqa: E402, F401
import openai_agents.healthy_streams  # noqa: E402, F401
import openai_agents.healthy_tools  # noqa: E402, F401

from openai_agents.healthy_random import run_rough  # noqa: E402

HEALTHY = sorted(name for name in zoo.HEALTHY if name.startswith("openai_agents_"))
BROKEN = sorted(name for name in zoo.BROKEN if name.startswith("openai_agents_"))


@pytest.mark.parametrize("name", zoo.sample(HEALTHY))
def test_a_healthy_system_runs_as_without_digd(name, zoo_daemon):
    zoo.assert_healthy(zoo.HEALTHY[name], zoo_daemon.address)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_system_is_healed(name, zoo_daemon):
    zoo.assert_broken(zoo.BROKEN[name], zoo_daemon.address)


@pytest.mark.parametrize("name", zoo.sample(HEALTHY))
def test_a_healthy_system_works_without_digd(name):
    seen, _ = zoo.execute(zoo.HEALTHY[name], "plain", None)
    sdk_warning = "contains invalid characters for function calling"
    logs = [line for line in seen.logs if sdk_warning not in line]
    assert seen.error is None and (seen.calls or seen.seen) and logs == []


def test_limits_suggested_by_half_of_the_systems_fit_the_others(tmp_path):
    zoo.assert_suggested_limits_fit(HEALTHY, tmp_path)


def test_a_background_run_whose_request_is_still_held_holds_no_answer_back(zoo_daemon):
    """The program answers while digd judges the request, in about one of twenty plays."""
    case = zoo.HEALTHY["openai_agents_background_run_that_is_cancelled_at_the_end"]
    for _ in range(100):
        _, probe = zoo.execute(case, "enforce", f"ws://{zoo_daemon.address}")
        assert zoo.detections_of(zoo_daemon.address, probe) == []


@pytest.mark.parametrize("seed", range(8))
def test_an_unhealthy_system_is_unchanged_in_shadow(seed, zoo_daemon):
    case = zoo.Case(f"openai_agents_rough_{seed}", lambda probe: run_rough(probe, seed), ordered=False)
    plain, _ = zoo.execute(case, "plain", None)
    shadow, probe = zoo.execute(case, "default", f"ws://{zoo_daemon.address}")
    want, have = zoo.comparable(plain, False), zoo.comparable(shadow, False)
    for part in ("result", "error", "calls", "seen"):
        assert have[part] == want[part], part
    assert zoo.runs_of(zoo_daemon.address, probe)
