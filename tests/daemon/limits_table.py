"""The table of docs/limits.md, and what tests of limits share: configuration, raw clients, and replays of runs."""

import json
import subprocess
from pathlib import Path

from live import DIGCTL, TIMEOUT_S, Client
from watching import ask

ROOT = Path(__file__).parents[2]


def table():
    """{limit: its row} of the first table of docs/limits.md."""
    text = (ROOT / "docs/limits.md").read_text()
    rows = {}
    for line in text.split("| limit |", 1)[1].splitlines()[2:]:
        if not line.startswith("|"):
            break
        limit, default, unit, counter, policies, beyond = (cell.strip() for cell in line.strip("|").split("|"))
        rows[limit.strip("`")] = {"default": default, "counter": counter.strip("`"), "policies": policies.split(", ")}
    return rows


TABLE = table()


def toml(limit, value):
    section, _, key = limit.rpartition(".")
    return (f"[{section}]\n" if section else "") + f"{key} = {value}\n"


def handshaken(daemon, run):
    s = daemon.raw()
    s.sendall(
        (
            f"GET /v1/ingest?run={run} HTTP/1.1\r\nHost: {daemon.address}\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Protocol: digd.v1\r\n\r\n"
        ).encode()
    )
    s.sendall(masked(json.dumps({"type": "hello", "protocol": 1, "run": run, "clock": "trace"})))
    return s


def masked(text):
    body = text.encode()
    head = bytes([0x81, 0x80 | len(body)]) if len(body) < 126 else bytes([0x81, 0xFE]) + len(body).to_bytes(2, "big")
    return head + b"\0\0\0\0" + body


def export(daemon, run="r1"):
    status, body, _ = ask(daemon, "GET", f"/v1/runs/{run}/trace")
    assert status == 200
    return body.decode()


def replayed(trace, *, status=0):
    """Everything that a client would be sent. `status` is 2 if the trace has refused messages."""
    done = subprocess.run(
        [DIGCTL, "replay", "-", "--output", "messages", "--format", "jsonl"],
        input=trace,
        text=True,
        capture_output=True,
    )
    assert done.returncode == status, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


class RecordingClient(Client):
    """Keeps all frames that it receives, except welcomes and acks."""

    def __init__(self, *args, **more):
        self.frames = []
        super().__init__(*args, **more)

    def receive(self, within=TIMEOUT_S):
        frame = super().receive(within)
        if frame["type"] not in ("welcome", "ack"):
            self.frames.append(frame)
        return frame
