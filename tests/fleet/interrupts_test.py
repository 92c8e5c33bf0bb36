"""Ctrl-C or SIGTERM ends a command of the fleet, whatever its coroutines do with the cancellation."""

import signal
import subprocess
import sys
import time

import pytest

BEGIN = """
import asyncio, sys, time
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
    if sys.argv[1] == "blocks":
        time.sleep(60)
    return await loses(int(sys.argv[1]))

stops = [lambda word=word: print(word, flush=True) for word in sys.argv[2:]]
try:
    interrupts.run_until_interrupted(work(), stops)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.fixture
def start():
    started = []

    def begin(lost, *stops, **more):
        command = [sys.executable, "-c", BEGIN, str(lost), *stops]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **more)
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("lost", [0, 1, 3])
def test_a_signal_ends_work_that_loses_cancellations(start, lost, number, status):
    process = start(lost)
    process.send_signal(number)
    assert process.wait(20) == status
    assert process.stdout.read() == "cancelled\n" * lost


def test_a_second_ctrl_c_ends_the_process_at_once(start):
    process = start(10_000)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "cancelled\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == -signal.SIGINT


def test_a_second_ctrl_c_ends_a_process_whose_work_blocks_the_loop(start):
    process = start("blocks")
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None, "the first one only cancels"
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == -signal.SIGINT


def test_the_first_signals_call_the_stops_and_the_one_after_them_cancels(start):
    process = start(1, "finish", "drop")
    for number, word in ((signal.SIGINT, "finish"), (signal.SIGTERM, "drop"), (signal.SIGINT, "cancelled")):
        process.send_signal(number)
        assert process.stdout.readline() == f"{word}\n"
    assert process.wait(20) == 130


def test_an_ignored_signal_stays_ignored(start):
    process = start(0, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 143 and process.stdout.read() == ""


def test_results_and_errors_come_through_and_the_signal_handler_is_as_before():
    from digd.fleet.interrupts import run_until_interrupted

    async def work(error=None):
        if error:
            raise error
        return 7

    before = [signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)]
    assert run_until_interrupted(work()) == 7
    with pytest.raises(ValueError, match="wrong"):
        run_until_interrupted(work(ValueError("wrong")))
    assert [signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)] == before
