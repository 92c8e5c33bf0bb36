import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "daemon"))  # how a daemon is started
sys.path.insert(0, str(ROOT / "bench" / "healing"))

from live import Daemon  # noqa: E402


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    """A daemon whose verdicts are waited for, however slow the machine is."""
    with Daemon(tmp_path_factory.mktemp("daemon"), "threads = 2\nverdict_deadline_ms = 60000\n") as running:
        yield running
