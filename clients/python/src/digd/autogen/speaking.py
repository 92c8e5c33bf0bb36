"""The turn of a group chat's participant that the running code belongs to.

Separate from `group_chat`, so that `autogen-core` alone can import it.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from .flow import AgentLine


@dataclass
class Turn:
    """A participant's turn. After it has spoken, the chat ends its line when the next speakers are known."""

    line: AgentLine
    has_spoken: bool = False


current_turn: ContextVar[Turn | None] = ContextVar("digd_autogen_speaking", default=None)
