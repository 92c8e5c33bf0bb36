import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from live import Daemon  # noqa: E402


@pytest.fixture
def daemon(tmp_path):
    """A daemon with two engine threads and the defaults."""
    with Daemon(tmp_path, "threads = 2\n") as running:
        yield running
