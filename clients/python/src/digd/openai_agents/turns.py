"""The activations of one `Runner.run`, one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..activation import Activation, error_text
from ..messages import Json, Verdict
from .feed import Feed
from .notes import Given, Mail


class Turns:
    """One agent acts at a time. Its activation ends when answers have come in; the next has them as inputs."""

    def __init__(self, feed: Feed, mail: Mail) -> None:
        self.feed = feed
        self.mail = mail
        self.activation: Activation | None = None
        self.agent = ""  # the agent of the open or the latest activation
        self._next: dict[str, Given] = {}  # inputs of the next activation
        self._notes: list[Given] = []  # what the monitor adds to the model's input in the open activation
        self._unread: list[Given] = []  # those of the notes that no model was given yet
        self._fyi: set[str] = set()

    def give(self, given: Given) -> None:
        """An input for the next activation."""
        known = self._next.get(given.event)
        self._next[given.event] = given if known is None or given.text is not None else known
        if given.fyi:
            self._fyi.add(given.event)

    async def begin(self, agent: str) -> Activation:
        """The open activation; if none is open, a new one with all inputs that wait."""
        if self.activation is None:
            self.agent = agent
            for given in self.mail.take(agent):
                self.give(given)
            notes = [given for given in self._next.values() if given.text]
            self._notes, self._unread = notes, list(notes)
            self.activation = self.feed.activation(agent, self._next)
            self._next = {}
            await self.activation.__aenter__()
        return self.activation

    async def turn(self) -> None:
        """Goes on with answers that have come in: they are inputs of a new activation."""
        if self.activation is not None and self._next:
            notes, unread = self._notes, self._unread
            self._unread = []
            await self.end()
            await self.begin(self.agent)
            self._notes, self._unread = notes + self._notes, unread + self._unread

    def read_notes(self) -> list[str]:
        """The monitor's texts for the model that is called now. They count as applied from here on."""
        unread, self._unread = self._unread, []
        for given in unread:
            if given.verdict is not None:
                self.feed.applied(given.event, given.verdict)
        return [given.text for given in self._notes if given.text]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs of the open activation that ask something of the agent."""
        return () if self.activation is None else tuple(e for e in self.activation.inputs if e not in self._fyi)

    async def emit(self, recipients: Iterable[str], payload: Json, kind: str, *, id: str | None = None,
                   fyi: bool = False) -> Verdict:
        """An output while the activation stays open."""
        assert self.activation is not None
        return await self.activation.emit(recipients, payload, kind=kind, id=id, fyi=fyi)

    async def put_out(self, recipients: Iterable[str], payload: Json, kind: str, *, submit: bool = False,
                      fyi: bool = False) -> Verdict:
        """Ends the activation with an output."""
        activation = self.activation
        assert activation is not None
        event = activation.output(recipients, payload, kind=kind, submit=submit, fyi=fyi)
        await self.end()
        return activation.verdict(event)

    async def pass_on(self, agent: str) -> tuple[Verdict, ...]:
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
        """Takes inputs that no activation has taken: of a run that ended before its agent began, or of late answers."""
        if self._next and self.activation is None:
            await self.begin(self.agent)
        await self.turn()

    async def settle(self, reaction: str = "consume") -> None:
        """Ends the activation with one reaction to everything that was given."""
        await self.take_rest()
        await self.end(reaction)

    async def fail(self, error: BaseException | str) -> list[str]:
        """Ends the activation as failed; returns its inputs, which stay pending."""
        await self.take_rest()
        activation = self._close()
        if activation is None:
            return []
        await activation.end(error if isinstance(error, str) else error_text(error))
        return list(activation.inputs)

    def _close(self) -> Activation | None:
        activation, self.activation = self.activation, None
        unread, self._unread, self._notes = self._unread, [], []
        for given in unread:
            if given.verdict is not None:
                self.feed.applied(given.event, given.verdict, as_is="no model was called")
        return activation


def is_bare(arguments: str) -> bool:
    """Whether a hand-off's arguments say nothing."""
    return arguments.strip() in ("", "{}", "null")


def sent_back(verdict: Verdict) -> bool:
    """Whether the monitor sends an event elsewhere."""
    return verdict.action == "reroute"


def given_by(verdict: Verdict, **more: Any) -> Given:
    """The event of a verdict as an input, with the verdict's text."""
    return Given(verdict.event, verdict.inject, verdict if verdict.action != "deliver" else None, **more)
