"""Cancelling a program during a run logs nothing: no pending task is destroyed, and no exception stays unretrieved."""

import asyncio
import contextlib
import gc
import re
import subprocess
import sys

import pytest

import digd
from client_helpers import unused_address, url_of

AB = ["a", "b"]
TURNS = [*range(12), 20, 40]  # of the event loop before the cancellation


async def program(url, reached):
    async with digd.Run(agents=AB, url=url, mode="enforce", linger_s=0.2) as run:
        run.on_intervention("create")(lambda intervention: None)
        task = await run.emit(["a"])
        async with run.activation("a", [task]) as a:
            await a.emit(["b"])
            a.output(["ghost"])
        reached.append("worked")
        await asyncio.Event().wait()


def logged_by_asyncio(url, turns, cancellations):
    """What asyncio logs for a program that is cancelled after this many turns, and whose loop then closes at once."""
    logged = []
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _, context: logged.append(f"{context['message']}: {context.get('exception')!r}"))
    reached = []
    work = loop.create_task(program(url, reached))

    async def drive():
        for _ in range(turns):
            await asyncio.sleep(0)
        for _ in range(cancellations):
            work.cancel()
            await asyncio.sleep(0)
        with contextlib.suppress(asyncio.CancelledError):
            await work

    try:
        loop.run_until_complete(asyncio.wait_for(drive(), 30))
        left = [t for t in asyncio.all_tasks(loop)]
    finally:
        loop.close()
    del work, drive
    gc.collect()
    return logged + [f"left: {t}" for t in left]


@pytest.mark.parametrize("cancellations", [1, 2])
@pytest.mark.parametrize("turns", TURNS)
def test_a_cancelled_program_logs_nothing_with_a_daemon(shared_daemon, turns, cancellations, caplog):
    assert logged_by_asyncio(url_of(shared_daemon), turns, cancellations) == []
    assert [r.getMessage() for r in caplog.records] == []


@pytest.mark.parametrize("turns", TURNS)
def test_a_cancelled_program_logs_nothing_of_asyncio_without_a_daemon(turns, caplog):
    assert logged_by_asyncio(unused_address(), turns, 1) == []
    assert [r.getMessage() for r in caplog.records if r.name != "digd"] == []


def test_a_cancelled_program_reaches_its_work(shared_daemon):
    """Without this, the tests above could pass with programs that never begin."""
    reached = []

    async def drive():
        work = asyncio.create_task(program(url_of(shared_daemon), reached))
        while not reached:
            await asyncio.sleep(0)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(drive())
    assert reached == ["worked"]


PROGRAMS = {
    "timeout": """
async def main():
    async with digd.Run(agents=["a"], url=url) as run:
        await run.emit(["a"])
        await asyncio.Event().wait()
try:
    asyncio.run(asyncio.wait_for(main(), 0.05))
except asyncio.TimeoutError:
    pass
""",
    "never closed": """
async def main():
    run = digd.Run(agents=["a"], url=url)
    run.open()
    await run.emit(["a"])
asyncio.run(main())
""",
    "threads, never closed": """
run = digd.sync.Run(agents=["a"], url=url)
run.open()
run.emit(["a"])
""",
    "an exception in a group": """
async def fails():
    raise KeyError("x")
async def main():
    async with digd.Run(agents=["a"], url=url) as run:
        try:
            await asyncio.gather(fails(), *(run.emit(["a"]) for _ in range(5)))
        except KeyError:
            pass
asyncio.run(main())
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_stops_early_prints_nothing(shared_daemon, name):
    code = f"import asyncio, digd\nurl = {url_of(shared_daemon)!r}\n{PROGRAMS[name]}"
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore::ResourceWarning", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
    )
    # asyncio's debug mode also reports callbacks over 0.1 s, which a busy machine causes.
    printed = [line for line in done.stderr.splitlines() if not re.match(r"Executing .* took .* seconds$", line)]
    assert (done.returncode, printed) == (0, [])


@pytest.mark.parametrize("mode", ["shadow", "enforce"])
def test_a_shutdown_that_cancels_all_tasks_waits_for_nothing(shared_daemon, mode):
    async def program_that_shuts_down():
        async with digd.Run(agents=AB, url=url_of(shared_daemon), mode=mode, linger_s=30.0) as run:
            await run.emit(["a"])
            tasks = [task for task in asyncio.all_tasks() if task.get_name().startswith("digd ")]
            assert tasks
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert (await run.emit(["b"])).as_is == "disconnected"

    asyncio.run(asyncio.wait_for(program_that_shuts_down(), 10))
