"""Reads token counts that frameworks report. A missing or malformed count is zero; nothing here raises.

No price is built in: without a cost from the framework, digd computes one from the configuration's `[prices]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .messages import Usage

MAX_MODEL_BYTES = 256
MAX_COUNT = 10**9  # of one report; the daemon refuses more


def token_count(source: Any, *names: str) -> int:
    """Reads the members of an object or a mapping in this order; returns the first that is a valid count, else 0."""
    for name in names:
        value = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT:
            return value
    return 0


def model_call(usage: Any, tool_calls: int = 0, model: Any = None) -> Usage:
    """One call of a model: its counts, by any name that the frameworks use, and the tool calls in its answer."""
    tokens_in = token_count(usage, "input_tokens", "prompt_tokens")
    tokens_out = token_count(usage, "output_tokens", "completion_tokens")
    is_name = isinstance(model, str) and 0 < len(model.encode(errors="replace")) <= MAX_MODEL_BYTES
    return Usage(
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        model_calls=1,
        tool_calls=tool_calls,
        models=((model, tokens_in, tokens_out),) if is_name and tokens_in + tokens_out > 0 else (),
    )


def total(parts: Iterable[Usage]) -> Usage:
    return sum(parts, Usage())
