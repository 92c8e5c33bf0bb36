"""Reads a group chat's messages and parts: who speaks, whether a model reads a text, whether a chat would stop."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from autogen_agentchat import conditions
from autogen_agentchat.base import AndTerminationCondition, OrTerminationCondition, TaskResult, Team
from autogen_agentchat.messages import (BaseChatMessage, HandoffMessage, TextMessage, ToolCallExecutionEvent,
                                        ToolCallRequestEvent)
from autogen_agentchat.teams._group_chat._events import (GroupChatAgentResponse, GroupChatError, GroupChatStart,
                                                        SerializableException)
from autogen_agentchat.teams._group_chat._swarm_group_chat import SwarmGroupChatManager
from autogen_core import DefaultTopicId, MessageContext

from ..activation import error_text
from ..cancellation import Cancelled
from ..line import NOTE, text_payload
from ..messages import Usage
from ..session import log
from ..usage import model_call, total
from .flow import AgentLine

TEAM_SUFFIX = 37  # characters: `_` and the team's UUID end the types of a chat
PURE_CONDITIONS = (conditions.MaxMessageTermination, conditions.TextMentionTermination, conditions.HandoffTermination,
                   conditions.TimeoutTermination, conditions.TokenUsageTermination, conditions.ExternalTermination,
                   conditions.StopMessageTermination, conditions.SourceMatchTermination,
                   conditions.TextMessageTermination, conditions.FunctionCallTermination)


@dataclass
class Utterance:
    """A speaker's message that no other speaker has taken up yet. Its line stays open until then."""

    line: AgentLine
    text: str
    handoff: HandoffMessage | None = None
    has_other_work: bool = False  # whether the speaker did more than hand off


def name_of_speaker(type: str) -> str:
    """The participant's name, from its agent or topic type."""
    return type[:-TEAM_SUFFIX]


def text_of_messages(messages: Iterable[Any]) -> str:
    """The texts of messages, one per line. A program's own message class may fail to give a text."""
    texts = []
    for message in messages:
        try:
            texts.append(str(message.to_text()))
        except Exception as error:
            texts.append(f"({type(message).__name__}: {type(error).__name__})")
    return "\n".join(texts)


def text_of_response(message: Any) -> str:
    agents = isinstance(message, GroupChatAgentResponse)
    return text_of_messages([message.response.chat_message] if agents else message.result.messages)


def text_of_result(result: TaskResult) -> str:
    """The last chat message of a result. A manager may have written it."""
    return text_of_messages([m for m in result.messages if isinstance(m, BaseChatMessage)][-1:])


def has_worked(message: GroupChatAgentResponse) -> bool:
    """Whether an agent that hands off did something else: called tools, or wrote a text."""
    handoff = message.response.chat_message
    inner = message.response.inner_messages or []
    results = sum(len(m.content) for m in inner if isinstance(m, ToolCallExecutionEvent))
    return bool(getattr(handoff, "context", None)) or results > 1


def usage_of(message: GroupChatAgentResponse) -> Usage:
    """What the models of a participant used for its turn, as AutoGen reports it."""
    parts = [*(message.response.inner_messages or ()), message.response.chat_message]
    calls = [(part.models_usage, part) for part in parts if getattr(part, "models_usage", None) is not None]
    return total(
        model_call(usage, len(part.content) if isinstance(part, ToolCallRequestEvent) else 0) for usage, part in calls
    )


def text_before_turn(text: str) -> GroupChatStart:
    """A message that gives one participant a text before its turn, without asking it to speak."""
    return GroupChatStart(messages=[TextMessage(content=NOTE + text, source="digd")])


def reads_text(container: Any) -> bool:
    """Whether a model reads this participant's text messages. False for teams and for agents without a known model."""
    agent = getattr(container, "_agent", None)
    while agent is not None and not isinstance(agent, Team):
        if getattr(agent, "_model_client", None) is not None:
            return True
        agent = getattr(agent, "_wrapped_agent", None)
    return False


def is_swarm(manager: Any) -> bool:
    """Whether handoffs choose the next speaker."""
    return isinstance(manager, SwarmGroupChatManager)


def takes_for_answer(is_answer: Callable[[TaskResult], bool] | None, result: TaskResult) -> bool:
    """Whether the user's `is_answer` accepts the team's result as an answer."""
    try:
        return is_answer is None or bool(is_answer(result))
    except Exception:
        log.warning("digd: is_answer raised; the result counts as an answer", exc_info=True)
        return True


async def would_stop(manager: Any, message: GroupChatAgentResponse) -> bool:
    """Whether the chat may stop at this message. Evaluates a copy of AutoGen's conditions; True for a program's own."""
    if manager._max_turns is not None and manager._current_turn + 1 >= manager._max_turns:
        return True
    condition = manager._termination_condition
    if condition is None:
        return False
    if not all(type(leaf) in PURE_CONDITIONS for leaf in _leaves(condition)):
        return True
    try:
        delta = [*(message.response.inner_messages or ()), message.response.chat_message]
        return await copy.deepcopy(condition)(delta) is not None
    except Exception:  # the condition was met already, or cannot be copied
        return True


def _leaves(condition: Any) -> list[Any]:
    if isinstance(condition, (AndTerminationCondition, OrTerminationCondition)):
        return [leaf for part in condition._conditions for leaf in _leaves(part)]
    return [condition]


async def speak(line: AgentLine, agent: Any, message: Any, ctx: MessageContext) -> Any:
    """Awaits a participant's turn. If digd cancels it, ends the chat as AutoGen does after an error of a participant.

    AutoGen does not end a chat for a CancelledError.
    """
    try:
        return await line.do(partial(agent.on_message, message), ctx)
    except Cancelled as error:
        if line.was_cancelled:
            notice = GroupChatError(error=SerializableException.from_exception(error))
            await agent.publish_message(notice, topic_id=DefaultTopicId(type=agent._parent_topic_type))
        raise


async def fail(line: AgentLine, error: BaseException) -> None:
    """Ends the line of a speaker whose turn failed. The chat fails too, so its inputs are not open work."""
    await line.begin(line.agent)
    await line.end_failed(error, text_payload(error_text(error)))


async def emit_as_notices(pending: list[Utterance]) -> None:
    """Reports utterances that no speaker will take up as notices."""
    for utterance in pending:
        await utterance.line.begin(utterance.line.agent)
        await utterance.line.end_with([], text_payload(utterance.text), "message", fyi=True)
