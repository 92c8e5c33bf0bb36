"""The consecutive activations of one `Runner.run`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..activation import Activation, error_text
from ..messages import Json, Usage, Verdict
from .feed import Feed
from .notes import InputEvent, Mail


class Turns:
    """One agent acts at a time. Its activation ends when answers have arrived; the next has them as inputs."""

    def __init__(self, feed: Feed, mail: Mail) -> None:
        self.feed = feed
        self.mail = mail
        self.activation: Activation | None = None
        self.agent = ""  # the agent of the open or the latest activation
        self._next_inputs: dict[str, InputEvent] = {}  # inputs of the next activation
        self._notes: list[InputEvent] = []  # inputs of the open activation with the monitor's text
        self._unread: list[InputEvent] = []  # the notes that no model has received yet
        self._fyi_inputs: set[str] = set()

    def add_input(self, input: InputEvent) -> None:
        """Adds an input to the next activation."""
        known = self._next_inputs.get(input.event)
        self._next_inputs[input.event] = input if known is None or input.text is not None else known
        if input.fyi:
            self._fyi_inputs.add(input.event)

    def add_usage(self, usage: Usage) -> None:
        """Adds to what the open activation used."""
        if self.activation is not None:
            self.activation.add_usage(usage)

    async def begin(self, agent: str) -> Activation:
        """Returns the open activation. If none is open, begins one with all waiting inputs."""
        if self.activation is None:
            self.agent = agent
            for input in self.mail.take(agent):
                self.add_input(input)
            notes = [input for input in self._next_inputs.values() if input.text]
            self._notes, self._unread = notes, list(notes)
            self.activation = self.feed.activation(agent, self._next_inputs)
            self._next_inputs = {}
            await self.activation.__aenter__()
        return self.activation

    async def advance(self) -> None:
        """If answers have arrived, ends the activation and begins one that has them as inputs."""
        if self.activation is not None and self._next_inputs:
            notes, unread = self._notes, self._unread
            self._unread = []
            await self.end()
            await self.begin(self.agent)
            self._notes, self._unread = notes + self._notes, unread + self._unread

    def read_notes(self) -> list[str]:
        """Returns the monitor's texts for the model that is called now, and reports them as applied."""
        unread, self._unread = self._unread, []
        for input in unread:
            if input.verdict is not None:
                self.feed.applied(input.event, input.verdict)
        return [input.text for input in self._notes if input.text]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs of the open activation, without notices."""
        return () if self.activation is None else tuple(e for e in self.activation.inputs if e not in self._fyi_inputs)

    async def emit(self, recipients: Iterable[str], payload: Json, kind: str, *, id: str | None = None,
                   fyi: bool = False) -> Verdict:
        """An output while the activation stays open."""
        assert self.activation is not None
        return await self.activation.emit(recipients, payload, kind=kind, id=id, fyi=fyi)

    async def end_with_output(self, recipients: Iterable[str], payload: Json, kind: str, *, submit: bool = False,
                              fyi: bool = False) -> Verdict:
        """Ends the activation with an output."""
        activation = self.activation
        assert activation is not None
        event = activation.output(recipients, payload, kind=kind, submit=submit, fyi=fyi)
        await self.end()
        return activation.verdict(event)

    async def reroute_inputs(self, agent: str) -> tuple[Verdict, ...]:
        """Ends the activation by rerouting its inputs to another agent."""
        activation = self.activation
        assert activation is not None
        for event in self.inputs:
            activation.reroute(event, (agent,))
        await self.end()
        return activation.verdicts

    async def end(self, reaction: str = "consume") -> None:
        """Ends the activation, if one is open, with one reaction to all of its inputs."""
        activation = self._close()
        if activation is None:
            return
        if reaction != "consume":
            for event in activation.inputs:
                {"wait": activation.wait, "discard": activation.discard}[reaction](event)
        await activation.end()

    async def take_rest(self) -> None:
        """Begins an activation for inputs that no activation has taken, if there are any."""
        if self._next_inputs and self.activation is None:
            await self.begin(self.agent)
        await self.advance()

    async def settle(self, reaction: str = "consume") -> None:
        """Ends the activation with one reaction to all inputs, those included that no activation has taken."""
        await self.take_rest()
        await self.end(reaction)

    async def fail(self, error: BaseException | str) -> list[str]:
        """Ends the activation as failed. Returns its inputs, which stay pending."""
        await self.take_rest()
        activation = self._close()
        if activation is None:
            return []
        await activation.end(error if isinstance(error, str) else error_text(error))
        return list(activation.inputs)

    def _close(self) -> Activation | None:
        activation, self.activation = self.activation, None
        unread, self._unread, self._notes = self._unread, [], []
        for input in unread:
            if input.verdict is not None:
                self.feed.applied(input.event, input.verdict, as_is="no model was called")
        return activation


def has_no_arguments(arguments: str) -> bool:
    """Whether a handoff has no arguments."""
    return arguments.strip() in ("", "{}", "null")


def is_rerouted(verdict: Verdict) -> bool:
    """Whether the monitor sends the event to other agents."""
    return verdict.action == "reroute"


def input_from_verdict(verdict: Verdict, **more: Any) -> InputEvent:
    """The event of a verdict as an input, with the verdict's text and the fields in `more`."""
    return InputEvent(verdict.event, verdict.inject, verdict if verdict.action != "deliver" else None, **more)
