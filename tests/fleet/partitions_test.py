"""A run has one home, whatever the network between the daemons and NATS drops."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from nats_server import need_stream_client
from partitions import NOT_ALLOWED, Verdict, two_homes

PROGRAM = Path(__file__).parent / "partitions.py"


def test_no_run_has_two_homes_while_the_network_is_cut():
    need_stream_client()
    done = subprocess.run([sys.executable, PROGRAM, "6", "--seed", "7"], capture_output=True, text=True, timeout=300)
    if done.returncode == NOT_ALLOWED:
        pytest.skip(f"PARTITIONS WERE NOT TESTED: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["two homes"] is None
    # Otherwise the cuts did nothing.
    assert found["homes of runs"] > found["runs"] and found["events delivered as they were"] > 0, found
    assert found["refused"].get("moved", 0) > 0, found


def verdict(epoch, host, sent, judged=True):
    return Verdict("r0", epoch, host, sent, sent + 0.1, judged)


def test_two_homes_are_found():
    assert two_homes([verdict(1, "h0", 1.0), verdict(2, "h1", 2.0), verdict(2, "h1", 3.0)]) is None
    assert two_homes([verdict(1, "h0", 1.0), verdict(2, "h1", 2.0), verdict(1, "h0", 3.0, judged=False)]) is None
    assert "h0 judged in epoch 1" in two_homes([verdict(1, "h0", 1.0), verdict(2, "h1", 2.0), verdict(1, "h0", 3.0)])
    assert "both judged in epoch 1" in two_homes([verdict(1, "h0", 1.0), verdict(1, "h1", 2.0)])
