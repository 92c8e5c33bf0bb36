"""A run of a multi-agent system, as its program tells digd of it."""

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
from .messages import (Blocked, Detection, Event, EventLike, Intervention, Json, Message, Mode, Outcome, Reaction, Redact, Verdict,
                       delivery_message, ended_message, ended_run_message, event_id, event_message, failed_message,
                       message, redacted, started_message)
from .options import daemon_address, requested_mode
from .session import Session, Where, log

__version__ = "0.1.0"
MAX_FAILED_HEALINGS = 3  # then everything goes out as is for the rest of the run
HANDLER_WITHIN_S = 30.0
WAITING_INTERVENTIONS = 1024
OPEN_ACTIVATIONS = 4096  # of which the start could not be told yet

Applied = Union[bool, str, None]
Handler = Callable[[Intervention], Union[Applied, Awaitable[Applied]]]
"""Carries out an intervention. None or True: done. False: cannot. A word of the protocol: that. An exception: failed."""

DONE = {"create": "created", "inject": "injected", "reroute": "rerouted"}


def reaction_of(said: Any) -> Reaction:
    """A reaction as people write it: a word, a list of agents, or as on the wire."""
    if isinstance(said, str):
        return said  # type: ignore[return-value]
    if isinstance(said, Mapping):
        said = said["reroute"]
    return tuple(said)


class Run:
    """`async with digd.Run("run-1", agents=[…]) as run:` — one session of one run.

    It connects in the background and never holds the run up for longer than the daemon's verdict deadline (250 ms unless
    configured there), nor at all while no daemon is there: events then go out as is. For one event loop; `digd.sync.Run`
    has the same for threads.

    url: HOST:PORT, ws://HOST:PORT, wss://HOST:PORT or unix:/PATH; else DIGD_URL, else 127.0.0.1:7344. Anything else is a ValueError.
    token: the bearer token; else DIGD_TOKEN.
    agents: who can receive. Given, others join only by acting or `agent_joined`; None leaves the roster open.
    session: this process's name within the run, where several feed it.
    mode: `off`, `observe`, `shadow` or `enforce`; else DIGD_MODE, else the adapter's default, else the daemon's. `off` leaves no trace.
    rules, healing, limits, capabilities, labels, witness, clock: as in `hello` (docs/protocol.md).
    max_returns_per_agent: how often healing may make the same agent act again in this run.
    max_added_ms: how long messages may be held in this run in all; then they go out as is.
    redact: what may leave the process of each payload, error text and metrics.
    hold: False waits for no verdict, ever (pure observation).
    fail_closed_ms: how long a submit event waits for its verdict at most, even without a connection. 0: as all others.
    max_buffer_bytes: of what is not acked yet; beyond it, and beyond the daemon's credits, messages are dropped and said so.
    linger_s: how long leaving waits for the last ack.
    end_on_exit: False leaves `run_ended` to another session.
    """

    def __init__(self, run_id: str | None = None, agents: Iterable[str] | None = None, *, url: str | None = None,
                 token: str | None = None, session: str = "main", mode: Mode | None = None, clock: str = "wall",
                 rules: Mapping[str, Json] | None = None, healing: Mapping[str, Json] | None = None,
                 limits: Mapping[str, Json] | None = None, capabilities: Mapping[str, bool] | None = None,
                 labels: Mapping[str, str] | None = None, witness: bool = False, redact: Redact | None = None,
                 hold: bool = True, fail_closed_ms: int = 0, max_buffer_bytes: int = 16 << 20, linger_s: float = 2.0,
                 end_on_exit: bool = True, tls_context: tls.SSLContext | None = None,
                 client: Mapping[str, Json] | None = None, max_returns_per_agent: int | None = None,
                 max_added_ms: float | None = None) -> None:
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
        hello: dict[str, Json] = {"type": "hello", "protocol": 1, "run": self.id, "session": session, "clock": clock,
                                  "client": dict(client or {"name": "digd-python", "version": __version__})}
        optional = {"agents": None if self.agents is None else list(self.agents), "mode": self._mode, "rules": rules, "healing": healing,
                    "limits": limits, "labels": labels, "witness": witness or None}
        hello.update((k, v) for k, v in optional.items() if v is not None)
        self._conversation = Conversation(hello, hold=hold, fail_closed_s=fail_closed_ms / 1000,
                                          max_buffer_bytes=max_buffer_bytes,
                                          max_added_s=None if max_added_ms is None else max_added_ms / 1000)
        where = Where(address, self.id,
                      token if token is not None else os.environ.get("DIGD_TOKEN") or None, tls_context)
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

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.close(error)

    async def close(self, error: BaseException | None = None) -> None:
        """Says that the run has ended, unless that was said or is another's, waits for the last ack, and disconnects."""
        if self._mode == "off":
            return
        try:
            outcome: Outcome | None = None if error is None else "failure" if isinstance(error, Exception) else "aborted"
            if not self._ended and self._end_on_exit:
                await self.end(outcome)
            else:
                self._prepare_end(outcome)
            await self._session.flush(self._linger_s)
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

    def _log_summary(self) -> None:
        """Logs one line for a run in which something was healed or would have been; nothing for any other run."""
        def listed(counts: Mapping[str, int]) -> str:
            return ", ".join(f"{rule} {n}" for rule, n in sorted(counts.items()))

        unhealed = self._conversation.unhealed
        if self._healed:
            log.info("digd: run %s: healed %d times (%s); `digctl show %s` has the details", self.id,
                     sum(self._healed.values()), listed(self._healed), self.id)
        elif unhealed:
            log.info("digd: run %s: digd would have healed %d times (%s), and changed nothing, as the mode is shadow. Pass "
                     "mode=\"enforce\" or set DIGD_MODE=enforce to let it; `digctl show %s` has the details", self.id,
                     sum(unhealed.values()), listed(unhealed), self.id)

    async def end(self, outcome: Outcome | None = None, metrics: Mapping[str, Json] | None = None) -> None:
        """The run is over; nothing is told after this."""
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

    def ask_for(self, *, rules: Mapping[str, Mapping[str, Json]] | None = None, limits: Mapping[str, Json] | None = None,
                healing: Mapping[str, Json] | None = None, max_added_ms: float | None = None) -> None:
        """Adds an adapter's settings to the hello, where the user chose none. Once the hello has gone out they have no effect."""
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
            self._conversation.unheld_because = before

    async def flush(self, within_s: float = 5.0) -> bool:
        """Waits until all that was told is durable; returns whether it is."""
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
        """Whether a verdict may still change what this run does."""
        stopped = self._conversation.unheld_because in ("healing_failed", "max_added_ms")
        if self._mode not in (None, "enforce") or self._conversation.closed or stopped:
            return False
        return self.welcome is None or self.welcome.get("mode", "enforce") == "enforce"

    @property
    def connected(self) -> bool:
        return self._conversation.phase is Phase.UP

    @property
    def welcome(self) -> Mapping[str, Json] | None:
        """What the daemon says holds for this run: mode, rules, limits; None before."""
        return self._conversation.welcome

    @property
    def counters(self) -> Counters:
        """What happened so far: timeouts, refusals by code, what went out as is."""
        return self._conversation.counters

    @property
    def dropped(self) -> int:
        """Messages that there was no room for."""
        return self._conversation.window.dropped

    def next_id(self, kind: str) -> str:
        """An id that this session has not used: `e` for events, `v` for activations."""
        prefix = "" if self.session_name == "main" else f"{self.session_name}/"
        return f"{prefix}{kind}{next(self._counter[kind])}"

    # ---- what happens in the run

    async def emit(self, recipients: Iterable[str], payload: Json = None, *, kind: str | None = None,
                   id: str | None = None, fyi: bool = False, submit: bool = False, source: str | None = None,
                   ts: int | None = None) -> Verdict:
        """Announces an event and returns what to do with it. Without `source`, an open activation, it is a root event."""
        event = Event(id or self.next_id("e"), tuple(dict.fromkeys(recipients)), kind, payload, fyi, submit, source)
        if source is not None:
            self._announce(source)
        said = event_message(event, self._redact, self._conversation.message_bytes, ts)
        (verdict,) = await self._verdicts(said)
        return verdict

    def activation(self, agent: str, inputs: Iterable[EventLike] = (), *, id: str | None = None) -> Activation:
        """A span of `agent` acting on these inputs."""
        return Activation(self, id or self.next_id("v"), agent, inputs)

    async def start_activation(self, agent: str, inputs: Iterable[EventLike] = (), *, id: str | None = None,
                               ts: int | None = None) -> str:
        """For those who cannot use `async with run.activation(…)`. Returns the activation's id."""
        activation = id or self.next_id("v")
        said = started_message(activation, agent, dict.fromkeys(event_id(e) for e in inputs), ts)
        if not self._told(said) and len(self._unannounced) < OPEN_ACTIVATIONS:
            self._unannounced[activation] = said
        return activation

    async def end_activation(self, activation: str, reactions: Mapping[str, Any] | None = None,
                             outputs: Sequence[Event] = (), *, inputs: Iterable[EventLike] = (),
                             error: str | None = None, ts: int | None = None) -> tuple[Verdict, ...]:
        """Ends an activation. Verdicts: on rerouted events in the order of `inputs`, then on outputs in theirs.

        With `error` it failed: its reactions and outputs are not told, and go out as is.
        """
        self._announce(activation)
        if error is not None:
            self._told(failed_message(activation, error, self._redact, ts))
            return ()
        reactions = {e: reaction_of(r) for e, r in (reactions or {}).items()}
        said = ended_message(activation, [event_id(e) for e in inputs], reactions, outputs, self._redact,
                             self._conversation.message_bytes, ts)
        return await self._verdicts(said)

    async def agent_joined(self, agent: str, *, ts: int | None = None) -> None:
        self._told(message("agent_joined", ts=ts, agent=agent))

    async def agent_left(self, agent: str, *, ts: int | None = None) -> None:
        self._told(message("agent_left", ts=ts, agent=agent))

    def applied(self, event: EventLike, verdict: Verdict, *, as_is: str | None = None) -> None:
        """Reports what became of a verdict, where the protocol wants to know. `as_is`: why it was not followed.

        A verdict to deliver and one that was never had need no report; the client has said what there is to say.
        """
        if verdict.as_is is not None:
            return
        if as_is is not None and verdict.action != "deliver":
            self._count_healing(verdict.detections, -1)
            self._count_failed_healing(as_is)
        if as_is is not None:
            self._told(delivery_message("as_is", event=event_id(event), reason=str(redacted(as_is, self._redact))))
        elif verdict.action != "deliver":
            self._told(delivery_message(DONE[verdict.action], event=event_id(event)))

    def gap(self, dropped: int, *, ts: int | None = None) -> None:
        """Admits that the program itself lost sight of this many things."""
        self._told(message("gap", ts=ts, dropped=dropped))

    def tick(self, ts: int) -> None:
        """Moves the clock of a run with `clock="trace"`."""
        self._told(message("time", ts=ts))

    # ---- interventions

    @overload
    def on_intervention(self, what: Handler) -> Handler: ...
    @overload
    def on_intervention(self, what: str) -> Callable[[Handler], Handler]: ...

    def on_intervention(self, what: Union[Handler, str]) -> Union[Handler, Callable[[Handler], Handler]]:
        """Registers who carries interventions out: all of them, or those of one action (`"create"`, `"reroute"`).

        Register before the first `await` in the run: the daemon is told then what this client can do, and sends nothing else.
        """
        if not isinstance(what, str):
            self._handlers["*"] = what
            return what

        def register(handler: Handler) -> Handler:
            self._handlers[what] = handler
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
            self._interventions = asyncio.Queue(WAITING_INTERVENTIONS)
            self._worker = asyncio.get_running_loop().create_task(self._carry_out(self._interventions))
        try:
            self._interventions.put_nowait(intervention)
        except asyncio.QueueFull:
            self._session.answer(intervention.id, "failed", f"{WAITING_INTERVENTIONS} others wait")

    async def _carry_out(self, queue: asyncio.Queue[Intervention]) -> None:
        """One after the other, in the order they came."""
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
                result = await asyncio.wait_for(result, HANDLER_WITHIN_S)
        except asyncio.TimeoutError:
            return "failed", f"the handler took over {HANDLER_WITHIN_S:g} s"
        except Exception as error:
            log.warning("digd: the handler of intervention %s raised", intervention.id, exc_info=True)
            return "failed", str(redacted(f"{type(error).__name__}: {error}"[:2000], self._redact))
        if isinstance(result, str):
            return result, None
        return ("unsupported", "the handler cannot") if result is False else (DONE.get(intervention.action, "created"), None)

    # ---- within

    async def _verdicts(self, message: Message) -> tuple[Verdict, ...]:
        """The verdicts on what a message blocks; those that this run does not follow any more as deliveries."""
        ticket = self._session.tell(message)
        verdicts = await self._session.verdicts(ticket)
        because = self._conversation.unheld_because
        if because == "max_added_ms":
            self._log_once("max_added_ms", "holding its messages has taken the %g ms that max_added_ms allows; they go out "
                           "unchanged from now on", (self._conversation.max_added_s or 0) * 1000)
        if self._shadow_late or because == "healing_failed":
            verdicts = tuple(map(self._unfollowed, ticket.blocked, verdicts))
        for verdict in verdicts:
            if verdict.as_is is None and verdict.action != "deliver":
                self._count_healing(verdict.detections, 1)
        return verdicts

    def _unfollowed(self, blocked: Blocked, verdict: Verdict) -> Verdict:
        if verdict.as_is is not None or verdict.action == "deliver":
            return verdict
        reason = self._conversation.unheld_because or "shadow"
        self._told(delivery_message("as_is", event=verdict.event, reason=reason))
        for detection in verdict.detections if reason == "shadow" else ():
            count(self._conversation.unhealed, detection.rule)
        return dataclasses.replace(blocked.as_is(reason), detections=verdict.detections)

    def _count_healing(self, detections: Iterable[Detection], step: int) -> None:
        for detection in detections:
            if detection.healed and (step > 0 or self._healed.get(detection.rule)):
                count(self._healed, detection.rule, step)

    def _count_failed_healing(self, reason: str) -> None:
        self._failed_healings += 1
        if self._failed_healings == MAX_FAILED_HEALINGS and self._conversation.unheld_because is None:
            self._conversation.unheld_because = "healing_failed"
            self._log_once("healing_failed", "%d of digd's decisions could not be carried out (the last one: %s); messages go "
                           "out unchanged from now on, and are still reported", MAX_FAILED_HEALINGS, reason)

    def _log_once(self, name: str, text: str, *values: Json) -> None:
        if name not in self._logged:
            self._logged.add(name)
            log.warning("digd: run %s: " + text, self.id, *values)

    def _told(self, said: Message) -> bool:
        return self._conversation.accepted(self._session.tell(said))

    def _announce(self, activation: str) -> None:
        """Tells of an activation's start what there was no room for then."""
        said = self._unannounced.get(activation)
        if said is not None and self._told(said):
            del self._unannounced[activation]
