import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))  # `live`

from live import Daemon  # noqa: E402


@pytest.fixture(scope="module")
def zoo_daemon(tmp_path_factory):
    """One daemon for all systems of a module. Its verdict deadline suits slow machines."""
    with Daemon(tmp_path_factory.mktemp("zoo"), "threads = 2\nverdict_deadline_ms = 60000\n") as running:
        yield running


@pytest.fixture(autouse=True)
def patient_ends(monkeypatch):
    """Short runs wait longer for their first connection than they do for users: machines that run tests are slow."""
    monkeypatch.setattr("digd.session.MAX_FIRST_CONNECTION_S", 15.0)
