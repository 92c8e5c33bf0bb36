"""AutoGen's group chats: the speakers' turns and utterances, read from the messages of a chat.

All participants receive every message, and a manager asks the next speakers. An utterance is an event for the next
speakers only: they take it up when they are asked to speak. Utterances of one round go to all speakers of the next.

The messages are those of `autogen_agentchat.teams._group_chat._events`, AutoGen's protocol between a manager and its
participants. The module is private, so the tested versions are pinned.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from autogen_agentchat.base import TaskResult, Team
from autogen_agentchat.messages import HandoffMessage, StopMessage, TextMessage
from autogen_agentchat.teams._group_chat._base_group_chat_manager import BaseGroupChatManager
from autogen_agentchat.teams._group_chat._chat_agent_container import ChatAgentContainer
from autogen_agentchat.teams._group_chat._events import (GroupChatAgentResponse, GroupChatRequestPublish,
                                                         GroupChatReset, GroupChatStart, GroupChatTeamResponse,
                                                         GroupChatTermination)
from autogen_core import AgentId, TopicId

from ..cancellation import UNDELIVERED_TEXT
from ..line import MAX_ROUNDS, NOTE, InputEvent, text_payload
from ..messages import Intervention, Verdict, event_id
from .conversation import (Utterance, emit_as_notices, fail, has_worked, is_swarm, name_of_speaker, reads_text,
                           speak, takes_for_answer, text_before_turn, text_of_messages, text_of_response,
                           text_of_result, usage_of, would_stop)
from .flow import AgentLine, consume_without_call
from .host import Host
from .speaking import Turn, current_turn

TEAM_ID = 36  # characters: a chat's types and topics end in `_` and the team's UUID
Sending = tuple[Any, TopicId, dict[str, Any]]

requests: ContextVar[list[Sending] | None] = ContextVar("digd_autogen_requests", default=None)
"""Collects a manager's requests to speak while it handles a message. They are sent when all of them are known."""


def chat_of(type: str) -> str:
    """The team's id, from the type of one of its agents or topics."""
    return type[-TEAM_ID:]


@dataclass
class Chat:
    """One team's conversation."""

    runtime: Host
    id: str
    key: str = ""  # of the agents and topics
    is_run_by_adapter: bool = False  # `Chats.run` runs it, and handles its end
    manager: Any = None
    caller: AgentLine | None = None  # for a team within a team: the line of the participant that this team is
    task_text: str | None = None  # the task, announced when the speakers are known
    pending: list[Utterance] = field(default_factory=list)  # utterances without a next speaker yet
    inputs: dict[str, list[InputEvent]] = field(default_factory=dict)  # by speaker: inputs of its turn
    extra_inputs: list[InputEvent] = field(default_factory=list)  # further inputs of the next speakers
    person_turn: tuple[str, AgentLine] | None = None  # a person that the chat waits for, and the person's line
    next_speaker: str | None = None  # overrides the manager's choice
    replaced_speakers: dict[str, str] = field(default_factory=dict)  # by speaker: the manager's choice
    forwarders: set[str] = field(default_factory=set)  # speakers that only handed the present task on
    speaking: list[AgentLine] = field(default_factory=list)  # lines of open turns
    waits_for_healing: bool = False
    stop_text: str | None = None  # a verdict gave the task or an utterance to nobody: the chat stops with this text
    has_failed: bool = False  # it raised or was cancelled; later utterances are notices

    def topic(self, speaker: str) -> TopicId:
        return TopicId(f"{speaker}_{self.id}", self.key)

    def has(self, name: str) -> bool:
        return self.runtime.is_registered(self.topic(name).type)

    def reads_text(self, name: str) -> bool:
        """Whether a model reads this participant's messages."""
        type = self.topic(name).type
        return reads_text(self.runtime.instance(AgentId(type, self.key)))

    async def clear(self) -> None:
        """Handles the reset of the team: drops the pending utterances."""
        pending, self.pending = self.pending, []
        for utterance in pending:
            await utterance.line.end()
        self.task_text, self.person_turn, self.next_speaker = None, None, None
        self.inputs, self.extra_inputs, self.replaced_speakers = {}, [], {}
        self.forwarders = set()


class Chats:
    """All group chats of a runtime."""

    def __init__(self, runtime: Host) -> None:
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

    def reset(self) -> None:
        """Drops all chats: the runtime reports to another run from now on."""
        self._chats.clear()

    def participant(self, type: str) -> list[str]:
        """The name of the participant of this agent type; an empty list for a manager."""
        return [name_of_speaker(type)] if type in self._participants else []

    def has_participant(self, name: str) -> bool:
        return any(name == name_of_speaker(type) for type in self._participants)

    def is_paused(self) -> bool:
        """Whether a chat waits for a person."""
        return any(chat.person_turn is not None for chat in self._chats.values())

    def chat(self, id: str) -> Chat:
        return self._chats.setdefault(id, Chat(self._runtime, id))

    def owns(self, type: str) -> bool:
        """Whether agents of this type belong to a chat."""
        return type in self._managers or type in self._participants

    # ---- messages

    async def sent(self, message: Any, recipient: AgentId) -> None:
        """Handles a message sent to a manager or a participant. Only the start and the reset of a chat matter."""
        if recipient.type not in self._managers:
            return
        chat = self.chat(chat_of(recipient.type))
        chat.key = recipient.key
        if isinstance(message, GroupChatReset):
            await chat.clear()
        if not isinstance(message, GroupChatStart):
            return
        turn, chat.has_failed = current_turn.get(), False
        chat.caller = None if turn is None else turn.line
        if chat.caller is None:
            self._runtime.flow.start_chat(chat.id)
        text = text_of_messages(message.messages or ())
        if chat.person_turn is not None:
            (_, line), chat.person_turn = chat.person_turn, None
            chat.pending.append(Utterance(line, text))
        elif not chat.extra_inputs:
            chat.task_text = text

    async def published(self, message: Any, topic: TopicId, options: dict[str, Any]) -> list[Sending]:
        """Returns the messages to publish in place of a message that a manager or a participant publishes."""
        chat = self.chat(chat_of(topic.type))
        speak_requests = requests.get()
        if isinstance(message, GroupChatRequestPublish) and speak_requests is not None:
            speak_requests.append((message, topic, options))
            return []
        if isinstance(message, (GroupChatAgentResponse, GroupChatTeamResponse)):
            message = await self._on_spoken(chat, message)
        if isinstance(message, GroupChatTermination) and not chat.is_run_by_adapter:
            await self._on_terminated(chat, message)
        return [(message, topic, options)]

    async def _address_speakers(self, chat: Chat, speak_requests: list[Sending]) -> list[Sending]:
        """Announces the pending utterances to a round's speakers. Returns the requests as the verdicts want them."""
        chosen = [name_of_speaker(topic.type) for _, topic, _ in speak_requests]
        speakers = [chat.next_speaker or chosen[0], *chosen[1:]]
        chat.next_speaker = None
        await self._runtime.announce_agents(*speakers)
        speakers[0], inputs = await self._announce_pending(chat, speakers)
        if chat.stop_text is not None:
            text, chat.stop_text = chat.stop_text, None
            await chat.manager._signal_termination(StopMessage(content=text, source="digd"))
            return []
        sendings: list[Sending] = []
        for speaker, choice, (message, _, options) in zip(speakers, chosen, speak_requests):
            if speaker != choice:
                chat.replaced_speakers[speaker] = choice
            chat.inputs[speaker] = list(inputs)
            sendings.append((message, chat.topic(speaker), options))
        return sendings

    async def _announce_pending(self, chat: Chat, speakers: list[str]) -> tuple[str, list[InputEvent]]:
        """Announces the pending utterances. Returns the first speaker as the verdicts want it, and the events."""
        pending, chat.pending = chat.pending, []
        inputs, chat.extra_inputs = chat.extra_inputs, []
        verdicts: list[Verdict] = []
        if chat.task_text is not None:
            task, chat.task_text = text_payload(chat.task_text), None
            chat.forwarders = set()
            verdicts.append(await self._runtime.digd_run.emit(speakers, task, kind="task") if chat.caller is None
                            else await chat.caller.emit(speakers, task, "request"))
        for utterance in pending:
            verdicts += await self._announce(chat, utterance, speakers)
        first = speakers[0]
        for verdict in verdicts:
            if verdict.action == "reroute" and not verdict.recipients:
                self._runtime.digd_run.applied(verdict.event, verdict)
                chat.stop_text = verdict.inject or UNDELIVERED_TEXT
                continue
            target = verdict.recipients[0] if verdict.action == "reroute" and verdict.recipients else first
            as_is = self._refusal_reason(chat, verdict, [target] if verdict.action == "reroute" else speakers)
            self._runtime.digd_run.applied(verdict.event, verdict, as_is=as_is)
            first = target if as_is is None else first
            inputs.append(InputEvent(verdict.event, verdict.inject))
        return first, inputs

    async def _announce(self, chat: Chat, utterance: Utterance, speakers: list[str]) -> tuple[Verdict, ...]:
        """Announces an utterance to the speakers. Handing the task to one that handed it on before is a reroute."""
        line = utterance.line
        await line.advance()
        if utterance.handoff is None or not is_swarm(chat.manager):
            chat.forwarders = set()
            return (await line.end_with(speakers, text_payload(utterance.text), "message"),)
        await line.begin(line.agent)
        if utterance.has_other_work:
            chat.forwarders = set()
        else:
            chat.forwarders.add(line.agent)
            if chat.forwarders >= set(speakers) and line.inputs:
                return await line.reroute_inputs(speakers)
        return (await line.end_with(speakers, text_payload(utterance.text), "handoff"),)

    def _refusal_reason(self, chat: Chat, verdict: Verdict, speakers: list[str]) -> str | None:
        """Why a verdict cannot be carried out; None if it can."""
        if verdict.action == "deliver":
            return None
        missing = [name for name in speakers if not chat.has(name)]
        if missing:
            return f"{missing[0]!r} is not a participant"
        without_model = [name for name in speakers if not chat.reads_text(name)]
        return f"no model of {without_model[0]!r} reads a text" if without_model and verdict.inject else None

    async def _on_spoken(self, chat: Chat, message: Any) -> Any:
        """Handles a participant's utterance. It is pending until the next speakers are known, or the chat ends."""
        choice = chat.replaced_speakers.pop(message.name, None)
        turn = current_turn.get()
        if turn is not None:
            turn.has_spoken = True
            if isinstance(message, GroupChatAgentResponse):
                turn.line.add_usage(usage_of(message))
            utterance = Utterance(turn.line, text_of_response(message))
            handoff = message.response.chat_message if isinstance(message, GroupChatAgentResponse) else None
            if isinstance(handoff, HandoffMessage):
                utterance.has_other_work = has_worked(message)
                person = not chat.has(handoff.target)
                if is_swarm(chat.manager) or person:
                    utterance.handoff = handoff
                if is_swarm(chat.manager) and person and not await would_stop(chat.manager, message):
                    message = await self._hand_off_to_nobody(chat, utterance, message)
            if chat.has_failed:
                await emit_as_notices([utterance])
            else:
                chat.pending.append(utterance)
        return message if choice is None else message.model_copy(update={"name": choice})

    async def _hand_off_to_nobody(self, chat: Chat, utterance: Utterance, message: GroupChatAgentResponse) -> Any:
        """Reports a handoff to nobody, at which AutoGen raises. If it is given back, its author continues instead."""
        assert utterance.handoff is not None
        run, line = self._runtime.digd_run, utterance.line
        await line.begin(message.name)
        to = [utterance.handoff.target] if run.agents is not None else []
        verdict = await line.end_with(to, text_payload(utterance.text), "handoff")
        utterance.handoff = None
        if verdict.action != "reroute":
            run.applied(verdict.event, verdict)
            await line.begin(message.name)
            return message
        as_is = self._refusal_reason(chat, verdict, list(verdict.recipients))
        run.applied(verdict.event, verdict, as_is=as_is)
        await line.begin(message.name)
        if as_is is not None:
            return message
        chat.extra_inputs = [InputEvent(verdict.event, verdict.inject)]
        utterance.text = "(digd gave the hand-off back to its author)"
        changed = message.response.chat_message.model_copy(update={"target": verdict.recipients[0]})
        return message.model_copy(update={"response": type(message.response)(
            chat_message=changed, inner_messages=message.response.inner_messages)})

    def stop(self) -> None:
        """Ends all chats: the runtime has dropped the messages that were not handled."""
        for id in self._chats:
            self._runtime.flow.end_chat(id)

    # ---- calls of managers and participants

    async def handled(self, agent: Any, message: Any, ctx: Any) -> Any:
        """Handles a call of a manager or a participant. Only a participant's turn to speak is an activation."""
        chat = self.chat(chat_of(agent.id.type))
        if agent.id.type in self._managers:
            return await self._call_manager(chat, agent, message, ctx)
        if not isinstance(message, GroupChatRequestPublish):
            return await agent.on_message(message, ctx)
        speaker = name_of_speaker(agent.id.type)
        line = self._runtime.line()
        for input in chat.inputs.pop(speaker, []):
            line.add_input(input)
        await line.begin(speaker)
        for note in line.notes if reads_text(agent) else ():
            await agent.on_message(text_before_turn(note), ctx)
        chat.speaking.append(line)
        try:
            return await self._speak(line, agent, message, ctx)
        finally:
            chat.speaking.remove(line)

    async def _call_manager(self, chat: Chat, manager: Any, message: Any, ctx: Any) -> Any:
        """Calls a manager, and sends its requests to speak afterwards."""
        chat.manager = manager
        speak_requests: list[Sending] = []
        token, turn_token = requests.set(speak_requests), current_turn.set(None)
        finished = False
        try:
            result = await manager.on_message(message, ctx)
            finished = True
            return result
        except BaseException as error:
            await self._on_failed(chat, error)
            raise
        finally:
            requests.reset(token)
            current_turn.reset(turn_token)
            if speak_requests:
                with self._runtime.holding():
                    for sending in await self._address_speakers(chat, speak_requests) if finished else speak_requests:
                        await self._runtime.publish_unwatched(*sending)

    async def _speak(self, line: AgentLine, agent: Any, message: Any, ctx: Any) -> Any:
        turn = Turn(line)
        token = current_turn.set(turn)
        try:
            response = await speak(line, agent, message, ctx)
        except BaseException as error:
            await fail(line, error)
            raise
        finally:
            current_turn.reset(token)
        if not turn.has_spoken:
            await line.end()
        return response

    # ---- a chat from its start to its end

    async def run(self, team: Team, run_stream: Callable[..., Any], task: Any,
                  options: dict[str, Any]) -> AsyncGenerator[Any, None]:
        """Runs the team, and again if its answer was given back or the monitor asks for one."""
        chat = self.chat(team._team_id) if hasattr(team, "_team_id") and not self._runtime.is_off else None
        messages: list[Any] = []
        try:
            for _ in range(MAX_ROUNDS):
                if chat is not None:
                    chat.is_run_by_adapter = True
                async with aclosing(run_stream(task=task, **options)) as items:
                    async for item in items:
                        if not isinstance(item, TaskResult):
                            yield item
                again = None if chat is None else await self._on_finished(chat, item)
                messages += item.messages
                if again is None or chat is None:
                    break
                chat.extra_inputs = [InputEvent(again.event)]
                task = TextMessage(content=NOTE + (again.text or ""), source="digd")
            ran_once = len(messages) == len(item.messages)
            yield item if ran_once else TaskResult(messages=messages, stop_reason=item.stop_reason)
        except BaseException as error:
            if chat is not None:
                await self._on_failed(chat, error)
            raise
        finally:
            if chat is not None:
                chat.is_run_by_adapter = False

    async def _on_failed(self, chat: Chat, error: BaseException) -> None:
        """Closes everything of a chat that raised or was cancelled."""
        pending, chat.pending = chat.pending, []
        for utterance in pending:
            await fail(utterance.line, error)
        for line in chat.speaking:  # the speaker may continue, but nobody waits for it
            await line.end()
        inputs_by_speaker, chat.inputs = chat.inputs, {}
        for speaker, inputs in inputs_by_speaker.items():
            for input in inputs:
                await consume_without_call(self._runtime.digd_run, speaker, input.event)
        chat.task_text, chat.extra_inputs, chat.has_failed = None, [], True
        await self._runtime.chat_ended(chat.id)
        self._runtime.state.outcome = "failure" if isinstance(error, Exception) else "aborted"

    async def _on_terminated(self, chat: Chat, message: GroupChatTermination) -> None:
        """Handles the end of a chat that the adapter cannot continue: a nested one, or one run by its own team."""
        if message.error is not None:
            return await self._on_failed(chat, RuntimeError(message.error.error_type))
        thread = list(getattr(chat.manager, "_message_thread", ()))
        result = TaskResult(messages=thread, stop_reason=message.message.content)
        with self._runtime.digd_run.unheld("delivered"):
            await self._on_finished(chat, result)

    async def _answer_caller(self, chat: Chat, caller: AgentLine) -> None:
        """Sends the last utterance of a team within a team to the participant that the team is."""
        pending, chat.pending = chat.pending, []
        await emit_as_notices(pending[:-1])
        if pending:
            line = pending[-1].line
            await line.advance()
            verdict = await line.end_with([caller.agent], text_payload(pending[-1].text), "answer")
            follows = verdict.action != "reroute"
            self._runtime.digd_run.applied(verdict.event, verdict, as_is=None if follows else "the team has stopped")
            caller.add_input(InputEvent(verdict.event, verdict.inject if follows else None))

    async def _on_finished(self, chat: Chat, result: TaskResult) -> InputEvent | None:
        """Handles the end of a chat. Returns the input with which it has to continue, if it has to."""
        if chat.caller is not None:
            with self._runtime.holding():
                await self._answer_caller(chat, chat.caller)
            return None
        pending, chat.pending = chat.pending, []
        self._runtime.state.outcome = "success"
        try:
            if pending and pending[-1].handoff is not None and not chat.has(pending[-1].handoff.target):
                with self._runtime.holding():
                    await emit_as_notices(pending[:-1])
                    await self._pause(chat, pending[-1])
                return None
            if not takes_for_answer(self._runtime.is_answer, result):
                await emit_as_notices(pending)
                return await self._wait_for_healing(chat, pending)
            with self._runtime.holding():
                await emit_as_notices(pending[:-1])
                return await self._submit_answer(chat, pending[-1], result) if pending else None
        finally:
            await self._runtime.chat_ended(chat.id)

    async def _pause(self, chat: Chat, utterance: Utterance) -> None:
        """Reports a handoff to a person. The person takes it up, and acts until the team runs again."""
        assert utterance.handoff is not None
        person = utterance.handoff.target
        await self._runtime.announce_agents(person)
        await utterance.line.begin(utterance.line.agent)
        verdict = await utterance.line.end_with([person], text_payload(utterance.text), "handoff")
        line = self._runtime.line()
        line.add_input(InputEvent(verdict.event))
        await line.begin(person)
        await line.end()  # consumed at once: nothing may be pending while the chat waits for the person
        line.add_input(InputEvent(verdict.event))
        await line.begin(person)
        chat.person_turn = (person, line)

    async def _submit_answer(self, chat: Chat, utterance: Utterance, result: TaskResult) -> InputEvent | None:
        """Submits the final answer. Returns it as an input if it was given back; then its author speaks next."""
        runtime, line = self._runtime, utterance.line
        await line.begin(line.agent)
        await line.advance()
        text = text_payload(text_of_result(result) or utterance.text)
        if not runtime.flow.is_idle([chat.id]):
            verdict = await line.end_with([], text, "answer", fyi=True)
            runtime.defer_answer(line.agent, verdict.event, result)
            return None
        verdict = await line.end_with([], text, "answer", submit=True)
        if verdict.action != "reroute":
            runtime.state.settle(result)
            return None
        as_is = self._refusal_reason(chat, verdict, [line.agent]) if chat.is_run_by_adapter else "the team has stopped"
        runtime.digd_run.applied(verdict.event, verdict, as_is=as_is)
        if as_is is not None:
            runtime.state.settle(result)
            return None
        chat.next_speaker = line.agent
        return InputEvent(verdict.event, verdict.inject)

    async def _wait_for_healing(self, chat: Chat, pending: list[Utterance]) -> InputEvent | None:
        """Waits for an intervention that asks for an answer, if the user allows it. Returns its event."""
        run, mail, wait_ms = self._runtime.digd_run, self._runtime.mail, self._runtime.wait_for_healing_ms
        if not wait_ms or not run.heals or not chat.is_run_by_adapter:
            return None
        chat.waits_for_healing = True
        try:
            name = await mail.wait(pending[-1].line.agent if pending else "", chat.has, wait_ms / 1000)
        finally:
            chat.waits_for_healing = False
        if name is None:
            return None
        chat.next_speaker = name
        *before, last = mail.take(name)
        for input in before:
            mail.put(name, input, wakes=True)
        return last

    def carry_out(self, intervention: Intervention, speakers: list[str]) -> bool:
        """Gives the text to participants of chats that stopped without an answer. Returns whether any can read it."""
        waiting = [chat for chat in self._chats.values() if chat.waits_for_healing]
        readers = [n for n in speakers if any(c.has(n) and c.reads_text(n) for c in waiting)]
        for name in readers:
            self._runtime.mail.put(name, InputEvent(event_id(intervention), intervention.inject), wakes=True)
        return bool(readers)
