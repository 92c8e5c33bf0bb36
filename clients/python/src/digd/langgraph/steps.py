"""Work that needs verdicts, as a generator of futures: threads and event loops drive the same code."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from concurrent.futures import Future

from ..messages import Verdict

Verdicts = tuple[Verdict, ...]
Steps = Generator["Future[Verdicts]", Verdicts, None]


def drive(steps: Steps) -> None:
    try:
        future = next(steps)
        while True:
            future = steps.send(future.result())
    except StopIteration:
        pass


async def drive_async(steps: Steps) -> None:
    try:
        future = next(steps)
        while True:
            future = steps.send(await asyncio.wrap_future(future))
    except StopIteration:
        pass
