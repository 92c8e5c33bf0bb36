"""The protocol's state machine with a daemon that loses connections and data, dies and stays silent, in any order.

The daemon is a model of docs/protocol.md with only the sequence: the received frames, and how many are durable.
"""

import json

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from digd.conversation import Conversation, Phase
from digd.messages import Event, ended_run_message, event_message, message

DEADLINE_S, CREDITS = 0.25, 8


class Daemon:
    """One session at the daemon. `frames` are in order from seq 1; the first `durable` of them survive a kill."""

    def __init__(self):
        self.frames, self.durable = [], 0

    def take(self, frame):
        """Returns whether the frame is new. A gap in the sequence breaks the protocol."""
        assert frame["seq"] <= len(self.frames) + 1, f"a gap before seq {frame['seq']}"
        if frame["seq"] == len(self.frames) + 1:
            self.frames.append(frame)
            return True
        return False


class Client(RuleBasedStateMachine):
    @initialize(fail_closed_s=st.sampled_from([0.0, 2.0]))
    def begin(self, fail_closed_s):
        self.now = 0.0
        self.conversation = Conversation({"run": "r"}, fail_closed_s=fail_closed_s, max_buffer_bytes=4000)
        self.max_wait_s = max(DEADLINE_S, fail_closed_s)
        self.daemon = Daemon()
        self.open = False
        self.unread_frames = []  # sent, not read yet
        self.tickets = []  # (time of the message, ticket)
        self.acked_on_wire = 0
        self.accepted_ids, self.lost_count, self.count = [], 0, 0

    # ---- the program

    def enqueue(self, message, id=None):
        ticket = self.conversation.enqueue(message, self.now)
        self.tickets.append((self.now, ticket))
        if id is not None and self.conversation.accepted(ticket):
            self.accepted_ids.append(id)
        return ticket

    @rule(submits=st.lists(st.booleans(), min_size=1, max_size=4), size=st.sampled_from([0, 10, 600]))
    def emit_some(self, submits, size):
        for submit in submits:
            self.emit(submit, size)

    def emit(self, submit, size):
        self.count += 1
        id = f"e{self.count}"
        self.enqueue(event_message(Event(id, ("a",), payload="x" * size or None, submit=submit)), id)

    @rule()
    def enqueue_a_message_that_blocks_nothing(self):
        assert self.enqueue(message("time", ts=1)).verdicts == ()

    @rule(seconds=st.sampled_from([0.1, 0.25, 3.0]))
    def time_passes(self, seconds):
        self.now += seconds
        self.conversation.expire(self.now)
        for at, ticket in self.tickets:
            assert ticket.verdicts is not None or self.now < at + self.max_wait_s, "held beyond its deadline"

    # ---- the connection

    @precondition(lambda self: not self.open)
    @rule()
    def connect(self):
        self.conversation.connected()
        self.open, self.unread_frames = True, []
        self.acked_on_wire = self.daemon.durable
        deadline_ms = DEADLINE_S * 1000
        acked_seq = self.daemon.durable
        self.send_to_client(type="welcome", acked_seq=acked_seq, verdict_deadline_ms=deadline_ms, credits=CREDITS)

    @precondition(lambda self: self.open)
    @rule()
    def lose_the_connection(self):
        self.open = False
        self.conversation.disconnected(self.now)
        assert all(t.verdicts is not None or t.fails_closed for _, t in self.tickets), "held without a connection"

    @rule()
    def an_attempt_fails(self):
        if not self.open:
            self.conversation.disconnected(self.now)

    @rule()
    def the_daemon_is_killed(self):
        if self.open:
            self.lose_the_connection()
        del self.daemon.frames[self.daemon.durable:]

    @rule()
    def the_daemon_loses_its_data(self):
        if self.open:
            self.lose_the_connection()
        self.lost_count += self.daemon.durable
        self.daemon = Daemon()

    @rule()
    def send(self):
        for frame in self.conversation.take_frames():
            message_sent = json.loads(frame)
            assert self.open and message_sent["seq"] <= self.acked_on_wire + CREDITS, "too far ahead"
            self.unread_frames.append(message_sent)

    # ---- the daemon

    def send_to_client(self, **frame):
        self.conversation.receive(json.dumps(frame).encode(), self.now)

    @precondition(lambda self: self.open)
    @rule(count=st.integers(1, 8), answer=st.booleans(), error=st.booleans())
    def read(self, count, answer, error):
        for frame in self.unread_frames[:count]:
            new = self.daemon.take(frame)
            if frame["type"] == "event" and answer and (new or frame["seq"] > self.acked_on_wire):
                if error:
                    self.send_to_client(type="error", code="over_limit", seq=frame["seq"], fatal=False)
                else:
                    verdict = {"event": frame["event"]["id"], "action": "deliver"}
                    self.send_to_client(type="verdicts", seq=frame["seq"], verdicts=[verdict])
        del self.unread_frames[:count]

    @precondition(lambda self: self.open)
    @rule(count=st.integers(1, 8))
    def sync(self, count):
        self.daemon.durable = min(len(self.daemon.frames), self.daemon.durable + count)
        self.acked_on_wire = self.daemon.durable
        self.send_to_client(type="ack", seq=self.daemon.durable)

    @rule(size=st.sampled_from([0, 10]), synced=st.integers(0, 8), answer=st.booleans())
    def exchange_without_errors(self, size, synced, answer):
        if not self.open:
            self.connect()
        self.emit(False, size)
        self.send()
        self.read(8, answer, False)
        if synced:
            self.sync(synced)

    # ---- invariants

    @invariant()
    def every_ticket_settles_once(self):
        if not hasattr(self, "conversation"):
            return
        settled = self.conversation.take_settled()
        assert len(settled) == len(set(map(id, settled)))
        self.settled_ids = getattr(self, "settled_ids", set())
        assert not self.settled_ids & set(map(id, settled)), "settled twice"
        self.settled_ids |= set(map(id, settled))

    @invariant()
    def the_window_stays_bounded(self):
        if hasattr(self, "conversation"):
            window = self.conversation.window
            assert len(window) <= max(1024, CREDITS) + 2 and 0 <= window.bytes <= 4000 + 2 * 64
            if window.credits == CREDITS and self.conversation.phase is Phase.UP and not self.lost_count:
                assert len(window._sent) <= CREDITS

    def teardown(self):
        """At the end the daemon returns, and has every message that was not reported as lost, once and in order."""
        if not hasattr(self, "conversation"):
            return
        if not self.open:
            self.connect()
        self.time_passes(3.0)
        self.enqueue(ended_run_message("success", None))
        for _ in range(2000):
            self.send()
            self.read(8, True, False)
            self.sync(8)
            if self.conversation.idle:
                break
        assert self.conversation.idle and self.conversation.window.bytes == 0
        received_ids = [f["event"]["id"] for f in self.daemon.frames if f["type"] == "event"]
        expected_ids = self.accepted_ids[len(self.accepted_ids) - len(received_ids):]
        assert received_ids == expected_ids, "out of order, twice or missing"
        reported_lost = sum(f["dropped"] for f in self.daemon.frames if f["type"] == "gap")
        if not self.lost_count:
            assert received_ids == self.accepted_ids and reported_lost == self.conversation.window.dropped
        assert self.daemon.frames[-1]["type"] == "run_ended"


ClientTest = Client.TestCase
ClientTest.settings = settings(max_examples=150, stateful_step_count=40, deadline=None, derandomize=True,
                               suppress_health_check=list(HealthCheck))
