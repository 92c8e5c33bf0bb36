"""What adapters of agent frameworks share before a run exists."""

from __future__ import annotations

from .messages import Mode
from .options import requested_mode


def resolve_mode(mode: str | None = None) -> Mode:
    """The mode of an adapter's run: the caller's, else DIGD_MODE, else `shadow`, which changes nothing a user can observe."""
    return requested_mode(mode) or "shadow"
