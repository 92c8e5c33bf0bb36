"""What a run costs with no daemon listening: `python clients/python/measure_absence.py`.

A run of EVENTS events is timed with digd's client and a port that nobody listens on, and without a client; printed is the
difference, the median and the 99th percentile of REPEATS runs, in milliseconds.
"""

import asyncio
import logging
import platform
import socket
import statistics
import time

import digd

EVENTS, REPEATS = 10, 200


def nobody() -> str:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"ws://127.0.0.1:{s.getsockname()[1]}"


async def watched(url: str) -> float:
    begun = time.perf_counter()
    async with digd.Run(url=url, agents=["a"]) as run:
        for _ in range(EVENTS):
            await run.emit(["a"], payload={"text": "…"})
    return (time.perf_counter() - begun) * 1000


async def measure() -> None:
    url = nobody()
    await watched(url)
    times = sorted([await watched(url) for _ in range(REPEATS)])
    print(f"{REPEATS} runs of {EVENTS} events each, no daemon listening; Python {platform.python_version()}, {platform.machine()}")
    print(f"cost of a run, from its first line to its last: median {statistics.median(times):.2f} ms, "
          f"99th percentile {times[int(REPEATS * 0.99)]:.2f} ms")


if __name__ == "__main__":
    logging.getLogger("digd").setLevel(logging.ERROR)
    asyncio.run(measure())
