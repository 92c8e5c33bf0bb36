"""The tokens of a node's model calls: LangChain's `usage_metadata` of the messages that the node added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.types import Command

from ..messages import Usage
from ..usage import model_call, total

MAX_MESSAGES = 10_000  # the maximum number of messages that are read in one value


def usage_of(value: Any, before: Any) -> Usage:
    """What the models used for the messages in `value` that are not in `before`, the node's input."""
    known = {_identity(message) for message in _messages(before)}
    added = {_identity(m): m for m in _messages(value) if m.usage_metadata is not None and _identity(m) not in known}
    return total(model_call(m.usage_metadata, len(m.tool_calls), model_of(m)) for m in added.values())


def model_of(message: AIMessage) -> Any:
    """The name of the model, as its provider's integration reports it."""
    described = message.response_metadata
    return described.get("model_name") or described.get("model")


def _identity(message: AIMessage) -> str | int:
    return message.id if message.id is not None else id(message)


def _messages(value: Any) -> Iterator[AIMessage]:
    """The AI messages in a state, an update, a command, or lists of these, but no deeper."""
    searched = 0
    for part in _parts(value):
        for message in part if isinstance(part, (list, tuple)) else (part,):
            searched += 1
            if searched > MAX_MESSAGES:
                return
            if isinstance(message, AIMessage):
                yield message


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, Command):
        value = value.update
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _parts(item) if isinstance(item, (Mapping, Command)) else (item,)
    elif isinstance(value, Mapping):
        yield from value.values()
    else:
        yield value
