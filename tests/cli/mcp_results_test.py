"""digctl mcp: results that are large or deeply nested. It is asked line by line, without an SDK."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from piloting import a_run  # noqa: E402

MAX_RESULT_BYTES = 16 * 1024
HOLDING = {
    "capabilities": {"hold": True},
    "agents": ["planner", "coder"],
    "guards": {"fan_out": {"max_depth": 0, "action": "hold"}, "hold_ms": 600_000},
}


@pytest.fixture
def call(digctl, daemon):
    """Calls a tool; returns its text without the first line, and whether it is an error."""

    def ask(tool, **arguments):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        message["params"] = {"name": tool, "arguments": arguments}
        got = digctl("mcp", "--to", daemon.address, stdin=json.dumps(message) + "\n")
        result = json.loads(got.stdout)["result"]
        text = result["content"][0]["text"]
        return (text, True) if result["isError"] else (text.partition("\n")[2], False)

    return ask


def data_of(answer):
    text, is_error = answer
    assert not is_error, text
    assert len(text) <= MAX_RESULT_BYTES
    return json.loads(text)


def hold_events(c, *payloads):
    c.event("e1", ["planner"])
    c.start("v1", "planner", ["e1"])
    for number, payload in enumerate(payloads):
        c.event(f"held{number}", ["coder"], event={"payload": payload}, source="v1")
    c.wait_acked()


def nested(depth):
    payload = "deep"
    for _ in range(depth):
        payload = [payload]
    return payload


def test_a_long_list_is_valid_json_and_its_cursor_continues_it(call, daemon):
    lost = [f"lost {number} " + "x" * 200 for number in range(60)]
    a_run(daemon, "r1", lost=lost)
    seen, pages, cursor = [], 0, {}
    while cursor is not None:
        page = data_of(call("list_detections", run="r1", limit=60, **cursor))
        seen += [each["event"] for each in page["detections"]]
        pages += 1
        cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else None
    assert seen == lost and pages > 1


def test_a_long_list_of_runs_is_continued_too(call, daemon):
    names = [f"r{number}" for number in range(30)]
    for name in names:
        a_run(daemon, name, lost=(), labels={f"label{i}": "x" * 200 for i in range(8)})
    seen, cursor = [], {}
    while cursor is not None:
        page = data_of(call("list_runs", limit=30, **cursor))
        seen += [each["run"] for each in page["runs"]]
        cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else None
    assert seen == names[::-1]


def test_a_detection_has_its_reason(call, daemon):
    a_run(daemon, "r1")
    (found,) = data_of(call("list_detections", run="r1"))["detections"]
    assert '"lost"' in found["reason"] and "message" not in found


def test_a_hold_with_a_deeply_nested_payload_is_listed(call, daemon):
    with daemon.client(**HOLDING) as c:
        hold_events(c, nested(40))
        (hold,) = data_of(call("list_holds", run="r1"))["holds"]
    assert hold["payload"] == nested(40)


def test_large_holds_are_left_out_from_the_end_and_counted(call, daemon):
    with daemon.client(**HOLDING) as c:
        hold_events(c, *(["x" * 3000] * 8))
        listed = data_of(call("list_holds", run="r1"))
    assert 0 < len(listed["holds"]) < 8
    assert listed["holds"][0]["event"] == "held0"
    assert listed["left_out"] == 8 - len(listed["holds"])


def test_a_sole_element_that_is_too_large_names_the_members_it_lacks(call, daemon):
    with daemon.client(**HOLDING) as c:
        hold_events(c, "x" * 16_300)  # less than the daemon leaves out itself
        (hold,) = data_of(call("list_holds", run="r1"))["holds"]
    assert hold["event"] == "held0" and hold["too_large"] == ["payload"]


@pytest.mark.parametrize("limit", [0, 101, 1.5, "many"])
def test_a_limit_out_of_range_is_refused_with_the_range(call, limit):
    text, is_error = call("list_runs", limit=limit)
    assert is_error and "`limit` must be a whole number from 1 to 100" in text
