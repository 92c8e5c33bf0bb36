"""The protocol's values: verdicts, detections and interventions received, the bodies of messages sent.

Pure values and functions, without I/O or a clock. docs/protocol.md defines the fields.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Callable, Literal, Union

Json = Any
"""Anything that becomes JSON: payloads, metrics."""

Redact = Callable[[Json], Json]
"""Returns what may leave the process of a payload, an error text or metrics. If it raises, nothing of the value leaves."""

Action = Literal["deliver", "inject", "reroute"]
Mode = Literal["off", "observe", "shadow", "enforce"]
Outcome = Literal["success", "failure", "aborted"]
Reaction = Union[Literal["consume", "wait", "discard"], tuple[str, ...]]
"""An activation's reaction to an input. A tuple of agents is a reroute to them."""


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
        return Detection(
            rule=str(frame.get("rule", "")),
            severity=str(frame.get("severity", "")),
            event=frame.get("event"),
            agent=frame.get("agent"),
            evidence=tuple(frame.get("evidence") or ()),
            healed=bool(frame.get("healed")),
            healing=frame.get("healing"),
            cause=frame.get("cause"),
            reason=str(frame.get("reason", "")),
            session=frame.get("session"),
            at=frame.get("at"),
            ts=frame.get("ts"),
            witness=frame.get("witness"),
        )


@dataclass(frozen=True)
class Verdict:
    """How to deliver an event: to `recipients`, with the text `inject` added if there is one.

    `as_is` is None if the daemon decided so. Otherwise it says why the event goes out unchanged: `timeout`, `disconnected`,
    `credits` (too far ahead of the daemon), `error:CODE` (the daemon refused the message, or this client for good),
    `max_added_ms`, `healing_failed`, `shadow` (this run follows no more verdicts), `off`, `unheld` (it waits for none),
    `forked` (the run belongs to the parent process).
    """

    event: str
    action: Action
    recipients: tuple[str, ...]
    inject: str | None = None
    detections: tuple[Detection, ...] = ()
    as_is: str | None = None
    submit: bool = False

    @property
    def given_back(self) -> bool:
        """Whether an answer was submitted too early and goes back to its author as work."""
        return self.submit and self.action == "reroute"


@dataclass(frozen=True)
class Intervention:
    """A healing of no blocked event: `create` the event `id` for `recipients`, or `reroute` the event `event` to them."""

    id: str
    action: str
    recipients: tuple[str, ...]
    inject: str | None = None
    event: str | None = None
    detections: tuple[Detection, ...] = ()

    @staticmethod
    def of(frame: Mapping[str, Json]) -> Intervention:
        return Intervention(
            id=str(frame["id"]),
            action=str(frame["action"]),
            recipients=tuple(frame.get("recipients") or ()),
            inject=frame.get("inject"),
            event=frame.get("event"),
            detections=tuple(Detection.of(d) for d in frame.get("detections") or ()),
        )


EventLike = Union[str, Verdict, Intervention]
"""An event, given as its id, the verdict on it, or the intervention that created it."""


def event_id(event: EventLike) -> str:
    if isinstance(event, Verdict):
        return event.event
    if isinstance(event, Intervention):
        return event.event or event.id
    return event


@dataclass(frozen=True)
class Blocked:
    """An event that waits for its verdict, with the recipients that it has otherwise."""

    event: str
    recipients: tuple[str, ...]
    submit: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "event", transmitted(self.event))

    def as_is(self, reason: str) -> Verdict:
        return Verdict(self.event, "deliver", self.recipients, as_is=reason, submit=self.submit)

    def judged(self, frame: Mapping[str, Json]) -> Verdict:
        action: Action = frame["action"]
        named = frame.get("recipients")
        return Verdict(
            self.event,
            action,
            tuple(named) if action == "reroute" and named is not None else self.recipients,
            inject=frame.get("inject"),
            detections=tuple(Detection.of(d) for d in frame.get("detections") or ()),
            submit=self.submit,
        )


@dataclass(frozen=True)
class Event:
    """An event to report. `source` is set only if it is reported by itself, while its activation is open."""

    id: str
    recipients: tuple[str, ...] = ()
    kind: str | None = None
    payload: Json = None
    fyi: bool = False
    submit: bool = False
    source: str | None = None

    def blocked(self) -> Blocked:
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
        if self.payload is not None:
            members["payload"] = redacted(self.payload, redact)
        return members


@dataclass(frozen=True)
class Message:
    """A message without a number yet: its type, the bytes that follow `"seq":N`, and the events that it blocks."""

    type: str
    rest: bytes
    blocked: tuple[Blocked, ...] = ()
    last: bool = field(default=False)

    def frame(self, seq: int, as_is: bool) -> bytes:
        mark = b',"as_is":true' if as_is and self.blocked else b""
        return b'{"type":"%s","seq":%d%s%s}' % (self.type.encode(), seq, mark, self.rest)


LEFT_OUT = "digd: left out"


def redacted(value: Json, redact: Redact | None) -> Json:
    """The value as the hook returns it. If the hook raises, a text replaces the value."""
    if redact is None:
        return value
    try:
        return redact(value)
    except Exception as error:
        return f"{LEFT_OUT}, the redaction hook raised {type(error).__name__}"


def plain(value: Json) -> Json:
    """A value that `json` can write for one that it cannot: pydantic models and dataclasses by their fields, sets as lists."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        try:
            return dump(warnings=False)  # pydantic warns of fields of another type; that is not this program's output
        except TypeError:
            return dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    return repr(value)


def encode(value: Json) -> bytes:
    """JSON in UTF-8. It never raises: a value that JSON cannot express becomes a text that says so."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain)
    except (TypeError, ValueError, RecursionError) as error:
        text = json.dumps(f"{LEFT_OUT}, no JSON: {type(error).__name__}")
    except Exception as error:  # a foreign `model_dump` or `__repr__`
        text = json.dumps(f"{LEFT_OUT}, {type(error).__name__}")
    return text.encode("utf-8", "replace")  # a lone surrogate is no character


def transmitted(name: str) -> str:
    """An id or a name as the daemon receives it: UTF-8 has no lone surrogates, so they become question marks."""
    return name if name.isascii() else name.encode("utf-8", "replace").decode()


def message(
    type: str, blocked: Iterable[Blocked] = (), ts: int | None = None, last: bool = False, **members: Json
) -> Message:
    """A message with these members, except those that are None."""
    present = [(k, v) for k, v in (*members.items(), ("ts", ts)) if v is not None]
    rest = b"".join(b',"%s":%s' % (k.encode(), v if isinstance(v, bytes) else encode(v)) for k, v in present)
    return Message(type, rest, tuple(blocked), last)


def encode_event(event: Event, redact: Redact | None, limit_bytes: int) -> bytes:
    """An event's JSON. A payload that would exceed the limit is left out: no rule reads it."""
    members = event.members(redact)
    payload = encode(members.pop("payload")) if "payload" in members else None
    whole = encode(members)
    if payload is None:
        return whole
    if len(whole) + len(payload) + 12 > limit_bytes:
        payload = encode(f"{LEFT_OUT}, {len(payload)} bytes")
    return whole[:-1] + b',"payload":' + payload + b"}"


def event_message(
    event: Event, redact: Redact | None = None, limit_bytes: int = 1 << 20, ts: int | None = None
) -> Message:
    return message("event", (event.blocked(),), ts, event=encode_event(event, redact, limit_bytes))


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
) -> Message:
    """The end of an activation. It blocks rerouted events in the order of the inputs, then outputs in theirs."""
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
    )


def failed_message(activation: str, error: str | None, redact: Redact | None = None, ts: int | None = None) -> Message:
    return message(
        "activation_ended",
        ts=ts,
        activation=activation,
        failed=True,
        error=None if error is None else str(redacted(error[:2000], redact)),
    )


def delivery_message(
    applied: str, event: str | None = None, of: str | None = None, reason: str | None = None, ts: int | None = None
) -> Message:
    return message("delivery", ts=ts, event=event, of=of, applied=applied, reason=reason)


def ended_run_message(
    outcome: Outcome | None, metrics: Mapping[str, Json] | None, redact: Redact | None = None, ts: int | None = None
) -> Message:
    reported = None if metrics is None else redacted(dict(metrics), redact)
    return message("run_ended", ts=ts, last=True, outcome=outcome, metrics=reported)
