"""Ctrl-C ends a command of the fleet, whatever its coroutines do with the cancellation."""

import signal
import subprocess
import sys
import time

import pytest

BEGIN = """
import asyncio, sys
from digd.fleet import interrupts

interrupts.AGAIN_SECONDS = 0.1

async def loses(times):
    for _ in range(times):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            print("cancelled", flush=True)
    await asyncio.sleep(60)

async def work():
    print("ready", flush=True)
    return await loses(int(sys.argv[1]))

try:
    interrupts.run_until_interrupted(work())
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.fixture
def start():
    started = []

    def begin(lost):
        process = subprocess.Popen([sys.executable, "-c", BEGIN, str(lost)], stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("lost", [0, 1, 3])
def test_ctrl_c_ends_work_that_loses_cancellations(start, lost):
    process = start(lost)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert process.stdout.read() == "cancelled\n" * lost


def test_a_second_ctrl_c_ends_the_process_at_once(start):
    process = start(10_000)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "cancelled\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == -signal.SIGINT


def test_results_and_errors_come_through_and_the_signal_handler_is_as_before():
    from digd.fleet.interrupts import run_until_interrupted

    async def work(error=None):
        if error:
            raise error
        return 7

    before = signal.getsignal(signal.SIGINT)
    assert run_until_interrupted(work()) == 7
    with pytest.raises(ValueError, match="wrong"):
        run_until_interrupted(work(ValueError("wrong")))
    assert signal.getsignal(signal.SIGINT) is before
