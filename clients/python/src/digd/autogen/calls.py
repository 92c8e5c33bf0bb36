"""Agents at work: each call of a handler is an activation, or several as answers to its requests come in."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autogen_core import Agent, MessageContext, TopicId

from ..line import ROUNDS, Given, GivenBack, quoted, said
from ..messages import Intervention, event_id
from .agents import DIRECT, id_of, name_of
from .flow import AgentLine
from .notes import NoPlaceForNote, content_of, text_of

if TYPE_CHECKING:
    from .runtime import Runtime


@dataclass(eq=False)
class Handling:
    """One call of an agent's handler."""

    runtime: Runtime
    agent: str
    message: Any
    message_id: str
    event: str
    line: AgentLine
    caller: Handling | None = None  # the call that waits for the response; None from outside, and once nobody waits
    back: list[Given] = field(default_factory=list)  # what the monitor gave back to the agent meanwhile
    requests: set[str] = field(default_factory=set)  # message ids of what it waits for
    put_out: bool = False  # something of its own
    content: str = ""  # of the message, as it came
    over: bool = False

    def passes_on(self, message: Any) -> bool:
        """Whether this is the message that it was given, unchanged, and the first thing that it puts out."""
        return message is self.message and not self.put_out and content_of(message) == self.content

    def own_messages(self) -> list[str]:
        """The messages of this call and of those that wait for it."""
        return [self.message_id, *(self.caller.own_messages() if self.caller is not None else ())]


@dataclass(frozen=True)
class Followed:
    """A message to be delivered; `as_is`: not as the verdict wanted it."""

    message: Any
    as_is: bool = False


current: ContextVar[Handling | None] = ContextVar("digd_autogen_handling", default=None)
"""The call that the running code belongs to."""


class Calls:
    """The calls of a runtime's agents, and what waits for the agents that are not being called."""

    def __init__(self, runtime: Runtime, heal_errors: bool) -> None:
        self._runtime = runtime
        self._heal_errors = heal_errors
        self.requests: dict[str, Handling] = {}  # by message id: calls that somebody may wait for
        self.callers: dict[str, Handling] = {}  # by message id: who waits
        self.readers: set[str] = set()  # agents that call notes()
        self.notes: dict[str, str] = {}  # by event: the monitor's text that its message has no place for
        self._last: dict[str, Any] = {}  # the message that each agent handled last
        self._kept: defaultdict[str, list[str]] = defaultdict(list)  # inputs that agents wait with

    def line(self) -> AgentLine:
        return AgentLine(self._runtime.digd_run, self._runtime.mail)

    async def handle(self, agent: Agent, message: Any, ctx: MessageContext) -> Any:
        runtime, name = self._runtime, name_of(agent.id)
        await runtime.holding.start()
        if runtime.chats is not None and runtime.chats.owns(agent.id.type):
            return await runtime.chats.handled(agent, message, ctx)
        event = runtime.event_of(ctx.message_id, name)
        if event is None:  # it has no handler for the message
            return await agent.on_message(message, ctx)
        caller = self.callers.get(ctx.message_id)
        handling = Handling(runtime, name, message, ctx.message_id, event, self.line(), caller)
        for kept in self._kept.pop(name, []):
            handling.line.give(kept)
        handling.line.give(event, self.notes.get(event))
        self._last[name] = message
        if ctx.is_rpc:
            self.requests[ctx.message_id] = handling
        token = current.set(handling)
        try:
            return await self._rounds(handling, agent.on_message, message, ctx)
        finally:
            handling.over = True
            await handling.line.end()  # of a task that put something out while the response was held
            current.reset(token)
            self.requests.pop(ctx.message_id, None)
            await runtime.handled(ctx.message_id, name)

    async def _rounds(self, handling: Handling, inner: Callable[..., Awaitable[Any]], message: Any,
                      ctx: MessageContext) -> Any:
        """Calls the handler, and again while the monitor gives something back to it."""
        line = handling.line
        for _ in range(ROUNDS):
            await line.begin(handling.agent)
            handling.message = self._with_notes(message, line)
            handling.content = content_of(handling.message)
            response = await self._call(handling, inner, ctx)
            if not handling.back:
                response = await self._respond(handling, response, ctx)
            if not handling.back:
                return response
            await self._take_back(handling)
        await line.end()
        return response

    async def _call(self, handling: Handling, inner: Callable[..., Awaitable[Any]], ctx: MessageContext) -> Any:
        try:
            return await inner(handling.message, ctx)
        except GivenBack as back:
            handling.back.append(back.given)
            return None  # it is handled again, with the text
        except BaseException as error:
            await self._fail(handling, error)
            raise
        finally:
            for request in list(handling.requests):
                await self.give_up(request)

    async def _fail(self, handling: Handling, error: BaseException) -> None:
        """The handler raised: whoever waits gets the error, so nothing is left open unless errors are to be healed."""
        line = handling.line
        if line.activation is None:
            await line.begin(handling.agent)
        if self._heal_errors:
            text_before = quoted(text_of(self._last.get(handling.agent, "")))
            await line.fail(error)
            line.leave(handling.agent, lambda event: f"An earlier message to you is still unanswered: {text_before}")
            return
        to = [handling.caller.agent] if handling.caller is not None else []
        with self._runtime.holding():
            event = await line.end_failed(error, said(f"{type(error).__name__}: {error}"), to)
        if to:
            self._runtime.answer_request(handling.message_id, event)

    async def _take_back(self, handling: Handling) -> None:
        """What was given back becomes an input of the next activation, its text a note."""
        self._keep(handling.agent, handling.line)
        await handling.line.end()
        for event, note in handling.back:
            handling.line.give(event, note)
        handling.back, handling.put_out = [], False

    async def _respond(self, handling: Handling, response: Any, ctx: MessageContext) -> Any:
        """Ends the activation, with the response where there is one."""
        line, runtime = handling.line, self._runtime
        if line.waiting and line.activation is None:
            await line.begin(handling.agent)
        await line.turn()
        if not ctx.is_rpc or response is None:
            self._keep(handling.agent, line)
            await line.end()
            return response
        await line.begin(handling.agent)
        self._keep(handling.agent, line)
        to = [handling.caller.agent] if handling.caller is not None else []
        is_answer = runtime.is_answer_message(response, from_outside=ctx.sender is None)
        submit = is_answer and runtime.flow.rests(handling.own_messages())
        with runtime.holding():
            verdict = await line.end_with(to, said(text_of(response)), "response", submit=submit, fyi=not to)
        if is_answer and not submit:
            runtime.defer_answer(handling.agent, verdict.event, response)
        followed = runtime.follow(handling, response, verdict)
        if isinstance(followed, Given):
            handling.back.append(followed)
            return response
        if submit:
            runtime.state.settle(followed.message)
        if to:
            runtime.answer_request(handling.message_id, verdict.event)
        return followed.message

    async def give_up(self, message_id: str) -> None:
        """Nobody waits for the response to this request any more: its handler may go on, but nothing is open."""
        handling = self.requests.get(message_id)
        if handling is not None:
            handling.caller = None
            self._runtime.flow.forget(message_id)
            await handling.line.end()
            for request in list(handling.requests):
                await self.give_up(request)

    def _keep(self, agent: str, line: AgentLine) -> None:
        if line.activation is not None:
            waiting = [e for e, reaction in line.activation.reactions.items() if reaction == "wait"]
            self._kept[agent] = list(dict.fromkeys((*self._kept.get(agent, ()), *waiting)))

    def _with_notes(self, message: Any, line: AgentLine) -> Any:
        """The message with the notes of the open activation, as far as it has a place for them."""
        for note in line.notes:
            try:
                message = self._runtime.try_note(message, note)
            except NoPlaceForNote:
                break
        return message

    def can_read(self, agent: str, message: Any) -> bool:
        """Whether a text reaches the agent: in the message that it is given again, or as it calls notes()."""
        if agent in self.readers:
            return True
        try:
            self._runtime.try_note(message, "")
        except NoPlaceForNote:
            return False
        return True

    # ---- interventions

    async def carry_out(self, intervention: Intervention, agents: list[str]) -> bool:
        """Gives each agent the message that it handled last once more, with the text. Returns whether any gets it.

        Those that wait with something are called, the others only if none does: a deadlock is theirs.
        """
        given = Given(event_id(intervention), intervention.inject or "")
        waiting = [name for name in agents if self._kept.get(name)]
        return any([await self.remind(name, given) for name in waiting or agents])

    async def remind(self, name: str, given: Given) -> bool:
        last, agent = self._last.get(name), id_of(name)
        if last is None or not self.can_read(name, last):
            return False
        self._runtime.mail.put(name, given, wakes=True)
        if await self._runtime.takers(last, TopicId(agent.type + DIRECT, agent.key), None):
            await self._runtime.publish_to(name, last, given.event)
        return True


def speaking_line() -> AgentLine | None:
    """The line of the group chat's speaker that the running code belongs to."""
    group_chat = sys.modules.get("digd.autogen.group_chat")
    speaking = group_chat.current.get() if group_chat is not None else None
    return None if speaking is None else speaking.line


def _open() -> AgentLine | None:
    handling = current.get()
    return None if handling is None or handling.line.activation is None else handling.line


def _react(react: Callable[[Any, str], None], events: Iterable[str] | None = None) -> None:
    line = _open()
    if line is not None and line.activation is not None:
        for event in line.activation.inputs if events is None else events:
            react(line.activation, event)


def notes() -> list[str]:
    """Within a handler or an agent's turn: the monitor's texts for it. For messages that have no place for a text."""
    handling, chat_line = current.get(), speaking_line()
    if chat_line is not None:
        return list(chat_line.notes)
    if handling is None:
        return []
    handling.runtime.calls.readers.add(handling.agent)
    return list(handling.line.notes)


def wait() -> None:
    """Within a handler: what the agent was given stays with it, until a message that it handles later completes it."""
    _react(lambda activation, event: activation.wait(event))


def discard() -> None:
    """Within a handler: what the agent was given is dropped."""
    _react(lambda activation, event: activation.discard(event))
