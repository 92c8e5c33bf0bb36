"""Looks up host names in threads of its own.

asyncio does it in the program's default executor. A name server that does not answer would occupy threads there for 10
to 40 s at each attempt to connect, and the program's own work would wait for them.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import threading
from concurrent.futures import Future

_lock = threading.Lock()
_lookups: dict[tuple[str, int], Future[list[str]]] = {}  # those under way: one thread for each name


def is_address(host: str) -> bool:
    """Whether the host is an IP address, which needs no lookup."""
    try:
        ipaddress.ip_address(host)
        return True
    except ValueError:
        return False


async def addresses_of(host: str, port: int) -> list[str]:
    """The IP addresses of a name. Raises OSError. Calls for the same name at the same time share one thread."""
    with _lock:
        lookup = _lookups.get((host, port))
        if lookup is None:
            lookup = _lookups[host, port] = Future()
            lookup.set_running_or_notify_cancel()  # a caller that gives up does not cancel it for the others
            try:
                threading.Thread(target=_look_up, args=(host, port, lookup), name="digd lookup", daemon=True).start()
            except RuntimeError as error:  # no thread now; the next attempt tries again
                del _lookups[host, port]
                raise OSError(f"no lookup of {host!r}: {error}") from None
    addresses: list[str] = await asyncio.wrap_future(lookup)
    return addresses


def _look_up(host: str, port: int, lookup: Future[list[str]]) -> None:
    try:
        found = [entry[4] for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        result, error = list(dict.fromkeys(_text_of(address) for address in found)), None
    except Exception as raised:
        result, error = [], raised
    with _lock:
        _lookups.pop((host, port), None)
    if error is None:
        lookup.set_result(result)
    else:
        lookup.set_exception(error)


def _text_of(address: tuple[object, ...]) -> str:
    has_scope = len(address) == 4 and address[3]  # of a link-local address of IPv6
    return f"{address[0]}%{address[3]}" if has_scope else str(address[0])


def _forget_after_fork() -> None:
    """The threads of the parent do not exist in a forked child."""
    global _lock
    _lock = threading.Lock()
    _lookups.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
