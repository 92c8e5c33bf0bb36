"""AutoGen's runtime with every message judged before it enters the queue.

AutoGen's own place for this, an intervention handler, is not enough: it runs in the runtime's one loop, so that a message held
there holds all others; it does not see which call of an agent a message comes from, nor when that call ends; it cannot send a
message elsewhere; and what it drops is never counted as done, so that `stop_when_idle` waits for ever. Here a message is held
in the task of who sends it, and no message is dropped.
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from autogen_core import (Agent, AgentId, AgentType, CancellationToken, MessageContext, SingleThreadedAgentRuntime,
                          Subscription, TopicId)

from ..line import ROUNDS, Given, GivenBack, Line, Mail, quoted, said
from ..messages import Intervention, Verdict, event_id
from ..run import Run
from .notes import NoPlaceForNote, add_note, text_of

try:
    from . import group_chat
except ModuleNotFoundError as error:  # autogen-core alone
    if (error.name or "").partition(".")[0] != "autogen_agentchat" or "autogen_agentchat" in sys.modules:
        raise  # it is there, but not as we know it
    group_chat = None  # type: ignore[assignment]

DIRECT = ":digd"  # of topics that reach one agent: its type, this, and its key as source (BaseAgent.register subscribes it)
DEFAULT_KEY = "default"


def name_of(agent: AgentId) -> str:
    """An agent's name for digd: its type, with its key where that is not the default one."""
    return agent.type if agent.key == DEFAULT_KEY else str(agent)


def id_of(name: str) -> AgentId:
    type, _, key = name.partition("/")
    return AgentId(type, key or DEFAULT_KEY)


@dataclass
class Handling:
    """One call of an agent's `on_message`."""

    agent: str
    message: Any
    line: Line
    back: list[Given] = field(default_factory=list)  # what the monitor gave back to the agent meanwhile
    put_out: bool = False  # something of its own
    over: bool = False


current: ContextVar[Handling | None] = ContextVar("digd_autogen_handling", default=None)
"""The call that the running code belongs to."""


class Runtime(SingleThreadedAgentRuntime):
    """`runtime = digd.autogen.Runtime(run)` instead of `SingleThreadedAgentRuntime()`.

    run: an open `digd.Run`; make the runtime before the first `await` within it.
    answers: classes of published messages that are the final answer. What an agent returns to `send_message` from outside the
    runtime is one too.
    fyi: classes of messages that ask nothing of anybody.
    add_note: makes a copy of a message with the monitor's text in it.
    options: of SingleThreadedAgentRuntime.
    """

    def __init__(self, run: Run, *, answers: type | tuple[type, ...] = (), fyi: type | tuple[type, ...] = (),
                 add_note: Callable[[Any, str], Any] = add_note, **options: Any) -> None:
        super().__init__(**options)
        self.digd_run = run
        self.mail = Mail()
        self._answers = answers
        self._fyi = fyi
        self._add_note = add_note
        self._subscriptions: list[Subscription] = []
        self._types: set[str] = set()
        self._started = False
        self._last: dict[str, Any] = {}  # the message that each agent handled last
        self._kept: defaultdict[str, list[str]] = defaultdict(list)  # inputs that agents wait with
        self._awaited: dict[str, list[list[str]]] = {}  # by request: of each who waits, innermost last, its response's event
        self._answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._chats = None if group_chat is None else group_chat.Chats(self)
        run.on_intervention(self._carry_out)

    async def answer(self, within_s: float | None = None) -> Any:
        """The final answer, once one was let through. Raises asyncio.TimeoutError after `within_s` seconds."""
        return await asyncio.wait_for(asyncio.shield(self._answered), within_s)

    async def run_team(self, team: Any, *, task: Any = None, is_answer: Callable[[Any], bool] | None = None,
                       patience_s: float | None = None, **options: Any) -> Any:
        """As `team.run(task=…)`, for a team that was made with `runtime=` this one. Its last message is the final answer.

        is_answer: whether a TaskResult is one; by default not if the team ran out of turns or messages.
        patience_s: how long a team that stopped without an answer waits for the monitor's help; None: as long as the window
        for missing termination lasts, not at all while nobody enforces.
        """
        if self._chats is None or group_chat is None:
            raise RuntimeError("run_team needs the package autogen-agentchat")
        if not self._started:
            self.start()
        return await self._chats.run(team, task, is_answer or group_chat.is_answer, patience_s, options)

    def start(self) -> None:
        super().start()
        self._started = True

    async def stop(self) -> None:
        self._started = False
        await super().stop()

    async def stop_when_idle(self) -> None:
        await super().stop_when_idle()
        self._started = False

    # ---- who there is

    def is_registered(self, type: str) -> bool:
        return type in self._types

    async def add_subscription(self, subscription: Subscription) -> None:
        await super().add_subscription(subscription)
        self._subscriptions.append(subscription)

    async def remove_subscription(self, id: str) -> None:
        await super().remove_subscription(id)
        self._subscriptions = [s for s in self._subscriptions if s.id != id]

    async def register_factory(self, type: str | AgentType, agent_factory: Callable[[], Any], *,
                               expected_class: Any = None) -> AgentType:
        async def watched() -> Any:
            agent = agent_factory()
            agent = await agent if isinstance(agent, Awaitable) else agent
            self._watch(agent)
            return agent

        known = await super().register_factory(type, watched, expected_class=expected_class)
        self._types.add(known.type)
        if self._chats is not None:
            self._chats.register(known.type, expected_class)
        return known

    async def register_agent_instance(self, agent_instance: Agent, agent_id: AgentId) -> AgentId:
        known = await super().register_agent_instance(agent_instance, agent_id)
        self._types.add(known.type)
        self._watch(agent_instance)
        return known

    def _subscribers(self, topic: TopicId, sender: AgentId | None) -> list[AgentId]:
        """To whom the runtime will give what is published there."""
        to = [s.map_to_agent(topic) for s in self._subscriptions if s.is_match(topic)]
        return [agent for agent in dict.fromkeys(to) if agent != sender]

    def _watch(self, agent: Any) -> None:
        """Puts our `on_message` before the agent's. The one place where an object of AutoGen's is changed: an attribute of
        this one agent, which lives and dies with the runtime."""
        inner = agent.on_message
        inner_unhandled: Any = getattr(agent, "on_unhandled_message", None)

        async def on_message(message: Any, ctx: MessageContext) -> Any:
            return await self._handle(agent.id, inner, message, ctx)

        async def on_unhandled_message(message: Any, ctx: MessageContext) -> Any:
            discard()
            return await inner_unhandled(message, ctx)

        agent.on_message = on_message
        if inner_unhandled is not None:
            agent.on_unhandled_message = on_unhandled_message

    # ---- messages on their way

    async def send_message(self, message: Any, recipient: AgentId, *, sender: AgentId | None = None,
                           cancellation_token: CancellationToken | None = None, message_id: str | None = None) -> Any:
        if self._chats is not None and self._chats.owns(recipient.type):
            await self._chats.sent(message, recipient)
            return await super().send_message(message, recipient, sender=sender, cancellation_token=cancellation_token,
                                              message_id=message_id)
        handling = current.get() if sender is not None else None
        to = [name_of(recipient)] if recipient.type in self._types or self.digd_run.agents is not None else []
        verdict = await self._announce(handling, message, to, kind="request", id=message_id)
        note = self._follow(handling, message, verdict)
        if isinstance(note, Given):
            assert handling is not None
            handling.line.give(note.event)  # the handler may take the exception and go on by itself
            raise GivenBack(note.event, note.note or "")
        if verdict.action == "reroute" and verdict.recipients and not note.as_is:
            recipient = id_of(verdict.recipients[0])
        answered: list[str] = []
        waiting = self._awaited.setdefault(verdict.event, [])  # a request that is passed on is waited for by several
        waiting.append(answered)
        try:
            response = await super().send_message(note.message, recipient, sender=sender, message_id=verdict.event,
                                                  cancellation_token=cancellation_token)
        finally:
            waiting[:] = [other for other in waiting if other is not answered]
            if not waiting:
                self._awaited.pop(verdict.event, None)
        for event in answered:
            if handling is not None:
                handling.line.give(event)
        return response

    async def publish_message(self, message: Any, topic_id: TopicId, *, sender: AgentId | None = None,
                              cancellation_token: CancellationToken | None = None, message_id: str | None = None) -> None:
        if self._chats is not None and sender is not None and self._chats.owns(sender.type):
            message, topic_id = await self._chats.published(message, topic_id)
            return await super().publish_message(message, topic_id, sender=sender, cancellation_token=cancellation_token,
                                                 message_id=message_id)
        handling = current.get() if sender is not None else None
        to = [name_of(agent) for agent in self._subscribers(topic_id, sender)]
        submit = isinstance(message, self._answers) and handling is not None
        verdict = await self._announce(handling, message, to, id=message_id, submit=submit)
        note = self._follow(handling, message, verdict)
        if isinstance(note, Given):
            assert handling is not None
            if handling.over:
                await self._remind(handling.agent, note)
            else:
                handling.back.append(note)
            return
        if verdict.action == "reroute" and not note.as_is:
            for name in verdict.recipients:
                await self._publish_to(name, note.message, verdict.event)
            return
        if submit:
            self._settle(message)
        await super().publish_message(note.message, topic_id, sender=sender, cancellation_token=cancellation_token,
                                      message_id=verdict.event)

    async def _announce(self, handling: Handling | None, message: Any, to: list[str], *, kind: str | None = None,
                        id: str | None = None, submit: bool = False) -> Verdict:
        """The verdict on a message; the first of it where it is several. One that is passed on as it came is a reroute."""
        fyi = isinstance(message, self._fyi)
        if handling is None:
            return await self.digd_run.emit(to, said(text_of(message)), kind=kind or type(message).__name__, id=id, fyi=fyi)
        if handling.over:  # a task that the agent started and did not wait for
            late = Line(self.digd_run, self.mail)
            await late.begin(handling.agent)
            return await late.put_out(to, said(text_of(message)), kind or type(message).__name__, submit=submit)
        line = handling.line
        await line.begin(handling.agent)
        await line.turn()
        if message is handling.message and not handling.put_out and to and line.can_pass_on():
            return (await line.pass_on(to))[0]
        handling.put_out = True
        return await line.emit(to, said(text_of(message)), kind or type(message).__name__, id=id, fyi=fyi, submit=submit)

    def _follow(self, handling: Handling | None, message: Any, verdict: Verdict) -> Noted | Given:
        """The message as the verdict wants it; its event with a text if it goes back to the agent that is being called."""
        run = self.digd_run
        if verdict.action == "reroute" and handling is not None and verdict.recipients == (handling.agent,):
            run.applied(verdict.event, verdict)
            text = f"{verdict.inject or 'It was given back to you.'} What you said was: {quoted(text_of(message))}"
            return Given(verdict.event, text)
        if verdict.action == "reroute" and not all(id_of(name).type in self._types for name in verdict.recipients):
            run.applied(verdict.event, verdict, as_is=f"no agent of the type of {verdict.recipients} is registered")
            return Noted(message, as_is=True)
        if verdict.inject:
            try:
                message = self._add_note(message, verdict.inject)
            except NoPlaceForNote as error:
                run.applied(verdict.event, verdict, as_is=str(error))
                return Noted(message, as_is=True)
        run.applied(verdict.event, verdict)
        return Noted(message)

    async def _publish_to(self, name: str, message: Any, event: str) -> None:
        """Gives a message to one agent, unjudged."""
        agent = id_of(name)
        await super().publish_message(message, TopicId(agent.type + DIRECT, agent.key), message_id=event)

    # ---- agents at work

    async def _handle(self, agent: AgentId, inner: Callable[..., Awaitable[Any]], message: Any, ctx: MessageContext) -> Any:
        if self._chats is not None and self._chats.owns(agent.type):
            return await self._chats.handled(agent, inner, message, ctx)
        name = name_of(agent)
        handling = Handling(name, message, Line(self.digd_run, self.mail))
        line = handling.line
        for event in self._kept.pop(name, []):
            line.give(event)
        line.give(ctx.message_id)
        self._last[name] = message
        token = current.set(handling)
        try:
            for _ in range(ROUNDS):
                await line.begin(name)
                handling.message = self._noted(message, line)
                response = await self._call(handling, inner, ctx)
                if not handling.back:
                    response = await self._respond(handling, response, ctx)
                if not handling.back:
                    return response
                await self._take_back(handling)
            await line.end()
            return response
        finally:
            handling.over = True
            current.reset(token)

    async def _call(self, handling: Handling, inner: Callable[..., Awaitable[Any]], ctx: MessageContext) -> Any:
        try:
            return await inner(handling.message, ctx)
        except GivenBack as back:
            handling.back.append(back.given)
            return None  # it is handled again, with the text
        except BaseException as error:
            said_before = quoted(text_of(self._last.get(handling.agent, "")))
            await handling.line.fail(error)
            handling.line.leave(handling.agent, lambda event: f"An earlier message to you is still unanswered: {said_before}")
            raise

    async def _take_back(self, handling: Handling) -> None:
        """What was given back becomes an input of the next activation, its text a note."""
        self._keep(handling.agent, handling.line)
        await handling.line.end()
        for event, note in handling.back:
            handling.line.give(event, note)
        handling.back, handling.put_out = [], False

    async def _respond(self, handling: Handling, response: Any, ctx: MessageContext) -> Any:
        """Ends the activation, with the response where there is one. From outside the runtime it is the final answer."""
        line = handling.line
        if line.waiting and line.activation is None:
            await line.begin(handling.agent)
        await line.turn()
        if not ctx.is_rpc or response is None:
            self._keep(handling.agent, line)
            await line.end()
            return response
        await line.begin(handling.agent)
        self._keep(handling.agent, line)
        to = [name_of(ctx.sender)] if ctx.sender is not None else []
        verdict = await line.put_out(to, said(text_of(response)), "response", submit=ctx.sender is None)
        noted = self._follow(handling, response, verdict)
        if isinstance(noted, Given):
            handling.back.append(noted)
            return response
        if ctx.sender is None:
            self._settle(noted.message)
        elif self._awaited.get(ctx.message_id):
            self._awaited[ctx.message_id][-1].append(verdict.event)
        return noted.message

    def _settle(self, answer: Any) -> None:
        if not self._answered.done():
            self._answered.set_result(answer)

    def _keep(self, agent: str, line: Line) -> None:
        if line.activation is not None:
            waiting = [e for e, reaction in line.activation.reactions.items() if reaction == "wait"]
            self._kept[agent] = list(dict.fromkeys((*self._kept.get(agent, ()), *waiting)))

    def _noted(self, message: Any, line: Line) -> Any:
        """The message with the notes of the open activation, as far as it can hold them."""
        for note in line.notes:
            try:
                message = self._add_note(message, note)
            except NoPlaceForNote:
                break
        return message

    # ---- interventions

    async def _carry_out(self, intervention: Intervention) -> bool:
        """Each recipient is given the message that it handled last once more, with the text; who has handled none yet is given
        the text with its first. Returns whether all could be reached."""
        event, text = event_id(intervention), intervention.inject or ""
        return all([await self._remind(name, Given(event, text)) for name in intervention.recipients])

    async def _remind(self, name: str, given: Given) -> bool:
        last, agent = self._last.get(name), id_of(name)
        if last is not None:
            try:
                self._add_note(last, given.note or "")
            except NoPlaceForNote:
                return False
        self.mail.put(name, given, wakes=True)
        if last is not None and self._subscribers(TopicId(agent.type + DIRECT, agent.key), None):
            await self._publish_to(name, last, given.event)
        return True


@dataclass(frozen=True)
class Noted:
    """A message to be delivered; `as_is`: not as the verdict wanted it."""

    message: Any
    as_is: bool = False


def _open() -> Line | None:
    handling = current.get()
    return None if handling is None or handling.line.activation is None else handling.line


def _react(how: Callable[[Any, str], None], events: Iterable[str] | None = None) -> None:
    line = _open()
    if line is not None and line.activation is not None:
        for event in line.activation.inputs if events is None else events:
            how(line.activation, event)


def wait() -> None:
    """Within a handler: what the agent was given stays with it, until a message that it handles later completes it."""
    _react(lambda activation, event: activation.wait(event))


def discard() -> None:
    """Within a handler: what the agent was given is dropped."""
    _react(lambda activation, event: activation.discard(event))
