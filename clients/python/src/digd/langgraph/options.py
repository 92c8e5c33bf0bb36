"""The arguments of `instrument`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig

from .text import Inject


@dataclass(frozen=True)
class Options:
    inject: Inject
    submits: frozenset[str] | None
    run_id: Callable[[RunnableConfig], str] | None
    wait_for_healing_ms: float
    heal_errors: bool
    holds: str  # `wait` or `interrupt`
    run: dict[str, Any]
