"""Payloads of events, and the monitor's texts for agents."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Any

from agents import AgentBase, AgentsException, TResponseInputItem
from pydantic import BaseModel

from ..line import MAX_MAIL, MAX_TEXT_CHARACTERS, NOTE
from ..messages import Json, Verdict

MAX_NAME_BYTES = 256


@dataclass(frozen=True)
class InputEvent:
    """An event for an agent, and the monitor's text on it.

    verdict: the verdict with the text. It is reported as applied when a model has received the text.
    """

    event: str
    text: str | None = None
    verdict: Verdict | None = None
    fyi: bool = False


class GivenBack(Exception):
    """Raised in a tool whose request the monitor gave back to its author. The text gives the reason."""

    def __init__(self, event: str, text: str) -> None:
        super().__init__(text)
        self.event = event


class HandoffGivenBack(AgentsException):
    """Stops a run whose handoff the monitor gave back. The adapter catches it and runs the agent again."""

    def __init__(self, agent: str, text: str) -> None:
        super().__init__(text)
        self.agent = agent
        self.text = text


class Mail:
    """Events that wait for agents that are not running."""

    def __init__(self) -> None:
        self._waiting: defaultdict[str, deque[InputEvent]] = defaultdict(lambda: deque(maxlen=MAX_MAIL))

    def put(self, agent: str, given: InputEvent) -> None:
        self._waiting[agent].append(given)

    def take(self, agent: str) -> list[InputEvent]:
        return list(self._waiting.pop(agent, ()))

    def holds(self, agent: str) -> bool:
        return agent in self._waiting


def name_of(agent: AgentBase[Any]) -> str:
    """The name of an agent for the daemon, which takes 1 to 256 bytes."""
    return str(agent.name or "agent").encode("utf-8", "replace")[:MAX_NAME_BYTES].decode("utf-8", "ignore")


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
