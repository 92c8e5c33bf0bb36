"""What a group chat's messages and parts say: who speaks, whether a model reads, whether a chat would stop."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from autogen_agentchat import conditions
from autogen_agentchat.base import AndTerminationCondition, OrTerminationCondition, TaskResult, Team
from autogen_agentchat.messages import BaseChatMessage, HandoffMessage, TextMessage, ToolCallExecutionEvent
from autogen_agentchat.teams._group_chat._events import GroupChatAgentResponse, GroupChatStart
from autogen_agentchat.teams._group_chat._swarm_group_chat import SwarmGroupChatManager

from ..line import NOTE, said
from ..session import log
from .flow import AgentLine

TEAM_SUFFIX = 37  # characters: `_` and the team's UUID end the types of a chat
PURE_CONDITIONS = (conditions.MaxMessageTermination, conditions.TextMentionTermination, conditions.HandoffTermination,
                   conditions.TimeoutTermination, conditions.TokenUsageTermination, conditions.ExternalTermination,
                   conditions.StopMessageTermination, conditions.SourceMatchTermination,
                   conditions.TextMessageTermination, conditions.FunctionCallTermination)


@dataclass
class Spoken:
    """What a speaker said last; its line is open until somebody takes it up."""

    line: AgentLine
    text: str
    handoff: HandoffMessage | None = None
    worked: bool = False  # a speaker that hands off did something else too


def name_of_speaker(type: str) -> str:
    """The participant's name, from its agent or topic type."""
    return type[:-TEAM_SUFFIX]


def text_of_messages(messages: Iterable[Any]) -> str:
    """The texts of messages, one below the other; a class of the program's own may have none."""
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
    """The last chat message of a result: a manager may have written it."""
    return text_of_messages([m for m in result.messages if isinstance(m, BaseChatMessage)][-1:])


def has_worked(message: GroupChatAgentResponse) -> bool:
    """Whether an agent that hands off did something else: called tools, or said what it thinks."""
    handoff = message.response.chat_message
    inner = message.response.inner_messages or []
    results = sum(len(m.content) for m in inner if isinstance(m, ToolCallExecutionEvent))
    return bool(getattr(handoff, "context", None)) or results > 1


def whispered(text: str) -> GroupChatStart:
    """Puts a text before one participant's next turn, without asking it to speak."""
    return GroupChatStart(messages=[TextMessage(content=NOTE + text, source="digd")])


def reads_text(container: Any) -> bool:
    """Whether a model reads this participant's text messages. A team or the program's own code may not."""
    agent = getattr(container, "_agent", None)
    while agent is not None and not isinstance(agent, Team):
        if getattr(agent, "_model_client", None) is not None:
            return True
        agent = getattr(agent, "_wrapped_agent", None)
    return False


def is_swarm(manager: Any) -> bool:
    """Whether hand-offs decide who speaks next."""
    return isinstance(manager, SwarmGroupChatManager)


def takes_for_answer(is_answer: Callable[[TaskResult], bool] | None, result: TaskResult) -> bool:
    """Whether the user takes a team's result for an answer."""
    try:
        return is_answer is None or bool(is_answer(result))
    except Exception:
        log.warning("digd: is_answer raised; the result counts as an answer", exc_info=True)
        return True


async def would_stop(manager: Any, message: GroupChatAgentResponse) -> bool:
    """Whether the chat may stop at this message. Asks a copy of the condition, unless the program wrote it."""
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
    except Exception:  # it has stopped already, or cannot be copied
        return True


def _leaves(condition: Any) -> list[Any]:
    if isinstance(condition, (AndTerminationCondition, OrTerminationCondition)):
        return [leaf for part in condition._conditions for leaf in _leaves(part)]
    return [condition]


async def fail(line: AgentLine, error: BaseException) -> None:
    """A speaker's turn failed, and so does its chat: its inputs are no open work."""
    await line.begin(line.agent)
    await line.end_failed(error, said(f"{type(error).__name__}: {error}"))


async def overheard(floor: list[Spoken]) -> None:
    """What was said last and is for nobody: notices."""
    for spoken in floor:
        await spoken.line.begin(spoken.line.agent)
        await spoken.line.end_with([], said(spoken.text), "message", fyi=True)
