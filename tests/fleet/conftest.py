import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))
sys.path.insert(0, str(Path(__file__).parent))

from nats_server import NatsServer, need_stream_client  # noqa: E402

# The background job of a script ignores SIGINT, and its children inherit that. These tests send it to programs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def nats(tmp_path):
    """A real server of NATS with JetStream, in a folder of its own."""
    need_stream_client()
    with NatsServer(tmp_path / "nats") as running:
        yield running
