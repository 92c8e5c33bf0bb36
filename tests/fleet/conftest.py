import shutil
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))
sys.path.insert(0, str(Path(__file__).parent))

from digctl_fleet_test import play_with_usage  # noqa: E402
from fleet_test import all_published, collect, fleet_config, play  # noqa: E402
from live import Daemon, wait_until  # noqa: E402
from nats_server import NatsServer, need_stream_client  # noqa: E402
from passes import RUNS  # noqa: E402

# The background job of a script ignores SIGINT, and its children inherit that. These tests send it to programs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def nats(tmp_path):
    """A real server of NATS with JetStream, in a folder of its own."""
    need_stream_client()
    with NatsServer(tmp_path / "nats") as running:
        yield running


@pytest.fixture(scope="session")
def first_lake(tmp_path_factory):
    """The data directory and the Parquet files of the same runs; some failed, one is open."""
    need_stream_client()
    path = tmp_path_factory.mktemp("lake")
    with NatsServer(path / "nats") as nats, Daemon(path / "d", fleet_config(nats)) as daemon:
        for i, run in enumerate(RUNS):
            outcome = "failure" if i % 2 else "success"
            if i < 4:
                play(daemon, run, steps=3 + i)
            else:
                play_with_usage(daemon, run, outcome, {"team": "x"})
        with daemon.client(run="open", agents=["a"], clock="trace") as client:
            client.event("task", ["a"], ts=0)
            client.wait_acked()
        wait_until(lambda: all_published(daemon), "the publication")
        collect(nats, path / "lake")
    return daemon.data, path / "lake"


@pytest.fixture
def lake(first_lake, tmp_path):
    """Copies of its two folders."""
    return tuple(shutil.copytree(folder, tmp_path / f"copy-of-{folder.name}") for folder in first_lake)
