"""The protocol's values: verdicts, detections and interventions as received, and the bodies of messages to send.

No I/O and no clock. docs/protocol.md defines the fields.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Callable, Literal, Union, cast, get_args

from .fields import optional_integer, optional_object, optional_objects, optional_text, text, texts, whole

Json = Any
"""A value to be encoded as JSON: a payload or metrics."""

Redact = Callable[[Json], Json]
"""Returns the part of a payload, an error text or metrics that may leave the process. If it raises, nothing leaves."""

Action = Literal["deliver", "inject", "reroute", "hold"]
ACTIONS: tuple[str, ...] = get_args(Action)
Mode = Literal["off", "observe", "shadow", "enforce"]
Outcome = Literal["success", "failure", "aborted"]
Reaction = Union[Literal["consume", "wait", "discard"], tuple[str, ...]]
"""An activation's reaction to an input. A tuple of agents is a reroute to them."""


@dataclass(frozen=True)
class Usage:
    """What one or more calls used. Each report adds to the totals of the run and of the activation's agent.

    `cost` is in the user's currency. Counts are whole numbers; a daemon accepts each from 0 to 10⁹. `models` names the
    models of these tokens, each with its input and output tokens: without a cost, the daemon computes one from them.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    model_calls: int = 0
    tool_calls: int = 0
    models: tuple[tuple[str, int, int], ...] = ()

    def __add__(self, other: Usage) -> Usage:
        models = {name: (tokens_in, tokens_out) for name, tokens_in, tokens_out in self.models}
        for name, tokens_in, tokens_out in other.models:
            before = models.get(name, (0, 0))
            models[name] = (before[0] + tokens_in, before[1] + tokens_out)
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
            self.model_calls + other.model_calls,
            self.tool_calls + other.tool_calls,
            tuple((name, *tokens) for name, tokens in models.items()),
        )

    def __bool__(self) -> bool:
        return any(dataclasses.astuple(self))

    def members(self) -> dict[str, Json]:
        """The wire format, without zeros."""
        members = {name: value for name, value in dataclasses.asdict(self).items() if value}
        if self.models:
            members["models"] = {
                name: {"input_tokens": tokens_in, "output_tokens": tokens_out}
                for name, tokens_in, tokens_out in self.models
            }
        return members


@dataclass(frozen=True)
class Detection:
    """A report that a rule fired. `evidence` lists the ids that made it fire; `cause` says why it was not healed."""

    rule: str
    severity: str
    event: str | None
    agent: str | None
    evidence: tuple[str, ...]
    healed: bool
    healing: str | None
    cause: str | None
    reason: str
    session: str | None = None
    at: int | None = None
    ts: int | None = None
    witness: Mapping[str, Json] | None = None

    @staticmethod
    def of(frame: Mapping[str, Json]) -> Detection:
        """The detection in a frame of the daemon. Raises ValueError if a field has a wrong type."""
        return Detection(
            rule=optional_text(frame, "rule") or "",
            severity=optional_text(frame, "severity") or "",
            event=optional_text(frame, "event"),
            agent=optional_text(frame, "agent"),
            evidence=texts(frame, "evidence"),
            healed=bool(frame.get("healed")),
            healing=optional_text(frame, "healing"),
            cause=optional_text(frame, "cause"),
            reason=optional_text(frame, "reason") or "",
            session=optional_text(frame, "session"),
            at=optional_integer(frame, "at"),
            ts=optional_integer(frame, "ts"),
            witness=optional_object(frame, "witness"),
        )


@dataclass(frozen=True)
class Verdict:
    """How to deliver an event: to `recipients`, with the text `inject` added if it is set.

    `as_is` is None if the daemon decided. Otherwise it is the reason why the event is delivered unchanged:
    `timeout`, `disconnected`; `credits`: too far ahead of the last ack; `error:CODE`: the daemon refused the message,
    or this client permanently; `max_added_ms`, `healing_failed`, `shadow`: this run no longer follows verdicts;
    `off`; `unheld`: the run waits for no verdict; `forked`: the run belongs to the parent process.
    """

    event: str
    action: Action
    recipients: tuple[str, ...]
    inject: str | None = None
    detections: tuple[Detection, ...] = ()
    as_is: str | None = None
    submit: bool = False
    hold: str | None = None
    """The hold in which the event waited for a person. The verdict is what the person decided, or the timeout."""
    hold_ms: int | None = None
    """Only with the action `hold`, which `Run.pass_holds` asks for: how long the daemon waits for a decision."""
    on_timeout: str | None = None
    """Only with the action `hold`: what happens if nobody decides in time, `release` or `return`."""

    @property
    def given_back(self) -> bool:
        """Whether this answer was submitted too early and returns to its author as work."""
        return self.submit and self.action == "reroute"


@dataclass(frozen=True)
class Intervention:
    """Healing without a blocked event: `create` the event `id` for `recipients`, `reroute` `event` to them, or
    `cancel` these activations. `inject` says why."""

    id: str
    action: str
    recipients: tuple[str, ...]
    inject: str | None = None
    event: str | None = None
    detections: tuple[Detection, ...] = ()
    activations: tuple[str, ...] = ()

    @staticmethod
    def of(frame: Mapping[str, Json]) -> Intervention:
        """The intervention in a frame of the daemon."""
        return Intervention(
            id=text(frame, "id"),
            action=text(frame, "action"),
            recipients=texts(frame, "recipients"),
            inject=optional_text(frame, "inject"),
            event=optional_text(frame, "event"),
            detections=tuple(Detection.of(d) for d in optional_objects(frame, "detections")),
            activations=texts(frame, "activations"),
        )


EventLike = Union[str, Verdict, Intervention]
"""An event, given as its id, the verdict on it, or the intervention that created it."""


def event_id(event: EventLike) -> str:
    """The id of the event that it names."""
    if isinstance(event, Verdict):
        return event.event
    if isinstance(event, Intervention):
        return event.event or event.id
    return event


@dataclass(frozen=True)
class Blocked:
    """An event that waits for its verdict, and the recipients that it has if the verdict names no others."""

    event: str
    recipients: tuple[str, ...]
    submit: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "event", transmitted(self.event))

    def as_is(self, reason: str) -> Verdict:
        return Verdict(self.event, "deliver", self.recipients, as_is=reason, submit=self.submit)

    def judged(self, frame: Mapping[str, Json]) -> Verdict:
        """The verdict in a frame of the daemon."""
        action = text(frame, "action")
        if action not in ACTIONS:
            raise ValueError(f"action: expected one of {', '.join(ACTIONS)}, got {action[:64]!r}")
        named = texts(frame, "recipients") if frame.get("recipients") is not None else self.recipients
        return Verdict(
            self.event,
            cast(Action, action),
            named if action == "reroute" else self.recipients,
            inject=optional_text(frame, "inject"),
            detections=tuple(Detection.of(d) for d in optional_objects(frame, "detections")),
            submit=self.submit,
        )

    @staticmethod
    def passed(verdict: Verdict, frame: Mapping[str, Json]) -> Verdict:
        """A verdict `hold` for a caller that keeps the event itself."""
        timeout = optional_text(frame, "on_timeout")
        hold, hold_ms = text(frame, "hold"), whole(frame, "hold_ms")
        return dataclasses.replace(verdict, hold=hold, hold_ms=hold_ms, on_timeout=timeout)


@dataclass(frozen=True)
class Event:
    """An event to report. Set `source` only to report the event by itself, while its activation is open."""

    id: str
    recipients: tuple[str, ...] = ()
    kind: str | None = None
    payload: Json = None
    fyi: bool = False
    submit: bool = False
    source: str | None = None
    fingerprint: str | None = None  # what makes it a repetition of another; None: its payload

    def blocked(self) -> Blocked:
        """This event as it waits for its verdict."""
        return Blocked(self.id, self.recipients, self.submit)

    def members(self, redact: Redact | None) -> dict[str, Json]:
        """The wire format, without empty members."""
        members: dict[str, Json] = {"id": self.id, "recipients": list(self.recipients)}
        if self.source is not None:
            members["source"] = self.source
        if self.kind is not None:
            members["kind"] = self.kind
        if self.submit:
            members["submit"] = True
        if self.fyi:
            members["fyi"] = True
        if self.fingerprint is not None:
            members["fingerprint"] = self.fingerprint
        if self.payload is not None:
            members["payload"] = redacted(self.payload, redact)
        return members


@dataclass(frozen=True)
class Message:
    """A message without its number: the type, the bytes that follow `"seq":N`, and the events that it blocks.

    `last`: the message may use the places that the window reserves.
    """

    type: str
    rest: bytes
    blocked: tuple[Blocked, ...] = ()
    last: bool = field(default=False)

    def frame(self, seq: int, as_is: bool) -> bytes:
        mark = b',"as_is":true' if as_is and self.blocked else b""
        return b'{"type":"%s","seq":%d%s%s}' % (self.type.encode(), seq, mark, self.rest)


LEFT_OUT = "digd: left out"


def redacted(value: Json, redact: Redact | None) -> Json:
    """Returns the hook's result. If the hook raises, a text replaces the value."""
    if redact is None:
        return value
    try:
        return redact(value)
    except Exception as error:
        return f"{LEFT_OUT}, the redaction hook raised {type(error).__name__}"


def plain(value: Json) -> Json:
    """Replaces a value that `json` cannot write: pydantic models and dataclasses by their fields, sets by lists."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        try:
            return dump(warnings=False)  # pydantic's warnings about field types would appear as the program's output
        except TypeError:
            return dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    return repr(value)


def encode(value: Json) -> bytes:
    """Returns JSON in UTF-8. Never raises: a text replaces a value that JSON cannot express."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain)
    except (TypeError, ValueError, RecursionError) as error:
        text = json.dumps(f"{LEFT_OUT}, no JSON: {type(error).__name__}")
    except Exception as error:  # raised by the program's own `model_dump` or `__repr__`
        text = json.dumps(f"{LEFT_OUT}, {type(error).__name__}")
    return text.encode("utf-8", "replace")  # UTF-8 cannot encode lone surrogates


class Encoded(bytes):
    """A payload that is JSON already."""


def transmitted(name: str) -> str:
    """An id or a name as the daemon receives it: UTF-8 cannot encode lone surrogates; they become question marks."""
    return name if name.isascii() else name.encode("utf-8", "replace").decode()


def message(
    type: str, blocked: Iterable[Blocked] = (), ts: int | None = None, last: bool = False, **members: Json
) -> Message:
    """Builds a message with these members, except those that are None."""
    present = [(k, v) for k, v in (*members.items(), ("ts", ts)) if v is not None]
    rest = b"".join(b',"%s":%s' % (k.encode(), v if isinstance(v, bytes) else encode(v)) for k, v in present)
    return Message(type, rest, tuple(blocked), last)


def encode_event(event: Event, redact: Redact | None, limit_bytes: int) -> bytes:
    """Returns an event's JSON. A text replaces a payload over the limit; no rule reads payloads."""
    members = event.members(redact)
    payload = None
    if "payload" in members:
        value = members.pop("payload")
        payload = value if isinstance(value, Encoded) else encode(value)
    whole = encode(members)
    if payload is None:
        return whole
    if len(whole) + len(payload) + 12 > limit_bytes:
        payload = encode(f"{LEFT_OUT}, {len(payload)} bytes")
    return whole[:-1] + b',"payload":' + payload + b"}"


def event_message(
    event: Event,
    redact: Redact | None = None,
    limit_bytes: int = 1 << 20,
    ts: int | None = None,
    usage: Usage | None = None,
) -> Message:
    encoded = encode_event(event, redact, limit_bytes)
    return message("event", (event.blocked(),), ts, event=encoded, usage=usage.members() if usage else None)


def started_message(activation: str, agent: str, inputs: Iterable[str], ts: int | None = None) -> Message:
    return message("activation_started", ts=ts, activation=activation, agent=agent, inputs=list(inputs))


def ended_message(
    activation: str,
    inputs: Iterable[str],
    reactions: Mapping[str, Reaction],
    outputs: Iterable[Event],
    redact: Redact | None = None,
    limit_bytes: int = 1 << 20,
    ts: int | None = None,
    usage: Usage | None = None,
) -> Message:
    """Builds the end of an activation. It blocks first the rerouted inputs, then the outputs, each in their order."""
    outputs = list(outputs)
    order = list(dict.fromkeys((*inputs, *reactions)))
    rerouted = [(e, reactions[e]) for e in order if isinstance(reactions.get(e), tuple)]
    blocked = [Blocked(e, tuple(to)) for e, to in rerouted] + [o.blocked() for o in outputs]
    encoded_reactions = {e: {"reroute": list(r)} if isinstance(r, tuple) else r for e, r in reactions.items()}
    budget = limit_bytes // max(1, len(outputs))
    encoded = b"[" + b",".join(encode_event(o, redact, budget) for o in outputs) + b"]"
    return message(
        "activation_ended",
        blocked,
        ts,
        activation=activation,
        reactions=encoded_reactions or None,
        outputs=encoded if outputs else None,
        usage=usage.members() if usage else None,
    )


def failed_message(
    activation: str,
    error: str | None,
    redact: Redact | None = None,
    ts: int | None = None,
    usage: Usage | None = None,
) -> Message:
    return message(
        "activation_ended",
        ts=ts,
        activation=activation,
        failed=True,
        error=None if error is None else str(redacted(error[:2000], redact)),
        usage=usage.members() if usage else None,
    )


def usage_message(activation: str, usage: Usage, ts: int | None = None) -> Message:
    return message("usage", ts=ts, activation=activation, usage=usage.members())


def delivery_message(
    applied: str, event: str | None = None, of: str | None = None, reason: str | None = None, ts: int | None = None
) -> Message:
    return message("delivery", ts=ts, event=event, of=of, applied=applied, reason=reason)


def ended_run_message(
    outcome: Outcome | None, metrics: Mapping[str, Json] | None, redact: Redact | None = None, ts: int | None = None
) -> Message:
    reported = None if metrics is None else redacted(dict(metrics), redact)
    return message("run_ended", ts=ts, last=True, outcome=outcome, metrics=reported)
