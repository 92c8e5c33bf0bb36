"""Attacks a fresh digd beside an innocent client; see scripts/attack.

Each attack is a function that runs in a process of its own until it is ended, so that it takes no time from the client.
The client has a token of its own, and sends an event every few milliseconds and waits for its verdict.

A control shows the noise of the machine, and what attackers take of its processors: the same client asks a second digd,
which nobody attacks, in turn with the attacked one.
"""

import argparse
import contextlib
import dataclasses
import functools
import json
import math
import multiprocessing
import os
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path

from live import Daemon
from token_access import entry

INNOCENT, HOSTILE, ADMIN = "i" * 64, "h" * 64, "a" * 64
MAX_RATIO = 3.0
BETWEEN_S = 0.004
LONGEST_WAIT_S = 10
CONFIG = """
tokens = "{folder}/tokens.toml"
threads = 2
[connections]
most = 400
"""


def tokens():
    return (
        entry("innocent", INNOCENT, ["ingest"])
        + entry("hostile", HOSTILE, ["ingest", "watch", "read"], 'runs = ["evil-"]\nrate = 2000')
        + entry("admin", ADMIN, ["ingest", "watch", "read", "operate"])
    )


# ---- sockets


def connected(address):
    host, port = address.rsplit(":", 1)
    s = socket.create_connection((host, int(port)), timeout=5)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def masked(body, opcode=0x1, final=True, announced=None):
    """A client's frame with a mask of zeros. `announced`: its length, if it differs from that of the body."""
    length = len(body) if announced is None else announced
    head = bytes([(0x80 if final else 0) | opcode])
    if length < 126:
        head += bytes([0x80 | length])
    elif length < 65536:
        head += bytes([0xFE]) + length.to_bytes(2, "big")
    else:
        head += bytes([0xFF]) + length.to_bytes(8, "big")
    return head + b"\0\0\0\0" + body


def upgraded(address, token, path="/v1/ingest", subprotocol="digd.v1"):
    s = connected(address)
    s.sendall(
        (
            f"GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Protocol: {subprotocol}\r\n\r\n"
        ).encode()
    )
    answer = b""
    while b"\r\n\r\n" not in answer:
        chunk = s.recv(4096)
        if not chunk:
            raise ConnectionError("closed")
        answer += chunk
    if b" 101 " not in answer.split(b"\r\n", 1)[0]:
        raise ConnectionError(answer.split(b"\r\n", 1)[0].decode())
    return s


def joined(address, token, run, session="main", **more):
    s = upgraded(address, token, f"/v1/ingest?run={run}")
    hello = {"type": "hello", "protocol": 1, "run": run, "session": session, "clock": "trace", **more}
    s.sendall(masked(json.dumps(hello).encode()))
    return s


def message(type, seq, **fields):
    return masked(json.dumps({"type": type, "seq": seq, **fields}).encode())


def again_and_again(attack):
    """The attack, repeated while digd refuses, closes or slows down its connections."""

    @functools.wraps(attack)
    def forever(address, n):
        for round_number in range(1_000_000):
            try:
                attack(address, n, round_number)
            except OSError:
                time.sleep(0.01)

    return forever


# ---- attacks: (address, number of the process, round)


@again_and_again
def connections(address, n, _):
    held = []
    try:
        while len(held) < 1000:
            held.append(connected(address))
            if len(held) % 50 == 0:
                time.sleep(0.05)
    finally:
        for s in held:
            s.close()


@again_and_again
def unfinished_requests(address, n, _):
    held = [connected(address) for _ in range(60)]
    for s in held:
        s.sendall(f"POST /v1/traces HTTP/1.1\r\nHost: {address}\r\nX-Pad: ".encode() + b"x" * 15_000)
    time.sleep(1)


@again_and_again
def guesses(address, n, round_number):
    with connected(address) as s:
        token = f"{n:032}{round_number:032}"
        s.sendall(f"GET /v1/runs HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        s.recv(4096)


@again_and_again
def pings(address, n, _):
    with upgraded(address, HOSTILE) as s:
        while True:
            s.sendall(b"\x89\xfd" + b"\0\0\0\0" + b"x" * 125)


@again_and_again
def partial_frames(address, n, _):
    """Frames that never end, before and after a hello."""
    held = []
    for k in range(40):
        s = upgraded(address, HOSTILE) if k % 2 else joined(address, HOSTILE, f"evil-{n}-{k}")
        s.sendall(masked(b"x" * 900_000, announced=1_000_000))
        held.append(s)
    time.sleep(1)


@again_and_again
def held_frames(address, n, round_number):
    """Large frames that wait for another session's ids."""
    run = f"evil-held-{n}-{round_number}"
    with joined(address, HOSTILE, run, "a", clock="wall") as a, joined(address, HOSTILE, run, "b", clock="wall"):
        for seq in range(1, 100):
            start = {"activation": f"v{seq}", "agent": "x", "inputs": [f"of b {seq}"]}
            a.sendall(message("activation_started", seq, **start, payload="x" * 200_000))


@again_and_again
def unread_answers(address, n, round_number):
    with joined(address, HOSTILE, f"evil-unread-{n}-{round_number}") as s:
        for seq in range(1, 100_000):
            s.sendall(message("event", seq, event={"id": f"e{seq}", "recipients": ["nobody"]}))


@again_and_again
def many_runs(address, n, round_number):
    held = [joined(address, HOSTILE, f"evil-{n}-{round_number}-{k}") for k in range(50)]
    for s in held:
        s.sendall(message("event", 1, event={"id": "e1", "recipients": ["a"]}))
        s.close()


@again_and_again
def wide_messages(address, n, round_number):
    """Many recipients and generators: work for the judging of one run."""
    with joined(address, HOSTILE, f"evil-wide-{n}-{round_number}") as s:
        names = [f"a{k}" for k in range(800)]
        for seq in range(1, 200):
            s.sendall(message("event", seq, event={"id": f"e{seq}", "recipients": names}))


@again_and_again
def garbage(address, n, round_number):
    kinds = [b"\x16\x03\x01" + os.urandom(200), os.urandom(500), b"GET / HTTP/1.1\r\n\r\n", b"\r\n" * 500]
    with connected(address) as s:
        s.sendall(kinds[round_number % len(kinds)])
        s.recv(4096)
    with joined(address, HOSTILE, "evil-garbage") as s:
        s.sendall(masked(os.urandom(300)) + masked(b"{}" * 50) + bytes([0xFF] * 20))
        s.recv(4096)


@again_and_again
def unread_feeds(address, n, _):
    held = [upgraded(address, HOSTILE, "/v1/feed?since=0", "digd.feed.v1") for _ in range(50)]
    time.sleep(1)
    for s in held:
        s.close()


@again_and_again
def slow_reads(address, n, _):
    with connected(address) as s:
        request = f"GET /v1/runs?limit=500 HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {HOSTILE}\r\n\r\n"
        for _ in range(50):
            s.sendall(request.encode())
            s.recv(65536)


ATTACKS = [  # in this order
    connections,
    unfinished_requests,
    guesses,
    pings,
    partial_frames,
    held_frames,
    unread_answers,
    many_runs,
    wide_messages,
    garbage,
    unread_feeds,
    slow_reads,
]
BY_NAME = {attack.__name__: attack for attack in ATTACKS}


# ---- the innocent client


class Innocent:
    """One session that waits for each verdict. Its connection is open before the attack begins."""

    def __init__(self, address):
        self.s = joined(address, INNOCENT, "innocent")
        self.pending = b""
        self.seq = 0
        self.frame_of("welcome")

    def frame_of(self, type, seq=None):
        """Reads frames up to one of that type and seq; None: digd closed the connection, or it took too long."""
        deadline = time.monotonic() + LONGEST_WAIT_S
        while True:
            frame = self.next_frame(deadline)
            if frame is None or (frame["type"] == type and seq in (None, frame.get("seq"))):
                return frame

    def next_frame(self, deadline):
        while True:
            length, head = self.head()
            if length is not None and len(self.pending) >= head + length:
                frame = self.pending[head : head + length]
                opcode = self.pending[0] & 0x0F
                self.pending = self.pending[head + length :]
                if opcode == 0x1:
                    return json.loads(frame)
                if opcode == 0x9:
                    self.s.sendall(masked(frame, opcode=0xA))
                continue
            self.s.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                chunk = self.s.recv(65536)
            except OSError:
                return None
            if not chunk:
                return None
            self.pending += chunk

    def head(self):
        if len(self.pending) < 2:
            return None, 0
        length = self.pending[1] & 0x7F
        if length < 126:
            return length, 2
        size = 2 if length == 126 else 8
        if len(self.pending) < 2 + size:
            return None, 0
        return int.from_bytes(self.pending[2 : 2 + size], "big"), 2 + size

    def ask(self):
        """Milliseconds to the verdict; None: there was none."""
        self.seq += 1
        begun = time.monotonic()
        self.s.sendall(message("event", self.seq, event={"id": f"e{self.seq}", "recipients": ["a"]}))
        answer = self.frame_of("verdicts", self.seq)
        return None if answer is None else (time.monotonic() - begun) * 1000


def measure(clients, seconds):
    """The latencies of each client. A message without a verdict ends it, and counts as infinite.

    The clients ask in turn, and the first one changes: the first pays for the pause, in which its process slept.
    """
    asking = [(client, []) for client in clients]
    took = [latencies for _, latencies in asking]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for client, latencies in asking:
            latency = client.ask()
            latencies.append(math.inf if latency is None else latency)
            if latency is None:
                return took
        asking.reverse()
        time.sleep(BETWEEN_S)
    return took


def p99(latencies):
    return statistics.quantiles(latencies, n=100)[98] if len(latencies) > 1 else float("inf")


# ---- one attack


@dataclasses.dataclass
class Outcome:
    """Milliseconds, each a p99."""

    calm: float  # before the attack
    control: float  # of the digd that nobody attacks, during the attack
    attacked: float
    lost: int  # verdicts that never came
    works: bool  # the attacked digd, to the end

    @property
    def ratio(self):
        return self.attacked / self.control


def started(stack, folder):
    folder.mkdir()
    (folder / "tokens.toml").write_text(tokens())
    return stack.enter_context(Daemon(folder, CONFIG.replace("{folder}", str(folder))))


def play(attack, seconds, processes):
    with tempfile.TemporaryDirectory(prefix="attack-") as where, contextlib.ExitStack() as stack:
        daemon, undisturbed = (started(stack, Path(where) / name) for name in ("attacked", "control"))
        clients = [Innocent(daemon.address), Innocent(undisturbed.address)]
        measure(clients, seconds / 5)  # warm
        calm, calm_control = measure(clients, seconds)
        attackers = [
            multiprocessing.Process(target=attack, args=(daemon.address, n), daemon=True) for n in range(processes)
        ]
        for attacker in attackers:
            attacker.start()
        time.sleep(0.3)
        attacked, control = measure(clients, seconds)
        works = daemon.process.poll() is None
        for attacker in attackers:
            attacker.kill()
            attacker.join()
        works = works and clients[0].ask() is not None
        works = daemon.stop() == 0 and works
    lost = sum(math.inf in latencies for latencies in (calm, calm_control, attacked, control))
    return Outcome(p99(calm), p99(control), p99(attacked), lost, works)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--only", default="", help="names of attacks, with commas")
    parser.add_argument("--processes", type=int, default=2, help="attackers at once")
    parser.add_argument("--counts", action="store_true", help="check counts alone, no times")
    asked = parser.parse_args(arguments)
    chosen = [name for name in asked.only.split(",") if name] or list(BY_NAME)
    if unknown := [name for name in chosen if name not in BY_NAME]:
        parser.error(f"there is no attack {unknown[0]}; there are {', '.join(BY_NAME)}")
    failed = []
    print("p99 in ms: before the attack, of the control during it, and of the attacked digd")
    print(f"{'attack':<20} {'calm':>8} {'control':>8} {'attacked':>8} {'ratio':>6} {'lost':>5}  digd")
    for name in chosen:
        got = play(BY_NAME[name], asked.seconds, asked.processes)
        is_slow = got.ratio > MAX_RATIO and not asked.counts
        if got.lost or not got.works or is_slow:
            failed.append(name)
        print(
            f"{name:<20} {got.calm:>8.2f} {got.control:>8.2f} {got.attacked:>8.2f} {got.ratio:>6.2f} {got.lost:>5}  "
            + ("works" if got.works else "FAILED") + ("  TOO SLOW" if is_slow else ""),
            flush=True,
        )
    print("every verdict came, and digd works" if not failed else "failed: " + ", ".join(failed))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
