"""Parts that adapters of agent frameworks share: an agent's line of work, and the mail that waits for agents.

A framework calls an agent, the agent asks others, goes on with their answers, and at last gives an output. digd sees a line of
activations: one ends when answers have come in, and the next takes these as its inputs, so that later outputs derive from
them. Use it on one event loop only.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from .activation import Activation, error_text
from .messages import Intervention, Json, Verdict, event_id
from .run import Run

MAX_MAIL = 64  # events that wait for one agent; the oldest is dropped first
MAX_TEXT_CHARACTERS = 16384  # of a text in a payload
ROUNDS = 16  # how often one call may be resumed, whatever the daemon's own limits
NOTE = "Note from the monitor of this run: "


class Given(NamedTuple):
    """An event for an agent, and the text that the monitor adds to it."""

    event: str
    note: str | None = None


class GivenBack(Exception):
    """A request that the monitor gave back to the agent that made it; its text says why and what to do now."""

    def __init__(self, event: str, text: str) -> None:
        super().__init__(text)
        self.given = Given(event, text)


def text_payload(value: Json) -> dict[str, Json]:
    """A payload with the text of a value, cut to MAX_TEXT_CHARACTERS."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return {"text": text[:MAX_TEXT_CHARACTERS]}


said = text_payload  # the name that adapters import


def quoted(text: str) -> str:
    """Text of an agent within a text for another: one JSON string, so that it cannot pass for the monitor's words."""
    return json.dumps(text[:MAX_TEXT_CHARACTERS], ensure_ascii=False)


class Mail:
    """Events that wait for agents which are not being called: interventions, and what a failed call left."""

    def __init__(self) -> None:
        self.dropped = 0
        self._of: defaultdict[str, deque[Given]] = defaultdict(deque)
        self._woken: dict[str, None] = {}  # agents that are to act on theirs, in the order in which it came
        self._came = asyncio.Event()

    def carry_out(self, intervention: Intervention) -> None:
        """An intervention's event for each of its recipients; for `Run.on_intervention`."""
        for agent in intervention.recipients:
            self.put(agent, Given(event_id(intervention), intervention.inject), wakes=True)

    def put(self, agent: str, given: Given, *, wakes: bool = False) -> None:
        """Leaves an event for the agent. `wakes`: it is to be called for it, not only given it when it is called next."""
        waiting = self._of[agent]
        waiting.append(given)
        if len(waiting) > MAX_MAIL:
            waiting.popleft()
            self.dropped += 1
        if wakes:
            self._woken[agent] = None
            self._came.set()

    def take(self, agent: str) -> list[Given]:
        """What waits for the agent; it is the caller's from now on."""
        self._woken.pop(agent, None)
        return list(self._of.pop(agent, ()))

    def woken(self, first: str, known: Callable[[str], bool]) -> str | None:
        """An agent that is to act on its mail: `first` if it is, else any that is known."""
        return next((n for n in (first, *self._woken) if n in self._woken and known(n)), None)

    async def wait(self, first: str, known: Callable[[str], bool], within_s: float) -> str | None:
        """As `woken`, and waits for one."""
        deadline = asyncio.get_running_loop().time() + within_s
        while (agent := self.woken(first, known)) is None:
            left_s = deadline - asyncio.get_running_loop().time()
            if left_s <= 0:
                return None
            self._came.clear()
            try:
                await asyncio.wait_for(self._came.wait(), left_s)
            except asyncio.TimeoutError:
                return None
        return agent


class Line:
    """One agent at a time, in activations that follow one another."""

    def __init__(self, run: Run, mail: Mail) -> None:
        self.run = run
        self.mail = mail
        self.activation: Activation | None = None
        self.agent = ""  # who acts, or acted last
        self.notes: list[str] = []  # the monitor's texts for the open activation
        self._next: dict[str, str | None] = {}  # inputs of the next activation, with their notes
        self._repeats: set[str] = set()  # inputs that were announced and taken before: these are not rerouted

    def give(self, event: str, note: str | None = None, *, again: bool = False) -> None:
        """An input for the next activation. `again`: it is one that agents were given before."""
        self._next[event] = note or self._next.get(event)
        if again:
            self._repeats.add(event)

    async def begin(self, agent: str) -> Activation:
        """The activation that is open; a new one, with what was given and the agent's mail, if none is."""
        if self.activation is None:
            self.agent = agent
            for event, note in self.mail.take(agent):
                self.give(event, note)
            self.notes = [note for note in self._next.values() if note]
            self.activation = self.run.activation(agent, self._next)
            self._next = {}
            await self.activation.__aenter__()
        return self.activation

    @property
    def waiting(self) -> bool:
        """Whether there is something to begin with."""
        return bool(self._next)

    async def turn(self) -> None:
        """Where answers have come in, the agent goes on with them."""
        if self.activation is not None and self._next:
            notes = self.notes
            await self.end()
            await self.begin(self.agent)
            self.notes = notes + self.notes

    async def emit(
        self,
        recipients: Iterable[str],
        payload: Json,
        kind: str | None = None,
        *,
        id: str | None = None,
        fyi: bool = False,
        submit: bool = False,
    ) -> Verdict:
        """An output while the activation stays open."""
        assert self.activation is not None
        return await self.activation.emit(recipients, payload, kind=kind, id=id, fyi=fyi, submit=submit)

    async def put_out(
        self, recipients: Iterable[str], payload: Json, kind: str | None = None, *, submit: bool = False
    ) -> Verdict:
        """Ends the activation with an output."""
        assert self.activation is not None
        event = self.activation.output(recipients, payload, kind=kind, submit=submit)
        activation = self.activation
        await self.end()
        return activation.verdict(event)

    def can_pass_on(self) -> bool:
        """Whether all inputs may be rerouted."""
        return (
            self.activation is not None
            and bool(self.activation.inputs)
            and not (self._repeats & set(self.activation.inputs))
        )

    async def pass_on(self, agents: Iterable[str]) -> tuple[Verdict, ...]:
        """Ends the activation by handing all its inputs to others."""
        assert self.activation is not None
        to = tuple(agents)
        for event in self.activation.inputs:
            self.activation.reroute(event, to)
        activation = self.activation
        await self.end()
        return activation.verdicts

    async def end(self, reactions: Mapping[str, str] | None = None) -> tuple[Verdict, ...]:
        """Ends the activation, if one is open. `reactions`: of inputs that are not consumed."""
        activation, self.activation, self.notes = self.activation, None, []
        if activation is None:
            return ()
        for event, reaction in (reactions or {}).items():
            {"wait": activation.wait, "discard": activation.discard}[reaction](event)
        return await activation.end()

    async def pause(self) -> None:
        """Ends the activation with its inputs left pending; the next one is given them again."""
        if self.activation is not None:
            inputs = self.activation.inputs
            await self.end({event: "wait" for event in inputs})
            self._give_again(inputs)

    async def fail(self, error: BaseException) -> None:
        """Ends the activation as failed; its inputs stay pending, and the next one is given them again."""
        activation, self.activation, self.notes = self.activation, None, []
        if activation is not None:
            await activation.end(error_text(error))
            self._give_again(activation.inputs)

    def _give_again(self, inputs: Iterable[str]) -> None:
        self._next = {**dict.fromkeys(inputs), **self._next}

    def leave(self, agent: str, note: Callable[[str], str | None]) -> None:
        """What was given and not taken goes into the agent's mail, with a note each."""
        for event, text in self._next.items():
            self.mail.put(agent, Given(event, text or note(event)))
        self._next = {}
