"""Waiting with a time limit, in tasks that belong to the program."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

MAX_CANCELLED_S = 1.0  # how long cancelled work may take to end


async def wait_at_most(work: Awaitable[object], seconds: float | None) -> bool:
    """Waits until the work has ended, at most `seconds`. Returns whether it has; read a result from the work itself.

    Work that has not ended is cancelled, also if the calling task is cancelled. `asyncio.wait_for` of Python 3.10 and
    3.11 can lose a cancellation of the calling task: it does not raise it if the work ends at the same time.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([task], timeout=seconds)
        return task.done()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=MAX_CANCELLED_S)
