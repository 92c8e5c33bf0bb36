"""How a node reads the texts that digd injects: as a message in its input, or by calling `notes`."""

from __future__ import annotations

import contextvars
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

Inject = Callable[[Any, str], Any]
"""Returns a node's input with a text added, or the same object if it has no place for one."""


@dataclasses.dataclass
class Notes:
    """The texts for one execution of a node, and whether the node called `notes`."""

    texts: tuple[str, ...] = ()
    asked: bool = False


current_notes: contextvars.ContextVar[Notes | None] = contextvars.ContextVar("digd_notes", default=None)


def notes() -> tuple[str, ...]:
    """Call within a node: returns the texts that digd injects into this execution. For nodes without messages.

    digd may run a node that calls this again to read a text. It does not do so with other nodes without messages.
    """
    current = current_notes.get()
    if current is None:
        return ()
    current.asked = True
    return current.texts


def takes_text(messages: Any) -> bool:
    """Whether a model can read one more message after these.

    A message between a tool call and its answer would make the conversation invalid.
    """
    if not isinstance(messages, list) or not messages or not all(isinstance(m, BaseMessage) for m in messages):
        return False
    return not (isinstance(messages[-1], AIMessage) and messages[-1].tool_calls)


def add_text(state: Any, text: str) -> Any:
    """The default `inject`: a copy of the state with a HumanMessage at the end of its `messages`.

    Other states are returned as they are.
    """
    if isinstance(state, list):
        return [*state, HumanMessage(text)] if takes_text(state) else state
    messages = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
    if not takes_text(messages):
        return state
    longer = [*messages, HumanMessage(text)]  # type: ignore[misc]
    if isinstance(state, dict):
        return {**state, "messages": longer}
    if dataclasses.is_dataclass(state) and not isinstance(state, type):
        return dataclasses.replace(state, messages=longer)
    copy = getattr(state, "model_copy", None)
    return copy(update={"messages": longer}) if callable(copy) else state
