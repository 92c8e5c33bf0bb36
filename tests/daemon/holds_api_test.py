"""Holds and usage over HTTP: what waits, of whom, what it cost; and what a run used."""

import contextlib
import json

import pytest

from live import Daemon, wait_until
from watching import Feed, ask, get, metric, run_path

CAPABLE = {"capabilities": {"hold": True, "cancel": True}, "agents": ["planner", "coder"]}
HOLD_FAN_OUT = {"guards": {"fan_out": {"max_depth": 0, "action": "hold"}, "hold_ms": 600_000}}
USAGE = {"input_tokens": 800, "output_tokens": 95, "cost": 0.0041, "model_calls": 1, "tool_calls": 2}
NOTHING = {"input_tokens": 0, "output_tokens": 0, "cost": 0, "model_calls": 0, "tool_calls": 0}


def hold_an_event(c, event="e2", payload="search"):
    """The planner's event descends from a root event, which is one generation too many."""
    c.event("r" + event, ["planner"])
    c.start("v" + event, "planner", ["r" + event], usage=USAGE)
    c.event(event, ["coder"], source="v" + event, event={"payload": {"task": payload}})
    verdict = c.verdicts()[0]
    assert verdict["action"] == "hold"
    c.wait_acked()
    return verdict


def decide(daemon, hold, decision="release", run="r1"):
    body = json.dumps({"decision": decision, "by": "kim"})
    return ask(daemon, "POST", run_path(run, "holds", hold), body)[0]


def test_a_hold_lists_the_waiting_agents_the_reason_and_the_cost(daemon):
    with daemon.client(**CAPABLE, **HOLD_FAN_OUT) as c:
        verdict = hold_an_event(c)
        (hold,) = get(daemon, run_path("r1", "holds"))["holds"]
    assert {k: hold[k] for k in ("run", "hold", "event", "guard", "sender", "recipients", "on_timeout", "clock")} == {
        "run": "r1",
        "hold": "hold:1",
        "event": "e2",
        "guard": "fan_out",
        "sender": "planner",
        "recipients": ["coder"],
        "on_timeout": "release",
        "clock": "trace",
    }
    assert "max_depth 0" in hold["reason"]
    assert hold["text"] == verdict["inject"]
    assert hold["due"] - hold["since"] == 600_000
    assert hold["payload"] == {"task": "search"}
    assert hold["spent"] == {"run": USAGE, "sender": USAGE}


def test_payloads_of_holds_follow_the_policy_and_their_limit(tmp_path):
    with Daemon(tmp_path, config='[payloads]\nkeep = "none"\n') as daemon:
        with daemon.client(**CAPABLE, **HOLD_FAN_OUT) as c:
            hold_an_event(c, payload="a secret")
            assert "a secret" not in json.dumps(get(daemon, run_path("r1", "holds")))


def test_a_large_payload_is_replaced_by_its_size(daemon):
    with daemon.client(**CAPABLE, **HOLD_FAN_OUT) as c:
        hold_an_event(c, payload="x" * 20_000)
        (hold,) = get(daemon, run_path("r1", "holds"))["holds"]
    assert hold["payload"] is None
    assert hold["payload_bytes"] == len('{"task":""}') + 20_000


def test_one_list_has_the_open_holds_of_all_runs(daemon):
    with daemon.client(run="a", **CAPABLE, **HOLD_FAN_OUT) as a, daemon.client(run="b", **CAPABLE, **HOLD_FAN_OUT) as b:
        hold_an_event(a, "e1")
        hold_an_event(a, "e2")
        hold_an_event(b, "e3")
        listed = get(daemon, "/v1/holds")
        assert [(h["run"], h["hold"], h["event"]) for h in listed["holds"]] == [
            ("a", "hold:1", "e1"),
            ("a", "hold:2", "e2"),
            ("b", "hold:1", "e3"),
        ]
        assert listed["left_out"] == 0
        short = get(daemon, "/v1/holds?limit=1")
        assert ([h["hold"] for h in short["holds"]], short["left_out"]) == (["hold:1"], 2)
        assert decide(daemon, "hold:1", run="a") == 200
        assert [(h["run"], h["hold"]) for h in get(daemon, "/v1/holds")["holds"]] == [("a", "hold:2"), ("b", "hold:1")]
    for wrong in ("0", "1001", "x"):
        assert get(daemon, f"/v1/holds?limit={wrong}", status=400)["error"]["code"] == "bad_parameter"


def test_a_short_list_has_the_first_holds_of_the_order(tmp_path):
    names = [f"run-{i:02}" for i in range(12)]
    with Daemon(tmp_path, "threads = 1\n") as daemon, contextlib.ExitStack() as clients:
        for name in reversed(names):
            c = clients.enter_context(daemon.client(run=name, **CAPABLE, **HOLD_FAN_OUT))
            hold_an_event(c, "e1")
            hold_an_event(c, "e2")
        listed = get(daemon, "/v1/holds?limit=5")
    assert listed["left_out"] == 19
    assert [(h["run"], h["hold"]) for h in listed["holds"]] == [
        (names[0], "hold:1"),
        (names[0], "hold:2"),
        (names[1], "hold:1"),
        (names[1], "hold:2"),
        (names[2], "hold:1"),
    ]


def test_only_the_session_that_holds_the_event_is_notified_of_its_end(daemon):
    with (
        daemon.client(session="holder", **CAPABLE, **HOLD_FAN_OUT) as holder,
        daemon.client(session="other", **CAPABLE) as other,
    ):
        hold_an_event(holder)
        assert decide(daemon, "hold:1") == 200
        assert holder.wait_for("intervention")["id"] == "hold:1"
        other.tell("time")
        other.wait_acked()
        assert not [frame for frame in other.kept if frame["type"] == "intervention"]


def test_a_hold_ends_silently_with_its_run(daemon):
    with daemon.client(**CAPABLE, **HOLD_FAN_OUT) as c:
        hold_an_event(c)
        c.tell("run_ended", outcome="success")
        c.wait_acked()
        assert get(daemon, "/v1/holds")["holds"] == []
        assert get(daemon, run_path("r1", "holds")) == {"run": "r1", "holds": []}
        assert decide(daemon, "hold:1") in (404, 409)
        assert not [frame for frame in c.kept if frame["type"] == "intervention"]


@pytest.mark.parametrize("on_timeout, action", [("release", "release"), ("return", "reroute")])
def test_an_open_hold_survives_a_kill_and_ends_on_time(daemon, on_timeout, action):
    guards = {"fan_out": {"max_depth": 0, "action": "hold"}, "hold_ms": 1_500, "on_timeout": on_timeout}
    c = daemon.client(**{**CAPABLE, "clock": "wall", "guards": guards})
    hold_an_event(c)
    c.drop()
    daemon.kill()
    daemon.start()
    wait_until(lambda: get(daemon, run_path("r1", "holds"))["holds"] == [], "the hold's end")
    with daemon.client(**{**CAPABLE, "clock": "wall", "guards": guards}, next_seq=4) as again:
        ended = again.wait_for("intervention", id="hold:1")
        assert (ended["action"], ended["event"]) == (action, "e2")


def test_the_feed_reports_the_hold_the_decision_and_the_end(daemon):
    feed = Feed(daemon, "?since=0")
    with daemon.client(**CAPABLE, **HOLD_FAN_OUT) as c:
        hold_an_event(c)
        assert decide(daemon, "hold:1") == 200
        c.wait_for("intervention")
        frames = feed.until(lambda frame: frame["type"] == "intervention")
    feed.close()
    (held,) = [v for f in frames if f["type"] == "verdicts" for v in f["verdicts"] if v["action"] == "hold"]
    assert (held["event"], held["hold"]) == ("e2", "hold:1")
    (decision,) = [f["decision"] for f in frames if f["type"] == "decision"]
    assert (decision["hold"], decision["decision"], decision["by"]) == ("hold:1", "release", "kim")
    assert frames[-1]["intervention"]["id"] == "hold:1"


# ---- usage


def test_the_usage_of_a_run_is_listed_by_agent_and_over_time(daemon):
    limits = {"guards": {"budget": {"max_cost": 5}, "fan_out": {"max_outputs": 9}}}
    with daemon.client(**CAPABLE, **limits) as c:
        c.event("e1", ["planner"], ts=1000)
        c.start("v1", "planner", ["e1"], ts=1000, usage=USAGE)
        c.event("e2", ["coder"], source="v1", ts=1040)
        c.event("e3", ["coder"], source="v1", ts=1041, usage={"input_tokens": 5})
        c.start("v2", "coder", ["e2"], ts=1050)
        c.end("v2", [{"id": "e4", "recipients": ["planner"]}], ts=1060, usage={"cost": 1.5})
        c.wait_acked()
        usage = get(daemon, run_path("r1", "usage"))
        assert get(daemon, run_path("r1"))["usage"] == {**USAGE, "input_tokens": 805, "cost": 1.5041}
        assert get(daemon, "/v1/runs")["runs"][0]["usage"]["cost"] == 1.5041
    totals = {**USAGE, "input_tokens": 805, "cost": 1.5041, "activations": 2, "ms": 60}
    assert usage["totals"] == totals
    assert usage["guarded"]["tokens"] == 900
    assert usage["guards"]["budget"]["max_cost"] == 5
    assert [(a["agent"], a["cost"], a["activations"]) for a in usage["agents"]] == [
        ("coder", 1.5, 1),
        ("planner", 0.0041, 1),
    ]
    assert sum(usage["series"]["tokens"]) == 900
    assert sum(usage["series"]["cost"]) == pytest.approx(1.5041)
    assert usage["agents"][0]["series"]["cost"][-1] == 1.5
    assert usage["bins"]["count"] >= len(usage["series"]["depth"])
    assert max(usage["series"]["depth"]) == usage["fan_out"]["max_depth"] == 2
    assert usage["fan_out"]["depths"] == [1, 2, 1]
    assert usage["fan_out"]["activations"][0] == {"activation": "v1", "agent": "planner", "outputs": 2, "depth": 1}


def test_holds_count_in_the_usage_of_a_run(daemon):
    with daemon.client(**CAPABLE, **HOLD_FAN_OUT) as c:
        hold_an_event(c, "e1")
        hold_an_event(c, "e2")
        assert decide(daemon, "hold:1", "return") == 200
        c.wait_for("intervention")
        c.tell("time")
        c.wait_acked()
        counts = {"opened": 2, "open": 1, "released": 0, "returned": 1, "decisions": 1}
        assert get(daemon, run_path("r1", "usage"))["holds"] == counts


def test_usage_counts_while_no_guard_is_on(daemon):
    with daemon.client() as c:
        c.event("e1", ["a"])
        c.start("v1", "a", ["e1"])
        c.tell("usage", activation="v1", usage=USAGE)
        c.end("v1")
        c.start("v2", "b", [])
        c.tell("usage", activation="v1", usage={"cost": 1})  # also after its end
        c.wait_acked()
        assert metric(daemon, 'digd_messages_total{type="usage"}') == 2
        usage = get(daemon, run_path("r1", "usage"))
    assert {k: usage["totals"][k] for k in USAGE} == {**USAGE, "cost": 1.0041}
    assert usage["totals"]["activations"] == sum(usage["series"]["activations"]) == 2
    assert [(a["agent"], a["cost"], a["activations"]) for a in usage["agents"]] == [("a", 1.0041, 1), ("b", 0, 1)]
    assert "guarded" not in usage


def test_a_run_without_usage_has_none(daemon):
    with daemon.client() as c:
        c.event("e1", ["a"])
        c.wait_acked()
        assert get(daemon, run_path("r1"))["usage"] is None
        usage = get(daemon, run_path("r1", "usage"))
        assert (usage["guards"], usage["series"]["tokens"]) == ({}, [])
        assert {k: usage["totals"][k] for k in NOTHING} == NOTHING
