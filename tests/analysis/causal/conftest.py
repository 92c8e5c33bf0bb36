"""The recorded runs that the tests of digctl causal share."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import team  # noqa: E402


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """300 runs of a team that fails because it waits."""
    return team.write(tmp_path_factory.mktemp("runs") / "waits", 300, 1, "waits")


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return team.write(tmp_path_factory.mktemp("few") / "runs", 40, 1, "waits")
