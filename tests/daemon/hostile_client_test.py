"""Neither one client nor a reader of the log can stop digd or use up its memory."""

import json
import os
import subprocess

import pytest

from limits_table import handshaken
from live import Daemon
from watching import metric

PING = b"\x89\xfd" + b"\0\0\0\0" + b"x" * 125


def resident_bytes(daemon):
    with open(f"/proc/{daemon.process.pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def upgrade_request(daemon):
    return (
        f"GET /v1/ingest HTTP/1.1\r\nHost: {daemon.address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Protocol: digd.v1\r\n\r\n"
    ).encode()


def upgraded(daemon):
    """A WebSocket without a hello."""
    s = daemon.raw()
    s.sendall(upgrade_request(daemon))
    assert b"101 Switching" in s.recv(65536)
    return s


@pytest.mark.parametrize("open_socket", [upgraded, lambda daemon: handshaken(daemon, "r1")], ids=["new", "joined"])
def test_a_flood_of_pings_is_paused_and_takes_no_memory(tmp_path, open_socket):
    with Daemon(tmp_path) as daemon, daemon.client("bystander") as bystander, open_socket(daemon) as s:
        before = resident_bytes(daemon)
        s.settimeout(0.5)
        sent = 0
        with pytest.raises(TimeoutError):  # digd stops reading, and the kernel's buffers are full
            while sent < 200_000_000:
                sent += s.send(PING * 500)
        assert metric(daemon, "digd_rate_paused_total") > 0
        assert resident_bytes(daemon) - before < 40_000_000
        bystander.event("e1", ["a"])
        bystander.wait_acked()


def test_a_pinging_client_that_pauses_gets_all_pongs(tmp_path):
    with Daemon(tmp_path) as daemon, upgraded(daemon) as s:
        pings = 250
        s.sendall(b"".join(b"\x89\x84\0\0\0\0" + b"%04d" % n for n in range(pings)))
        answer = b""
        while len(answer) < pings * 6:
            chunk = s.recv(65536)
            assert chunk, "digd closed the connection"
            answer += chunk
        assert answer == b"".join(b"\x8a\x04" + b"%04d" % n for n in range(pings))
        assert metric(daemon, "digd_rate_paused_total") >= 2


class PipedDaemon(Daemon):
    """Its standard error is a pipe that nobody reads."""

    def launch(self):
        (self.data / "digd.address").unlink(missing_ok=True)
        self.process = subprocess.Popen(self.command(), stderr=subprocess.PIPE)

    def log_text(self):
        return "(a pipe)"


def churn(daemon, sessions):
    for n in range(sessions):
        with daemon.client(f"run-{n}-{'x' * 150}") as c:
            c.event("e1", ["a"])
            c.wait_acked()


def test_a_log_that_nobody_reads_stops_neither_clients_nor_sigterm(tmp_path):
    with PipedDaemon(tmp_path) as daemon:
        churn(daemon, 250)  # twice as many lines as a pipe of 64 KiB holds
        with daemon.client("last") as c:
            c.event("e1", ["a"])
            c.wait_acked()
        assert daemon.stop() == 0
        daemon.process.stderr.close()


def test_a_log_whose_reader_is_gone_does_not_end_digd(tmp_path):
    with PipedDaemon(tmp_path) as daemon:
        daemon.process.stderr.close()
        churn(daemon, 2)
        assert daemon.stop() == 0


def test_a_log_is_complete_after_an_orderly_stop(tmp_path):
    with Daemon(tmp_path) as daemon:
        churn(daemon, 20)
        assert daemon.stop() == 0
        assert daemon.log_text().count("session_open") == 20
        assert daemon.log_text().count("session_closed") == 20


def hello_and_gone(daemon, n):
    """A session that is opened and closed: lines of the log for little work."""
    with daemon.raw() as s:
        hello = json.dumps({"type": "hello", "protocol": 1, "run": "r", "session": "s", "clock": "trace"}).encode()
        s.sendall(upgrade_request(daemon) + b"\x81\xfe" + len(hello).to_bytes(2, "big") + b"\0\0\0\0" + hello)
        assert s.recv(1)


def test_a_log_that_nobody_reads_drops_lines_and_counts_them(tmp_path):
    with PipedDaemon(tmp_path) as daemon:
        for n in range(20_000):
            hello_and_gone(daemon, n)
            if n % 500 == 0 and metric(daemon, "digd_log_dropped_total") > 0:
                break
        assert metric(daemon, "digd_log_dropped_total") > 0
        with daemon.client("last") as c:
            c.event("e1", ["a"])
            c.wait_acked()
        assert daemon.stop() == 0
        daemon.process.stderr.close()
