"""The client's side of the protocol as a state machine without I/O.

The driver calls `tell` for each message, `connected` and `disconnected`, `receive` for each frame, and `expire` when
`next_deadline` has come. Then it fetches `take_frames`, `take_settled` and `take_interventions`. Times are seconds of one
monotonic clock. Credits and bytes bound the window, the window bounds tickets, MAX_KNOWN_INTERVENTIONS bounds interventions.

It keeps these rules of docs/protocol.md. Seqs have no holes. The client is never more than `credits` ahead. It resumes from
`acked_seq` + 1. After the deadline and without a connection events go out unchanged; a message not sent yet says so by
`as_is`, one sent before by `delivery`. Second verdicts and repeated interventions are ignored.
"""

from __future__ import annotations

import enum
import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .messages import Blocked, Detection, Intervention, Json, Message, Verdict, delivery_message
from .window import Kept, Window

MAX_KNOWN_INTERVENTIONS = 4096  # a run's healing budget is 1,000 unless configured
MAX_NAMES = 64  # in one table of counts by name
DEAF_AFTER = 3  # deadlines missed in a row without a frame from the daemon; then nothing is held until one comes


class Phase(enum.Enum):
    """The connection's phase. HOPING: the first attempt is under way, and events wait for it within their deadline."""

    HOPING = "hoping"
    UP = "up"
    DOWN = "down"
    CLOSED = "closed"  # for good


@dataclass(eq=False)
class Ticket:
    """A message that blocks events, until `verdicts` is set."""

    blocked: tuple[Blocked, ...]
    deadline: float
    stubborn: bool = (
        False  # a submit event of a run that fails closed: waits for its deadline even without a connection
    )
    seq: int = 0
    verdicts: tuple[Verdict, ...] | None = None
    kept: Kept | None = None  # None: it was dropped


@dataclass
class Counters:
    """Counts of a run's messages so far."""

    connections: int = 0
    told: int = 0
    timeouts: int = 0
    as_is: int = 0
    second_verdicts: int = 0
    repeated_interventions: int = 0
    errors: dict[str, int] = field(default_factory=dict)


def count(counts: dict[str, int], name: str, step: int = 1) -> None:
    """Changes a count by name, of at most MAX_NAMES names. A count of 0 is left out."""
    if name in counts or len(counts) < MAX_NAMES:
        counts[name] = counts.get(name, 0) + step
        if counts[name] == 0:
            del counts[name]


class Conversation:
    """One session's state. Not for several threads at once."""

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
        self.unheld_because: str | None = None if hold else "unheld"  # set: nothing waits for a verdict
        self.fail_closed_s = fail_closed_s
        self.max_added_s = max_added_s  # how long messages may be held in all, where two are held at once counted once
        self._added_s = 0.0
        self._held_since: float | None = None
        self.window = Window(max_bytes=max_buffer_bytes)
        self.counters = Counters()
        self.phase = Phase.HOPING
        self.closed_by = ""
        self.welcome: Mapping[str, Json] | None = None
        self.first_seq: int | None = None  # of the first message that this client sends
        self.deadline_s = 0.25
        self.message_bytes = 1 << 20
        self.want_reconnect = False
        self.last_error: Mapping[str, Json] | None = None
        self._missed = 0
        self._hoped_until: float | None = None
        self.over = False  # the run has ended: later messages are dropped
        self._waiting: dict[int, Ticket] = {}  # those of the next two that were sent, by seq
        self._pending: dict[Ticket, None] = {}  # in the order of their deadlines
        self._stubborn: dict[Ticket, None] = {}
        self._settled: list[Ticket] = []
        self._interventions: list[Intervention] = []
        self.unhealed: dict[str, int] = {}  # by rule: what the daemon would have healed in the mode `enforce`
        self._tallied_seq = 0
        self._known: OrderedDict[str, tuple[str, str | None] | None] = OrderedDict()

    # ---- messages to the daemon

    def tell(self, report: Message, now: float) -> Ticket:
        """Takes a message. The ticket is settled at once if there is nothing to wait for."""
        submits = any(b.submit for b in report.blocked)
        stubborn = submits and self.fail_closed_s > 0
        wait_s = max(self.deadline_s, self.fail_closed_s) if stubborn else self.deadline_s
        ticket = Ticket(report.blocked, now + wait_s, stubborn)
        if self.max_added_s is not None:
            self._count_added(now)
            ticket.deadline = min(ticket.deadline, now + self.max_added_s - self.added_s(now))
        reason = self._why_not_wait(ticket, now)
        if self.over or self.phase is Phase.CLOSED:
            reason = self.closed_by or "error:run_closed"
        else:
            self.counters.told += 1
            ticket.kept = self.window.add(report, as_is=reason is not None)
            if ticket.kept is None:
                reason = "credits"
        if not report.blocked:
            ticket.verdicts = ()
        elif reason is not None or ticket.kept is None:
            self._settle(ticket, tuple(b.as_is(reason or "credits") for b in report.blocked))
        else:
            ticket.kept.waiting = ticket
            (self._stubborn if stubborn else self._pending)[ticket] = None
            if self._held_since is None:
                self._held_since = now
        return ticket

    def added_s(self, now: float) -> float:
        """For how long messages were held until now, seconds."""
        return self._added_s + (now - self._held_since if self._held_since is not None else 0.0)

    def _count_added(self, now: float) -> None:
        """Called after whatever may have ended a hold."""
        if self._held_since is not None and not self._pending and not self._stubborn:
            self._added_s, self._held_since = self.added_s(now), None
        if self._is_spent(now):
            self.unheld_because = self.unheld_because or "max_added_ms"

    def _is_spent(self, now: float) -> bool:
        return self.max_added_s is not None and self.added_s(now) > self.max_added_s - 1e-6  # sums of times are inexact

    def _why_not_wait(self, ticket: Ticket, now: float) -> str | None:
        if self.unheld_because is not None:
            return self.unheld_because
        if self.phase is Phase.HOPING:
            if self._hoped_until is None:
                self._hoped_until = now + self.deadline_s
            ticket.deadline = ticket.deadline if ticket.stubborn else min(ticket.deadline, self._hoped_until)
            return "disconnected" if now >= ticket.deadline else None
        if ticket.stubborn:
            return None
        if self.phase is Phase.DOWN:
            return "disconnected"
        return "timeout" if self._missed >= DEAF_AFTER else None

    def accepted(self, ticket: Ticket) -> bool:
        """Whether the message was taken into the window, not dropped."""
        return ticket.kept is not None

    def answer(self, intervention: str, applied: str, reason: str | None, now: float) -> None:
        """Reports the outcome of an intervention."""
        ticket = self.tell(delivery_message(applied, of=intervention, reason=reason), now)
        if intervention in self._known:
            self._known[intervention] = None if self.accepted(ticket) else (applied, reason)

    # ---- the connection

    def connected(self) -> bytes:
        """A connection is open. Returns the greeting; nothing else is sent before the daemon's welcome."""
        self.counters.connections += 1
        return json.dumps(self.hello, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    def disconnected(self, now: float) -> None:
        """The connection is lost, or an attempt failed. Events that wait go out unchanged."""
        if self.phase is Phase.CLOSED:
            return
        self.phase = Phase.DOWN
        self.want_reconnect = False
        for ticket in list(self._pending):
            self._give_up(ticket, "disconnected", now)
        self._count_added(now)

    def close(self, reason: str) -> None:
        """There will be no connection any more: from now on events go out unchanged, for this reason."""
        if self.phase is not Phase.CLOSED:
            self.phase, self.closed_by = Phase.CLOSED, reason
        for ticket in (*self._pending, *self._stubborn):
            self._settle(ticket, tuple(b.as_is(self.closed_by) for b in ticket.blocked))

    # ---- time

    def next_deadline(self) -> float | None:
        """The time at which `expire` has something to do."""
        firsts = [next(iter(t)).deadline for t in (self._pending, self._stubborn) if t]
        return min(firsts, default=None)

    def expire(self, now: float) -> None:
        for tickets in (self._pending, self._stubborn):
            while tickets and (ticket := next(iter(tickets))).deadline <= now:
                if self._is_spent(now):
                    self._give_up(ticket, "max_added_ms", now)
                    continue
                self._missed += self.phase is Phase.UP
                self.counters.timeouts += 1
                self._give_up(ticket, "timeout" if self.phase is Phase.UP else "disconnected", now)
        self._count_added(now)

    # ---- frames from the daemon

    def receive(self, frame: bytes, now: float) -> None:
        """Handles a frame. An unknown one is ignored: a newer daemon may send more types."""
        try:
            message = json.loads(frame)
            handle = self._handlers.get(message["type"])
        except (ValueError, TypeError, KeyError, RecursionError):
            self._count_error("unreadable")
            return
        self._missed = 0
        if handle is not None:
            try:
                handle(self, message, now)
            except (TypeError, KeyError, ValueError, AttributeError):
                self._count_error("unreadable")
            self._count_added(now)

    def _on_welcome(self, message: Mapping[str, Json], now: float) -> None:
        limits = message.get("limits") or {}
        self.message_bytes = int(limits.get("message_bytes", self.message_bytes))
        self.deadline_s = float(message["verdict_deadline_ms"]) / 1000
        self.welcome = message
        self.phase = Phase.UP
        if self.first_seq is None:
            self.first_seq = int(message["acked_seq"]) + 1
        self._waiting.clear()  # messages sent again wait again
        self.window.resume(int(message["acked_seq"]), max(1, int(message["credits"])), 16 * self.message_bytes)

    def _on_verdicts(self, message: Mapping[str, Json], now: float) -> None:
        seq = int(message["seq"])
        if seq > self._tallied_seq:
            self._tallied_seq = seq
            self._tally(message["verdicts"])
        ticket = self._waiting.get(seq)
        if ticket is None:
            self.counters.second_verdicts += 1
            return
        blocked = {b.event: b for b in ticket.blocked}
        verdicts = [blocked.pop(v["event"]).judged(v) for v in message["verdicts"] if v["event"] in blocked]
        verdicts += [b.as_is("error:no_verdict") for b in blocked.values()]
        self._settle(ticket, tuple(verdicts))

    def _tally(self, verdicts: Iterable[Mapping[str, Json]]) -> None:
        """Counts the detections that only the mode kept the daemon from healing."""
        for detection in (Detection.of(d) for v in verdicts for d in v.get("detections") or ()):
            if detection.cause == "mode" and detection.healing is not None:
                count(self.unhealed, detection.rule)

    def _on_intervention(self, message: Mapping[str, Json], now: float) -> None:
        intervention = Intervention.of(message)
        if intervention.id not in self._known:
            self._known[intervention.id] = None
            while len(self._known) > MAX_KNOWN_INTERVENTIONS:
                self._known.popitem(last=False)
            self._interventions.append(intervention)
            return
        self.counters.repeated_interventions += 1
        outcome = self._known[intervention.id]
        if outcome is not None:  # its answer was dropped for want of room
            self.answer(intervention.id, *outcome, now)

    def _on_ack(self, message: Mapping[str, Json], now: float) -> None:
        self.window.ack(int(message["seq"]))

    def _on_error(self, message: Mapping[str, Json], now: float) -> None:
        code = str(message.get("code"))
        self._count_error(code)
        self.last_error = message
        if message.get("fatal"):
            self.close(f"error:{code}")
            return
        if code == "bad_seq" or self.phase is not Phase.UP:
            self.want_reconnect = True  # a new welcome says where we stand, and whether we are let in
            return
        ticket = self._waiting.get(int(message.get("seq") or 0))
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
        """The frames to send now: none before the welcome."""
        if self.phase is not Phase.UP:
            return []
        frames = []
        for kept in self.window.take():
            ticket: Ticket | None = kept.waiting
            if ticket is not None and ticket.verdicts is None:
                ticket.seq = kept.seq
                self._waiting[kept.seq] = ticket
            frames.append(kept.message.frame(kept.seq, kept.as_is))
        return frames

    def take_settled(self) -> list[Ticket]:
        settled, self._settled = self._settled, []
        return settled

    def take_interventions(self) -> list[Intervention]:
        taken, self._interventions = self._interventions, []
        return taken

    @property
    def closed(self) -> bool:
        """Whether there will be no connection any more."""
        return self.phase is Phase.CLOSED

    @property
    def idle(self) -> bool:
        """Whether every message is acked."""
        return len(self.window) == 0 and self.window.missing == 0

    def _give_up(self, ticket: Ticket, reason: str, now: float) -> None:
        """Lets the events out unchanged, and makes the daemon learn of it."""
        self._settle(ticket, tuple(b.as_is(reason) for b in ticket.blocked))
        if ticket.seq == 0:
            if ticket.kept is not None:
                ticket.kept.as_is = True
            return
        for blocked in ticket.blocked:
            self.tell(delivery_message("as_is", event=blocked.event, reason=reason), now)

    def _settle(self, ticket: Ticket, verdicts: tuple[Verdict, ...]) -> None:
        ticket.verdicts = verdicts
        self._pending.pop(ticket, None)
        self._stubborn.pop(ticket, None)
        if self._waiting.get(ticket.seq) is ticket:
            del self._waiting[ticket.seq]
        if any(v.as_is for v in verdicts):
            self.counters.as_is += 1
        self._settled.append(ticket)

    def _count_error(self, code: str) -> None:
        count(self.counters.errors, code)
