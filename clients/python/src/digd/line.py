"""Parts that adapters of agent frameworks share: an agent's line of work, and the mail that waits for agents.

A framework calls an agent, the agent asks others, continues with their answers, and finally gives an output. digd sees
a line of activations. One ends when answers have arrived; the next has the answers as inputs, so that later outputs
derive from them. Use the classes on one event loop only.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from .activation import Activation, error_text
from .messages import Json, Usage, Verdict
from .run import Run
from .waiting import wait_at_most

MAX_MAIL = 64  # events that wait for one agent; the oldest is dropped first
MAX_TEXT_CHARACTERS = 16384  # of a text in a payload
MAX_ROUNDS = 16  # how often one call may be resumed, independent of the daemon's limits
NOTE = "Note from the monitor of this run: "


class InputEvent(NamedTuple):
    """An event for an agent, and the text that the monitor adds to it."""

    event: str
    note: str | None = None


class GivenBack(Exception):
    """Raised for a request that the monitor gave back to its author. The text says why, and what to do next."""

    def __init__(self, event: str, text: str) -> None:
        super().__init__(text)
        self.input = InputEvent(event, text)


def text_payload(text: str) -> dict[str, Json]:
    """Returns a payload with a text, cut to MAX_TEXT_CHARACTERS."""
    return {"text": text[:MAX_TEXT_CHARACTERS]}


def quoted(text: str) -> str:
    """Quotes an agent's text within the monitor's text: as a JSON string it cannot pass for the monitor's words."""
    return json.dumps(text[:MAX_TEXT_CHARACTERS], ensure_ascii=False)


class Mail:
    """Events that wait for agents that are not being called: interventions, and the inputs of failed calls."""

    def __init__(self) -> None:
        self.dropped = 0
        self._events_by_agent: defaultdict[str, deque[InputEvent]] = defaultdict(deque)
        self._woken: dict[str, None] = {}  # agents to be called for their mail, in the order of its arrival
        self._woken_event = asyncio.Event()

    def put(self, agent: str, given: InputEvent, *, wakes: bool = False) -> None:
        """Adds an event to the agent's mail. `wakes`: the agent is to be called for it now, not at its next call."""
        queued = self._events_by_agent[agent]
        queued.append(given)
        if len(queued) > MAX_MAIL:
            queued.popleft()
            self.dropped += 1
        if wakes:
            self._woken[agent] = None
            self._woken_event.set()

    def take(self, agent: str) -> list[InputEvent]:
        """Removes and returns the agent's mail."""
        self._woken.pop(agent, None)
        return list(self._events_by_agent.pop(agent, ()))

    def first_woken(self, preferred: str, known: Callable[[str], bool]) -> str | None:
        """An agent that is to be called for its mail: `preferred` if it is, else the first known one."""
        return next((n for n in (preferred, *self._woken) if n in self._woken and known(n)), None)

    async def wait(self, preferred: str, known: Callable[[str], bool], within_s: float) -> str | None:
        """As `first_woken`, but waits until there is one."""
        deadline = asyncio.get_running_loop().time() + within_s
        while (agent := self.first_woken(preferred, known)) is None:
            left_s = deadline - asyncio.get_running_loop().time()
            if left_s <= 0:
                return None
            self._woken_event.clear()
            await wait_at_most(self._woken_event.wait(), left_s)
        return agent


class Line:
    """One agent at a time, in consecutive activations."""

    def __init__(self, run: Run, mail: Mail) -> None:
        self.run = run
        self.mail = mail
        self.activation: Activation | None = None
        self.agent = ""  # the agent that acts, or acted last
        self.notes: list[str] = []  # the monitor's texts for the open activation
        self._used = Usage()  # before the next activation begins
        self._next_inputs: dict[str, str | None] = {}  # inputs of the next activation, with their notes

    def add_input(self, event: str, note: str | None = None) -> None:
        """Adds an input to the next activation."""
        self._next_inputs[event] = note or self._next_inputs.get(event)

    async def begin(self, agent: str) -> Activation:
        """Returns the open activation. If none is open, begins one with the added inputs and the agent's mail."""
        if self.activation is None:
            self.agent = agent
            for event, note in self.mail.take(agent):
                self.add_input(event, note)
            self.notes = [note for note in self._next_inputs.values() if note]
            self.activation = self.run.activation(agent, self._next_inputs)
            self._next_inputs = {}
            self.activation.add_usage(self._used)
            self._used = Usage()
            await self.activation.__aenter__()
        return self.activation

    def add_usage(self, usage: Usage) -> None:
        """Adds to what the open activation used, or the next one if none is open."""
        if self.activation is not None:
            self.activation.add_usage(usage)
        else:
            self._used += usage

    @property
    def has_inputs(self) -> bool:
        """Whether the next activation has inputs."""
        return bool(self._next_inputs)

    async def advance(self) -> None:
        """If answers have arrived, ends the activation and begins one that has them as inputs."""
        if self.activation is not None and self._next_inputs:
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
        fyi: bool = False,
        submit: bool = False,
    ) -> Verdict:
        """An output while the activation stays open."""
        assert self.activation is not None
        return await self.activation.emit(recipients, payload, kind=kind, fyi=fyi, submit=submit)

    def can_reroute_inputs(self) -> bool:
        """Whether an activation with inputs is open."""
        return self.activation is not None and bool(self.activation.inputs)

    async def reroute_inputs(self, agents: Iterable[str]) -> tuple[Verdict, ...]:
        """Ends the activation by rerouting all its inputs to other agents."""
        assert self.activation is not None
        to = tuple(agents)
        for event in self.activation.inputs:
            self.activation.reroute(event, to)
        activation = self.activation
        await self.end()
        return activation.verdicts

    async def end(self) -> tuple[Verdict, ...]:
        """Ends the activation, if one is open."""
        activation, self.activation, self.notes = self.activation, None, []
        if activation is None:
            return ()
        return await activation.end()

    async def fail(self, error: BaseException) -> None:
        """Ends the activation as failed. Its inputs stay pending and are inputs of the next activation."""
        activation, self.activation, self.notes = self.activation, None, []
        if activation is not None:
            await activation.end(error_text(error))
            self._next_inputs = {**dict.fromkeys(activation.inputs), **self._next_inputs}

    def mail_unused_inputs(self, agent: str, note: Callable[[str], str | None]) -> None:
        """Moves the inputs that no activation took into the agent's mail, each with a note."""
        for event, text in self._next_inputs.items():
            self.mail.put(agent, InputEvent(event, text or note(event)))
        self._next_inputs = {}
