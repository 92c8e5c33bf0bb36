"""Activations: one span of an agent acting, with its reactions to inputs and its outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol

from .messages import Event, EventLike, Json, Reaction, Usage, Verdict, event_id, transmitted


class Reporter(Protocol):
    """The methods of `digd.Run` that an activation needs."""

    def next_id(self, kind: str) -> str: ...

    async def emit(self, recipients: Iterable[str], payload: Json = None, *, kind: str | None = None,
                   id: str | None = None, fyi: bool = False, submit: bool = False,
                   source: str | None = None, fingerprint: str | None = None,
                   usage: Usage | None = None) -> Verdict: ...

    async def start_activation(self, agent: str, inputs: Iterable[EventLike] = (), *, id: str | None = None) -> str: ...

    async def end_activation(self, activation: str, reactions: Mapping[str, Any] | None = None,
                             outputs: Sequence[Event] = (), *, inputs: Iterable[EventLike] = (),
                             error: str | None = None, usage: Usage | None = None) -> tuple[Verdict, ...]: ...


def reaction_of(value: Any) -> Reaction:
    """Parses a reaction: a word, a list of agents, or the wire format."""
    if isinstance(value, str):
        return value  # type: ignore[return-value]
    if isinstance(value, Mapping):
        value = value["reroute"]
    return tuple(value)


def error_text(error: BaseException) -> str:
    """The text of an error, as reported with a failed activation. Never raises: a program's own `__str__` may."""
    try:
        text = str(error)
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class ActivationRecord:
    """An activation before its end is reported. An input without a reaction is consumed."""

    def __init__(self, id: str, agent: str, inputs: Iterable[EventLike], next_id: Callable[[str], str]) -> None:
        self.id = id
        self.agent = agent
        self.inputs = tuple(dict.fromkeys(event_id(e) for e in inputs))
        self.reactions: dict[str, Reaction] = {}
        self.outputs: list[Event] = []
        self.verdicts: tuple[Verdict, ...] = ()
        self.ended = False
        self.used = Usage()
        self._next_id = next_id

    def consume(self, event: EventLike) -> None:
        """Reacts to an input: the agent took it up."""
        self.reactions[event_id(event)] = "consume"

    def wait(self, event: EventLike) -> None:
        """Reacts to an input: it stays pending, for a later activation."""
        self.reactions[event_id(event)] = "wait"

    def discard(self, event: EventLike) -> None:
        """Reacts to an input: the agent dropped it."""
        self.reactions[event_id(event)] = "discard"

    def reroute(self, event: EventLike, agents: Iterable[str]) -> None:
        """Reacts to an input: it goes to other agents. The verdict names the final recipients."""
        self.reactions[event_id(event)] = tuple(agents)

    def add_usage(self, usage: Usage) -> None:
        """Adds to what the activation used; reported with its next work output or its end."""
        self.used += usage

    def take_usage(self, unjudged: bool = False) -> Usage | None:
        """Returns what has not been reported yet, and counts it as reported.

        unjudged: the message has no event that `budget` can judge. Then the usage waits for the next message: with this
        one, the guard could only cancel.
        """
        if unjudged:
            return None
        used, self.used = self.used, Usage()
        return used or None

    def output(self, recipients: Iterable[str] = (), payload: Json = None, *, kind: str | None = None,
               id: str | None = None, fyi: bool = False, submit: bool = False, fingerprint: str | None = None) -> str:
        """Adds an output, reported with the end of the activation; returns its id. Deliver it after its verdict."""
        event = Event(id or self._next_id("e"), tuple(recipients), kind, payload, fyi, submit, fingerprint=fingerprint)
        self.outputs.append(event)
        return event.id

    def verdict(self, event: EventLike) -> Verdict:
        """The verdict on an output or a rerouted input, once the activation has ended."""
        target_id = transmitted(event_id(event))
        for verdict in self.verdicts:
            if verdict.event == target_id:
                return verdict
        raise KeyError(f"no verdict on {target_id!r} in activation {self.id!r}"
                       + ("" if self.ended else ", which has not ended"))


class Activation(ActivationRecord):
    """`async with run.activation(agent, inputs) as a:`. An exception ends it as failed and propagates."""

    def __init__(self, run: Reporter, id: str, agent: str, inputs: Iterable[EventLike]) -> None:
        super().__init__(id, agent, inputs, run.next_id)
        self._run = run

    async def emit(self, recipients: Iterable[str] = (), payload: Json = None, *, kind: str | None = None,
                   id: str | None = None, fyi: bool = False, submit: bool = False,
                   fingerprint: str | None = None) -> Verdict:
        """Reports an output while the activation is open; returns the verdict on it."""
        if self.ended:
            raise RuntimeError(f"activation {self.id!r} has ended; emit before that, or use output()")
        return await self._run.emit(recipients, payload, kind=kind, id=id, fyi=fyi, submit=submit, source=self.id,
                                    fingerprint=fingerprint, usage=self.take_usage(fyi or submit))

    async def end(self, error: BaseException | str | None = None) -> tuple[Verdict, ...]:
        """Ends the activation; later calls do nothing. Leaving the `async with` calls it."""
        if not self.ended:
            self.ended = True
            text = error_text(error) if isinstance(error, BaseException) else error
            self.verdicts = await self._run.end_activation(self.id, self.reactions, self.outputs, inputs=self.inputs,
                                                           error=text, usage=self.take_usage())
        return self.verdicts

    async def __aenter__(self) -> Activation:
        await self._run.start_activation(self.agent, self.inputs, id=self.id)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.end(error)
