"""A running digd and its clients, for live tests. Tests do not sleep: they wait for a condition with a deadline."""

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect, unix_connect

DIGD = os.environ.get("DIGD_BIN", str(Path(__file__).parents[2] / "build/release/bin/digd"))
DIGCTL = os.environ.get("DIGCTL_BIN", str(Path(__file__).parents[2] / "build/release/bin/digctl"))
TIMEOUT_S = float(os.environ.get("DIGD_TEST_TIMEOUT_S", 20))  # generous, for busy machines


def wait_until(condition, awaited, within=TIMEOUT_S):
    deadline = time.monotonic() + within
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"timed out waiting for {awaited}"
        time.sleep(0.002)


class Daemon:
    """A digd with its data directory; can be killed and restarted."""

    def __init__(self, folder, config="", listen="127.0.0.1:0", args=()):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data = self.folder / "data"
        self.config = self.folder / "digd.toml"
        self.config.write_text(config)
        self.listen = listen
        self.args = list(args)
        self.process = None
        self.address = None

    def command(self):
        return [DIGD, "--config", str(self.config), "--listen", self.listen, "--data-dir", str(self.data), *self.args]

    def launch(self):
        """Starts digd without waiting until it listens."""
        (self.data / "digd.address").unlink(missing_ok=True)
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(self.command(), stderr=log, stdout=log)

    def start(self):
        has_runs = (self.data / "digd.sqlite").exists()
        self.launch()

        def bound():
            assert self.process.poll() is None, self.log_text()
            file = self.data / "digd.address"
            return file.read_text().strip() if file.exists() else None

        self.address = wait_until(bound, "the address")
        if has_runs:
            wait_until(lambda: not self.is_recovering(), "the end of recovery")
        return self

    def is_recovering(self):
        """False also if /readyz wants TLS or a token."""
        try:
            host = "localhost" if self.address.startswith("unix:") else self.address
            request = f"GET /readyz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
            return '"recovering"' in self.http(request)[1]
        except (OSError, ValueError, IndexError):
            return False

    def log_text(self):
        """What digd has logged. A running digd writes its log in the background: wait for a line with `wait_logged`."""
        return (self.folder / "log").read_text()

    def wait_logged(self, *texts):
        """Waits until the log has each of the texts."""
        for text in texts:
            wait_until(lambda: text in self.log_text(), f"{text!r} in the log")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(TIMEOUT_S)

    def stop(self):
        """SIGTERM; returns the exit status."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(TIMEOUT_S) if self.process else 0

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.kill()  # `with` calls no __exit__ then
            raise

    def __exit__(self, kind, *_):
        if self.process and self.process.poll() is None:
            self.process.kill()
        status = self.process.wait(TIMEOUT_S)
        assert kind or status in (0, -signal.SIGKILL), self.log_text()

    def raw(self):
        if self.address.startswith("unix:"):
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(TIMEOUT_S)
            s.connect(self.address[5:])
            return s
        host, port = self.address.rsplit(":", 1)
        return socket.create_connection((host.strip("[]"), int(port)), timeout=TIMEOUT_S)

    def http(self, request):
        """Sends bytes; returns (status, the whole answer)."""
        with self.raw() as s:
            s.sendall(request)
            answer = b""
            while chunk := s.recv(65536):
                answer += chunk
        return int(answer.split()[1]), answer.decode()

    def client(self, run="r1", session="main", **hello):
        return Client(self, run, session, **hello)


def drop(ws):
    """Closes the socket without a WebSocket close, even with frames in flight."""
    try:
        ws.socket.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # the daemon closed first
    ws.close()


class Client:
    """One session: counts its seq, and keeps frames that a wait skipped."""

    def __init__(
        self, daemon, run="r1", session="main", place=True, greet=True, next_seq=1, max_queue=None, token=None, **hello
    ):
        self.daemon = daemon
        self.hello = {"type": "hello", "protocol": 1, "run": run, "session": session, "clock": "trace", **hello}
        target = "/v1/ingest" + (f"?run={run}" if place else "")
        options = dict(
            subprotocols=["digd.v1"],
            compression=None,
            max_size=None,
            open_timeout=TIMEOUT_S,
            close_timeout=TIMEOUT_S,
            ping_timeout=TIMEOUT_S,
            max_queue=max_queue,
            additional_headers={"Authorization": "Bearer " + token} if token else {},
        )
        if daemon.address.startswith("unix:"):
            self.ws = unix_connect(daemon.address[5:], f"ws://localhost{target}", **options)
        else:
            self.ws = connect(f"ws://{daemon.address}{target}", **options)
        self.seq = next_seq - 1
        self.acked = 0
        self.kept = []
        if greet:
            self.send_raw(self.hello)
            self.welcome = self.wait_for("welcome")
            self.seq = max(self.seq, self.welcome["acked_seq"])
            self.acked = self.welcome["acked_seq"]

    def send_raw(self, message):
        self.ws.send(message if isinstance(message, (str, bytes)) else json.dumps(message))

    def tell(self, type, **fields):
        """Sends a message with the next seq, which it returns."""
        self.seq += 1
        self.send_raw({"type": type, "seq": self.seq, **fields})
        return self.seq

    def event(self, id, to=(), **fields):
        source = {"source": fields.pop("source")} if "source" in fields else {}
        event = {"id": id, "recipients": list(to), **source, **fields.pop("event", {})}
        return self.tell("event", event=event, **fields)

    def start(self, activation, agent, inputs=(), **fields):
        return self.tell("activation_started", activation=activation, agent=agent, inputs=list(inputs), **fields)

    def end(self, activation, outputs=(), reactions=None, **fields):
        more = {"reactions": reactions} if reactions else {}
        return self.tell("activation_ended", activation=activation, outputs=list(outputs), **more, **fields)

    def receive(self, within=TIMEOUT_S):
        frame = json.loads(self.ws.recv(timeout=within))
        if frame["type"] == "ack":
            assert frame["seq"] >= self.acked, "acks are cumulative"
            self.acked = frame["seq"]
        return frame

    def wait_for(self, type, **fields):
        """Returns the next frame that matches; keeps the others for later waits."""
        matches = lambda f: f["type"] == type and all(f.get(k) == v for k, v in fields.items())
        for i, frame in enumerate(self.kept):
            if matches(frame):
                return self.kept.pop(i)
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            frame = self.receive(max(0.01, deadline - time.monotonic()))
            if matches(frame):
                return frame
            if frame["type"] != "ack":
                self.kept.append(frame)
        raise AssertionError(f"no {type} {fields}; kept {self.kept}")

    def verdicts(self, seq=None):
        return self.wait_for("verdicts", seq=self.seq if seq is None else seq)["verdicts"]

    def error(self, seq=None):
        return self.wait_for("error", **({} if seq is None else {"seq": seq}))

    def wait_acked(self, seq=None):
        seq = self.seq if seq is None else seq
        deadline = time.monotonic() + TIMEOUT_S
        while self.acked < seq:
            frame = self.receive(max(0.01, deadline - time.monotonic()))
            if frame["type"] != "ack":
                self.kept.append(frame)

    def closed_with(self):
        """Reads all remaining frames; returns the close code."""
        try:
            while True:
                frame = self.receive()
                if frame["type"] != "ack":
                    self.kept.append(frame)
        except ConnectionClosed as e:
            return e.rcvd.code if e.rcvd else None

    def close(self):
        self.ws.close()

    def drop(self):
        drop(self.ws)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
