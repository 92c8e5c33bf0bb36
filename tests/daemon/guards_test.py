"""Guards through a running digd: limits from the configuration, holds and decisions over HTTP, recovery."""

import json

import pytest

from live import Daemon
from watching import ask, get, metric, run_path

CAPABLE = {"capabilities": {"hold": True, "cancel": True}, "agents": ["planner", "coder"]}
ASK_A_PERSON = {"guards": {"fan_out": {"max_depth": 0, "action": "hold"}, "hold_ms": 600_000}}


def decide(daemon, hold, **decision):
    status, body, _ = ask(daemon, "POST", run_path("r1", "holds", hold), json.dumps(decision))
    return status, json.loads(body)


def hold_an_event(c):
    """The planner's second event descends from the first one, which is one generation too many."""
    c.event("e1", ["planner"])
    c.start("v1", "planner", ["e1"])
    c.event("e2", ["coder"], source="v1")
    return c.verdicts()[0]


@pytest.fixture
def held(daemon):
    with daemon.client(**CAPABLE, **ASK_A_PERSON) as c:
        verdict = hold_an_event(c)
        assert (verdict["action"], verdict["hold"], verdict["on_timeout"]) == ("hold", "hold:1", "release")
        yield daemon, c


def test_a_held_event_is_listed_until_a_person_releases_it(held):
    daemon, c = held
    listed = get(daemon, run_path("r1", "holds"))["holds"]
    assert [(h["hold"], h["event"], h["guard"], h["sender"], h["recipients"]) for h in listed] == [
        ("hold:1", "e2", "fan_out", "planner", ["coder"])
    ]
    assert decide(daemon, "hold:1", decision="release", by="kim") == (
        200,
        {"hold": "hold:1", "decision": "release", "by": "kim"},
    )
    ended = c.wait_for("intervention")
    assert (ended["id"], ended["action"], ended["event"]) == ("hold:1", "release", "e2")
    assert get(daemon, run_path("r1", "holds"))["holds"] == []
    c.tell("delivery", of="hold:1", applied="released")
    c.wait_acked()
    assert metric(daemon, 'digd_verdicts_total{action="hold"}') == 1
    assert metric(daemon, 'digd_interventions_total{action="release"}') == 1


def test_a_returned_event_goes_to_its_sender_with_the_persons_text(held):
    daemon, c = held
    assert decide(daemon, "hold:1", decision="return", text="Use the cache.", by="kim")[0] == 200
    ended = c.wait_for("intervention")
    assert (ended["action"], ended["recipients"], ended["inject"]) == ("reroute", ["planner"], "Use the cache.")


@pytest.mark.parametrize(
    "hold, decision, status, code",
    [
        ("hold:2", {"decision": "release"}, 409, "hold_closed"),
        ("hold:1", {"decision": "perhaps"}, 400, "bad_decision"),
        ("hold:1", {"decision": "release", "text": 3}, 400, "bad_decision"),
        ("e2", {"decision": "release"}, 400, "bad_decision"),
    ],
)
def test_a_wrong_decision_is_refused(held, hold, decision, status, code):
    daemon, _ = held
    answer = decide(daemon, hold, **decision)
    assert (answer[0], answer[1]["error"]["code"]) == (status, code)


def test_a_decision_may_have_a_text_of_16_KiB_in_any_characters(held):
    daemon, c = held
    too_long = decide(daemon, "hold:1", decision="return", text="x" * 16_385)
    assert (too_long[0], too_long[1]["error"]["code"]) == (400, "bad_decision")
    text = "\u20ac\n" * 4_096  # 16 KiB, and 32 KiB as JSON with escapes
    assert decide(daemon, "hold:1", decision="return", text=text, by="kim")[0] == 200
    assert c.wait_for("intervention")["inject"] == text
    assert ask(daemon, "POST", run_path("r1", "holds", "hold:1"), "x" * 200_000)[0] == 413


def test_a_hold_is_decided_once(held):
    daemon, _ = held
    assert decide(daemon, "hold:1", decision="release")[0] == 200
    assert decide(daemon, "hold:1", decision="return")[0] == 409


def test_holds_and_decisions_survive_a_kill(daemon):
    with daemon.client(**CAPABLE, **ASK_A_PERSON) as c:
        hold_an_event(c)
        c.event("e3", ["coder"], source="v1")
        assert c.verdicts()[0]["hold"] == "hold:2"
        c.wait_acked()
        assert decide(daemon, "hold:1", decision="release", by="kim")[0] == 200
        c.wait_for("intervention", id="hold:1")
        c.tell("time")
        c.wait_acked()
    daemon.kill()
    daemon.start()
    assert [h["hold"] for h in get(daemon, run_path("r1", "holds"))["holds"]] == ["hold:2"]
    trace = ask(daemon, "GET", run_path("r1", "trace"))[1].decode()
    assert '"type":"decision","hold":"hold:1","decision":"release","by":"kim"' in trace


def test_a_hello_can_only_lower_the_limits_of_the_configuration(tmp_path):
    with Daemon(tmp_path, config="[guards.budget]\nmax_cost = 5.0\n") as daemon:
        for run, asked, effective in (("r1", 9, 5), ("r2", 3, 3), ("r3", None, 5)):
            guards = {"guards": {"budget": {"max_cost": asked, "mode": "off"}}} if asked else {}
            with daemon.client(run=run, **CAPABLE, **guards) as c:
                budget = c.welcome["guards"]["budget"]
                assert (budget["max_cost"], budget["mode"]) == (effective, "enforce")
