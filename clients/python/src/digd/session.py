"""One session's connection on an event loop: connects in the background, reconnects with backoff, and moves frames.

Call all methods on the loop's thread. `conversation.py` makes the decisions; this module owns the socket, the timer and
the log.
"""

from __future__ import annotations

import asyncio
import logging
import random
import ssl as tls
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from .conversation import Conversation, Phase, Ticket
from .messages import Intervention, Json, Message, Verdict
from .options import Address, parse_address
from .transport import Link, Refused, connect
from .waiting import wait_at_most

log = logging.getLogger("digd")

MAX_CONNECT_S = 5.0
MAX_CLOSE_S = 1.0
MAX_FIRST_CONNECTION_S = 0.25  # also at the end of a run; equal to the daemon's default verdict deadline
MIN_FIRST_CONNECTION_S = 0.02  # lets a loop that was busy read an answer that has arrived already
MAX_SILENCE_S = 30.0  # how long runs do not wait for a daemon that did not answer; they still try to connect
CLOSED_AS_REPLACED, CLOSED_AS_FATAL = 4409, 4400  # close codes of docs/protocol.md
MAX_MISSING_DAEMONS = 64
_missing_daemons: set[str] = set()  # addresses without a daemon, each logged once
_silent_until: dict[str, float] = {}  # by address: only one run waits for a daemon that accepts and never answers
UNREADABLE = "unreadable"  # in `_logged_errors`, beside the codes of errors
USED_ID_CODES = ("duplicate_event", "duplicate_activation", "activation_closed")


@dataclass
class Backoff:
    """The wait before the next attempt: doubled each time from `first_s` to `max_s`, with jitter."""

    first_s: float = 0.1
    max_s: float = 10.0
    attempts: int = 0
    random: Callable[[], float] = random.random

    def next_s(self) -> float:
        full_s = min(self.max_s, self.first_s * 2.0 ** min(self.attempts, 30))
        self.attempts += 1
        return full_s * (0.5 + 0.5 * self.random())


@dataclass(frozen=True)
class Target:
    """The daemon to connect to, and the run."""

    address: Address
    run: str
    token: str | None = None
    tls_context: tls.SSLContext | None = None


class Session:
    """Drives a Conversation over a Link. Calls `on_intervention` once for each intervention."""

    def __init__(
        self,
        target: Target,
        conversation: Conversation,
        on_intervention: Callable[[Intervention], None],
        backoff: Backoff | None = None,
    ) -> None:
        self.target = target
        self._first_address = target.address  # to return to if the daemon that has the run is gone
        self._has_moved = False  # since the last attempt to connect
        self.conversation = conversation
        self.backoff = backoff or Backoff()
        self._on_intervention = on_intervention
        self._link: Link | None = None
        self._task: asyncio.Task[None] | None = None
        self._futures: dict[Ticket, asyncio.Future[tuple[Verdict, ...]]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0.0
        self._pump_scheduled = False
        self._idle = asyncio.Event()
        self._first_attempt_done = asyncio.Event()  # it has succeeded or failed
        self._started_at = 0.0
        self._logged_errors: set[str] = set()

    # ---- for the run

    def start(self, before_hello: Callable[[], None] = lambda: None) -> None:
        """Begins to connect in the background. Calls `before_hello` before each hello."""
        self._loop = asyncio.get_running_loop()
        self._started_at = time.monotonic()
        if _silent_until.get(str(self.target.address), 0.0) > self._started_at:
            self.conversation.disconnected(self._started_at)
            self._first_attempt_done.set()
        self._task = self._loop.create_task(self._keep_connected(before_hello), name=f"digd {self.target.run}")

    @property
    def is_loop_closed(self) -> bool:
        """Whether the program closed the event loop while this session was open on it."""
        return self._task is not None and self._loop.is_closed()

    def enqueue(self, report: Message) -> Ticket:
        """Queues a message for sending. Never blocks."""
        if self._task is None and not self.conversation.closed:
            raise RuntimeError("the run is not open; use `async with` or call open()")
        ticket = self.conversation.enqueue(report, time.monotonic())
        if not self.conversation.closed and self.is_loop_closed:
            self.abandon("disconnected")
        if self.conversation.closed:
            self._settle_futures()  # not through the loop: it may not exist yet, or no longer
        else:
            self._idle.clear()
            self._schedule_pump()
        return ticket

    async def verdicts(self, ticket: Ticket) -> tuple[Verdict, ...]:
        """Waits for the verdicts on the events that a message blocks; returns at its deadline at the latest."""
        if ticket.verdicts is not None:
            return ticket.verdicts
        future: asyncio.Future[tuple[Verdict, ...]] = self._loop.create_future()
        self._futures[ticket] = future
        self._schedule_pump()
        try:
            return await future
        finally:
            self._futures.pop(ticket, None)

    def answer(self, intervention: str, applied: str, reason: str | None) -> None:
        self.conversation.answer(intervention, applied, reason, time.monotonic())
        if self.conversation.closed:
            return
        self._idle.clear()
        self._schedule_pump()

    def reconnect(self) -> None:
        """Drops the connection. The next one sends the hello as it is then."""
        if self._link is not None:
            self._link.abort()

    async def flush(self, within_s: float, *, at_end: bool = False) -> bool:
        """Waits until every message is acked, unless the first attempt finds no daemon. Returns whether all are.

        at_end: the run has ended and its program waits. Then the wait for a lost connection is as short as for a first.
        """
        begun_at = time.monotonic()
        if self.conversation.phase is Phase.CONNECTING:
            await self._await_first_connection(within_s)
        while self.conversation.welcome is not None and not self.conversation.closed and not self.conversation.idle:
            is_lost = at_end and self.conversation.phase is not Phase.UP
            max_s = min(within_s, MAX_FIRST_CONNECTION_S) if is_lost else within_s
            left_s = max_s - (time.monotonic() - begun_at)
            if left_s <= 0:
                break
            self._idle.clear()  # the pump sets it; more messages may be queued before this coroutine resumes
            self._schedule_pump()
            await wait_at_most(self._idle.wait(), min(left_s, MAX_FIRST_CONNECTION_S) if at_end else left_s)
        return self.conversation.idle

    async def _await_first_connection(self, within_s: float) -> None:
        """Waits for the outcome of the first attempt. The time counts from the attempt's start, not from the call."""
        left_s = MAX_FIRST_CONNECTION_S - (time.monotonic() - self._started_at)
        await wait_at_most(self._first_attempt_done.wait(), min(within_s, max(left_s, MIN_FIRST_CONNECTION_S)))
        if self.conversation.phase is Phase.CONNECTING and left_s <= within_s:
            address = str(self.target.address)
            if address in _silent_until or len(_silent_until) < MAX_MISSING_DAEMONS:
                _silent_until[address] = time.monotonic() + MAX_SILENCE_S
            self._warn(f"no answer within {MAX_FIRST_CONNECTION_S:g} s")

    async def stop(self) -> None:
        """Ends the connection. Held events are delivered unchanged."""
        self.conversation.close("off")
        self._settle_futures()
        self._idle.set()
        while self._task is not None and not self._task.done():
            self._task.cancel()  # in a loop: wait_for of Python 3.11 and older can lose a cancellation
            await asyncio.wait([self._task], timeout=2 * MAX_CLOSE_S)
        if self._timer is not None:
            self._timer.cancel()

    def abandon(self, reason: str) -> None:
        """Drops all references to the connection without closing it.

        It belongs to another process, or to a loop that was closed while the run was open.
        """
        self._task, self._link, self._timer = None, None, None
        self._futures.clear()
        self.conversation.close(reason)
        self._settle_futures()

    # ---- the connection

    async def _keep_connected(self, before_hello: Callable[[], None]) -> None:
        while not self.conversation.closed:
            link = None
            try:
                link = await connect(
                    self.target.address,
                    self.target.run,
                    self.target.token,
                    MAX_CONNECT_S,
                    self._on_frame,
                    self._schedule_pump,
                    self.target.tls_context,
                )
                if self.conversation.closed:  # `stop` was called and its cancellation was lost
                    raise asyncio.CancelledError
                before_hello()
                self._link = link
                if link.writable:
                    link.send([self.conversation.connected()])
                await asyncio.shield(link.lost)
            except asyncio.CancelledError:
                if not self.conversation.closed:
                    self._end_after_cancellation()
                if link is not None:
                    await link.close(MAX_CLOSE_S)
                raise
            except Refused as error:
                self.conversation.close("error:unauthorized")
                log.warning(
                    "digd: %s refuses this client (%s); the run continues unwatched. Check DIGD_TOKEN",
                    self.target.address,
                    error,
                )
            except Exception as error:  # no error of a socket may reach the run
                if link is not None:
                    link.abort()
                self._warn(str(error) or type(error).__name__)
            self._link = None
            self._on_connection_lost(link)
            self._pump()
            if self._has_moved and not self.conversation.closed:
                self._has_moved = False
                continue  # the first attempt ends with the connection to the daemon that has the run
            self._first_attempt_done.set()
            if not self.conversation.closed:
                self.target = replace(self.target, address=self._first_address)
                await asyncio.sleep(self.backoff.next_s())

    def _end_after_cancellation(self) -> None:
        """Ends the conversation after the program cancelled this task, for example in a shutdown of all tasks.

        Nothing can be sent any more, so nothing may wait for a verdict or an ack.
        """
        self._pump()
        self.conversation.close("disconnected")
        self._settle_futures()
        self._first_attempt_done.set()
        self._idle.set()

    def _on_connection_lost(self, link: Link | None) -> None:
        code = link.close_code if link is not None else None
        if code == CLOSED_AS_REPLACED:
            self.conversation.close("error:replaced")
            log.warning(
                "digd: a newer connection of the same session feeds run %r; this one continues unwatched",
                self.target.run,
            )
        elif self._has_moved:
            if self.conversation.phase is Phase.UP:
                self.conversation.disconnected(time.monotonic())
        elif code == CLOSED_AS_FATAL:
            self.conversation.close("error:refused")
        else:
            was_up = self.conversation.phase is Phase.UP
            self.conversation.disconnected(time.monotonic())
            if was_up:
                closed = f"the daemon closed the connection with code {code}"
                self._warn("the connection was lost" if code is None else closed)

    def _warn(self, reason: str) -> None:
        """Logs once for all runs of the process that a daemon is missing. A connection allows the next log line."""
        address = str(self.target.address)
        if address not in _missing_daemons and len(_missing_daemons) < MAX_MISSING_DAEMONS:
            _missing_daemons.add(address)
            log.warning(
                "digd: no daemon at %s (%s); runs continue unwatched, and the client retries in the background",
                address,
                reason,
            )

    def _connected(self) -> None:
        self._first_attempt_done.set()
        self.backoff.attempts = 0
        address = str(self.target.address)
        _silent_until.pop(address, None)
        if address in _missing_daemons:
            _missing_daemons.discard(address)
            log.warning("digd: connected to %s; runs are watched", address)

    def _on_frame(self, frame: bytes) -> None:
        if frame:
            phase = self.conversation.phase
            self.conversation.receive(frame, time.monotonic())
            if phase is not Phase.UP and self.conversation.phase is Phase.UP:
                self._connected()
            self._follow_move()
            self._handle_error()
            self._log_unreadable()
            if self.conversation.wants_reconnect:
                self.reconnect()
        self._schedule_pump()

    def _follow_move(self) -> None:
        """Connects next to the daemon that has the run. It sends the token there, so it never leaves TLS.

        If that daemon cannot be reached, the next attempt is at the first address again, which may have the run then.
        """
        to, self.conversation.moved_to = self.conversation.moved_to, None
        if to is None:
            return
        self.conversation.last_error = None
        try:
            address = parse_address(to.rstrip("/"), "moved to")
            if self.target.address.tls and not address.tls:
                raise ValueError(f"moved to: {to!r} is without TLS, unlike {self.target.address}")
        except ValueError as error:
            self.conversation.close("error:moved")
            self.reconnect()  # drops the connection; a closed conversation opens no new one
            log.warning("digd: another daemon has run %r (%s); the run continues unwatched", self.target.run, error)
            return
        self.target = replace(self.target, address=address)
        self._has_moved = True

    def _handle_error(self) -> None:
        """Logs each error code once, and ends the conversation if the run id belongs to another run."""
        error, self.conversation.last_error = self.conversation.last_error, None
        if error is None:
            return
        code = str(error.get("code"))
        if self._is_used_id(error):
            self.conversation.close(f"error:{code}")
            self.reconnect()  # drops the connection; a closed conversation opens no new one
            cause = "is in use with other settings" if code == "hello_conflict" else "belongs to another run"
            log.warning(
                "digd: run id %r %s (%s). This run continues unwatched. Leave the run id out to get a new one, or pass "
                "an unused id",
                self.target.run,
                cause,
                error.get("message"),
            )
            return
        if code in self._logged_errors or len(self._logged_errors) >= 64:
            return
        self._logged_errors.add(code)
        consequence = (
            "the daemon refuses this client, and the run continues unwatched"
            if error.get("fatal")
            else "the daemon refused a message, and its events are delivered unchanged (later refusals with this code "
            "are only counted)"
        )
        log.warning("digd: %s: %s, field %s: %r", consequence, code, error.get("field"), error.get("message"))

    def _log_unreadable(self) -> None:
        """Logs the first frame that breaks the protocol."""
        reason, self.conversation.last_unreadable = self.conversation.last_unreadable, None
        if reason is not None and UNREADABLE not in self._logged_errors:
            self._logged_errors.add(UNREADABLE)
            log.warning(
                "digd: ignored an unreadable frame of the daemon at %s (%s); its events are delivered unchanged, and "
                "later unreadable frames are only counted",
                self.target.address,
                reason,
            )

    def _is_used_id(self, error: Mapping[str, Json]) -> bool:
        """Whether the run's id belongs to an earlier run: the daemon refuses the hello or the first message."""
        code, first_seq = error.get("code"), self.conversation.first_seq
        if code == "hello_conflict":
            return first_seq is None
        if error.get("fatal") or error.get("seq") != first_seq:
            return False
        return code == "run_closed" or (code in USED_ID_CODES and first_seq != 1)

    # ---- results

    def _schedule_pump(self) -> None:
        """Pumps once per turn of the loop, so that the messages of a turn leave in one write."""
        if not self._pump_scheduled:
            self._pump_scheduled = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        self._pump_scheduled = False
        if self._link is not None and self._link.writable:
            frames = self.conversation.take_frames()
            if frames:
                self._link.send(frames)
        self._settle_futures()
        for intervention in self.conversation.take_interventions():
            self._on_intervention(intervention)
        if self.conversation.idle or self.conversation.closed:
            self._idle.set()
        self._set_timer()

    def _settle_futures(self) -> None:
        for ticket in self.conversation.take_settled():
            future = self._futures.get(ticket)
            if future is not None and not future.done():
                future.set_result(ticket.verdicts or ())

    def _set_timer(self) -> None:
        due = self.conversation.next_deadline()
        if due is None or (self._timer is not None and self._timer_due <= due):
            return  # a timer that fires too early sets the next one
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due = due
        self._timer = self._loop.call_later(max(0.0, due - time.monotonic()), self._expire)

    def _expire(self) -> None:
        self._timer = None
        self.conversation.expire(time.monotonic())
        self._pump()
