"""Parts that all adapters of agent frameworks share: the mode of a run, and the names of agents."""

from __future__ import annotations

import hashlib

from .messages import Mode, transmitted
from .options import requested_mode

MAX_NAME_BYTES = 256


def resolve_mode(mode: str | None = None) -> Mode:
    """The mode of an adapter's run: `mode`, else DIGD_MODE, else `shadow`, which changes nothing observable."""
    return requested_mode(mode) or "shadow"


def short_name(name: str) -> str:
    """An agent's name for the daemon, which takes at most 256 bytes. A digest keeps longer names distinct."""
    sent = transmitted(name)
    encoded = sent.encode()
    if len(encoded) <= MAX_NAME_BYTES:
        return sent
    digest = hashlib.sha256(encoded).hexdigest()[:16]
    return encoded[: MAX_NAME_BYTES - 20].decode("utf-8", "ignore") + "..." + digest
