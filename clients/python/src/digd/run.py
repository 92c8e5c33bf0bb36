"""A run of a multi-agent system, as its program reports it to digd."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import ssl as tls
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Union, overload

from .activation import Activation, reaction_of
from .conversation import Conversation, count
from .forks import abandon_in_child
from .healing import HealingRecord
from .interventions import APPLIED_BY_ACTION, Handler, InterventionQueue
from .messages import (
    Blocked,
    Event,
    EventLike,
    Intervention,
    Json,
    Message,
    Mode,
    Outcome,
    Reaction,
    Redact,
    Usage,
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
    usage_message,
)
from .options import bearer_token, daemon_address, refuse_negative, requested_mode, require_json_values
from .run_state import RunState
from .session import Session, Target
from .version import __version__

THIS_CLIENT: Mapping[str, Json] = {"name": "digd-python", "version": __version__}
MAX_UNANNOUNCED = 4096  # activations whose start did not fit into the window; it is reported later


def _hello(names: Mapping[str, Json], **settings: Json) -> dict[str, Json]:
    """The hello of a session. It leaves out each setting that is None; the daemon decides these."""
    given = {name: value for name, value in settings.items() if value is not None}
    return {"type": "hello", "protocol": 1, **names, **given}


class Run(RunState):
    """`async with digd.Run(agents=[…]) as run:` — one session of one run, on one event loop.

    The run connects in the background. A message waits for its verdict until the daemon's deadline (250 ms by default).
    Without a daemon it does not wait: events are delivered unchanged. `digd.sync.Run` is the same for threads.

    run_id: leave it out to get a new one. An id belongs to one run.

    url: HOST:PORT, ws://HOST:PORT, wss://HOST:PORT or unix:/PATH; else DIGD_URL, else 127.0.0.1:7344. Any other value
        raises ValueError.
    token: the bearer token; else DIGD_TOKEN.
    agents: the agents that can receive. Others join by acting or by `agent_joined`. None leaves the roster open.
    session: the name of this process within the run, if several processes feed it.
    mode: `off`, `observe`, `shadow` or `enforce`; else DIGD_MODE, else the adapter's default, else the daemon's. `off`
        opens no connection.
    rules, healing, guards, limits, capabilities, labels, witness, clock: as in `hello` (docs/protocol.md).
    max_returns_per_agent: how often healing may make the same agent act again in this run.
    max_added_ms: limit on the total time that messages are held in this run; then events are delivered unchanged.
    redact: returns the part of a payload, an error text or metrics that may leave the process. It must not block: the
        run calls it on its event loop; `digd.sync` in its background thread.
    hold: False waits for no verdict.
    fail_closed_ms: how long a submit event waits for its verdict, even without a connection. 0: like other events.
    max_buffer_bytes: limit on unacknowledged messages. Beyond it, and beyond the daemon's credits, messages are
        dropped; a `gap` reports them.
    linger_s: how long `close` waits for the last ack. Without a connection it waits only as long as for the first one.
    end_on_exit: False leaves `run_ended` to another session.
    tls_context: for wss://. None: the system's certificate authorities.
    client: the name and version of the program that reports, for the hello. Adapters pass their own.
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
        guards: Mapping[str, Json] | None = None,
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
        refuse_negative(max_returns_per_agent=max_returns_per_agent, max_added_ms=max_added_ms)
        if max_returns_per_agent is not None:
            healing = {**(healing or {}), "max_returns_per_agent": max_returns_per_agent}
        self.id = run_id or f"run-{uuid.uuid4().hex[:12]}"
        self.session_name = session
        self.agents = None if agents is None else tuple(agents)
        self._capabilities = capabilities
        self._redact = redact
        self._linger_s = linger_s
        self._end_on_exit = end_on_exit
        self._has_client_name = client is not None
        self._has_adapter = False
        self._healing = HealingRecord(self.id)
        self._interventions = InterventionQueue(self._on_intervention_outcome, redact)
        self._ignores_verdicts = False
        self._end_hooks: list[Callable[[Outcome | None], Outcome | None]] = []
        self._is_ended = False
        self._id_numbers = {"e": itertools.count(1), "v": itertools.count(1)}
        self._unannounced: dict[str, Message] = {}  # starts that are not reported yet, by activation
        hello = _hello(
            {"run": self.id, "session": session, "clock": clock, "client": dict(client or THIS_CLIENT)},
            agents=None if self.agents is None else list(self.agents),
            mode=self._mode,
            rules=rules,
            healing=healing,
            guards=guards,
            limits=limits,
            labels=labels,
            witness=witness or None,
        )
        if self._mode != "off":
            require_json_values({**hello, "capabilities": capabilities})
        self._conversation = Conversation(
            hello,
            hold=hold,
            fail_closed_s=fail_closed_ms / 1000,
            max_buffer_bytes=max_buffer_bytes,
            max_added_s=None if max_added_ms is None else max_added_ms / 1000,
        )
        target = Target(address, self.id, bearer_token(token), tls_context)
        self._session = Session(target, self._conversation, self._intervene)
        if self._mode == "off":
            self._conversation.close("off")

    # ---- opening and closing

    async def __aenter__(self) -> Run:
        self.open()
        return self

    def open(self) -> None:
        """Begins to connect. `async with` calls it; adapters that cannot use that call `open` and `close`."""
        if self._mode != "off":
            self._session.start(self._before_hello)
            abandon_in_child(self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(error)

    async def close(self, error: BaseException | None = None) -> None:
        """Reports the end of the run unless another session does, waits for the last ack, and disconnects."""
        if self._session.is_loop_closed:
            self.abandon("disconnected")  # for example, a suspended coroutine is freed after its loop
        if self._mode == "off":
            return
        try:
            outcome: Outcome | None = (
                None if error is None else "failure" if isinstance(error, Exception) else "aborted"
            )
            if not self._is_ended and self._end_on_exit:
                await self.end(outcome)
            else:
                self._prepare_end(outcome)
            await self._session.flush(self._linger_s, at_end=True)
        finally:
            self._healing.log_summary(self._conversation.unhealed)
            await self._stop()

    async def _stop(self) -> None:
        """Ends the tasks of this run and waits for them. Otherwise asyncio would log them when the loop closes."""
        worker = self._interventions.release_worker()
        if worker is not None and worker.get_loop().is_closed():
            worker = None
        if worker is not None:
            worker.cancel()
        try:
            await self._session.stop()
        finally:
            if worker is not None:
                await asyncio.wait([worker])

    def abandon(self, reason: str) -> None:
        """Stops reporting without closing anything. Later events are delivered unchanged, with `as_is=reason`.

        For forked children, and for runs whose event loop is closed.
        """
        self._mode = "off"
        self._interventions.release_worker()
        self._session.abandon(reason)

    async def end(self, outcome: Outcome | None = None, metrics: Mapping[str, Json] | None = None) -> None:
        """Reports the end of the run. Later messages are not reported."""
        if not self._is_ended:
            outcome = self._prepare_end(outcome)
            self._is_ended = True
            self._session.enqueue(ended_run_message(outcome, metrics, self._redact))
            self._conversation.is_over = True

    def before_end(self, prepare: Callable[[Outcome | None], Outcome | None]) -> None:
        """Registers a function that is called once before the run ends, with the outcome, or None if it is unknown.

        It may report open activations, and must not wait. The outcome that it returns is used if none was known.
        """
        self._end_hooks.append(prepare)

    def _prepare_end(self, outcome: Outcome | None) -> Outcome | None:
        hooks, self._end_hooks = self._end_hooks, []
        for prepare in hooks:
            outcome = prepare(outcome) or outcome
        return outcome

    def ask_for(
        self,
        *,
        rules: Mapping[str, Mapping[str, Json]] | None = None,
        limits: Mapping[str, Json] | None = None,
        healing: Mapping[str, Json] | None = None,
        capabilities: Mapping[str, bool] | None = None,
        max_added_ms: float | None = None,
    ) -> None:
        """Adds an adapter's settings to the hello unless the user chose others. No effect after the hello."""
        hello, conversation = self._conversation.hello, self._conversation
        if rules is not None:
            chosen = hello.get("rules") or {}
            hello["rules"] = {**chosen, **{name: {**rule, **chosen.get(name, {})} for name, rule in rules.items()}}
        for name, settings in (("limits", limits), ("healing", healing)):
            if settings is not None:
                hello[name] = {**settings, **(hello.get(name) or {})}
        if capabilities is not None:
            self._capabilities = {**capabilities, **(self._capabilities or {})}
        if max_added_ms is not None and conversation.max_added_s is None:
            conversation.max_added_s = max_added_ms / 1000

    @contextlib.contextmanager
    def unheld(self, reason: str) -> Iterator[None]:
        """Within it, messages wait for no verdict and are marked `as_is`: they report what has happened already."""
        before = self._conversation.no_hold_reason
        self._conversation.no_hold_reason = before or reason
        try:
            yield
        finally:
            self._conversation.no_hold_reason = "healing_failed" if self._healing.is_stopped else before

    async def flush(self, within_s: float = 5.0) -> bool:
        """Waits until the daemon has acknowledged every message as durable. Returns whether it has."""
        return await self._session.flush(within_s)

    def adapter_defaults(self, name: str) -> None:
        """For adapters: sets the client's name, and the mode `shadow` if no mode was chosen.

        After the hello, the daemon keeps its mode for the run. The client then ignores all verdicts instead.
        """
        hello = self._conversation.hello
        self._has_adapter = True
        if not self._has_client_name:
            hello["client"] = {"name": f"digd-{name}", "version": __version__}
        if self._mode is not None:
            return
        self._mode = "shadow"
        if self._conversation.counters.connections == 0:
            hello["mode"] = "shadow"
        else:
            self._ignores_verdicts = True

    def count_added_time_in_enforce(self) -> None:
        """For adapters that wait for verdicts only in `enforce`: in other modes no time counts for `max_added_ms`."""
        self._conversation.counts_added_time = lambda: self._enforces and not self._ignores_verdicts

    def pass_holds(self) -> None:
        """For adapters that keep held events themselves: calls return the verdict `hold` and wait for no decision."""
        self._conversation.passes_holds = True

    @property
    def redacts(self) -> bool:
        """Whether the hook `redact` is set."""
        return self._redact is not None

    def next_id(self, kind: str) -> str:
        """An id that this session has not used: `e` for events, `v` for activations."""
        prefix = "" if self.session_name == "main" else f"{self.session_name}/"
        return f"{prefix}{kind}{next(self._id_numbers[kind])}"

    # ---- reporting

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
        fingerprint: str | None = None,
        usage: Usage | None = None,
        ts: int | None = None,
    ) -> Verdict:
        """Reports an event; returns its verdict. `source` is an open activation; without it this is a root event.

        fingerprint: events with the same fingerprint count as repetitions. Without it, the payload decides.
        usage: what the source has used since the last report. The guards judge the event with it.
        """
        to = tuple(dict.fromkeys(recipients))
        event = Event(id or self.next_id("e"), to, kind, payload, fyi, submit, source, fingerprint)
        if source is not None:
            self._announce(source)
        report = event_message(event, self._redact, self._conversation.message_bytes, ts, usage)
        (verdict,) = await self._report_and_wait(report)
        return verdict

    def activation(self, agent: str, inputs: Iterable[EventLike] = (), *, id: str | None = None) -> Activation:
        """An activation of `agent` with these inputs."""
        return Activation(self, id or self.next_id("v"), agent, inputs)

    async def start_activation(
        self, agent: str, inputs: Iterable[EventLike] = (), *, id: str | None = None, ts: int | None = None
    ) -> str:
        """As `activation`, for programs that cannot use `async with`. Returns the activation's id."""
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
        usage: Usage | None = None,
        ts: int | None = None,
    ) -> tuple[Verdict, ...]:
        """Ends an activation. Returns verdicts on rerouted inputs, then on outputs, each in their order.

        With `error` the activation has failed: its reactions and outputs are not reported, and get no verdicts.
        """
        self._announce(activation)
        if error is not None:
            self._send(failed_message(activation, error, self._redact, ts, usage))
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
            usage,
        )
        return await self._report_and_wait(report)

    def usage(self, activation: str, usage: Usage, *, ts: int | None = None) -> None:
        """Reports what an activation used since the last report, also after its end.

        Sends nothing to a daemon whose welcome names no guards: it does not know `usage` and would refuse the message.
        """
        if usage and (self.welcome is None or "guards" in self.welcome):
            self._announce(activation)
            self._send(usage_message(activation, usage, ts))

    async def agent_joined(self, agent: str, *, ts: int | None = None) -> None:
        """Reports that an agent can receive events from now on."""
        self._send(message("agent_joined", ts=ts, agent=agent))

    async def agent_left(self, agent: str, *, ts: int | None = None) -> None:
        """Reports that an agent can receive no events any more."""
        self._send(message("agent_left", ts=ts, agent=agent))

    def applied(self, event: EventLike, verdict: Verdict, *, as_is: str | None = None) -> None:
        """Reports that a verdict was carried out or, with `as_is`, why it was not.

        Sends nothing for the verdict `deliver`, or for a verdict that the client made without the daemon.
        """
        if verdict.as_is is not None or (verdict.hold is not None and as_is is None):
            return  # the end of a hold is reported already
        if as_is is not None and verdict.action != "deliver":
            self._healing.remove(verdict.detections)
            self._add_failed_healing(as_is)
        if as_is is not None:
            self._send(delivery_message("as_is", event=event_id(event), reason=str(redacted(as_is, self._redact))))
        elif verdict.action != "deliver":
            self._send(delivery_message(APPLIED_BY_ACTION[verdict.action], event=event_id(event)))

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
            self._interventions.register("*", action)
            return action

        def register(handler: Handler) -> Handler:
            self._interventions.register(action, handler)
            return handler

        return register

    def _before_hello(self) -> None:
        can = {"inject": True, "reroute": True, "create": self._interventions.handler("create") is not None}
        # A call waits for its verdict, however long. An adapter says itself whether its framework can wait.
        can["hold"] = self._conversation.no_hold_reason is None and not self._has_adapter
        can["cancel"] = self._interventions.handles("cancel")
        self._conversation.hello["capabilities"] = {**can, **(self._capabilities or {})}

    def _intervene(self, intervention: Intervention) -> None:
        if not self.heals:
            self._session.answer(intervention.id, "unsupported", self._conversation.no_hold_reason or "shadow")
            return
        refusal = self._interventions.put(intervention)
        if refusal is not None:
            self._session.answer(intervention.id, *refusal)

    def _on_intervention_outcome(self, intervention: Intervention, applied: str, reason: str | None) -> None:
        if applied in ("unsupported", "failed", "as_is"):
            self._add_failed_healing(reason or applied)
        else:
            self._healing.add(intervention.detections)
        self._session.answer(intervention.id, applied, reason)

    # ---- internals

    async def _report_and_wait(self, report: Message) -> tuple[Verdict, ...]:
        """Reports a message; returns the verdicts on the events that it blocks.

        A verdict that this run no longer follows is replaced by an unchanged delivery.
        """
        ticket = self._session.enqueue(report)
        verdicts = await self._session.verdicts(ticket)
        if self._conversation.no_hold_reason == "max_added_ms":
            self._healing.log_unheld(self._conversation.max_added_s or 0)
        if self._ignores_verdicts or self._healing.is_stopped:
            blocked = {b.event: b for b in ticket.blocked}
            verdicts = tuple(self._without_healing(blocked[v.event], v) for v in verdicts)
        for verdict in verdicts:
            if verdict.as_is is None and verdict.action != "deliver":
                self._healing.add(verdict.detections)
        return verdicts

    def _without_healing(self, blocked: Blocked, verdict: Verdict) -> Verdict:
        if verdict.as_is is not None or verdict.action == "deliver":
            return verdict
        reason = "healing_failed" if self._healing.is_stopped else "shadow"
        self._send(delivery_message("as_is", event=verdict.event, reason=reason))
        for detection in verdict.detections if reason == "shadow" else ():
            count(self._conversation.unhealed, detection.rule)
        return dataclasses.replace(blocked.as_is(reason), detections=verdict.detections)

    def _add_failed_healing(self, reason: str) -> None:
        if self._healing.add_failure(reason):
            self._conversation.no_hold_reason = self._conversation.no_hold_reason or "healing_failed"

    def _send(self, report: Message) -> bool:
        """Sends a message that waits for no verdict. Returns whether the window had room for it."""
        return self._conversation.accepted(self._session.enqueue(report))

    def _announce(self, activation: str) -> None:
        """Reports an activation's start if the window had no room for it before."""
        report = self._unannounced.get(activation)
        if report is not None and self._send(report):
            del self._unannounced[activation]
