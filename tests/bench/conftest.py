import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "daemon"))  # for live.Daemon
sys.path.insert(0, str(ROOT / "bench" / "healing"))

from live import Daemon  # noqa: E402


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    """A daemon with a deadline for verdicts that even a slow machine meets."""
    with Daemon(tmp_path_factory.mktemp("daemon"), "threads = 2\nverdict_deadline_ms = 60000\n") as running:
        yield running
