"""The client's side of the protocol as a state machine without I/O.

The driver calls `enqueue` for each message, `connected` and `disconnected`, `receive` for each frame, and `expire` at
`next_deadline`. Then it fetches `take_frames`, `take_settled` and `take_interventions`. Times are seconds of one
monotonic clock. Credits and bytes bound the window. The window bounds the tickets. MAX_KNOWN_INTERVENTIONS bounds the
interventions.

The class enforces these rules of docs/protocol.md:

- Sequence numbers have no gaps, and the client is never more than `credits` ahead.
- The client resumes from `acked_seq` + 1.
- After the deadline, and without a connection, events are delivered unchanged. A message that was not sent yet reports
  this with `as_is`; a message that was sent needs a `delivery`.
- Second verdicts and repeated interventions are ignored.
- After a reconnect the hello has `answered_seq`; the daemon then sends again the answers that were lost.
"""

from __future__ import annotations

import enum
import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from .fields import (
    number,
    objects,
    optional_object,
    optional_objects,
    optional_text,
    optional_whole,
    parsed,
    text,
    whole,
)
from .holds import Hold, decided, timed_out
from .messages import Blocked, Detection, Intervention, Json, Message, Verdict, delivery_message
from .window import QueuedMessage, Window

MAX_KNOWN_INTERVENTIONS = 4096  # a run's healing budget is 1,000 unless configured
MAX_UNANSWERED = 4096  # sent messages without a known answer; beyond it, the oldest are given up
MAX_MOVES = 5  # in a row, from one daemon to another, without a welcome
MAX_NAMES = 64  # the maximum number of names in a table of counts
MAX_MISSED_DEADLINES = 3  # in a row without a frame from the daemon; after that nothing is held until a frame arrives


class Phase(enum.Enum):
    """The connection's phase. CONNECTING: the first attempt is under way; events wait for it until their deadline."""

    CONNECTING = "connecting"
    UP = "up"
    DOWN = "down"
    CLOSED = "closed"  # permanently


@dataclass(eq=False)
class Ticket:
    """A message that blocks events, until `verdicts` is set."""

    blocked: tuple[Blocked, ...]
    deadline: float  # in seconds of the monotonic clock, as all times here
    fails_closed: bool = False  # a submit event of a fail-closed run waits for its deadline even without a connection
    seq: int = 0
    verdicts: tuple[Verdict, ...] | None = None  # in the daemon's order, which may differ from that of `blocked`
    holds: dict[str, Hold] = field(default_factory=dict)  # by event: those that wait for a person
    judged: dict[str, Verdict] = field(default_factory=dict)  # by event in the daemon's order, while others are held
    queued: QueuedMessage | None = None  # None: the message was dropped


@dataclass
class Counters:
    """Counts of a run. `told`: messages that the window accepted; `as_is`: those delivered without a verdict."""

    connections: int = 0
    told: int = 0
    timeouts: int = 0
    as_is: int = 0
    second_verdicts: int = 0
    repeated_interventions: int = 0
    errors: dict[str, int] = field(default_factory=dict)


def count(counts: dict[str, int], name: str, step: int = 1) -> None:
    """Adds `step` to a named count. New names beyond MAX_NAMES are ignored; a count of 0 is removed."""
    if name in counts or len(counts) < MAX_NAMES:
        counts[name] = counts.get(name, 0) + step
        if counts[name] == 0:
            del counts[name]


class Conversation:
    """One session's state. Not thread-safe."""

    def __init__(
        self,
        hello: Mapping[str, Json],
        *,
        hold: bool = True,
        fail_closed_s: float = 0.0,
        max_buffer_bytes: int = 16 << 20,
        max_added_s: float | None = None,
    ) -> None:
        self.hello = dict(hello)
        self.no_hold_reason: str | None = None if hold else "unheld"  # if set, no message waits for a verdict
        self.may_hold: Callable[[], bool] = lambda: True  # asked for each message: the welcome may change the answer
        self.fail_closed_s = fail_closed_s
        self.max_added_s = max_added_s  # limit on the total hold time; messages held at the same time count once
        self.counts_added_time: Callable[[], bool] = lambda: True  # False while nothing waits for the verdicts
        self._added_s = 0.0
        self._held_since: float | None = None
        self.window = Window(max_bytes=max_buffer_bytes)
        self.counters = Counters()
        self.phase = Phase.CONNECTING
        self.close_reason = ""
        self.welcome: Mapping[str, Json] | None = None
        self.first_seq: int | None = None  # the number of the first message that this client sends
        self.deadline_s = 0.25
        self.message_bytes = 1 << 20
        self.wants_reconnect = False
        self.moved_to: str | None = None  # the address of the daemon that has the run; the driver connects there
        self._moves = 0
        self.last_error: Mapping[str, Json] | None = None
        self.last_unreadable: str | None = None  # why the last unreadable frame was refused
        self._missed_deadlines = 0
        self._connect_deadline: float | None = None
        self.passes_holds = False  # the caller keeps held events; their verdicts do not wait for a decision
        self.is_over = False  # the run has ended: later messages are dropped
        self._sent_tickets: dict[int, Ticket] = {}  # open tickets of sent messages, by seq
        self._unanswered: dict[int, None] = {}  # seqs of sent messages with blocked events, in order
        self._pending: dict[Ticket, None] = {}  # open tickets, in the order of their deadlines
        self._fail_closed: dict[Ticket, None] = {}  # open tickets with `fails_closed`, in the same order
        self._held: dict[Ticket, None] = {}  # tickets with an event that waits for a person
        self._settled: list[Ticket] = []
        self._interventions: list[Intervention] = []
        self.unhealed: dict[str, int] = {}  # by rule: detections that the daemon would have healed in mode `enforce`
        self._counted_seq = 0
        self._known_interventions: OrderedDict[str, tuple[str, str | None] | None] = OrderedDict()

    # ---- messages to the daemon

    def enqueue(self, report: Message, now: float) -> Ticket:
        """Adds a message to the window. The ticket is settled at once if there is nothing to wait for."""
        submits = any(b.submit for b in report.blocked)
        fails_closed = submits and self.fail_closed_s > 0
        wait_s = max(self.deadline_s, self.fail_closed_s) if fails_closed else self.deadline_s
        ticket = Ticket(report.blocked, now + wait_s, fails_closed)
        if self.max_added_s is not None and self.counts_added_time():
            self._update_added_time(now)
            ticket.deadline = min(ticket.deadline, now + self.max_added_s - self.added_s(now))
        reason = self._no_wait_reason(ticket, now)
        if self.is_over or self.phase is Phase.CLOSED:
            reason = self.close_reason or "error:run_closed"
        else:
            self.counters.told += 1
            ticket.queued = self.window.add(report, as_is=reason is not None)
            if ticket.queued is None:
                reason = "credits"
        if not report.blocked:
            ticket.verdicts = ()
        elif reason is not None or ticket.queued is None:
            self._settle(ticket, tuple(b.as_is(reason or "credits") for b in report.blocked))
        else:
            ticket.queued.ticket = ticket
            (self._fail_closed if fails_closed else self._pending)[ticket] = None
            if self._held_since is None and self.counts_added_time():
                self._held_since = now
        return ticket

    def added_s(self, now: float) -> float:
        """How long messages were held until `now`, in seconds."""
        return self._added_s + (now - self._held_since if self._held_since is not None else 0.0)

    def _update_added_time(self, now: float) -> None:
        """Ends the current hold period if nothing is held any more. Call it after every change that may end a hold."""
        if self._held_since is not None and not self._pending and not self._fail_closed:
            self._added_s, self._held_since = self.added_s(now), None
        if self._is_added_time_spent(now):
            self.no_hold_reason = self.no_hold_reason or "max_added_ms"

    def _is_added_time_spent(self, now: float) -> bool:
        tolerance_s = 1e-6  # sums of floating-point times are inexact
        is_spent = self.max_added_s is not None and self.added_s(now) > self.max_added_s - tolerance_s
        return is_spent and self.counts_added_time()

    def _no_wait_reason(self, ticket: Ticket, now: float) -> str | None:
        if self.no_hold_reason is not None:
            return self.no_hold_reason
        if not self.may_hold():
            return "unheld"
        if self.phase is Phase.CONNECTING:
            if self._connect_deadline is None:
                self._connect_deadline = now + self.deadline_s
            ticket.deadline = ticket.deadline if ticket.fails_closed else min(ticket.deadline, self._connect_deadline)
            return "disconnected" if now >= ticket.deadline else None
        if ticket.fails_closed:
            return None
        if self.phase is Phase.DOWN:
            return "disconnected"
        return "timeout" if self._missed_deadlines >= MAX_MISSED_DEADLINES else None

    def accepted(self, ticket: Ticket) -> bool:
        """Whether the window accepted the message."""
        return ticket.queued is not None

    def answer(self, intervention: str, applied: str, reason: str | None, now: float) -> None:
        """Reports the outcome of an intervention."""
        ticket = self.enqueue(delivery_message(applied, of=intervention, reason=reason), now)
        if intervention in self._known_interventions:
            self._known_interventions[intervention] = None if self.accepted(ticket) else (applied, reason)

    # ---- the connection

    def connected(self) -> bytes:
        """Call when a connection is open. Returns the hello; nothing else is sent before the daemon's welcome."""
        self.counters.connections += 1
        self.wants_reconnect = False
        hello = self.hello if self.welcome is None else {**self.hello, "answered_seq": self.answered_seq}
        return json.dumps(hello, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    @property
    def answered_seq(self) -> int:
        """The last seq up to which every answer has come."""
        return next(iter(self._unanswered), self.window.next_seq) - 1

    def disconnected(self, now: float) -> None:
        """Call when the connection is lost or an attempt failed. Held events are delivered unchanged."""
        if self.phase is Phase.CLOSED:
            return
        self.phase = Phase.DOWN
        self.wants_reconnect = False
        for ticket in list(self._pending):
            self._deliver_unchanged(ticket, "disconnected", now)
        self._update_added_time(now)

    def close(self, reason: str) -> None:
        """Ends the conversation permanently. From now on events are delivered unchanged, for this reason."""
        if self.phase is not Phase.CLOSED:
            self.phase, self.close_reason = Phase.CLOSED, reason
        for ticket in (*self._pending, *self._fail_closed, *self._held):
            self._settle(ticket, tuple(b.as_is(self.close_reason) for b in ticket.blocked))
        self.window.discard()

    # ---- time

    def next_deadline(self) -> float | None:
        """When `expire` has to be called next."""
        deadlines = [next(iter(tickets)).deadline for tickets in (self._pending, self._fail_closed) if tickets]
        deadlines += [ticket.deadline for ticket in self._held]
        return min(deadlines, default=None)

    def expire(self, now: float) -> None:
        for tickets in (self._pending, self._fail_closed):
            while tickets and (ticket := next(iter(tickets))).deadline <= now:
                if self._is_added_time_spent(now):
                    self._deliver_unchanged(ticket, "max_added_ms", now)
                    continue
                self._missed_deadlines += self.phase is Phase.UP
                self.counters.timeouts += 1
                self._deliver_unchanged(ticket, "timeout" if self.phase is Phase.UP else "disconnected", now)
        for ticket in [t for t in self._held if t.deadline <= now]:
            self._expire_holds(ticket, now)
        self._update_added_time(now)

    def _expire_holds(self, ticket: Ticket, now: float) -> None:
        """No decision has arrived in time: does what the hold names for its timeout."""
        for event, hold in [(e, h) for e, h in ticket.holds.items() if h.deadline <= now]:
            verdict = timed_out(hold)
            applied, reason = ("rerouted", "hold_ms") if verdict.action == "reroute" else ("as_is", "hold_ms")
            self.enqueue(delivery_message(applied, event=event, reason=reason), now)
            self._end_hold(ticket, event, verdict)

    def _end_hold(self, ticket: Ticket, event: str, verdict: Verdict) -> None:
        del ticket.holds[event]
        ticket.judged[event] = verdict
        if ticket.holds:
            ticket.deadline = min(h.deadline for h in ticket.holds.values())
        else:
            self._settle(ticket, tuple(ticket.judged.values()))

    # ---- frames from the daemon

    def receive(self, frame: bytes, now: float) -> None:
        """Handles a frame. Unknown types are ignored: a newer daemon may send more of them."""
        if self.phase is Phase.CLOSED:
            return  # a late welcome must not open the conversation again
        try:
            message = parsed(frame)
        except (ValueError, RecursionError) as error:
            self._refuse_frame("frame", error)
            return
        self._missed_deadlines = 0
        handle = self._handlers.get(message["type"])
        if handle is not None:
            try:
                handle(self, message, now)
            except (TypeError, KeyError, ValueError, AttributeError, OverflowError) as error:
                self._refuse_frame(message["type"], error)
            self._update_added_time(now)

    def _refuse_frame(self, type: str, error: Exception) -> None:
        """Counts a frame that breaks the protocol. The frame changes nothing: its events wait until their deadline."""
        self._count_error("unreadable")
        self.last_unreadable = f"{type}: {error}"

    def _on_welcome(self, message: Mapping[str, Json], now: float) -> None:
        limits = optional_object(message, "limits") or {}
        deadline_s, acked_seq = number(message, "verdict_deadline_ms") / 1000, whole(message, "acked_seq")
        credits, message_bytes = whole(message, "credits"), optional_whole(limits, "message_bytes")
        optional_text(message, "mode")
        self.message_bytes = self.message_bytes if message_bytes is None else message_bytes
        self.deadline_s = deadline_s
        self.welcome = message
        self._moves = 0
        self.phase = Phase.UP
        if self.first_seq is None:
            self.first_seq = acked_seq + 1
        for ticket in self._pending:  # a shorter deadline applies to them too: they stay ordered by deadline
            ticket.deadline = min(ticket.deadline, now + deadline_s)
        if acked_seq < self.window.acked:  # the daemon lost its data: numbering starts again
            self._sent_tickets.clear()
            self._unanswered.clear()
        # The daemon sends the answers up to `acked_seq` again. `take_frames` adds the tickets of later messages.
        self._sent_tickets = {seq: ticket for seq, ticket in self._sent_tickets.items() if seq <= acked_seq}
        self.window.resume(acked_seq, max(1, credits), 16 * self.message_bytes)

    def _on_verdicts(self, message: Mapping[str, Json], now: float) -> None:
        seq, frames = whole(message, "seq"), objects(message, "verdicts")
        ticket = self._sent_tickets.get(seq)
        blocked = {b.event: b for b in ticket.blocked} if ticket is not None else {}
        judged: dict[str, Verdict] = {}
        holds: dict[str, Hold] = {}
        for frame in frames:
            held = blocked.get(text(frame, "event"))
            if held is None or held.event in judged:
                continue
            verdict = judged[held.event] = held.judged(frame)
            if verdict.action != "hold":
                continue
            passed = held.passed(verdict, frame)
            if self.passes_holds:
                judged[held.event] = passed
            else:
                # The daemon ends the hold; its own clock may be a little behind.
                deadline = now + number(frame, "hold_ms") / 1000 + self.deadline_s
                holds[held.event] = Hold(passed.hold or "", verdict, passed.on_timeout, deadline)
        unhealed = self._unhealed_in(frames) if seq > self._counted_seq else []
        # The whole frame is readable. Nothing may change before this line.
        self._unanswered.pop(seq, None)
        self._counted_seq = max(self._counted_seq, seq)
        for rule in unhealed:
            count(self.unhealed, rule)
        if ticket is None:
            self.counters.second_verdicts += 1
            return
        for event, held in blocked.items():
            judged.setdefault(event, held.as_is("error:no_verdict"))
        if not holds:
            self._settle(ticket, tuple(judged.values()))
            return
        ticket.judged, ticket.holds = judged, holds
        ticket.deadline = min(h.deadline for h in ticket.holds.values())
        self._pending.pop(ticket, None)
        self._fail_closed.pop(ticket, None)
        self._held[ticket] = None

    def _unhealed_in(self, verdicts: Iterable[Mapping[str, Json]]) -> list[str]:
        """The rules of the detections that the daemon did not heal only because of the mode."""
        detections = [Detection.of(d) for v in verdicts for d in optional_objects(v, "detections")]
        return [d.rule for d in detections if d.cause == "mode" and d.healing is not None]

    def _on_intervention(self, message: Mapping[str, Json], now: float) -> None:
        intervention = Intervention.of(message)
        if intervention.id not in self._known_interventions:
            self._known_interventions[intervention.id] = None
            while len(self._known_interventions) > MAX_KNOWN_INTERVENTIONS:
                self._known_interventions.popitem(last=False)
            if intervention.id.startswith("hold:"):
                self._on_hold_end(intervention, now)
            else:
                self._interventions.append(intervention)
            return
        self.counters.repeated_interventions += 1
        outcome = self._known_interventions[intervention.id]
        if outcome is not None:  # the window had no room for the earlier answer
            self.answer(intervention.id, *outcome, now)

    def _on_hold_end(self, intervention: Intervention, now: float) -> None:
        for ticket in list(self._held):
            for event, hold in list(ticket.holds.items()):
                if hold.id == intervention.id:
                    verdict = decided(hold, intervention)
                    self._end_hold(ticket, event, verdict)
                    self.answer(hold.id, "rerouted" if verdict.action == "reroute" else "released", None, now)
                    return
        reason = "the caller decides" if self.passes_holds else "the event is not held any more"
        self.answer(intervention.id, "unsupported", reason, now)

    def _on_ack(self, message: Mapping[str, Json], now: float) -> None:
        self.window.ack(whole(message, "seq"))

    def _on_error(self, message: Mapping[str, Json], now: float) -> None:
        code, seq = text(message, "code"), optional_whole(message, "seq") or 0
        self._count_error(code)
        self.last_error = message
        if code == "moved" and self._moves < MAX_MOVES:
            self._moves += 1
            self.moved_to = optional_text(message, "to") or ""
            self.wants_reconnect = True
            return
        if message.get("fatal"):
            self.close(f"error:{code}")
            return
        if code == "bad_seq" or self.phase is not Phase.UP:
            self.wants_reconnect = True  # the next welcome names the acked seq, or the daemon refuses this client
            return
        self._unanswered.pop(seq, None)
        ticket = self._sent_tickets.get(seq)
        if ticket is not None:
            self._settle(ticket, tuple(b.as_is(f"error:{code}") for b in ticket.blocked))

    _handlers = {
        "welcome": _on_welcome,
        "verdicts": _on_verdicts,
        "intervention": _on_intervention,
        "ack": _on_ack,
        "error": _on_error,
    }

    # ---- results

    def take_frames(self) -> list[bytes]:
        """Returns the frames to send now; none before the welcome."""
        if self.phase is not Phase.UP:
            return []
        frames = []
        for queued in self.window.take():
            ticket: Ticket | None = queued.ticket
            if queued.message.blocked:
                self._expect_answer(queued.seq)
            if ticket is not None and ticket.verdicts is None:
                ticket.seq = queued.seq
                self._sent_tickets[queued.seq] = ticket
            frames.append(queued.message.frame(queued.seq, queued.as_is))
        return frames

    def _expect_answer(self, seq: int) -> None:
        self._unanswered[seq] = None
        if len(self._unanswered) > MAX_UNANSWERED:
            del self._unanswered[next(iter(self._unanswered))]

    def take_settled(self) -> list[Ticket]:
        settled, self._settled = self._settled, []
        return settled

    def take_interventions(self) -> list[Intervention]:
        taken, self._interventions = self._interventions, []
        return taken

    @property
    def holds_events(self) -> bool:
        """Whether an event waits for a person."""
        return bool(self._held)

    @property
    def closed(self) -> bool:
        """Whether the conversation has ended permanently."""
        return self.phase is Phase.CLOSED

    @property
    def idle(self) -> bool:
        """Whether every message is acked."""
        return len(self.window) == 0 and self.window.unreported == 0

    def _deliver_unchanged(self, ticket: Ticket, reason: str, now: float) -> None:
        """Settles the ticket without a verdict, and reports that to the daemon."""
        self._settle(ticket, tuple(b.as_is(reason) for b in ticket.blocked))
        if ticket.seq == 0:
            if ticket.queued is not None:
                ticket.queued.as_is = True
            return
        for blocked in ticket.blocked:
            self.enqueue(delivery_message("as_is", event=blocked.event, reason=reason), now)

    def _settle(self, ticket: Ticket, verdicts: tuple[Verdict, ...]) -> None:
        ticket.verdicts = verdicts
        if ticket.queued is not None:
            ticket.queued.ticket = None  # breaks a cycle, which would keep the payload until the collector runs
        self._pending.pop(ticket, None)
        self._fail_closed.pop(ticket, None)
        self._held.pop(ticket, None)
        if self._sent_tickets.get(ticket.seq) is ticket:
            del self._sent_tickets[ticket.seq]
        if any(v.as_is for v in verdicts):
            self.counters.as_is += 1
        self._settled.append(ticket)

    def _count_error(self, code: str) -> None:
        count(self.counters.errors, code)
