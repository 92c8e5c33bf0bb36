"""Options that adapters of agent frameworks resolve before a run exists."""

from __future__ import annotations

from .messages import Mode
from .options import requested_mode


def resolve_mode(mode: str | None = None) -> Mode:
    """The mode of an adapter's run: `mode`, else DIGD_MODE, else `shadow`, which changes nothing observable."""
    return requested_mode(mode) or "shadow"
