"""Systems made with AutoGen under digd: the healthy ones run as if digd were not there, the broken ones are healed."""

import logging

import pytest

pytest.importorskip("autogen_core")

import sys  # noqa: E402
from pathlib import Path  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))

import zoo  # noqa: E402

import broken_cases  # noqa: E402,F401
import chat_cases  # noqa: E402,F401
import core_cases  # noqa: E402,F401
import random_cases  # noqa: E402,F401

# AutoGen sets results of futures that were cancelled; asyncio logs that whenever it collects the garbage, in any mode.
logging.getLogger("asyncio").addFilter(lambda record: "was never retrieved" not in record.getMessage())

HEALTHY = {name: case for name, case in zoo.HEALTHY.items() if name.startswith("autogen: ")}
BROKEN = {name: case for name, case in zoo.BROKEN.items() if name.startswith("autogen: ")}


@pytest.mark.parametrize("name", zoo.sample(sorted(HEALTHY)))
def test_healthy_system_runs_as_if_digd_were_not_there(name, zoo_daemon):
    plain, _ = zoo.execute(HEALTHY[name], "plain", None)
    assert plain.error is None, "the system itself raises"
    zoo.assert_healthy(HEALTHY[name], zoo_daemon.address)


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_broken_system_is_reported_and_healed(name, zoo_daemon):
    zoo.assert_broken(BROKEN[name], zoo_daemon.address)
