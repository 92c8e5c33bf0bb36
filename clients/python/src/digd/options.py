"""The options that a run takes from its caller or the environment: the daemon's address, the token and the mode.

Bad values raise ValueError when the run is constructed, so that a typo cannot leave a run unwatched.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from .messages import Json, Mode

DEFAULT_ADDRESS = "127.0.0.1:7344"
MODES: tuple[str, ...] = get_args(Mode)
MAX_SOCKET_PATH_BYTES = 107  # of sockaddr_un
_NETWORK = re.compile(r"(?:(ws|wss)://)?(\[[0-9A-Fa-f:.]+\]|[^\s/?#@:\[\]]+):([0-9]{1,5})")


@dataclass(frozen=True)
class Address:
    """Where a daemon listens: a socket in the file system, or a host and a port."""

    host: str = ""
    port: int = 0
    tls: bool = False
    socket_path: str | None = None

    def __str__(self) -> str:
        return f"unix:{self.socket_path}" if self.socket_path is not None else self.origin

    @property
    def origin(self) -> str:
        """The address as the start of a WebSocket URI."""
        return (
            "ws://localhost"
            if self.socket_path is not None
            else f"{'wss' if self.tls else 'ws'}://{self.host}:{self.port}"
        )


def parse_address(text: str, name: str = "url") -> Address:
    """Parses one of the four forms of an address. The ValueError otherwise names `name`, the value and the forms."""
    if text.startswith("unix:"):
        path = text[len("unix:") :]
        is_absolute = path.startswith("/") and not path.startswith("//") and "\0" not in path
        if is_absolute and len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES:
            return Address(socket_path=path)
    elif match := _NETWORK.fullmatch(text):
        scheme, host, port = match.groups()
        if 0 < int(port) < 65536:
            return Address(host, int(port), scheme == "wss")
    raise ValueError(
        f"{name}: {text!r} is not a daemon address; expected HOST:PORT, ws://HOST:PORT, wss://HOST:PORT or unix:/PATH"
    )


def daemon_address(url: str | None) -> Address:
    """The daemon's address: `url`, else DIGD_URL, else the default."""
    if url is not None:
        return parse_address(url)
    return parse_address(os.environ.get("DIGD_URL") or DEFAULT_ADDRESS, "DIGD_URL")


def bearer_token(token: str | None) -> str | None:
    """The token for the daemon: `token`, else DIGD_TOKEN; None if neither is set."""
    return token if token is not None else os.environ.get("DIGD_TOKEN") or None


def refuse_negative(**limits: float | None) -> None:
    """Raises ValueError for the first limit below 0. None stands for no limit."""
    for name, limit in limits.items():
        if limit is not None and limit < 0:
            raise ValueError(f"{name}: expected a number from 0, got {limit!r}")


def require_json_values(hello: Mapping[str, Json]) -> None:
    """Raises ValueError for the first setting that JSON cannot express, because such a hello could not be sent."""
    for name, value in hello.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{name}: expected what JSON can express ({error})") from None


def requested_mode(mode: str | None) -> Mode | None:
    """The mode from the caller or DIGD_MODE; None if neither sets one. Raises ValueError for any other word."""
    name, value = ("mode", mode) if mode is not None else ("DIGD_MODE", os.environ.get("DIGD_MODE") or None)
    if value is not None and value not in MODES:
        raise ValueError(f"{name}: {value!r} is not a mode; expected {', '.join(MODES[:-1])} or {MODES[-1]}")
    return value  # type: ignore[return-value]
