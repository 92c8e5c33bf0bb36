"""Calls in threads of their own. The program's executor has few threads, and joins them at exit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def call_in_thread(work: Callable[[], T], name: str) -> T:
    """Calls a function in a new daemon thread. Raises RuntimeError if the process cannot start one."""
    outcome: Future[T] = Future()

    def run() -> None:
        if outcome.set_running_or_notify_cancel():
            try:
                outcome.set_result(work())
            except BaseException as error:
                outcome.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await asyncio.wrap_future(outcome)
