"""The monitor's texts in AutoGen's messages, which are whatever classes a program has made for them."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from pydantic import BaseModel

from ..line import NOTE

Message = TypeVar("Message")
FIELDS = ("content", "text", "body", "message", "task", "question", "query", "prompt", "input")


class NoPlaceForNote(TypeError):
    """The message has no text that another could be added to."""


def text_of(message: Any) -> str:
    """What a message says, for a payload."""
    if isinstance(message, str):
        return message
    name = _field(message)
    return str(getattr(message, name)) if name is not None else repr(message)


def add_note(message: Message, text: str) -> Message:
    """A copy of the message with the monitor's text at the end of its own.

    That is the message itself if it is a string, else its field of one of the names in FIELDS, else its only text field.
    """
    if isinstance(message, str):
        return f"{message}\n\n{NOTE}{text}"  # type: ignore[return-value]
    name = _field(message)
    if name is None:
        raise NoPlaceForNote(f"a {type(message).__name__} has no field that a text could be added to; "
                             "give digd.autogen.Runtime an add_note that knows it")
    changed = {name: f"{getattr(message, name)}\n\n{NOTE}{text}"}
    if isinstance(message, BaseModel):
        return message.model_copy(update=changed)
    return dataclasses.replace(message, **changed)  # type: ignore[type-var]


def _field(message: Any) -> str | None:
    if isinstance(message, BaseModel):
        names = list(type(message).model_fields)
    elif dataclasses.is_dataclass(message):
        names = [f.name for f in dataclasses.fields(message) if f.init]
    else:
        return None
    texts = [n for n in names if isinstance(getattr(message, n), str)]
    named = [n for n in FIELDS if n in texts]
    return named[0] if named else texts[0] if len(texts) == 1 else None
