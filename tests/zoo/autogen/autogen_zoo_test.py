"""Systems made with AutoGen under digd: healthy ones run as without digd, broken ones are healed."""

import logging

import pytest

pytest.importorskip("autogen_core")

import sys  # noqa: E402
from pathlib import Path  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))

import zoo  # noqa: E402

import broken_cases  # noqa: E402,F401
import chat_programs  # noqa: E402,F401
import chat_teams  # noqa: E402,F401
import core_patterns  # noqa: E402,F401
import core_requests  # noqa: E402,F401
import core_runtimes  # noqa: E402,F401
import random_cases  # noqa: E402,F401

# AutoGen sets results of cancelled futures. asyncio logs that at any garbage collection, in every mode.
logging.getLogger("asyncio").addFilter(lambda record: "was never retrieved" not in record.getMessage())

HEALTHY = {name: case for name, case in zoo.HEALTHY.items() if name.startswith("autogen: ")}
BROKEN = {name: case for name, case in zoo.BROKEN.items() if name.startswith("autogen: ")}


@pytest.mark.parametrize("name", zoo.sample(sorted(HEALTHY)))
def test_a_healthy_system_runs_as_without_digd(name, zoo_daemon):
    plain, _ = zoo.execute(HEALTHY[name], "plain", None)
    assert plain.error is None, "the system itself raises"
    zoo.assert_healthy(HEALTHY[name], zoo_daemon.address)


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_a_broken_system_is_reported_and_healed(name, zoo_daemon):
    zoo.assert_broken(BROKEN[name], zoo_daemon.address)


def test_limits_suggested_by_half_of_the_systems_fit_the_others(tmp_path):
    zoo.assert_suggested_limits_fit(sorted(HEALTHY), tmp_path)
