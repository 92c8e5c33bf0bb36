"""AutoGen's group chats: the speakers' turns and what they say, read from the messages that a chat is made of.

All participants hear everything, and a manager asks the next speakers. A message is an event for these: they take it up
when they are asked to speak. Overhearing is no delivery. Messages of one round go to all speakers of the next.

The messages are those of `autogen_agentchat.teams._group_chat._events`, AutoGen's own protocol of a manager and its
participants. The module is private, so the tested versions are pinned.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autogen_agentchat.base import TaskResult, Team
from autogen_agentchat.messages import HandoffMessage, TextMessage
from autogen_agentchat.teams._group_chat._base_group_chat_manager import BaseGroupChatManager
from autogen_agentchat.teams._group_chat._chat_agent_container import ChatAgentContainer
from autogen_agentchat.teams._group_chat._events import (GroupChatAgentResponse, GroupChatRequestPublish,
                                                         GroupChatReset, GroupChatStart, GroupChatTeamResponse,
                                                         GroupChatTermination)
from autogen_core import AgentId, TopicId

from ..line import NOTE, ROUNDS, Given, said
from ..messages import Intervention, Verdict, event_id
from .conversation import (Spoken, fail, has_worked, is_swarm, name_of_speaker, overheard, reads_text, text_of_messages,
                           takes_for_answer, text_of_response, text_of_result, whispered, would_stop)
from .flow import AgentLine, consume_unseen

if TYPE_CHECKING:
    from .runtime import Runtime

TEAM_ID = 36  # characters: a chat's types and topics end in `_` and the team's UUID
Sending = tuple[Any, TopicId, dict[str, Any]]

requests: ContextVar[list[Sending] | None] = ContextVar("digd_autogen_requests", default=None)
"""While a manager handles a message: whom it asks to speak. They are asked once it is done and all are known."""


@dataclass
class Speaking:
    """A participant's turn. Once it has spoken, its line is ended by whoever takes the floor."""

    line: AgentLine
    has_spoken: bool = False


current: ContextVar[Speaking | None] = ContextVar("digd_autogen_speaking", default=None)


def chat_of(type: str) -> str:
    """The team's id, from the type of one of its agents or topics."""
    return type[-TEAM_ID:]


@dataclass
class Chat:
    """One team's conversation."""

    runtime: Runtime
    id: str
    key: str = ""  # of the agents and topics
    ours: bool = False  # run by `Chats.run`, which sees to its end
    manager: Any = None
    caller: AgentLine | None = None  # of the participant of another chat that this team is
    asked: str | None = None  # by whoever runs the team, and announced once the speakers are known
    floor: list[Spoken] = field(default_factory=list)  # what was said and given to nobody yet
    given: dict[str, list[Given]] = field(default_factory=dict)  # what those asked to speak take up
    handed: list[Given] = field(default_factory=list)  # what the next speaker is given besides
    outside: tuple[str, AgentLine] | None = None  # a hand-off to a person, and the person's turn
    forced: str | None = None  # who speaks next, whomever the manager asks
    stands_for: dict[str, str] = field(default_factory=dict)  # speaker: whom the manager asked
    passed_on_by: set[str] = field(default_factory=set)  # speakers that handed the present task on and did nothing else
    speaking: list[AgentLine] = field(default_factory=list)  # whose turns go on
    waits_for_healing: bool = False
    has_failed: bool = False  # it raised or was cancelled; who still speaks speaks to nobody

    def topic(self, speaker: str) -> TopicId:
        return TopicId(f"{speaker}_{self.id}", self.key)

    def has(self, name: str) -> bool:
        return self.runtime.is_registered(self.topic(name).type)

    def reads_text(self, name: str) -> bool:
        """Whether a model reads what this participant is given."""
        type = self.topic(name).type
        return reads_text(self.runtime._instantiated_agents.get(AgentId(type, self.key)))

    async def clear(self) -> None:
        """The team was reset: what was said and given to nobody is dropped."""
        floor, self.floor = self.floor, []
        for spoken in floor:
            await spoken.line.end()
        self.asked, self.outside, self.forced = None, None, None
        self.given, self.handed, self.stands_for = {}, [], {}
        self.passed_on_by = set()


class Chats:
    """All group chats of a runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._managers: set[str] = set()
        self._participants: set[str] = set()
        self._chats: dict[str, Chat] = {}

    def register(self, agent_type: str, expected: Any) -> bool:
        """Notes an agent type that belongs to a chat; returns whether it does."""
        if isinstance(expected, type) and issubclass(expected, BaseGroupChatManager):
            self._managers.add(agent_type)
        elif isinstance(expected, type) and issubclass(expected, ChatAgentContainer):
            self._participants.add(agent_type)
        return self.owns(agent_type)

    def begin_anew(self) -> None:
        """The runtime reports to another run: what was said belongs to the one before."""
        self._chats.clear()

    def participant(self, type: str) -> list[str]:
        """The name of the participant of this agent type; nothing for a manager."""
        return [name_of_speaker(type)] if type in self._participants else []

    def has_participant(self, name: str) -> bool:
        return any(name == name_of_speaker(type) for type in self._participants)

    def is_paused(self) -> bool:
        """Whether a chat waits for a person."""
        return any(chat.outside is not None for chat in self._chats.values())

    def chat(self, id: str) -> Chat:
        return self._chats.setdefault(id, Chat(self._runtime, id))

    def owns(self, type: str) -> bool:
        """Whether agents of this type belong to a chat."""
        return type in self._managers or type in self._participants

    # ---- messages

    async def sent(self, message: Any, recipient: AgentId) -> None:
        """A message sent to a manager or a participant; only the start and the reset of a chat mean something."""
        if recipient.type not in self._managers:
            return
        chat = self.chat(chat_of(recipient.type))
        chat.key = recipient.key
        if isinstance(message, GroupChatReset):
            await chat.clear()
        if not isinstance(message, GroupChatStart):
            return
        speaking, chat.has_failed = current.get(), False
        chat.caller = None if speaking is None else speaking.line
        if chat.caller is None:
            self._runtime.flow.start_chat(chat.id)
        text = text_of_messages(message.messages or ())
        if chat.outside is not None:
            (_, line), chat.outside = chat.outside, None
            chat.floor.append(Spoken(line, text))
        elif not chat.handed:
            chat.asked = text

    async def published(self, message: Any, topic: TopicId, options: dict[str, Any]) -> list[Sending]:
        """What is published, and where, instead of what a manager or a participant publishes."""
        chat = self.chat(chat_of(topic.type))
        asked = requests.get()
        if isinstance(message, GroupChatRequestPublish) and asked is not None:
            asked.append((message, topic, options))
            return []
        if isinstance(message, (GroupChatAgentResponse, GroupChatTeamResponse)):
            message = await self._said(chat, message)
        if isinstance(message, GroupChatTermination) and not chat.ours:
            await self._terminated(chat, message)
        return [(message, topic, options)]

    async def _ask(self, chat: Chat, asked: list[Sending]) -> list[Sending]:
        """Announces what is on the floor to the speakers of a round. Returns the requests as the verdicts want them."""
        wanted = [name_of_speaker(topic.type) for _, topic, _ in asked]
        speakers = [chat.forced or wanted[0], *wanted[1:]]
        chat.forced = None
        await self._runtime.introduce(*speakers)
        speakers[0], given = await self._give_floor(chat, speakers)
        sendings: list[Sending] = []
        for speaker, instead_of, (message, _, options) in zip(speakers, wanted, asked):
            if speaker != instead_of:
                chat.stands_for[speaker] = instead_of
            chat.given[speaker] = list(given)
            sendings.append((message, chat.topic(speaker), options))
        return sendings

    async def _give_floor(self, chat: Chat, speakers: list[str]) -> tuple[str, list[Given]]:
        """Announces what is on the floor. Returns the first speaker as the verdicts want it, and the events."""
        floor, chat.floor = chat.floor, []
        given, chat.handed = chat.handed, []
        verdicts: list[Verdict] = []
        if chat.asked is not None:
            asked, chat.asked = said(chat.asked), None
            chat.passed_on_by = set()
            verdicts.append(await self._runtime.digd_run.emit(speakers, asked, kind="task") if chat.caller is None
                            else await chat.caller.emit(speakers, asked, "request"))
        for spoken in floor:
            verdicts += await self._announce(chat, spoken, speakers)
        first = speakers[0]
        for verdict in verdicts:
            back = verdict.recipients[0] if verdict.action == "reroute" and verdict.recipients else first
            as_is = self._why_as_is(chat, verdict, [back] if verdict.action == "reroute" else speakers)
            self._runtime.digd_run.applied(verdict.event, verdict, as_is=as_is)
            first = back if as_is is None else first
            given.append(Given(verdict.event, verdict.inject))
        return first, given

    async def _announce(self, chat: Chat, spoken: Spoken, speakers: list[str]) -> tuple[Verdict, ...]:
        """One message of the floor, to the speakers. Handing on to whoever handed it on before is a reroute."""
        line = spoken.line
        await line.turn()
        if spoken.handoff is None or not is_swarm(chat.manager):
            chat.passed_on_by = set()
            return (await line.end_with(speakers, said(spoken.text), "message"),)
        await line.begin(line.agent)
        if spoken.worked:
            chat.passed_on_by = set()
        else:
            chat.passed_on_by.add(line.agent)
            if chat.passed_on_by >= set(speakers) and line.can_pass_on():
                return await line.pass_on(speakers)
        return (await line.end_with(speakers, said(spoken.text), "handoff"),)

    def _why_as_is(self, chat: Chat, verdict: Verdict, speakers: list[str]) -> str | None:
        """Why a verdict cannot be followed."""
        if verdict.action == "deliver":
            return None
        missing = [name for name in speakers if not chat.has(name)]
        if missing:
            return f"{missing[0]!r} is no participant"
        deaf = [name for name in speakers if not chat.reads_text(name)]
        return f"no model of {deaf[0]!r} reads a text" if deaf and verdict.inject else None

    async def _said(self, chat: Chat, message: Any) -> Any:
        """A participant has spoken. It holds the floor until somebody is asked to speak, or the chat ends."""
        asked = chat.stands_for.pop(message.name, None)
        speaking = current.get()
        if speaking is not None:
            speaking.has_spoken = True
            spoken = Spoken(speaking.line, text_of_response(message))
            handoff = message.response.chat_message if isinstance(message, GroupChatAgentResponse) else None
            if isinstance(handoff, HandoffMessage):
                spoken.worked = has_worked(message)
                person = not chat.has(handoff.target)
                if is_swarm(chat.manager) or person:
                    spoken.handoff = handoff
                if is_swarm(chat.manager) and person and not await would_stop(chat.manager, message):
                    message = await self._to_nobody(chat, spoken, message)
            if chat.has_failed:
                await overheard([spoken])
            else:
                chat.floor.append(spoken)
        return message if asked is None else message.model_copy(update={"name": asked})

    async def _to_nobody(self, chat: Chat, spoken: Spoken, message: GroupChatAgentResponse) -> Any:
        """A hand-off to nobody, at which AutoGen raises. Given back to its author, the author goes on instead."""
        assert spoken.handoff is not None
        run, line = self._runtime.digd_run, spoken.line
        await line.begin(message.name)
        to = [spoken.handoff.target] if run.agents is not None else []
        verdict = await line.end_with(to, said(spoken.text), "handoff")
        spoken.handoff = None
        if verdict.action != "reroute":
            run.applied(verdict.event, verdict)
            await line.begin(message.name)
            return message
        as_is = self._why_as_is(chat, verdict, list(verdict.recipients))
        run.applied(verdict.event, verdict, as_is=as_is)
        await line.begin(message.name)
        if as_is is not None:
            return message
        chat.handed = [Given(verdict.event, verdict.inject)]
        spoken.text = "(digd gave the hand-off back to its author)"
        changed = message.response.chat_message.model_copy(update={"target": verdict.recipients[0]})
        return message.model_copy(update={"response": type(message.response)(
            chat_message=changed, inner_messages=message.response.inner_messages)})

    def stop(self) -> None:
        """The runtime has dropped what it had not handled."""
        for id in self._chats:
            self._runtime.flow.end_chat(id)

    # ---- agents at work

    async def handled(self, agent: Any, message: Any, ctx: Any) -> Any:
        """A call of a manager or a participant. Only speaking is an activation."""
        chat = self.chat(chat_of(agent.id.type))
        if agent.id.type in self._managers:
            return await self._managed(chat, agent, message, ctx)
        if not isinstance(message, GroupChatRequestPublish):
            return await agent.on_message(message, ctx)
        speaker = name_of_speaker(agent.id.type)
        line = self._runtime.calls.line()
        for event, note in chat.given.pop(speaker, []):
            line.give(event, note)
        await line.begin(speaker)
        for note in line.notes if reads_text(agent) else ():
            await agent.on_message(whispered(note), ctx)
        chat.speaking.append(line)
        try:
            return await self._speak(line, agent, message, ctx)
        finally:
            chat.speaking.remove(line)

    async def _managed(self, chat: Chat, manager: Any, message: Any, ctx: Any) -> Any:
        """A manager at work. Whom it asks to speak is asked when it is done."""
        chat.manager = manager
        asked: list[Sending] = []
        token, speaking_token = requests.set(asked), current.set(None)
        finished = False
        try:
            result = await manager.on_message(message, ctx)
            finished = True
            return result
        except BaseException as error:
            await self._failed(chat, error)
            raise
        finally:
            requests.reset(token)
            current.reset(speaking_token)
            if asked:
                with self._runtime.holding():
                    for sending in await self._ask(chat, asked) if finished else asked:
                        await self._runtime.publish_unwatched(*sending)

    async def _speak(self, line: AgentLine, agent: Any, message: Any, ctx: Any) -> Any:
        speaking = Speaking(line)
        token = current.set(speaking)
        try:
            response = await agent.on_message(message, ctx)
        except BaseException as error:
            await fail(line, error)
            raise
        finally:
            current.reset(token)
        if not speaking.has_spoken:
            await line.end()
        return response

    # ---- a chat from its start to its end

    async def run(self, team: Team, run_stream: Callable[..., Any], task: Any,
                  options: dict[str, Any]) -> AsyncGenerator[Any, None]:
        """Runs the team, and again where its answer was given back or the monitor asks for one."""
        chat = self.chat(team._team_id) if hasattr(team, "_team_id") and not self._runtime.is_off else None
        messages: list[Any] = []
        try:
            for _ in range(ROUNDS):
                if chat is not None:
                    chat.ours = True
                async with aclosing(run_stream(task=task, **options)) as items:
                    async for item in items:
                        if not isinstance(item, TaskResult):
                            yield item
                again = None if chat is None else await self._finished(chat, item)
                messages += item.messages
                if again is None or chat is None:
                    break
                chat.handed = [Given(again.event)]
                task = TextMessage(content=NOTE + (again.note or ""), source="digd")
            ran_once = len(messages) == len(item.messages)
            yield item if ran_once else TaskResult(messages=messages, stop_reason=item.stop_reason)
        except BaseException as error:
            if chat is not None:
                await self._failed(chat, error)
            raise
        finally:
            if chat is not None:
                chat.ours = False

    async def _failed(self, chat: Chat, error: BaseException) -> None:
        """The chat raised or was cancelled: nothing of it is left open."""
        floor, chat.floor = chat.floor, []
        for spoken in floor:
            await fail(spoken.line, error)
        for line in chat.speaking:  # it may go on, but nobody waits for it
            await line.end()
        asked, chat.given = chat.given, {}
        for speaker, given in asked.items():
            for event, _ in given:
                await consume_unseen(self._runtime.digd_run, speaker, event)
        chat.asked, chat.handed, chat.has_failed = None, [], True
        await self._runtime.chat_ended(chat.id)
        self._runtime.state.outcome = "failure" if isinstance(error, Exception) else "aborted"

    async def _terminated(self, chat: Chat, message: GroupChatTermination) -> None:
        """A chat has stopped that nobody can make go on: it is part of another one, or its team's own `run` runs it."""
        if message.error is not None:
            return await self._failed(chat, RuntimeError(message.error.error_type))
        thread = list(getattr(chat.manager, "_message_thread", ()))
        result = TaskResult(messages=thread, stop_reason=message.message.content)
        with self._runtime.digd_run.unheld("delivered"):
            await self._finished(chat, result)

    async def _answer_caller(self, chat: Chat, caller: AgentLine) -> None:
        """The last message of a team within a team goes to the participant that the team is."""
        floor, chat.floor = chat.floor, []
        await overheard(floor[:-1])
        if floor:
            line = floor[-1].line
            await line.turn()
            verdict = await line.end_with([caller.agent], said(floor[-1].text), "answer")
            follows = verdict.action != "reroute"
            self._runtime.digd_run.applied(verdict.event, verdict, as_is=None if follows else "the team has stopped")
            caller.give(verdict.event, verdict.inject if follows else None)

    async def _finished(self, chat: Chat, result: TaskResult) -> Given | None:
        """The chat has stopped; returns what it has to go on with, if it has to."""
        if chat.caller is not None:
            with self._runtime.holding():
                await self._answer_caller(chat, chat.caller)
            return None
        floor, chat.floor = chat.floor, []
        self._runtime.state.outcome = "success"
        try:
            if floor and floor[-1].handoff is not None and not chat.has(floor[-1].handoff.target):
                with self._runtime.holding():
                    await overheard(floor[:-1])
                    await self._pause(chat, floor[-1])
                return None
            if not takes_for_answer(self._runtime.is_answer, result):
                await overheard(floor)
                return await self._helped(chat, floor)
            with self._runtime.holding():
                await overheard(floor[:-1])
                return await self._judged(chat, floor[-1], result) if floor else None
        finally:
            await self._runtime.chat_ended(chat.id)

    async def _pause(self, chat: Chat, spoken: Spoken) -> None:
        """A hand-off to a person: the person takes it up, and is at work until the team is run again."""
        assert spoken.handoff is not None
        person = spoken.handoff.target
        await self._runtime.introduce(person)
        await spoken.line.begin(spoken.line.agent)
        verdict = await spoken.line.end_with([person], said(spoken.text), "handoff")
        line = self._runtime.calls.line()
        line.give(verdict.event)
        await line.begin(person)
        await line.end()  # taken up at once, so that however long the person takes, nothing is pending
        line.give(verdict.event)
        await line.begin(person)
        chat.outside = (person, line)

    async def _judged(self, chat: Chat, spoken: Spoken, result: TaskResult) -> Given | None:
        """The final answer; returned if it was given back, and its author speaks next."""
        runtime, line = self._runtime, spoken.line
        await line.begin(line.agent)
        await line.turn()
        text = said(text_of_result(result) or spoken.text)
        if not runtime.flow.rests([chat.id]):
            verdict = await line.end_with([], text, "answer", fyi=True)
            runtime.defer_answer(line.agent, verdict.event, result)
            return None
        verdict = await line.end_with([], text, "answer", submit=True)
        if verdict.action != "reroute":
            runtime.state.settle(result)
            return None
        as_is = self._why_as_is(chat, verdict, [line.agent]) if chat.ours else "the team has stopped"
        runtime.digd_run.applied(verdict.event, verdict, as_is=as_is)
        if as_is is not None:
            runtime.state.settle(result)
            return None
        chat.forced = line.agent
        return Given(verdict.event, verdict.inject)

    async def _helped(self, chat: Chat, floor: list[Spoken]) -> Given | None:
        """No answer: waits for the monitor to ask somebody for one, if the user lets it."""
        run, mail, wait_ms = self._runtime.digd_run, self._runtime.mail, self._runtime.wait_for_healing_ms
        if not wait_ms or not run.heals or not chat.ours:
            return None
        chat.waits_for_healing = True
        try:
            name = await mail.wait(floor[-1].line.agent if floor else "", chat.has, wait_ms / 1000)
        finally:
            chat.waits_for_healing = False
        if name is None:
            return None
        chat.forced = name
        *before, last = mail.take(name)
        for given in before:
            mail.put(name, given, wakes=True)
        return last

    def carry_out(self, intervention: Intervention, speakers: list[str]) -> bool:
        """Gives the text to participants of a chat that has stopped without an answer and waits for help."""
        waiting = [chat for chat in self._chats.values() if chat.waits_for_healing]
        able = [n for n in speakers if any(c.has(n) and c.reads_text(n) for c in waiting)]
        for name in able:
            self._runtime.mail.put(name, Given(event_id(intervention), intervention.inject), wakes=True)
        return bool(able)
