"""Ends a command on Ctrl-C or SIGTERM, also where a cancellation is lost.

`asyncio.wait_for` before Python 3.12 loses a cancellation that comes together with its result, and nats-py calls it for
each request. So one cancellation, as `asyncio.run` sends it, does not always end a command.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Sequence
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")
Handlers = dict[signal.Signals, Any]

SIGNALS = (signal.SIGINT, signal.SIGTERM)

AGAIN_SECONDS = 1.0  # long enough to close a connection that answers


def _install(handlers: Handlers) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


async def _cancel_until_done(
    work: Coroutine[Any, Any, T], stops: Sequence[Callable[[], None]], before: Handlers
) -> tuple[T | None, int]:
    """Returns the result of `work`, and the signal that cancelled it or 0. `before`: the old handler of each signal."""
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    waiting_stops = list(stops)
    cancelled_by = 0

    def cancel() -> None:
        if not task.done():
            task.cancel()
            loop.call_later(AGAIN_SECONDS, cancel)

    def interrupt(number: int, _: FrameType | None) -> None:
        # Not a handler of the loop: while `work` blocks the loop, the second signal must still find SIG_DFL.
        nonlocal cancelled_by
        if waiting_stops:
            loop.call_soon_threadsafe(waiting_stops.pop(0))
            return
        cancelled_by = number
        _install(dict.fromkeys(before, signal.SIG_DFL))
        loop.call_soon_threadsafe(cancel)

    _install(dict.fromkeys(before, interrupt))
    try:
        return await task, 0
    except asyncio.CancelledError:
        if not cancelled_by:
            raise
        return None, cancelled_by
    finally:
        if not cancelled_by:  # otherwise a signal still ends the process at once, until the loop is closed
            _install(before)


def run_until_interrupted(work: Coroutine[Any, Any, T], stops: Sequence[Callable[[], None]] = ()) -> T:
    """Runs `work` as `asyncio.run` does, but ends it on Ctrl-C or SIGTERM.

    Each of the first signals calls the next function of `stops`, on the thread of the loop. The signal after these
    cancels `work`, again every AGAIN_SECONDS until `work` has ended. One more signal ends the process at once. If the
    cancellation ended `work`, this raises KeyboardInterrupt after Ctrl-C, and SystemExit with 143 after SIGTERM. A
    signal that the process ignores stays ignored. Only the main thread gets signals; in any other thread this is plain
    `asyncio.run`.
    """
    if threading.current_thread() is not threading.main_thread():
        return asyncio.run(work)
    found = {number: signal.getsignal(number) for number in SIGNALS}
    before = {number: handler for number, handler in found.items() if handler not in (signal.SIG_IGN, None)}
    try:
        result, cancelled_by = asyncio.run(_cancel_until_done(work, stops, before))
    finally:
        _install(before)
    if cancelled_by == signal.SIGINT:
        raise KeyboardInterrupt
    if cancelled_by:
        raise SystemExit(128 + cancelled_by)  # what a shell reports for a process that the signal ended
    return result  # type: ignore[return-value]
