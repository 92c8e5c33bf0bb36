"""What a run costs with no daemon listening: `python clients/python/measure_absence.py`.

REPEATS runs of EVENTS events each are timed against a port that nobody listens on, from the first line to the last: on the
clock, which other work on the machine lengthens, and on this process's processor time.
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


async def watched(url: str) -> tuple[float, float]:
    begun, begun_cpu = time.perf_counter(), time.process_time()
    async with digd.Run(url=url, agents=["a"]) as run:
        for _ in range(EVENTS):
            await run.emit(["a"], payload={"text": "…"})
    return (time.perf_counter() - begun) * 1000, (time.process_time() - begun_cpu) * 1000


async def measure() -> None:
    url = nobody()
    await watched(url)
    clock, cpu = (sorted(times) for times in zip(*[await watched(url) for _ in range(REPEATS)]))
    print(f"{REPEATS} runs of {EVENTS} events each, no daemon listening; Python {platform.python_version()}, {platform.machine()}")
    for what, times in (("by the clock", clock), ("processor", cpu)):
        print(f"{what}: median {statistics.median(times):.2f} ms a run, 99th percentile {times[int(REPEATS * 0.99)]:.2f} ms")


if __name__ == "__main__":
    logging.getLogger("digd").setLevel(logging.ERROR)
    asyncio.run(measure())
