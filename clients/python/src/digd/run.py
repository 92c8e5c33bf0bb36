"""A run of a multi-agent system, as its program reports it to digd."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import inspect
import itertools
import os
import ssl as tls
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Union, overload

from .activation import Activation
from .conversation import Conversation, Counters, Phase, count
from .messages import (
    Blocked,
    Detection,
    Event,
    EventLike,
    Intervention,
    Json,
    Message,
    Mode,
    Outcome,
    Reaction,
    Redact,
    Verdict,
    delivery_message,
    ended_message,
    ended_run_message,
    event_id,
    event_message,
    failed_message,
    message,
    redacted,
    started_message,
)
from .options import daemon_address, requested_mode
from .session import Session, Where, log

__version__ = "0.1.0"
MAX_FAILED_HEALINGS = 3  # then everything goes out as is for the rest of the run
MAX_HANDLER_S = 30.0
MAX_WAITING_INTERVENTIONS = 1024
MAX_UNANNOUNCED = 4096  # activations whose start there was no room for; it is reported later

Applied = Union[bool, str, None]
Handler = Callable[[Intervention], Union[Applied, Awaitable[Applied]]]
"""Carries out an intervention.

It returns None or True if that is done, False if it cannot be done, or what the protocol's `applied` is to be. An exception
counts as `failed`.
"""

DONE = {"create": "created", "inject": "injected", "reroute": "rerouted"}


def reaction_of(value: Any) -> Reaction:
    """A reaction from one of its spellings: a word, a list of agents, or the wire format."""
    if isinstance(value, str):
        return value  # type: ignore[return-value]
    if isinstance(value, Mapping):
        value = value["reroute"]
    return tuple(value)


class Run:
    """`async with digd.Run(agents=[…]) as run:` — one session of one run, on one event loop.

    It connects in the background. A message waits for its verdict no longer than the daemon's deadline (250 ms by default),
    and not at all while there is no daemon: then events go out unchanged. `digd.sync.Run` is the same for threads.

    run_id: leave it out to get a new one. An id belongs to one run.

    url: HOST:PORT, ws://HOST:PORT, wss://HOST:PORT or unix:/PATH; else DIGD_URL, else 127.0.0.1:7344. Any other value raises
        ValueError.
    token: the bearer token; else DIGD_TOKEN.
    agents: the agents that can receive. Others join by acting or by `agent_joined`. None leaves the roster open.
    session: this process's name within the run, where several processes feed it.
    mode: `off`, `observe`, `shadow` or `enforce`; else DIGD_MODE, else the adapter's default, else the daemon's. `off`
        leaves no trace.
    rules, healing, limits, capabilities, labels, witness, clock: as in `hello` (docs/protocol.md).
    max_returns_per_agent: how often healing may make the same agent act again in this run.
    max_added_ms: how long messages may be held in this run in all; then they go out as is.
    redact: returns what may leave the process of a payload, an error text or metrics.
    hold: False waits for no verdict.
    fail_closed_ms: how long a submit event waits for its verdict at most, even without a connection. 0: like other events.
    max_buffer_bytes: of unacknowledged messages. Beyond it, and beyond the daemon's credits, messages are dropped; a `gap`
        reports it.
    linger_s: how long `close` waits for the last ack; without a connection no longer than a first one takes.
    end_on_exit: False leaves `run_ended` to another session.
    """

    def __init__(
        self,
        run_id: str | None = None,
        agents: Iterable[str] | None = None,
        *,
        url: str | None = None,
        token: str | None = None,
        session: str = "main",
        mode: Mode | None = None,
        clock: str = "wall",
        rules: Mapping[str, Json] | None = None,
        healing: Mapping[str, Json] | None = None,
        limits: Mapping[str, Json] | None = None,
        capabilities: Mapping[str, bool] | None = None,
        labels: Mapping[str, str] | None = None,
        witness: bool = False,
        redact: Redact | None = None,
        hold: bool = True,
        fail_closed_ms: int = 0,
        max_buffer_bytes: int = 16 << 20,
        linger_s: float = 2.0,
        end_on_exit: bool = True,
        tls_context: tls.SSLContext | None = None,
        client: Mapping[str, Json] | None = None,
        max_returns_per_agent: int | None = None,
        max_added_ms: float | None = None,
    ) -> None:
        self._mode = requested_mode(mode)
        address = daemon_address(url)
        for name, bound in (("max_returns_per_agent", max_returns_per_agent), ("max_added_ms", max_added_ms)):
            if bound is not None and bound < 0:
                raise ValueError(f"{name}: expected a number from 0, got {bound!r}")
        if max_returns_per_agent is not None:
            healing = {**(healing or {}), "max_returns_per_agent": max_returns_per_agent}
        self.id = run_id or f"run-{uuid.uuid4().hex[:12]}"
        self.session_name = session
        self.agents = None if agents is None else tuple(agents)
        self._capabilities = capabilities
        self._redact = redact
        self._linger_s = linger_s
        self._end_on_exit = end_on_exit
        self._named_client = client is not None
        self._failed_healings = 0
        self._is_healing_stopped = False
        self._logged: set[str] = set()
        self._healed: dict[str, int] = {}  # by rule
        self._shadow_late = False  # an adapter was attached after the hello had gone out in a stronger mode
        self._handlers: dict[str, Handler] = {}
        self._preparing: list[Callable[[Outcome | None], Outcome | None]] = []
        self._ended = False
        self._counter = {"e": itertools.count(1), "v": itertools.count(1)}
        self._unannounced: dict[str, Message] = {}
        self._interventions: asyncio.Queue[Intervention] | None = None
        self._worker: asyncio.Task[None] | None = None
        hello: dict[str, Json] = {
            "type": "hello",
            "protocol": 1,
            "run": self.id,
            "session": session,
            "clock": clock,
            "client": dict(client or {"name": "digd-python", "version": __version__}),
        }
        optional = {
            "agents": None if self.agents is None else list(self.agents),
            "mode": self._mode,
            "rules": rules,
            "healing": healing,
            "limits": limits,
            "labels": labels,
            "witness": witness or None,
        }
        hello.update((k, v) for k, v in optional.items() if v is not None)
        self._conversation = Conversation(
            hello,
            hold=hold,
            fail_closed_s=fail_closed_ms / 1000,
            max_buffer_bytes=max_buffer_bytes,
            max_added_s=None if max_added_ms is None else max_added_ms / 1000,
        )
        where = Where(
            address, self.id, token if token is not None else os.environ.get("DIGD_TOKEN") or None, tls_context
        )
        self._session = Session(where, self._conversation, self._intervene)
        if self._mode == "off":
            self._conversation.close("off")

    # ---- life

    async def __aenter__(self) -> Run:
        self.open()
        return self

    def open(self) -> None:
        """Begins to connect. `async with` does it; adapters that cannot use that call `open` and `close`."""
        if self._mode != "off":
            self._session.start(self._before_hello)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(error)

    async def close(self, error: BaseException | None = None) -> None:
        """Reports the end of the run, if nobody else does, waits for the last ack, and disconnects."""
        if self._mode == "off":
            return
        try:
            outcome: Outcome | None = (
                None if error is None else "failure" if isinstance(error, Exception) else "aborted"
            )
            if not self._ended and self._end_on_exit:
                await self.end(outcome)
            else:
                self._prepare_end(outcome)
            await self._session.flush(self._linger_s, at_end=True)
        finally:
            self._log_summary()
            await self._stop()

    async def _stop(self) -> None:
        """Ends the tasks of this run, and waits for them: a loop that is closed next has nothing to complain about."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.cancel()
        try:
            await self._session.stop()
        finally:
            if worker is not None:
                await asyncio.wait([worker])

    def abandon(self, reason: str) -> None:
        """Leaves the run to another process, which shares its connection: events go out unchanged, and nothing is sent."""
        self._mode, self._worker = "off", None
        self._session.abandon(reason)

    def _log_summary(self) -> None:
        """Logs one line for a run in which something was healed or would have been; nothing for any other run."""

        def listed(counts: Mapping[str, int]) -> str:
            return ", ".join(f"{rule} {n}" for rule, n in sorted(counts.items()))

        unhealed = self._conversation.unhealed
        if self._healed:
            log.info(
                "digd: run %s: healed %d times (%s); `digctl show %s` has the details",
                self.id,
                sum(self._healed.values()),
                listed(self._healed),
                self.id,
            )
        elif unhealed:
            log.info(
                "digd: run %s: digd would have healed %d times (%s), and changed nothing, as the mode is shadow. Pass "
                'mode="enforce" or set DIGD_MODE=enforce to let it; `digctl show %s` has the details',
                self.id,
                sum(unhealed.values()),
                listed(unhealed),
                self.id,
            )

    async def end(self, outcome: Outcome | None = None, metrics: Mapping[str, Json] | None = None) -> None:
        """Reports the end of the run. Nothing is reported after it."""
        if not self._ended:
            outcome = self._prepare_end(outcome)
            self._ended = True
            self._session.tell(ended_run_message(outcome, metrics, self._redact))
            self._conversation.over = True

    def before_end(self, prepare: Callable[[Outcome | None], Outcome | None]) -> None:
        """Registers a function that is called once, before the run ends: with the outcome that is known, None if none is.

        It may report what is still open, must not wait, and returns the outcome, which counts where none is known.
        """
        self._preparing.append(prepare)

    def _prepare_end(self, outcome: Outcome | None) -> Outcome | None:
        preparing, self._preparing = self._preparing, []
        for prepare in preparing:
            outcome = prepare(outcome) or outcome
        return outcome

    def ask_for(
        self,
        *,
        rules: Mapping[str, Mapping[str, Json]] | None = None,
        limits: Mapping[str, Json] | None = None,
        healing: Mapping[str, Json] | None = None,
        max_added_ms: float | None = None,
    ) -> None:
        """Adds an adapter's settings to the hello, where the user chose none. They have no effect after the hello."""
        hello, conversation = self._conversation.hello, self._conversation
        if rules is not None:
            chosen = hello.get("rules") or {}
            hello["rules"] = {**chosen, **{name: {**rule, **chosen.get(name, {})} for name, rule in rules.items()}}
        for name, settings in (("limits", limits), ("healing", healing)):
            if settings is not None:
                hello[name] = {**settings, **(hello.get(name) or {})}
        if max_added_ms is not None and conversation.max_added_s is None:
            conversation.max_added_s = max_added_ms / 1000

    @contextlib.contextmanager
    def unheld(self, reason: str) -> Iterator[None]:
        """Within it messages wait for no verdict and are marked `as_is`: what they report has happened already."""
        before = self._conversation.unheld_because
        self._conversation.unheld_because = before or reason
        try:
            yield
        finally:
            self._conversation.unheld_because = "healing_failed" if self._is_healing_stopped else before

    async def flush(self, within_s: float = 5.0) -> bool:
        """Waits until the daemon has acknowledged every message as durable; returns whether it has."""
        return await self._session.flush(within_s)

    def adapter_defaults(self, name: str) -> None:
        """Called by an adapter that is given this run: names the client, and makes `shadow` the mode if nobody chose one.

        A run that has greeted the daemon already keeps its mode there; then this client follows no verdict.
        """
        hello = self._conversation.hello
        if not self._named_client:
            hello["client"] = {"name": f"digd-{name}", "version": __version__}
        if self._mode is not None:
            return
        self._mode = "shadow"
        if self._conversation.counters.connections == 0:
            hello["mode"] = "shadow"
        else:
            self._shadow_late = True

    @property
    def mode(self) -> Mode | None:
        """The mode that was asked for; None leaves it to the daemon. `welcome["mode"]` is the one in force."""
        return self._mode

    @property
    def heals(self) -> bool:
        """Whether a verdict may still change what this run does. The welcome's mode decides: an operator's canary
        enforces some of the runs that asked for shadow."""
        is_stopped = self._is_healing_stopped or self._conversation.unheld_because == "max_added_ms"
        if self._shadow_late or self._mode == "off" or self._conversation.closed or is_stopped:
            return False
        mode = self._mode if self.welcome is None else self.welcome.get("mode", self._mode)
        return mode in (None, "enforce")

    @property
    def is_shadow_late(self) -> bool:
        """Whether the daemon holds a stronger mode than this client follows: an adapter was attached after the hello."""
        return self._shadow_late

    @property
    def verdict_deadline_s(self) -> float:
        """How long a message waits for its verdict at most."""
        return self._conversation.deadline_s

    @property
    def connected(self) -> bool:
        return self._conversation.phase is Phase.UP

    @property
    def welcome(self) -> Mapping[str, Json] | None:
        """The mode, rules and limits in force, from the daemon's welcome; None before it."""
        return self._conversation.welcome

    @property
    def counters(self) -> Counters:
        """Timeouts, refusals by code, and events that went out unchanged, so far."""
        return self._conversation.counters

    @property
    def dropped(self) -> int:
        """The number of messages dropped for want of room."""
        return self._conversation.window.dropped

    def next_id(self, kind: str) -> str:
        """An id that this session has not used: `e` for events, `v` for activations."""
        prefix = "" if self.session_name == "main" else f"{self.session_name}/"
        return f"{prefix}{kind}{next(self._counter[kind])}"

    # ---- what happens in the run

    async def emit(
        self,
        recipients: Iterable[str],
        payload: Json = None,
        *,
        kind: str | None = None,
        id: str | None = None,
        fyi: bool = False,
        submit: bool = False,
        source: str | None = None,
        ts: int | None = None,
    ) -> Verdict:
        """Reports an event and returns the verdict on it. Without a `source`, an open activation, it is a root event."""
        event = Event(id or self.next_id("e"), tuple(dict.fromkeys(recipients)), kind, payload, fyi, submit, source)
        if source is not None:
            self._announce(source)
        report = event_message(event, self._redact, self._conversation.message_bytes, ts)
        (verdict,) = await self._verdicts(report)
        return verdict

    def activation(self, agent: str, inputs: Iterable[EventLike] = (), *, id: str | None = None) -> Activation:
        """A span of `agent` acting on these inputs."""
        return Activation(self, id or self.next_id("v"), agent, inputs)

    async def start_activation(
        self, agent: str, inputs: Iterable[EventLike] = (), *, id: str | None = None, ts: int | None = None
    ) -> str:
        """The same as `activation` for programs that cannot use `async with`. Returns the activation's id."""
        activation = id or self.next_id("v")
        report = started_message(activation, agent, dict.fromkeys(event_id(e) for e in inputs), ts)
        if not self._send(report) and len(self._unannounced) < MAX_UNANNOUNCED:
            self._unannounced[activation] = report
        return activation

    async def end_activation(
        self,
        activation: str,
        reactions: Mapping[str, Any] | None = None,
        outputs: Sequence[Event] = (),
        *,
        inputs: Iterable[EventLike] = (),
        error: str | None = None,
        ts: int | None = None,
    ) -> tuple[Verdict, ...]:
        """Ends an activation. Returns verdicts on rerouted events in the order of `inputs`, then on outputs in theirs.

        With `error` it has failed: its reactions and outputs are not reported, and go out unchanged.
        """
        self._announce(activation)
        if error is not None:
            self._send(failed_message(activation, error, self._redact, ts))
            return ()
        reactions = {e: reaction_of(r) for e, r in (reactions or {}).items()}
        report = ended_message(
            activation,
            [event_id(e) for e in inputs],
            reactions,
            outputs,
            self._redact,
            self._conversation.message_bytes,
            ts,
        )
        return await self._verdicts(report)

    async def agent_joined(self, agent: str, *, ts: int | None = None) -> None:
        self._send(message("agent_joined", ts=ts, agent=agent))

    async def agent_left(self, agent: str, *, ts: int | None = None) -> None:
        self._send(message("agent_left", ts=ts, agent=agent))

    def applied(self, event: EventLike, verdict: Verdict, *, as_is: str | None = None) -> None:
        """Reports that a verdict was carried out; with `as_is`, the reason why it was not.

        It sends nothing for a verdict to deliver, nor for one that the client made up without the daemon.
        """
        if verdict.as_is is not None:
            return
        if as_is is not None and verdict.action != "deliver":
            self._count_healing(verdict.detections, -1)
            self._count_failed_healing(as_is)
        if as_is is not None:
            self._send(delivery_message("as_is", event=event_id(event), reason=str(redacted(as_is, self._redact))))
        elif verdict.action != "deliver":
            self._send(delivery_message(DONE[verdict.action], event=event_id(event)))

    def gap(self, dropped: int, *, ts: int | None = None) -> None:
        """Reports that the program itself lost this many observations."""
        self._send(message("gap", ts=ts, dropped=dropped))

    def tick(self, ts: int) -> None:
        """Moves the clock of a run with `clock="trace"`."""
        self._send(message("time", ts=ts))

    # ---- interventions

    @overload
    def on_intervention(self, action: Handler) -> Handler: ...
    @overload
    def on_intervention(self, action: str) -> Callable[[Handler], Handler]: ...

    def on_intervention(self, action: Union[Handler, str]) -> Union[Handler, Callable[[Handler], Handler]]:
        """Registers a handler of all interventions, or of those of one action (`"create"`, `"reroute"`).

        Register before the first `await` in the run: the hello declares what this client can carry out.
        """
        if not isinstance(action, str):
            self._handlers["*"] = action
            return action

        def register(handler: Handler) -> Handler:
            self._handlers[action] = handler
            return handler

        return register

    def _handler(self, action: str) -> Handler | None:
        return self._handlers.get(action) or self._handlers.get("*")

    def _before_hello(self) -> None:
        can = {"inject": True, "reroute": True, "create": self._handler("create") is not None}
        self._conversation.hello["capabilities"] = {**can, **(self._capabilities or {})}

    def _intervene(self, intervention: Intervention) -> None:
        if not self.heals:
            self._session.answer(intervention.id, "unsupported", self._conversation.unheld_because or "shadow")
            return
        if self._handler(intervention.action) is None:
            self._session.answer(intervention.id, "unsupported", "no handler")
            return
        if self._interventions is None:
            self._interventions = asyncio.Queue(MAX_WAITING_INTERVENTIONS)
            self._worker = asyncio.get_running_loop().create_task(self._carry_out(self._interventions))
        try:
            self._interventions.put_nowait(intervention)
        except asyncio.QueueFull:
            self._session.answer(intervention.id, "failed", f"{MAX_WAITING_INTERVENTIONS} others wait")

    async def _carry_out(self, queue: asyncio.Queue[Intervention]) -> None:
        """Carries out interventions one after the other, in the order of their arrival."""
        while True:
            intervention = await queue.get()
            applied, reason = await self._outcome(intervention)
            if applied in ("unsupported", "failed", "as_is"):
                self._count_failed_healing(reason or applied)
            else:
                self._count_healing(intervention.detections, 1)
            self._session.answer(intervention.id, applied, reason)

    async def _outcome(self, intervention: Intervention) -> tuple[str, str | None]:
        handler = self._handler(intervention.action)
        try:
            result: Any = handler(intervention) if handler is not None else False
            if inspect.isawaitable(result):
                result = await asyncio.wait_for(result, MAX_HANDLER_S)
        except asyncio.TimeoutError:
            return "failed", f"the handler took over {MAX_HANDLER_S:g} s"
        except Exception as error:
            log.warning("digd: the handler of intervention %s raised", intervention.id, exc_info=True)
            return "failed", str(redacted(f"{type(error).__name__}: {error}"[:2000], self._redact))
        if isinstance(result, str):
            return result, None
        return (
            ("unsupported", "the handler cannot")
            if result is False
            else (DONE.get(intervention.action, "created"), None)
        )

    # ---- within

    async def _verdicts(self, report: Message) -> tuple[Verdict, ...]:
        """The verdicts on the events that a message blocks. Those that this run no longer follows become deliveries."""
        ticket = self._session.tell(report)
        verdicts = await self._session.verdicts(ticket)
        because = self._conversation.unheld_because
        if because == "max_added_ms":
            self._log_once(
                "max_added_ms",
                "holding its messages has taken the %g ms that max_added_ms allows; they go out unchanged from now on",
                (self._conversation.max_added_s or 0) * 1000,
            )
        if self._shadow_late or self._is_healing_stopped:
            verdicts = tuple(map(self._unfollowed, ticket.blocked, verdicts))
        for verdict in verdicts:
            if verdict.as_is is None and verdict.action != "deliver":
                self._count_healing(verdict.detections, 1)
        return verdicts

    def _unfollowed(self, blocked: Blocked, verdict: Verdict) -> Verdict:
        if verdict.as_is is not None or verdict.action == "deliver":
            return verdict
        reason = "healing_failed" if self._is_healing_stopped else "shadow"
        self._send(delivery_message("as_is", event=verdict.event, reason=reason))
        for detection in verdict.detections if reason == "shadow" else ():
            count(self._conversation.unhealed, detection.rule)
        return dataclasses.replace(blocked.as_is(reason), detections=verdict.detections)

    def _count_healing(self, detections: Iterable[Detection], step: int) -> None:
        for detection in detections:
            if detection.healed and (step > 0 or self._healed.get(detection.rule)):
                count(self._healed, detection.rule, step)

    def _count_failed_healing(self, reason: str) -> None:
        self._failed_healings += 1
        if self._failed_healings == MAX_FAILED_HEALINGS:
            self._is_healing_stopped = True
            self._conversation.unheld_because = self._conversation.unheld_because or "healing_failed"
            self._log_once(
                "healing_failed",
                "%d of digd's decisions could not be carried out (the last one: %s); messages go "
                "out unchanged from now on, and are still reported",
                MAX_FAILED_HEALINGS,
                reason,
            )

    def _log_once(self, name: str, text: str, *values: Json) -> None:
        if name not in self._logged:
            self._logged.add(name)
            log.warning("digd: run %s: " + text, self.id, *values)

    def _send(self, report: Message) -> bool:
        """Sends a message that waits for no verdict; returns whether there was room for it."""
        return self._conversation.accepted(self._session.tell(report))

    def _announce(self, activation: str) -> None:
        """Reports an activation's start that there was no room for before."""
        report = self._unannounced.get(activation)
        if report is not None and self._send(report):
            del self._unannounced[activation]
