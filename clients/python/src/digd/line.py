"""Parts that adapters of agent frameworks share: an agent's line of work, and the mail that waits for agents.

A framework calls an agent, the agent asks others, continues with their answers, and finally gives an output. digd sees
a line of activations. One ends when answers have arrived; the next has the answers as inputs, so that later outputs
derive from them. Use the classes on one event loop only.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from .activation import Activation, error_text
from .messages import EventLike, Json, Usage, Verdict
from .waiting import wait_at_most

log = logging.getLogger("digd")

MAX_MAIL = 64  # events that wait for one agent; the oldest is dropped first
MAX_TEXT_CHARACTERS = 16384  # of a text in a payload
MAX_ROUNDS = 16  # how often one call may be resumed, independent of the daemon's limits
NOTE = "Note from the monitor of this run: "


class InputEvent(NamedTuple):
    """An event for an agent, and the text that the monitor adds to it.

    verdict: the verdict with the text. The line reports it as applied when the agent has received the text.
    fyi: whether the event is a notice, which a reroute of the inputs leaves out.
    """

    event: str
    text: str | None = None
    verdict: Verdict | None = None
    fyi: bool = False


class GivenBack(Exception):
    """Raised for a request that the monitor gave back to its author. The text says why, and what to do next."""

    def __init__(self, event: str, text: str) -> None:
        super().__init__(text)
        self.event = event
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
        self.dropped = 0  # events; the first one is logged
        self._events_by_agent: defaultdict[str, deque[InputEvent]] = defaultdict(deque)
        self._woken: dict[str, None] = {}  # agents to be called for their mail, in the order of its arrival
        self._woken_event = asyncio.Event()

    def put(self, agent: str, given: InputEvent, *, wakes: bool = False) -> None:
        """Adds an event to the agent's mail. `wakes`: the agent is to be called for it now, not at its next call."""
        queued = self._events_by_agent[agent]
        queued.append(given)
        if len(queued) > MAX_MAIL:
            queued.popleft()
            self._count_dropped(agent)
        if wakes:
            self._woken[agent] = None
            self._woken_event.set()

    def _count_dropped(self, agent: str) -> None:
        self.dropped += 1
        if self.dropped == 1:
            log.warning(
                "digd: more than %d events wait for agent %r, which is not called; the oldest are dropped",
                MAX_MAIL,
                agent,
            )

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


class LineRun(Protocol):
    """The methods that a line needs of a run, or of an adapter's feed to a run."""

    def activation(self, agent: str, inputs: Iterable[EventLike]) -> Activation: ...

    def applied(self, event: str, verdict: Verdict, *, as_is: str | None = None) -> None: ...


class Line:
    """One agent acts at a time, in consecutive activations. Answers end an activation and are inputs of the next one.

    run: creates the activations. mail: the events that wait for agents.
    """

    def __init__(self, run: LineRun, mail: Mail) -> None:
        self._run = run
        self.mail = mail
        self.activation: Activation | None = None
        self.agent = ""  # the agent that acts, or acted last
        self._used = Usage()  # before the next activation begins
        self._next_inputs: dict[str, InputEvent] = {}  # inputs of the next activation
        self._notes: list[InputEvent] = []  # inputs of the open activation with the monitor's text
        self._unread: list[InputEvent] = []  # the notes that the agent has not received yet
        self._fyi_inputs: set[str] = set()

    def add_input(self, input: InputEvent) -> None:
        """Adds an input to the next activation."""
        known = self._next_inputs.get(input.event)
        self._next_inputs[input.event] = input if known is None or input.text else known
        if input.fyi:
            self._fyi_inputs.add(input.event)

    async def begin(self, agent: str) -> Activation:
        """Returns the open activation. If none is open, begins one with the added inputs and the agent's mail."""
        if self.activation is None:
            self.agent = agent
            for input in self.mail.take(agent):
                self.add_input(input)
            self._notes = [input for input in self._next_inputs.values() if input.text]
            self._unread = list(self._notes)
            self.activation = self._run.activation(agent, self._next_inputs)
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

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs of the open activation, without notices."""
        return () if self.activation is None else tuple(e for e in self.activation.inputs if e not in self._fyi_inputs)

    @property
    def notes(self) -> list[str]:
        """The monitor's texts for the open activation."""
        return [input.text for input in self._notes if input.text]

    def read_notes(self) -> list[str]:
        """Returns the notes. Call it when the agent receives them: it reports their verdicts as applied."""
        unread, self._unread = self._unread, []
        for input in unread:
            if input.verdict is not None:
                self._run.applied(input.event, input.verdict)
        return self.notes

    async def advance(self) -> None:
        """If answers have arrived, ends the activation and begins one that has them as inputs."""
        if self.activation is not None and self._next_inputs:
            notes, unread = self._notes, self._unread
            self._unread = []
            await self.end()
            await self.begin(self.agent)
            self._notes, self._unread = notes + self._notes, unread + self._unread

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

    async def end_with(
        self, recipients: Iterable[str], payload: Json, kind: str, *, submit: bool = False, fyi: bool = False
    ) -> Verdict:
        """Ends the activation with an output."""
        activation = self.activation
        assert activation is not None
        event = activation.output(recipients, payload, kind=kind, submit=submit, fyi=fyi)
        await self.end()
        return activation.verdict(event)

    async def reroute_inputs(self, agents: Iterable[str]) -> tuple[Verdict, ...]:
        """Ends the activation by rerouting its inputs to other agents."""
        activation = self.activation
        assert activation is not None
        to = tuple(agents)
        for event in self.inputs:
            activation.reroute(event, to)
        await self.end()
        return activation.verdicts

    async def end(self, reaction: str = "consume") -> None:
        """Ends the activation, if one is open. `reaction` to all inputs: `consume`, `wait` or `discard`."""
        activation = self._close()
        if activation is None:
            return
        if reaction != "consume":
            for event in activation.inputs:
                {"wait": activation.wait, "discard": activation.discard}[reaction](event)
        await activation.end()

    async def fail(self, error: BaseException | str) -> None:
        """Ends the activation as failed. Its inputs stay pending and are inputs of the next activation."""
        activation = self._close()
        if activation is not None:
            await activation.end(error if isinstance(error, str) else error_text(error))
            self._next_inputs = {**{event: InputEvent(event) for event in activation.inputs}, **self._next_inputs}

    def mail_unused_inputs(self, agent: str, text: str) -> None:
        """Moves the inputs that no activation took into the agent's mail. Those without a text get this one."""
        for input in self._next_inputs.values():
            self.mail.put(agent, InputEvent(input.event, input.text or text))
        self._next_inputs = {}

    def _close(self) -> Activation | None:
        activation, self.activation = self.activation, None
        unread, self._unread, self._notes = self._unread, [], []
        for input in unread:
            if input.verdict is not None:
                self._run.applied(input.event, input.verdict, as_is="no model was called")
        return activation
