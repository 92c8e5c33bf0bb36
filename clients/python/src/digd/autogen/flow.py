"""Which messages are on their way or held, what a user's intervention handlers drop, and an agent's line of work."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from autogen_core import DropMessage

from ..line import Line
from ..messages import Json, Outcome, Verdict
from ..run import Run


class Flow:
    """The messages that are not handled yet, by AutoGen's message id, and the chats that run."""

    def __init__(self) -> None:
        self._recipients: dict[str, set[str]] = {}
        self._work: set[str] = set()  # messages that ask for something
        self._chats: set[str] = set()
        self._announcing = 0  # messages that are held, and not on their way yet

    @contextmanager
    def announcing(self) -> Iterator[None]:
        self._announcing += 1
        try:
            yield
        finally:
            self._announcing -= 1

    def send(self, message: str, agents: Iterable[str], *, is_work: bool) -> None:
        self._recipients[message] = set(agents)
        if is_work and self._recipients[message]:
            self._work.add(message)

    def expects(self, message: str, agent: str) -> bool:
        """Whether the message is on its way to this agent, or being handled by it."""
        return agent in self._recipients.get(message, ())

    def handle(self, message: str, agent: str) -> None:
        """The agent is done with the message."""
        left = self._recipients.get(message)
        if left is not None:
            left.discard(agent)

    def is_handled(self, message: str) -> bool:
        return not self._recipients.get(message)

    def forget(self, message: str) -> set[str]:
        """Nobody handles the message any more. Returns who has not handled it."""
        self._work.discard(message)
        return self._recipients.pop(message, set())

    def start_chat(self, chat: str) -> None:
        self._chats.add(chat)

    def end_chat(self, chat: str) -> None:
        self._chats.discard(chat)

    def rests(self, but: Iterable[str] = (), announcing: int = 0) -> bool:
        """Whether no work is on its way or being handled, and no chat runs, but for these messages and chats.

        announcing: how many held messages are the caller's own.
        """
        own = set(but)
        return self._work <= own and self._chats <= own and self._announcing <= announcing


class Holds:
    """Messages that wait for their verdict. While there are some, no handler starts.

    Without digd, sending does not suspend. So what a handler does between two messages, and the order in which handlers
    start, are as they would be.
    """

    def __init__(self) -> None:
        self._held = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_starting = False  # somebody was let go and does not run yet
        self._none_held = asyncio.Event()
        self._none_held.set()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        self._held += 1
        self._none_held.clear()
        try:
            yield
        finally:
            self._held -= 1
            if not self._held:
                self._none_held.set()
                self._start_next()

    def _start_next(self) -> None:
        """Lets whoever has waited longest start; the next one follows once that one suspends and holds nothing."""
        while self._waiting and not self._held and not self._is_starting:
            start = self._waiting.popleft()
            if not start.done():
                self._is_starting = True
                start.set_result(None)

    async def start(self) -> None:
        """Waits until a delivery or a handler may start, in the order of the calls."""
        if not (self._held or self._waiting or self._is_starting):
            return
        loop = asyncio.get_running_loop()
        start = loop.create_future()
        self._waiting.append(start)
        try:
            await start
        finally:
            if start.done() and not start.cancelled():
                self._is_starting = False
                loop.call_soon(self._start_next)

    async def rest(self, queue: Any) -> None:
        """Waits until AutoGen's queue is done and no message is held that would be put into it."""
        await queue.join()
        while self._held:
            await self._none_held.wait()
            await queue.join()


class RunState:
    """What the runtimes of one run share: what is on its way, the answer, and the outcome."""

    def __init__(self) -> None:
        self.flow = Flow()
        self.runtimes: list[Any] = []
        self.deferred: tuple[str, str, Any] | None = None  # an answer that is submitted once all else is handled
        self.answer: Any = None
        self.answered = asyncio.Event()
        self.outcome: Outcome = "success"  # of the last call from outside

    @classmethod
    def of(cls, run: Run) -> RunState:
        """The run's own; it lives as long as the run."""
        state: RunState = vars(run).setdefault("_autogen_state", cls())
        return state

    def settle(self, answer: Any) -> None:
        """The answer was let through; the first one counts."""
        if not self.answered.is_set():
            self.answer = answer
            self.answered.set()


class AgentLine(Line):
    """An agent's line of work, with outputs that ask nothing and with an end for what was given up."""

    async def end_with(self, recipients: Iterable[str], payload: Json, kind: str, *, submit: bool = False,
                       fyi: bool = False) -> Verdict:
        """Ends the activation with one output."""
        activation = self.activation
        assert activation is not None
        event = activation.output(recipients, payload, kind=kind, submit=submit, fyi=fyi)
        await self.end()
        return activation.verdict(event)

    async def end_failed(self, error: BaseException, payload: Json, recipients: Iterable[str] = ()) -> str:
        """Ends the activation as failed, and takes its inputs up again with the error as the only output.

        Whoever waits is given the error, so that the inputs are no open work. Returns the error's event.
        """
        await self.fail(error)
        inputs, self._next = tuple(self._next), {}
        to = list(recipients)
        async with self.run.activation(self.agent, inputs) as noticed:
            event = noticed.output(to, payload, kind="error", fyi=not to)
        return event


async def consume_unseen(run: Run, agent: str, event: str) -> None:
    """The agent was never called with the event: it is taken up without effect."""
    async with run.activation(agent, [event]):
        pass


class _Dropping:
    """A user's intervention handler, with a report of the published messages that it drops or fails on."""

    def __init__(self, handler: Any, dropped: Callable[[str], Awaitable[None]]) -> None:
        self._handler = handler
        self._dropped = dropped

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handler, name)

    async def on_publish(self, message: Any, *, message_context: Any) -> Any:
        try:
            result = await self._handler.on_publish(message, message_context=message_context)
        except BaseException:
            await self._dropped(message_context.message_id)
            raise
        if result is DropMessage or isinstance(result, DropMessage):
            await self._dropped(message_context.message_id)
        return result


def reporting_drops(handlers: Iterable[Any], dropped: Callable[[str], Awaitable[None]]) -> list[Any]:
    """The handlers behind stand-ins of the same class names, which AutoGen puts into its traces."""
    return [type(type(handler).__name__, (_Dropping,), {})(handler, dropped) for handler in handlers]
