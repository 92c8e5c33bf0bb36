"""Helpers of the Python client's tests."""

import asyncio
import functools
import socket
from pathlib import Path

from live import TIMEOUT_S

ROOT = Path(__file__).parents[3]


def url_of(daemon):
    return daemon.address if daemon.address.startswith("unix:") else f"ws://{daemon.address}"


def async_test(body):
    """Runs a coroutine as a test, within a bounded time."""

    @functools.wraps(body)
    def test(*args, **kwargs):
        asyncio.run(asyncio.wait_for(body(*args, **kwargs), 3 * TIMEOUT_S))

    return test


async def wait_for(condition, description):
    """Waits until the condition holds, on the event loop."""

    async def poll():
        while not condition():
            await asyncio.sleep(0.002)

    try:
        await asyncio.wait_for(poll(), TIMEOUT_S)
    except asyncio.TimeoutError:
        raise AssertionError(f"timeout while waiting for {description}") from None


def unused_address():
    """The address of a port without a listener."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"ws://127.0.0.1:{s.getsockname()[1]}"
