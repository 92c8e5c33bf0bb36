"""AutoGen's group chats: who speaks when, and what is said to whom, read from the messages that a chat is made of.

In a group chat all hear everything, and a manager says who speaks next. What is said is an event for that next speaker: it
takes it up when it is asked to speak. What the others overhear is no delivery, or every turn would repeat the last one's
problem.

The messages are those of `autogen_agentchat.teams._group_chat._events`, which is AutoGen's own protocol between a chat's
manager and its participants and stands in a private module: the versions it is tested with are pinned.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autogen_agentchat.base import TaskResult, Team
from autogen_agentchat.messages import HandoffMessage, TextMessage, ToolCallExecutionEvent
from autogen_agentchat.teams._group_chat._base_group_chat_manager import BaseGroupChatManager
from autogen_agentchat.teams._group_chat._chat_agent_container import ChatAgentContainer
from autogen_agentchat.teams._group_chat._events import (GroupChatAgentResponse, GroupChatRequestPublish, GroupChatReset,
                                                         GroupChatStart, GroupChatTeamResponse, GroupChatTermination)
from autogen_core import AgentId, TopicId

from ..line import NOTE, ROUNDS, Given, Line, said, window_s
from ..messages import Verdict

if TYPE_CHECKING:
    from .runtime import Runtime

NO_ANSWER = ("Maximum number of ", "Timeout of ", "Token usage limit ", "External termination ")  # how AutoGen says so
TEAM_ID = 36  # characters: a chat's types and topics end in `_` and the team's UUID

transition: ContextVar[list[Given] | None] = ContextVar("digd_autogen_transition", default=None)
"""While a manager handles a message: what it gives to those whom it asks to speak."""


started: ContextVar[list[Chat] | None] = ContextVar("digd_autogen_started", default=None)
"""While a team is run: its chat, once it has started."""


@dataclass
class Speaking:
    """A participant's turn. Once it has spoken, its line is ended by whoever takes the floor."""

    line: Line
    has_spoken: bool = False


current: ContextVar[Speaking | None] = ContextVar("digd_autogen_speaking", default=None)


def is_manager(expected: Any) -> bool:
    return isinstance(expected, type) and issubclass(expected, BaseGroupChatManager)


def is_participant(expected: Any) -> bool:
    return isinstance(expected, type) and issubclass(expected, ChatAgentContainer)


def chat_of(type: str) -> str:
    """The team's id, from the type of one of its agents or topics."""
    return type[-TEAM_ID:]


def speaker_of(type: str) -> str:
    """The participant's name, from its agent or topic type."""
    return type[:-TEAM_ID - 1]


@dataclass
class Chat:
    """One team's conversation."""

    runtime: Runtime
    id: str
    key: str = ""  # of the agents and topics
    ours: bool = False  # run by `run_team`, which sees to its end
    caller: Line | None = None  # of the participant of another chat that this team is
    asked: str | None = None  # by whoever runs the team, and announced once a speaker is known
    floor: list[tuple[Line, str]] = field(default_factory=list)  # what was said and given to nobody yet
    given: dict[str, tuple[list[Given], bool]] = field(default_factory=dict)  # what those asked to speak take up; a repeat?
    handed: list[Given] = field(default_factory=list)  # what a hand-off gives to its target
    outside: tuple[str, list[Given]] | None = None  # a hand-off to somebody who is no participant
    forced: str | None = None  # who speaks next, whomever the manager asks
    stands_for: dict[str, str] = field(default_factory=dict)  # speaker: whom the manager asked

    def topic(self, speaker: str) -> TopicId:
        return TopicId(f"{speaker}_{self.id}", self.key)

    def has(self, name: str) -> bool:
        return self.runtime.is_registered(self.topic(name).type)

    async def clear(self) -> None:
        """The team was reset: what was said and given to nobody is dropped."""
        floor, self.floor = self.floor, []
        for line, _ in floor:
            await line.end()
        self.asked, self.outside, self.forced = None, None, None
        self.given, self.handed, self.stands_for = {}, [], {}


class Chats:
    """All group chats of a runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._managers: set[str] = set()
        self._participants: set[str] = set()
        self._chats: dict[str, Chat] = {}

    def register(self, type: str, expected: Any) -> None:
        if is_manager(expected):
            self._managers.add(type)
        elif is_participant(expected):
            self._participants.add(type)

    def chat(self, id: str) -> Chat:
        return self._chats.setdefault(id, Chat(self._runtime, id))

    def owns(self, type: str) -> bool:
        """Whether agents of this type belong to a chat."""
        return type in self._managers or type in self._participants

    # ---- messages

    async def sent(self, message: Any, recipient: AgentId) -> None:
        """A message sent to a manager or a participant; only the start and the reset of a chat mean something."""
        chat = self.chat(chat_of(recipient.type))
        if isinstance(message, GroupChatReset):
            await chat.clear()
        chat.key = recipient.key
        if not isinstance(message, GroupChatStart):
            return
        chats, speaking = started.get(), current.get()
        chat.ours, chat.caller = chats is not None, None if speaking is None else speaking.line
        if chats is not None:
            chats.append(chat)
        if recipient.type in self._managers and message.messages:
            text = "\n".join(m.to_text() for m in message.messages)
            if chat.outside is not None:
                await self._from_outside(chat, text)
            elif not chat.handed:
                chat.asked = text

    async def _from_outside(self, chat: Chat, text: str) -> None:
        """Whoever was handed the task outside the chat goes on with it, or answers."""
        assert chat.outside is not None
        (name, events), chat.outside = chat.outside, None
        line = Line(self._runtime.digd_run, self._runtime.mail)
        for event in events:
            line.give(*event)
        await line.begin(name)
        chat.floor.append((line, text))

    async def published(self, message: Any, topic: TopicId) -> tuple[Any, TopicId]:
        """What becomes of a message that a manager or a participant publishes, and where it goes."""
        chat = self.chat(chat_of(topic.type))
        if isinstance(message, GroupChatRequestPublish):
            return message, await self._speaks_next(chat, topic)
        if isinstance(message, (GroupChatAgentResponse, GroupChatTeamResponse)):
            return await self._said(chat, message), topic
        if isinstance(message, GroupChatTermination) and not chat.ours:
            await self._ended(chat)
        return message, topic

    async def _speaks_next(self, chat: Chat, topic: TopicId) -> TopicId:
        """A participant is asked to speak: it is given what was said and is held until now. Returns who speaks instead."""
        wanted = speaker_of(topic.type)
        speaker, chat.forced = chat.forced or wanted, None
        now = transition.get()
        given = [] if now is None else now
        again = bool(given)  # several are asked to speak on the same
        if not again:
            speaker = await self._give_floor(chat, speaker, given)
        if speaker != wanted:
            chat.stands_for[speaker] = wanted
        chat.given[speaker] = list(given), again
        return chat.topic(speaker)

    async def _give_floor(self, chat: Chat, speaker: str, given: list[Given]) -> str:
        """Announces what is on the floor to the speaker; adds it to `given`. Returns the speaker that the verdicts say."""
        floor, chat.floor = chat.floor, []
        verdicts: list[Verdict] = []
        if chat.asked is not None:
            asked, chat.asked = said(chat.asked), None
            verdicts.append(await self._runtime.digd_run.emit([speaker], asked, kind="task") if chat.caller is None
                            else await chat.caller.emit([speaker], asked, "request"))
        for line, text in floor:
            await line.turn()
            verdicts.append(await line.put_out([speaker], said(text), "message"))
        given += chat.handed
        chat.handed = []
        for verdict in verdicts:
            back = verdict.recipients[0] if verdict.action == "reroute" and verdict.recipients else speaker
            known = chat.has(back)
            self._runtime.digd_run.applied(verdict.event, verdict, as_is=None if known else f"{back!r} is no participant")
            speaker = back if known else speaker
            given.append(Given(verdict.event, verdict.inject if known else None))
        return speaker

    async def _said(self, chat: Chat, message: Any) -> Any:
        """A participant has spoken. It holds the floor until somebody is asked to speak, or the chat ends."""
        speaker = message.name
        speaking = current.get()
        asked = chat.stands_for.pop(speaker, None)
        if speaking is not None:
            speaking.has_spoken = True
            if isinstance(message, GroupChatAgentResponse) and isinstance(message.response.chat_message, HandoffMessage):
                message = await self._hands_off(chat, speaking.line, message)
            else:
                chat.floor.append((speaking.line, text_of_response(message)))
        return message if asked is None else message.model_copy(update={"name": asked})

    async def _hands_off(self, chat: Chat, line: Line, message: GroupChatAgentResponse) -> GroupChatAgentResponse:
        """A hand-off: a reroute of what the speaker was asked, or, if it did something itself, something of its own."""
        handoff = message.response.chat_message
        assert isinstance(handoff, HandoffMessage)
        await line.begin(message.name)
        if not has_worked(message) and line.can_pass_on() and chat.has(handoff.target):
            verdicts = await line.pass_on([handoff.target])
        else:
            verdicts = (await line.put_out([handoff.target], said(handoff.content), "handoff"),)
        back = next((v.recipients[0] for v in verdicts if v.action == "reroute" and v.recipients), None)
        follow = back is None or chat.has(back)
        given = [Given(v.event, v.inject if follow else None) for v in verdicts]
        for verdict in verdicts:
            self._runtime.digd_run.applied(verdict.event, verdict, as_is=None if follow else f"{back!r} is no participant")
        if back is not None and follow:
            changed = handoff.model_copy(update={"target": back})
            chat.handed = given
            return message.model_copy(update={"response": dataclasses.replace(message.response, chat_message=changed)})
        if chat.has(handoff.target):
            chat.handed = given
        else:
            chat.outside = (handoff.target, given)
        return message

    # ---- agents at work

    async def handled(self, agent: AgentId, inner: Callable[..., Awaitable[Any]], message: Any, ctx: Any) -> Any:
        """A call of a manager or a participant. Only speaking is an activation."""
        if agent.type in self._managers:
            token = transition.set([])
            try:
                return await inner(message, ctx)
            finally:
                transition.reset(token)
        if not isinstance(message, GroupChatRequestPublish):
            return await inner(message, ctx)
        chat = self.chat(chat_of(agent.type))
        speaker = speaker_of(agent.type)
        line = Line(self._runtime.digd_run, self._runtime.mail)
        given, again = chat.given.pop(speaker, ([], False))
        for event, note in given:
            line.give(event, note, again=again)
        await line.begin(speaker)
        for note in line.notes:
            await inner(whispered(note), ctx)
        return await self._speak(line, inner, message, ctx)

    async def _speak(self, line: Line, inner: Callable[..., Awaitable[Any]], message: Any, ctx: Any) -> Any:
        speaking = Speaking(line)
        token = current.set(speaking)
        try:
            response = await inner(message, ctx)
        except BaseException as error:
            await line.fail(error)
            line.leave(line.agent, lambda event: "An earlier turn of yours failed.")
            raise
        finally:
            current.reset(token)
        if not speaking.has_spoken:
            await line.end()
        return response

    # ---- a chat from its start to its end

    async def run(self, team: Team, task: Any, is_answer: Callable[[TaskResult], bool], patience_s: float | None,
                  options: dict[str, Any]) -> TaskResult:
        """Runs the team, and again where its answer was given back or the monitor asks for one."""
        chats: list[Chat] = []
        token = started.set(chats)
        messages: list[Any] = []
        try:
            for _ in range(ROUNDS):
                result = await team.run(task=task, **options)
                messages += result.messages
                again = await self._finished(chats[-1], is_answer(result), patience_s)
                if again is None:
                    break
                chats[-1].handed = [Given(again.event)]
                task = TextMessage(content=NOTE + (again.note or ""), source="digd")
        except BaseException as error:
            floor: list[tuple[Line, str]] = []
            if chats:
                floor, chats[-1].floor = chats[-1].floor, []
            for line, _ in floor:
                await line.fail(error)
            raise
        finally:
            started.reset(token)
        return TaskResult(messages=messages, stop_reason=result.stop_reason)

    async def _finished(self, chat: Chat, answered: bool, patience_s: float | None) -> Given | None:
        """The chat has stopped; returns what it has to go on with, if it has to."""
        floor, chat.floor = chat.floor, []
        await self._overheard(floor[:-1] if answered else floor)
        if chat.outside is not None:
            return None
        return await self._judged(chat, *floor[-1]) if answered and floor else await self._helped(chat, floor, patience_s)

    async def _overheard(self, floor: list[tuple[Line, str]]) -> None:
        """What was said last and is for nobody: notices."""
        for line, text in floor:
            await line.emit([], said(text), "message", fyi=True)
            await line.end()

    async def _ended(self, chat: Chat) -> None:
        """A chat has stopped that is part of another one, to which its last message goes, or that `team.run` runs."""
        floor, chat.floor = chat.floor, []
        caller = chat.caller
        await self._overheard(floor if caller is None else floor[:-1])
        if caller is not None and floor:
            line, text = floor[-1]
            await line.turn()
            verdict = await line.put_out([caller.agent], said(text), "answer")
            follow = verdict.action != "reroute"
            self._runtime.digd_run.applied(verdict.event, verdict, as_is=None if follow else "the team has stopped")
            caller.give(verdict.event, verdict.inject if follow else None)

    async def _judged(self, chat: Chat, line: Line, text: str) -> Given | None:
        """The final answer; returned if it was given back, and its author speaks next."""
        await line.turn()
        verdict = await line.put_out([], said(text), "answer", submit=True)
        run = self._runtime.digd_run
        if verdict.action != "reroute":
            return None
        if not chat.has(line.agent):
            run.applied(verdict.event, verdict, as_is=f"{line.agent!r} is no participant")
            return None
        run.applied(verdict.event, verdict)
        chat.forced = line.agent
        return Given(verdict.event, verdict.inject)

    async def _helped(self, chat: Chat, floor: list[tuple[Line, str]], patience_s: float | None) -> Given | None:
        """No answer: waits for the monitor to ask somebody for one."""
        run, mail = self._runtime.digd_run, self._runtime.mail
        patience_s = window_s(run, ("missing_termination",)) if patience_s is None else patience_s
        name = await mail.wait(floor[-1][0].agent if floor else "", chat.has, patience_s)
        if name is None:
            return None
        chat.forced = name
        *before, last = mail.take(name)
        for given in before:
            mail.put(name, given, wakes=True)
        return last


def is_answer(result: TaskResult) -> bool:
    """Whether a team stopped because it was done, not for want of turns, messages, time or tokens, or from outside."""
    return not (result.stop_reason or "").startswith(NO_ANSWER)


def text_of_response(message: Any) -> str:
    if isinstance(message, GroupChatAgentResponse):
        return str(message.response.chat_message.to_text())
    return "\n".join(m.to_text() for m in message.result.messages)


def has_worked(message: GroupChatAgentResponse) -> bool:
    """Whether an agent that hands off did something else: called tools, or said what it thinks."""
    handoff = message.response.chat_message
    inner = message.response.inner_messages or []
    results = sum(len(m.content) for m in inner if isinstance(m, ToolCallExecutionEvent))
    return bool(getattr(handoff, "context", None)) or results > 1


def whispered(text: str) -> GroupChatStart:
    """What puts a text before one participant's next turn, without asking it to speak."""
    return GroupChatStart(messages=[TextMessage(content=NOTE + text, source="digd")])
