"""Measures the cost of a run without a daemon: `python clients/python/measure_absence.py`.

It times REPEATS runs of EVENTS events each against a port without a listener, from start to end. It prints wall-clock
time, which other work on the machine lengthens, and the processor time of this process.
"""

import asyncio
import logging
import platform
import socket
import statistics
import time

import digd

EVENTS, REPEATS = 10, 200


def unused_address() -> str:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"ws://127.0.0.1:{s.getsockname()[1]}"


async def time_run(url: str) -> tuple[float, float]:
    begun_at, begun_cpu_at = time.perf_counter(), time.process_time()
    async with digd.Run(url=url, agents=["a"]) as run:
        for _ in range(EVENTS):
            await run.emit(["a"], payload={"text": "…"})
    return (time.perf_counter() - begun_at) * 1000, (time.process_time() - begun_cpu_at) * 1000


async def measure() -> None:
    url = unused_address()
    await time_run(url)
    clock, cpu = (sorted(times) for times in zip(*[await time_run(url) for _ in range(REPEATS)]))
    machine = f"Python {platform.python_version()}, {platform.machine()}"
    print(f"{REPEATS} runs of {EVENTS} events each, no daemon listening; {machine}")
    for name, times in (("by the clock", clock), ("processor", cpu)):
        percentile = times[int(REPEATS * 0.99)]
        print(f"{name}: median {statistics.median(times):.2f} ms a run, 99th percentile {percentile:.2f} ms")


if __name__ == "__main__":
    logging.getLogger("digd").setLevel(logging.ERROR)
    asyncio.run(measure())
