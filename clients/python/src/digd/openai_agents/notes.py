"""Payloads of events, and the monitor's texts for agents."""

from __future__ import annotations

import json
from typing import Any

from agents import AgentBase, AgentsException, TResponseInputItem
from pydantic import BaseModel

from ..adapter import short_name
from ..line import MAX_TEXT_CHARACTERS, NOTE
from ..messages import Json


class HandoffGivenBack(AgentsException):
    """Stops a run whose handoff the monitor gave back. The adapter catches it and runs the agent again."""

    def __init__(self, agent: str, text: str) -> None:
        super().__init__(text)
        self.agent = agent
        self.text = text


def name_of(agent: AgentBase[Any]) -> str:
    """The name of an agent for the daemon."""
    return short_name(str(agent.name or "agent"))


def note_item(text: str) -> TResponseInputItem:
    """The monitor's text as an input item for a model."""
    return {"role": "user", "content": NOTE + text}


def payload(value: Any) -> Json:
    """An event's payload: the text of an agent's input or output. Never raises."""
    try:
        return {"text": _text(value)[:MAX_TEXT_CHARACTERS]}
    except Exception as error:  # raised by the program's own `model_dump_json` or `__str__`, or by the JSON encoder
        return {"text": f"({type(value).__name__}: {type(error).__name__})"}


def _text(value: Any) -> str:
    dump = getattr(value, "model_dump_json", None)
    if isinstance(value, str):
        return value
    if isinstance(value, BaseModel):
        return value.model_dump_json(warnings=False)
    if callable(dump) and not isinstance(value, type):
        return str(dump())
    return json.dumps(value, ensure_ascii=False, default=str)


def text_of(items: Any) -> str:
    """The request in a run's input: the input itself, or the latest text in a list of items."""
    if isinstance(items, str):
        return items
    for item in reversed(items if isinstance(items, list) else []):
        content = item.get("content") if isinstance(item, dict) else None
        if isinstance(content, str) and content:
            return content
    return str(payload(items)["text"])
