import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "daemon"))  # `live`: starts, kills and restarts a daemon

import digd.session  # noqa: E402
from client_helpers import url_of  # noqa: E402
from live import Daemon  # noqa: E402

PATIENT = "threads = 2\nverdict_deadline_ms = 60000\n"  # for sanitizers and busy machines


def patient_daemon(path):
    """A daemon with a verdict deadline that even a slow machine meets. Its port may be that of one that was stopped in
    an earlier test, which the client would remember as missing."""
    with Daemon(path, PATIENT) as running:
        digd.session._missing_daemons.discard(url_of(running))
        yield running


@pytest.fixture
def daemon(tmp_path):
    yield from patient_daemon(tmp_path)


@pytest.fixture(scope="module")
def shared_daemon(tmp_path_factory):
    """One daemon for all tests of a module. Each test has its own run."""
    yield from patient_daemon(tmp_path_factory.mktemp("daemon"))


@pytest.fixture(autouse=True)
def patient_ends(monkeypatch):
    """Short runs wait longer for their first connection than they do for users: machines that run tests are slow."""
    monkeypatch.setattr("digd.session.MAX_FIRST_CONNECTION_S", 15.0)
