"""The places for the monitor's texts in AutoGen's messages.

A text is added only where a model reads it: in AutoGen's own text messages. The program's own message classes are data.
They stay unchanged unless the program passes `add_note=` to `digd.autogen.Runtime`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

from autogen_core.models import SystemMessage, UserMessage
from pydantic import BaseModel

from ..activation import error_text
from ..line import NOTE

Message = TypeVar("Message")
AddNote = Callable[[Any, str], Any]
FIELDS = ("content", "text", "body", "message", "task", "question", "query", "prompt", "input")
MODEL_MESSAGES: tuple[type, ...] = (UserMessage, SystemMessage)

try:
    from autogen_agentchat.messages import TextMessage

    MODEL_MESSAGES = (*MODEL_MESSAGES, TextMessage)
except ModuleNotFoundError:  # autogen-core alone
    pass


class NoPlaceForNote(TypeError):
    """Raised when a message has no text field for a note."""


def text_of(message: Any) -> str:
    """The text of a message, for a payload."""
    if isinstance(message, str):
        return message
    name = _text_field(message)
    try:
        return str(getattr(message, name)) if name is not None else repr(message)
    except Exception as error:  # raised by the program's own __repr__
        return f"({type(message).__name__}: {type(error).__name__})"


def content_of(message: Any) -> str:
    """A text of the whole message, to detect changes in place."""
    try:
        return repr(message)
    except Exception:  # raised by the program's own __repr__
        return ""


def wrapping_errors(add_note: AddNote) -> AddNote:
    """Wraps a user's `add_note`: every error becomes NoPlaceForNote."""

    def try_note(message: Any, text: str) -> Any:
        try:
            return add_note(message, text)
        except NoPlaceForNote:
            raise
        except Exception as error:
            raise NoPlaceForNote(f"add_note raised {error_text(error)}") from error

    return try_note


def add_model_note(message: Message, text: str) -> Message:
    """The default `add_note`: returns a copy of one of AutoGen's text messages with the monitor's text at its end."""
    if isinstance(message, MODEL_MESSAGES) and isinstance(message.content, str):  # type: ignore[attr-defined]
        return add_note(message, text)
    raise NoPlaceForNote(f"a {type(message).__name__} is the program's own data; digd.autogen.notes() returns the text "
                         "in its handler, and Runtime(add_note=digd.autogen.add_note) adds it to such messages")


def add_note(message: Message, text: str) -> Message:
    """For `Runtime(add_note=…)`: returns a copy of any message with the text appended.

    A string is extended itself; any other message in the first of its fields that FIELDS names.
    """
    if isinstance(message, str):
        return f"{message}\n\n{NOTE}{text}"  # type: ignore[return-value]
    name = _text_field(message)
    if name is None:
        raise NoPlaceForNote(f"a {type(message).__name__} has no text field of a known name; give digd.autogen.Runtime "
                             "an add_note that knows it")
    changed = {name: f"{getattr(message, name)}\n\n{NOTE}{text}"}
    if isinstance(message, BaseModel):
        return message.model_copy(update=changed)
    return dataclasses.replace(message, **changed)  # type: ignore[type-var]


def _text_field(message: Any) -> str | None:
    if isinstance(message, BaseModel):
        names = list(type(message).model_fields)
    elif dataclasses.is_dataclass(message):
        names = [f.name for f in dataclasses.fields(message) if f.init]
    else:
        return None
    return next((name for name in FIELDS if name in names and isinstance(getattr(message, name), str)), None)
