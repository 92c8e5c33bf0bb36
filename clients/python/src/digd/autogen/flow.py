"""The messages in flight or held, the messages that a user's intervention handlers drop, and agents' lines of work."""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from autogen_core import DropMessage, MessageContext

from ..cancellation import Cancellable, cancelled_text
from ..line import Line, Mail
from ..messages import Intervention, Json, Outcome, Verdict
from ..run import Run
from .tokens import CallToken


class Flow:
    """The messages that are not handled yet, by AutoGen's message id, and the running chats."""

    def __init__(self) -> None:
        self._recipients: dict[str, set[str]] = {}
        self._work: set[str] = set()  # messages that ask for something
        self._chats: set[str] = set()
        self._announcing = 0  # messages that wait for their verdict and are not sent yet

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
        """Whether this agent has not handled the message yet."""
        return agent in self._recipients.get(message, ())

    def handle(self, message: str, agent: str) -> None:
        """Notes that the agent has handled the message."""
        remaining = self._recipients.get(message)
        if remaining is not None:
            remaining.discard(agent)

    def is_handled(self, message: str) -> bool:
        return not self._recipients.get(message)

    def forget(self, message: str) -> set[str]:
        """Removes a message that no agent will handle any more. Returns the agents that have not handled it."""
        self._work.discard(message)
        return self._recipients.pop(message, set())

    def start_chat(self, chat: str) -> None:
        self._chats.add(chat)

    def end_chat(self, chat: str) -> None:
        self._chats.discard(chat)

    def is_idle(self, except_for: Iterable[str] = (), announcing: int = 0) -> bool:
        """Whether no chat runs, and no work is in flight or being handled.

        except_for: messages and chats to ignore.
        announcing: the number of held messages that belong to the caller.
        """
        own = set(except_for)
        return self._work <= own and self._chats <= own and self._announcing <= announcing


class Holds:
    """Counts messages that wait for their verdict. While there are any, no handler starts.

    Without digd, sending a message does not suspend its sender. Because of this class, handlers start in the same order
    as without digd, and no handler starts between two messages of another handler.
    """

    def __init__(self) -> None:
        self._held = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_starting = False  # a waiting task was released and does not run yet
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
        """Releases the task that has waited longest. The next one follows when it suspends and holds nothing."""
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

    async def wait_until_idle(self, queue: Any) -> None:
        """Waits until AutoGen's queue is processed and no message is held that would enter it."""
        await queue.join()
        while self._held:
            await self._none_held.wait()
            await queue.join()


class RunState:
    """The state that the runtimes of one run share: messages in flight, the answer, and the outcome."""

    def __init__(self) -> None:
        self.flow = Flow()
        self.runtimes: list[Any] = []
        self.lines: weakref.WeakSet[AgentLine] = weakref.WeakSet()
        self.deferred: tuple[str, str, Any] | None = None  # agent, event and message of an answer to submit at rest
        self.answer: Any = None
        self.answered = asyncio.Event()
        self.outcome: Outcome = "success"  # of the last call from outside

    @classmethod
    def of(cls, run: Run) -> RunState:
        """Returns the state of this run. It is stored on the run, so that both are freed together."""
        state: RunState = vars(run).setdefault("_autogen_state", cls())
        return state

    def settle(self, answer: Any) -> None:
        """Stores the answer that was delivered. Later calls do nothing."""
        if not self.answered.is_set():
            self.answer = answer
            self.answered.set()


class AgentLine(Line):
    """An agent's line of work that can end with an error, and that digd can cancel."""

    work: Cancellable[Any] | None = None
    was_cancelled = False  # digd ended the work of the last call

    def __init__(self, run: Run, mail: Mail) -> None:
        super().__init__(run, mail)
        self.run = run

    async def do(self, call: Callable[[MessageContext], Coroutine[Any, Any, Any]], ctx: MessageContext) -> Any:
        """Awaits the agent's work. An intervention can end it if the run's mode allows it, with all that is linked to
        the cancellation token of the call."""
        if not self.run.heals:
            return await call(ctx)
        token = CallToken(ctx.cancellation_token)
        work = self.work = Cancellable(call(replace(ctx, cancellation_token=token)), token.cancel_alone)
        try:
            return await work
        finally:
            self.work, self.was_cancelled = None, work.is_interrupted

    def cancel(self, intervention: Intervention) -> None:
        """Ends the work of the open activation if the intervention names it."""
        if self.work is not None and self.activation is not None and self.activation.id in intervention.activations:
            self.work.cancel(cancelled_text(self.agent, intervention))

    async def end_failed(self, error: BaseException, payload: Json, recipients: Iterable[str] = ()) -> str:
        """Ends the activation as failed, then consumes its inputs in another one with the error as the only output.

        The recipients get the error, so that the inputs are not open work. Returns the error's event.
        """
        await self.fail(error)
        inputs, self._next_inputs = tuple(self._next_inputs), {}
        to = list(recipients)
        async with self.run.activation(self.agent, inputs) as noticed:
            event = noticed.output(to, payload, kind="error", fyi=not to)
        return event


async def consume_without_call(run: Run, agent: str, event: str) -> None:
    """Consumes an event that the agent was never called with."""
    async with run.activation(agent, [event]):
        pass


class _DropReporter:
    """Wraps a user's intervention handler, and reports the published messages that it drops or fails on."""

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
    """Wraps the handlers. The wrappers have the same class names, because AutoGen's traces contain them."""
    return [type(type(handler).__name__, (_DropReporter,), {})(handler, dropped) for handler in handlers]
