"""What connections hold stays within its budget, whatever they leave unfinished, and others go on."""

import contextlib

import pytest
from attack import joined, upgraded
from limits_table import toml
from live import Daemon, wait_until
from watching import metric

MIB = 1 << 20
BUDGET = 16 * MIB
PARTIAL = b"\x81\xff" + (1_000_000).to_bytes(8, "big") + b"\0\0\0\0" + b" " * 900_000  # of a message of 1 MB


@pytest.fixture
def daemon(tmp_path):
    with Daemon(tmp_path, toml("connections.memory_bytes", BUDGET)) as started:
        yield started


def held(daemon):
    return metric(daemon, "digd_connection_memory_bytes")


def test_partial_messages_of_many_connections_stay_within_the_budget(daemon):
    with daemon.client("innocent") as innocent, contextlib.ExitStack() as opened:
        before = metric(daemon, "digd_heap_bytes")
        for i in range(120):
            hostile = opened.enter_context(joined(daemon.address, "none", f"r{i}"))
            with contextlib.suppress(OSError):
                hostile.sendall(PARTIAL)
        wait_until(lambda: metric(daemon, 'digd_limits_hit_total{limit="connection_memory"}') > 90, "the closing")
        wait_until(lambda: held(daemon) <= BUDGET, "the closed connections to be gone")
        assert metric(daemon, "digd_heap_bytes") - before < 4 * BUDGET  # without the budget: 120 MB
        innocent.event("e1", ["a"])
        innocent.verdicts()
        innocent.wait_acked()


def test_partial_messages_before_hello_get_an_eighth(daemon):
    with daemon.client("innocent") as innocent, contextlib.ExitStack() as opened:
        for _ in range(8):
            hostile = opened.enter_context(upgraded(daemon.address, "none"))
            with contextlib.suppress(OSError):
                hostile.sendall(PARTIAL)
        wait_until(lambda: metric(daemon, 'digd_limits_hit_total{limit="connection_memory"}') >= 6, "the closing")
        wait_until(lambda: held(daemon) < BUDGET / 4, "the memory to be free")
        innocent.event("e1", ["a"])
        innocent.verdicts()


def test_a_run_that_makes_digd_hold_frames_loses_a_connection_and_no_message(daemon):
    limits = {"reorder_ms": 5000}
    with daemon.client("innocent") as innocent, contextlib.ExitStack() as opened:
        sessions = [
            opened.enter_context(daemon.client("r1", name, clock="wall", limits=limits)) for name in ("a", "b", "c")
        ]
        for number, each in enumerate(sessions):
            for i in range(5):  # each waits for an id that another session may send
                each.start(f"v{number}.{i}", "x", [f"of another {number}.{i}"], note="x" * 500_000)
        wait_until(lambda: metric(daemon, 'digd_limits_hit_total{limit="connection_memory"}') > 0, "the closing")
        innocent.event("e1", ["a"])
        innocent.verdicts()
    wait_until(lambda: held(daemon) < MIB, "the memory to be free")
    with daemon.client("r1", "a", clock="wall", limits=limits) as again:
        assert again.welcome["acked_seq"] <= 5
        again.seq = again.welcome["acked_seq"]
        again.event("after", ["x"])
        again.verdicts()
