import sys
from pathlib import Path

import pytest

sys.path.insert(
    0, str(Path(__file__).parents[3] / "tests" / "daemon")
)  # how a daemon is started, killed and started again

from live import Daemon  # noqa: E402

PATIENT = "threads = 2\nverdict_deadline_ms = 60000\n"  # sanitizers and busy machines


@pytest.fixture
def daemon(tmp_path):
    """A daemon whose verdicts are waited for, however slow the machine is."""
    with Daemon(tmp_path, PATIENT) as running:
        yield running


@pytest.fixture(scope="module")
def shared_daemon(tmp_path_factory):
    """One daemon for tests that each have a run of their own."""
    with Daemon(tmp_path_factory.mktemp("daemon"), PATIENT) as running:
        yield running


@pytest.fixture(autouse=True)
def patient_ends(monkeypatch):
    """A run that is short waits longer for its first connection than it does for users: machines that run tests are slow."""
    monkeypatch.setattr("digd.session.MAX_FIRST_CONNECTION_S", 2.0)
