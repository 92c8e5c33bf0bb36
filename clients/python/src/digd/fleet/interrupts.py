"""Ends a command on Ctrl-C, also where a cancellation is lost.

`asyncio.wait_for` before Python 3.12 loses a cancellation that comes together with its result, and nats-py calls it for
each request. So one cancellation, as `asyncio.run` sends it, does not always end a command.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

AGAIN_SECONDS = 1.0  # long enough to close a connection that answers


async def _cancel_until_done(work: Coroutine[Any, Any, T]) -> tuple[T | None, bool]:
    """Its result, and whether Ctrl-C cancelled it."""
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    interrupted = False

    def cancel() -> None:
        if not task.done():
            task.cancel()
            loop.call_later(AGAIN_SECONDS, cancel)

    def interrupt() -> None:
        nonlocal interrupted
        interrupted = True
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        cancel()

    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        return await task, False
    except asyncio.CancelledError:
        if not interrupted:
            raise
        return None, True
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def run_until_interrupted(work: Coroutine[Any, Any, T]) -> T:
    """Runs `work` as `asyncio.run` does. On Ctrl-C it cancels `work` each AGAIN_SECONDS until that has ended.

    A second Ctrl-C ends the process at once. Raises KeyboardInterrupt if `work` ended because of the cancellation.
    Other threads than the main thread get no signals; there it is `asyncio.run`.
    """
    if threading.current_thread() is not threading.main_thread():
        return asyncio.run(work)
    before = signal.getsignal(signal.SIGINT)
    try:
        result, cancelled = asyncio.run(_cancel_until_done(work))
    finally:
        signal.signal(signal.SIGINT, before)
    if cancelled:
        raise KeyboardInterrupt
    return result  # type: ignore[return-value]
