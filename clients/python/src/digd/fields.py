"""Reads fields of the daemon's frames. Raises a ValueError that names the field if it is missing or has a wrong type.

The caller then refuses the whole frame, so that no value of a wrong type reaches the program.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def parsed(frame: bytes) -> Mapping[str, Any]:
    """The object in a frame. It has the text field `type`."""
    value = json.loads(frame, parse_constant=_refuse_constant)
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {_kind(value)}")
    text(value, "type")
    return value


def text(frame: Mapping[str, Any], name: str) -> str:
    value = frame.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name}: expected a text, got {_kind(value)}")
    return value


def optional_text(frame: Mapping[str, Any], name: str) -> str | None:
    return None if frame.get(name) is None else text(frame, name)


def texts(frame: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A list of texts; empty if it is missing."""
    values = _list(frame, name)
    for value in values:
        if not isinstance(value, str):
            raise ValueError(f"{name}: expected a list of texts, got {_kind(value)} in it")
    return tuple(values)


def objects(frame: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """A list of objects."""
    if frame.get(name) is None:
        raise ValueError(f"{name}: expected a list, got nothing")
    return optional_objects(frame, name)


def optional_objects(frame: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """A list of objects; empty if it is missing."""
    values = _list(frame, name)
    for value in values:
        if not isinstance(value, dict):
            raise ValueError(f"{name}: expected a list of objects, got {_kind(value)} in it")
    return values


def optional_object(frame: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    value = frame.get(name)
    if value is not None and not isinstance(value, dict):
        raise ValueError(f"{name}: expected an object, got {_kind(value)}")
    return value


def number(frame: Mapping[str, Any], name: str) -> float:
    """A number from 0."""
    value = frame.get(name)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise ValueError(f"{name}: expected a number from 0, got {_kind(value)}")
    return float(value)


def whole(frame: Mapping[str, Any], name: str) -> int:
    """A number from 0, rounded down to a whole one."""
    number(frame, name)
    return int(frame[name])


def optional_whole(frame: Mapping[str, Any], name: str) -> int | None:
    return None if frame.get(name) is None else whole(frame, name)


def optional_integer(frame: Mapping[str, Any], name: str) -> int | None:
    """A whole number of either sign."""
    value = frame.get(name)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise ValueError(f"{name}: expected a whole number, got {_kind(value)}")
    return value


def _list(frame: Mapping[str, Any], name: str) -> list[Any]:
    value = frame.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"{name}: expected a list, got {_kind(value)}")
    return value


def _kind(value: object) -> str:
    """The type of a value in JSON's words; a number as itself."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return f"{value:.12g}" if abs(value) < 1e300 else "a number out of range"
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list) else "an object"


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")
