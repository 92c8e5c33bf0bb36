"""The effect of a limit's policy on a run: it replays exactly, survives a kill, and is reported."""

import pytest

from limits_table import TABLE, RecordingClient, export, replayed
from live import Daemon
from watching import Feed, get, metric


def exceed(c, limit):
    """Exceeds a limit of the configuration below, then continues."""
    c.event("e1", ["a"])
    c.start("v1", "a", ["e1"])
    {
        "message_bytes": lambda: c.event("big", ["a"], event={"payload": "x" * 3000}),
        "agents": lambda: [c.tell("agent_joined", agent=f"a{i}") for i in range(9)],
        "recipients": lambda: c.event("wide", ["a", "b", "c", "d", "e", "f"]),
        "inputs": lambda: c.start("v9", "a", ["e1", "x2", "x3", "x4", "x5"]),
        "live_events": lambda: [c.event(f"l{i}", ["a"]) for i in range(6)],
        "open_activations": lambda: [c.start(f"w{i}", "b") for i in range(4)],
        "run_bytes": lambda: [c.event(f"b{i}", ["a"], event={"payload": "y" * 1500}) for i in range(4)],
    }[limit]()
    c.event("last", ["nobody there"])
    c.tell("not a message")  # refused, in the replay too
    c.wait_acked()


SMALL = """run_bytes = 4500
[limits]
message_bytes = 2000
agents = 8
recipients = 5
inputs = 4
live_events = 4
open_activations = 3
[over_limit]
"""
CHOICES = [
    (limit.rpartition(".")[2], policy)
    for limit, row in TABLE.items()
    for policy in row["policies"]
    if policy in ("refuse", "observe", "gap") and row["policies"] != ["refuse"]
]


@pytest.mark.parametrize("clock", ["wall", "trace"])
@pytest.mark.parametrize("limit,policy", CHOICES)
def test_the_effect_of_a_policy_replays_exactly_and_survives_a_kill(tmp_path, limit, policy, clock):
    with Daemon(tmp_path, SMALL + f'{limit} = "{policy}"\n') as daemon:
        with RecordingClient(daemon, clock=clock, agents=["a", "b"]) as c:
            exceed(c, limit)
        assert get(daemon, "/v1/runs/r1")["unjudged"] == (limit if policy == "observe" else None)
        assert metric(daemon, 'digd_limits_hit_total{limit="%s"}' % limit) > 0
        assert replayed(export(daemon), status=2) == c.frames
        daemon.kill()
        daemon.start()
        with RecordingClient(daemon, clock=clock, agents=["a", "b"]) as again:
            assert again.welcome["acked_seq"] == c.seq
            assert again.welcome["mode"] == ("off" if policy == "observe" else "enforce")
            assert again.welcome.get("unjudged") == (limit if policy == "observe" else None)
            again.event("after", ["nobody there"])
            again.wait_acked()
        assert replayed(export(daemon), status=2) == c.frames + again.frames


def test_the_end_of_judging_is_reported_once(tmp_path):
    with Daemon(tmp_path, SMALL + 'live_events = "observe"\n') as daemon:
        feed = Feed(daemon)
        with daemon.client() as c:
            exceed(c, "live_events")
        frames = feed.until(lambda f: f["type"] == "message" and f["message"].get("event", {}).get("id") == "last")
        limits = [f["limit"] for f in frames if f["type"] == "limit"]
        assert [(f["limit"], f["policy"]) for f in limits] == [("live_events", "observe")]
        assert daemon.log_text().count("judging_stopped") == 1


def test_payloads_beyond_run_bytes_are_not_kept(tmp_path):
    with Daemon(tmp_path, SMALL + 'run_bytes = "observe"\n') as daemon:
        with daemon.client() as c:
            exceed(c, "run_bytes")
            c.event("after", ["a"], event={"payload": "not to be kept"})
            c.wait_acked()
        trace = export(daemon)
        assert '"after"' in trace and "not to be kept" not in trace
