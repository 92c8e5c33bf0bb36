"""The archive grows by at most 4 times what arrives, and 20 KiB a detection, whatever the names are.

The worst names are those that JSON writes with many more bytes. A client that asks again for its answers gets them byte
for byte, also where the archive has cut a detection.
"""

import json

import pytest

from large_answers_test import ids, split
from live import TIMEOUT_S, Daemon

# Of the row of a message, without its frame and the name of its session (docs/archive.md).
MAX_ROW_BYTES = 100

# Names of 256 bytes, told apart by their beginning.
LONG = {
    "plain": lambda i: f"{i:05}".ljust(256, "x"),
    "control characters": lambda i: f"{i:05}".ljust(256, "\x01"),
    "escaped when shown": lambda i: f"{i:05}".ljust(256, "\x7f"),
    "backslashes": lambda i: f"{i:05}".ljust(256, "\\"),
    "quotes": lambda i: f"{i:05}".ljust(256, '"'),
    "wide": lambda i: f"{i:05}" + "\u202e" * 83,
}


def archived_bytes(folder):
    """Of the archive's file and its log, after a stop."""
    return sum(file.stat().st_size for file in (folder / "data").glob("digd.sqlite*"))


def count_sent(client, sizes):
    send = client.ws.send

    def counted(text):
        sizes.append(len(text.encode()))
        send(text)

    client.ws.send = counted


class Measured:
    """A daemon and a client: what the client sends, what it hears, and by how much the archive grows."""

    def __init__(self, folder):
        self.folder = folder
        self.sent, self.detections = [], 0

    def play(self, act, **hello):
        with Daemon(self.folder) as daemon:
            with daemon.client(run="empty") as client:
                client.event("e1", ["a"])
                client.wait_acked()
            daemon.stop()
        before = archived_bytes(self.folder)
        with Daemon(self.folder) as daemon:
            client = daemon.client(max_queue=4, **hello)
            self.sent.append(len(json.dumps(client.hello).encode()))
            count_sent(client, self.sent)
            self.frames = act(client)
            client.close()
            self.again = self.missed(daemon, hello, len(self.frames))
            daemon.stop()
        self.grown = archived_bytes(self.folder) - before
        self.detections = sum(len(v.get("detections", [])) for f in self.frames for v in json.loads(f)["verdicts"])
        return self

    @staticmethod
    def missed(daemon, hello, count):
        """The verdicts that a client gets which has had none."""
        again = []
        client = daemon.client(answered_seq=0, max_queue=4, **{k: v for k, v in hello.items() if k != "clock"})
        for kept in client.kept:
            again.append(kept)
        while len(again) < count:
            text = client.ws.recv(20)
            if json.loads(text)["type"] == "verdicts":
                again.append(text)
        client.drop()  # a close would wait for frames that nobody reads
        return again

    def check(self, shape, detections=None):
        count = self.detections if detections is None else detections
        assert self.grown <= 4 * sum(self.sent) + 20480 * count, (shape, self.grown, sum(self.sent), count)


def hear(client):
    """All verdicts up to the last message, as text."""
    frames = []
    while client.acked < client.seq or not frames:
        text = client.ws.recv(3 * TIMEOUT_S)
        frame = json.loads(text)
        if frame["type"] == "ack":
            client.acked = frame["seq"]
        elif frame["type"] == "verdicts":
            frames.append(text)
    return frames


def clash(held, more, recipients):
    """Two lineages that meet at each recipient: a detection for each new event and recipient."""

    def act(client):
        split(client, "v1", "a", held, recipients)
        split(client, "v2", "b", more, recipients)
        return hear(client)

    return act


@pytest.mark.parametrize("witness", [False, True])
def test_an_aggregator_with_800_results(tmp_path, witness):
    measured = Measured(tmp_path).play(
        clash(ids(800, "held"), ids(700, "more"), ["aggregator"]), agents=["aggregator"], witness=witness
    )
    assert measured.detections >= 700
    measured.check("aggregator")
    assert measured.again == measured.frames


@pytest.mark.parametrize("kind", LONG)
def test_many_detections_with_long_names(tmp_path, kind):
    name = LONG[kind]
    held, more = [name(i) for i in range(24)], [name(100 + i) for i in range(8)]
    recipients = [name(200 + i) for i in range(20)]
    measured = Measured(tmp_path).play(clash(held, more, recipients), agents=recipients, session=name(0))
    assert measured.detections >= 160
    measured.check(kind)
    assert measured.again == measured.frames


@pytest.mark.parametrize("kind", ["plain", "escaped when shown"])
def test_more_detections_in_a_message_than_are_described_in_full(tmp_path, kind):
    name = LONG[kind]
    measured = Measured(tmp_path).play(
        clash([name(i) for i in range(20)], [f"m{i}" for i in range(30)], [f"a{i}" for i in range(60)]),
        agents=[f"a{i}" for i in range(60)],
    )
    assert measured.detections >= 1800
    measured.check(kind)
    assert measured.again == measured.frames


@pytest.mark.parametrize("kind", LONG)
def test_messages_with_a_detection_each(tmp_path, kind):
    name = LONG[kind]

    def act(client):
        frames = []
        for i in range(20):
            client.event(name(i), [name(500)])  # an orphan: nobody has this name
        frames += hear(client)
        return frames

    measured = Measured(tmp_path).play(act, agents=["a"], session=name(0))
    assert measured.detections >= 20
    measured.check(kind)
    assert measured.again == measured.frames


@pytest.mark.parametrize("kind", LONG)
def test_verdicts_without_detections(tmp_path, kind):
    name = LONG[kind]
    outputs = [name(i) for i in range(500)]

    def act(client):
        split(client, "v1", "a", outputs, ["b"])
        return hear(client)

    measured = Measured(tmp_path).play(act, agents=["a", "b"])
    assert measured.detections == 0
    measured.check(kind)
    assert measured.again == measured.frames


@pytest.mark.parametrize("kind", LONG)
def test_interventions_that_go_to_a_large_roster(tmp_path, kind):
    name = LONG[kind]
    agents = [name(i) for i in range(200)]

    def act(client):
        client.event(name(900), agents[:1], ts=0)
        client.verdicts()
        for i in range(1, 60):
            client.tell("time", ts=i * 1000)
        client.wait_acked()
        act.heard = sum(frame["type"] == "intervention" for frame in client.kept)
        return []

    rules = {"deadlock": {"window_ms": 1000, "max_attempts": 1000}}
    measured = Measured(tmp_path).play(act, agents=agents, rules=rules)
    assert act.heard >= 50
    measured.check(kind, act.heard)


@pytest.mark.parametrize("kind", ["plain", "control characters"])
def test_small_messages_take_a_row_and_the_name_of_their_session(tmp_path, kind):
    """The smallest messages, under a session with the longest name: the row is most of what is stored."""
    session, count = LONG[kind](0), 3000

    def act(client):
        for _ in range(count):
            client.tell("time")
        client.wait_acked()
        return []

    measured = Measured(tmp_path).play(act, agents=["a"], session=session)
    rows = count * (MAX_ROW_BYTES + len(session.encode()))
    assert measured.grown <= 4 * sum(measured.sent) + rows
    assert measured.grown > 4 * sum(measured.sent)  # otherwise docs/archive.md need not mention the row
