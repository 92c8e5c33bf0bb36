"""`digctl hold`: lists the events that wait for a person, releases and returns them."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))
from live import Daemon  # noqa: E402

HELLO = {
    "capabilities": {"hold": True},
    "agents": ["planner", "coder"],
    "guards": {"fan_out": {"max_depth": 0, "action": "hold"}, "hold_ms": 600_000},
}


@pytest.fixture
def hold(digctl, waiting):
    daemon, _ = waiting
    return lambda *args: digctl("hold", *args, "--to", daemon.address)


@pytest.fixture
def waiting(tmp_path):
    with Daemon(tmp_path) as daemon, daemon.client(**HELLO) as c:
        c.event("e1", ["planner"])
        c.start("v1", "planner", ["e1"], usage={"cost": 0.25})
        c.event("e2", ["coder"], source="v1")
        assert c.verdicts()[0]["hold"] == "hold:1"
        yield daemon, c


def test_the_list_shows_who_waits_for_whom_and_why(hold):
    out = hold("list").stdout
    head, row = out.splitlines()[:2]
    assert head.split() == ["run", "hold", "since", "until,", "then", "from", "to", "cost", "reason"]
    for expected in ("r1", "hold:1", "release", "planner", "coder", "0.25", "max_depth 0"):
        assert expected in row
    (line,) = hold("list", "r1", "--format", "jsonl").stdout.splitlines()
    assert json.loads(line)["event"] == "e2"
    assert json.loads(hold("list", "--format", "json").stdout) == [json.loads(line)]


def test_a_released_event_is_delivered_with_the_text(hold, waiting):
    _, c = waiting
    done = hold("release", "r1", "hold:1", "--text", "Go on.", "--by", "kim")
    assert (done.returncode, done.stdout) == (0, "")
    ended = c.wait_for("intervention")
    assert (ended["id"], ended["action"], ended["inject"]) == ("hold:1", "release", "Go on.")
    empty = hold("list")
    assert (empty.returncode, empty.stdout, "no event waits" in empty.stderr) == (0, "", True)


def test_a_returned_event_goes_back_to_its_sender(hold, waiting):
    _, c = waiting
    assert hold("return", "r1", "hold:1").returncode == 0
    ended = c.wait_for("intervention")
    assert (ended["action"], ended["recipients"]) == ("reroute", ["planner"])


@pytest.mark.parametrize(
    "args, words",
    [
        (["release", "r1", "hold:7"], "hold:7 is not open"),
        (["release", "r1", "e2"], "expected a hold as hold:1"),
        (["return", "r9", "hold:1"], "r9"),
        (["list", "r9"], "r9"),
    ],
)
def test_a_wrong_hold_or_run_is_an_error(hold, args, words):
    done = hold(*args)
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr
