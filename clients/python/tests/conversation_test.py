"""The protocol's state machine without I/O, step by step."""

import json

import pytest

from digd.conversation import MAX_MISSED_DEADLINES, Conversation, Phase
from digd.messages import Event, delivery_message, ended_message, ended_run_message, event_message, message
from digd.session import Backoff

WELCOME = {
    "type": "welcome",
    "acked_seq": 0,
    "verdict_deadline_ms": 250,
    "credits": 16,
    "limits": {"message_bytes": 4096},
}


def receive(conversation, now=0.0, **frame):
    conversation.receive(json.dumps(frame).encode(), now)


def welcome(conversation, now=0.0, **change):
    conversation.connected()
    receive(conversation, now, **{**WELCOME, **change})


def event(conversation, id="e1", now=0.0, submit=False):
    return conversation.enqueue(event_message(Event(id, ("a",), submit=submit)), now)


def sent(conversation):
    return [json.loads(f) for f in conversation.take_frames()]


def as_is_reasons(ticket):
    return None if ticket.verdicts is None else [v.as_is for v in ticket.verdicts]


@pytest.fixture
def conversation():
    conversation = Conversation({"type": "hello", "run": "r"})
    welcome(conversation)
    return conversation


def test_a_message_gets_a_number_is_sent_once_and_ends_with_its_verdict(conversation):
    ticket = event(conversation)
    (frame,) = sent(conversation)
    assert (frame["seq"], frame["event"]["id"]) == (1, "e1") and "as_is" not in frame
    assert sent(conversation) == [] and ticket.verdicts is None
    frame_verdict = {"event": "e1", "action": "reroute", "recipients": ["b"], "inject": "no"}
    receive(conversation, type="verdicts", seq=1, verdicts=[frame_verdict])
    (verdict,) = ticket.verdicts
    assert (verdict.action, verdict.recipients, verdict.inject) == ("reroute", ("b",), "no")
    assert conversation.take_settled() == [ticket] and conversation.next_deadline() is None


def test_nothing_is_sent_before_the_welcome():
    conversation = Conversation({})
    ticket = event(conversation)
    conversation.connected()
    assert sent(conversation) == [] and ticket.verdicts is None
    receive(conversation, **WELCOME)
    assert [f["seq"] for f in sent(conversation)] == [1]


def test_events_wait_for_the_first_connection_until_one_deadline_only():
    conversation = Conversation({})
    first = event(conversation, "e1", now=10.0)
    second = event(conversation, "e2", now=10.2)
    assert conversation.next_deadline() == 10.25
    conversation.expire(10.25)
    assert as_is_reasons(first) == as_is_reasons(second) == ["disconnected"]
    assert as_is_reasons(event(conversation, "e3", now=11.0)) == ["disconnected"]
    welcome(conversation, 12.0)
    assert [f.get("as_is") for f in sent(conversation)] == [True, True, True]


def test_after_the_deadline_an_event_is_delivered_unchanged_and_reported(conversation):
    ticket = event(conversation)
    sent(conversation)
    conversation.expire(0.249)
    assert ticket.verdicts is None
    conversation.expire(0.25)
    assert as_is_reasons(ticket) == ["timeout"]
    (report,) = sent(conversation)
    assert (report["type"], report["event"], report["applied"], report["reason"]) == (
        "delivery",
        "e1",
        "as_is",
        "timeout",
    )
    receive(conversation, type="verdicts", seq=1, verdicts=[{"event": "e1", "action": "reroute", "recipients": ["b"]}])
    assert as_is_reasons(ticket) == ["timeout"] and conversation.counters.second_verdicts == 1


def test_a_message_not_sent_before_its_deadline_is_marked_as_is_without_a_delivery(conversation):
    ticket = event(conversation)
    conversation.expire(1.0)
    assert as_is_reasons(ticket) == ["timeout"]
    (frame,) = sent(conversation)
    assert (frame["type"], frame["as_is"]) == ("event", True)


def test_a_lost_connection_settles_waiting_messages_and_a_new_one_sends_them_again(conversation):
    ticket, quiet = event(conversation), conversation.enqueue(message("time"), 0.0)
    sent(conversation)
    conversation.disconnected(0.1)
    assert as_is_reasons(ticket) == ["disconnected"] and quiet.verdicts == ()
    later = event(conversation, "e2", now=0.2)
    assert as_is_reasons(later) == ["disconnected"]
    welcome(conversation, 0.3)
    frames = sent(conversation)
    assert [f["seq"] for f in frames] == [1, 2, 3, 4]
    assert [f["type"] for f in frames] == ["event", "time", "delivery", "event"]
    assert [f.get("as_is") for f in frames] == [None, None, None, True]


def test_resumption_starts_after_the_last_durable_message(conversation):
    for i in range(4):
        event(conversation, f"e{i}")
    sent(conversation)
    receive(conversation, type="ack", seq=1)
    conversation.disconnected(0.0)
    welcome(conversation, acked_seq=3)
    assert [f["seq"] for f in sent(conversation) if f["type"] == "event"] == [4]


def test_a_session_continues_from_the_number_that_the_daemon_names():
    conversation = Conversation({})
    event(conversation)
    welcome(conversation, acked_seq=41)
    assert [f["seq"] for f in sent(conversation)] == [42]


def test_a_daemon_that_lost_its_data_gets_a_gap_and_new_numbers(conversation):
    for i in range(5):
        event(conversation, f"e{i}")
    sent(conversation)
    receive(conversation, type="ack", seq=3)
    conversation.disconnected(0.0)
    welcome(conversation, acked_seq=0)
    frames = sent(conversation)
    assert [f["seq"] for f in frames] == list(range(1, len(frames) + 1))
    assert (frames[0]["type"], frames[0]["dropped"]) == ("gap", 3)
    assert [f["event"]["id"] for f in frames if f["type"] == "event"] == ["e3", "e4"]


def test_beyond_the_credits_messages_are_dropped_and_a_gap_reports_them():
    conversation = Conversation({})
    welcome(conversation, credits=6)
    tickets = [event(conversation, f"e{i}") for i in range(9)]
    assert [as_is_reasons(ticket) for ticket in tickets] == [None] * 4 + [["credits"]] * 5
    assert [f["seq"] for f in sent(conversation)] == [1, 2, 3, 4]
    receive(conversation, type="ack", seq=1)
    (gap,) = sent(conversation)
    assert (gap["type"], gap["dropped"], gap["seq"]) == ("gap", 5, 5)
    assert as_is_reasons(event(conversation, "late")) == ["credits"] and conversation.window.dropped == 6


def test_the_end_of_the_run_is_reported_even_at_the_limit():
    conversation = Conversation({})
    welcome(conversation, credits=4)
    for i in range(5):
        event(conversation, f"e{i}")
    conversation.enqueue(ended_run_message("success", None), 0.0)
    frames = sent(conversation)
    assert (frames[-1]["type"], frames[-1]["outcome"]) == ("run_ended", "success") and len(frames) <= 4
    conversation.is_over = True
    assert as_is_reasons(event(conversation, "after")) == ["error:run_closed"]


def test_the_window_is_bounded_by_bytes_too():
    conversation = Conversation({}, max_buffer_bytes=10_000)
    conversation.disconnected(0.0)
    for i in range(100):
        conversation.enqueue(event_message(Event(f"e{i}", ("a",), payload="x" * 1000)), 0.0)
    assert conversation.window.bytes <= 10_000 and conversation.window.dropped > 80


def test_fewer_credits_than_expected_delay_the_queued_messages():
    conversation = Conversation({})
    conversation.disconnected(0.0)
    for i in range(10):
        event(conversation, f"e{i}")
    welcome(conversation, credits=4)
    assert [f["seq"] for f in sent(conversation)] == [1, 2, 3, 4]
    receive(conversation, type="ack", seq=3)
    assert [f["seq"] for f in sent(conversation)] == [5, 6, 7]


def test_an_error_for_a_held_message_delivers_its_events_unchanged(conversation):
    ticket = event(conversation)
    sent(conversation)
    receive(conversation, type="error", code="duplicate_event", seq=1, field="id", message="…", fatal=False)
    assert as_is_reasons(ticket) == ["error:duplicate_event"] and conversation.counters.errors == {"duplicate_event": 1}
    assert sent(conversation) == []  # a refused message has no delivery to report


def test_a_fatal_error_ends_the_conversation_permanently(conversation):
    ticket = event(conversation)
    sent(conversation)
    receive(conversation, type="error", code="hello_conflict", message="…", fatal=True)
    assert conversation.phase is Phase.CLOSED and as_is_reasons(ticket) == ["error:hello_conflict"]
    assert as_is_reasons(event(conversation, "e2")) == ["error:hello_conflict"]
    conversation.disconnected(1.0)
    assert conversation.phase is Phase.CLOSED


def test_a_wrong_seq_asks_for_a_new_welcome(conversation):
    receive(conversation, type="error", code="bad_seq", seq=7, message="…", fatal=False)
    assert conversation.wants_reconnect
    conversation.disconnected(0.0)
    assert not conversation.wants_reconnect


def test_fail_closed_holds_a_submit_event_through_a_reconnect():
    conversation = Conversation({}, fail_closed_s=5.0)
    welcome(conversation)
    work, answer = event(conversation, "e1"), event(conversation, "e2", submit=True)
    sent(conversation)
    conversation.expire(1.0)
    conversation.disconnected(1.0)
    assert as_is_reasons(work) == ["timeout"] and answer.verdicts is None
    assert event(conversation, "e3", now=2.0, submit=True).verdicts is None
    welcome(conversation, 3.0)
    assert all("as_is" not in f for f in sent(conversation) if f["type"] == "event" and f["event"].get("submit"))
    receive(
        conversation,
        type="verdicts",
        seq=2,
        verdicts=[{"event": "e2", "action": "reroute", "recipients": ["a"], "inject": "early"}],
    )
    assert answer.verdicts[0].given_back


def test_an_answer_missed_at_a_reconnect_is_asked_for_and_acted_on():
    conversation = Conversation({}, fail_closed_s=5.0)
    assert "answered_seq" not in json.loads(conversation.connected())
    receive(conversation, **WELCOME)
    first, answer = event(conversation, "e1"), event(conversation, "e2", submit=True)
    conversation.enqueue(message("time"), 0.0)
    sent(conversation)
    receive(conversation, type="verdicts", seq=1, verdicts=[{"event": "e1", "action": "deliver"}])
    conversation.disconnected(1.0)
    assert json.loads(conversation.connected())["answered_seq"] == 1
    receive(conversation, 1.0, **{**WELCOME, "acked_seq": 3})
    assert as_is_reasons(first) == [None] and answer.verdicts is None
    verdict = {"event": "e2", "action": "reroute", "recipients": ["a"], "inject": "early"}
    receive(conversation, 1.0, type="verdicts", seq=2, verdicts=[verdict])
    assert answer.verdicts[0].given_back
    assert json.loads(conversation.connected())["answered_seq"] == 3


def test_fail_closed_is_bounded():
    conversation = Conversation({}, fail_closed_s=5.0)
    conversation.disconnected(0.0)
    answer = event(conversation, "e1", submit=True)
    assert conversation.next_deadline() == 5.0
    conversation.expire(5.0)
    assert as_is_reasons(answer) == ["disconnected"]


def test_a_silent_daemon_delays_nothing_until_it_sends_a_frame(conversation):
    for i in range(MAX_MISSED_DEADLINES):
        event(conversation, f"e{i}", now=float(i))
        sent(conversation)
        conversation.expire(i + 0.25)
    assert as_is_reasons(event(conversation, "quick", now=9.0)) == ["timeout"]
    assert [f.get("as_is") for f in sent(conversation) if f["type"] == "event"] == [True]
    receive(conversation, 9.5, type="ack", seq=1)
    assert event(conversation, "held", now=10.0).verdicts is None


def test_an_intervention_is_returned_once_and_its_answer_repeated_only_if_it_was_lost():
    conversation = Conversation({})
    welcome(conversation, credits=4)
    expected = dict(type="intervention", id="sys:1", action="create", recipients=["a"], inject="wake up", detections=[])
    receive(conversation, **expected)
    receive(conversation, **expected)
    assert [i.id for i in conversation.take_interventions()] == ["sys:1"]
    event(conversation, "e1"), event(conversation, "e2")
    conversation.answer("sys:1", "created", None, 0.0)  # no room
    assert all(f["type"] == "event" for f in sent(conversation))
    receive(conversation, type="ack", seq=2)
    sent(conversation)
    receive(conversation, type="ack", seq=3)
    receive(conversation, **expected)
    assert [(f["of"], f["applied"]) for f in sent(conversation) if f["type"] == "delivery"] == [("sys:1", "created")]
    receive(conversation, **expected)
    assert sent(conversation) == [] and conversation.take_interventions() == []


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b'{"type":3}',
        b'{"type":"verdicts"}',
        b'{"type":"welcome"}',
        b'{"type":"verdicts","seq":1,"verdicts":7}',
        b'{"type":"ack","seq":"x"}',
        b'{"type":"intervention"}',
        b'{"type":"holiday"}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_invalid_frames_change_nothing(conversation, frame):
    ticket = event(conversation)
    sent(conversation)
    conversation.receive(frame, 0.0)
    assert ticket.verdicts is None and conversation.phase is Phase.UP
    receive(conversation, type="verdicts", seq=1, verdicts=[{"event": "e1", "action": "deliver"}])
    assert as_is_reasons(ticket) == [None]


def test_events_without_a_verdict_are_delivered_unchanged(conversation):
    ticket = conversation.enqueue(ended_message("v1", ["x"], {"x": ("b",)}, [Event("e1", ("a",))]), 0.0)
    assert [b.event for b in ticket.blocked] == ["x", "e1"]
    sent(conversation)
    receive(conversation, type="verdicts", seq=1, verdicts=[{"event": "x", "action": "deliver"}])
    assert as_is_reasons(ticket) == [None, "error:no_verdict"]


def test_an_unheld_run_waits_for_nothing_and_marks_every_message():
    conversation = Conversation({}, hold=False)
    welcome(conversation)
    assert as_is_reasons(event(conversation)) == ["unheld"]
    assert sent(conversation)[0]["as_is"] is True


def test_a_message_that_would_close_the_connection_becomes_a_gap():
    conversation = Conversation({})
    conversation.enqueue(event_message(Event("e1", ("a",), payload="x" * 70_000), limit_bytes=1 << 20), 0.0)
    event(conversation, "e2")
    welcome(conversation)  # message_bytes 4096: the daemon closes at 16 times that
    assert [f["type"] for f in sent(conversation)] == ["gap", "event"]


@pytest.mark.parametrize(
    "draw, waits",
    [(1.0, [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10]), (0.0, [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5])],
)
def test_the_wait_between_attempts_grows_up_to_a_bound(draw, waits):
    backoff = Backoff(random=lambda: draw)
    assert [backoff.next_s() for _ in waits] == pytest.approx(waits)
    backoff.attempts = 10**9
    assert backoff.next_s() <= 10


# ---- payloads


def test_a_payload_over_the_limit_is_left_out_and_the_event_still_reported():
    expected = json.loads(event_message(Event("e1", ("a",), payload="x" * 5000), limit_bytes=4096).frame(1, False))
    assert expected["event"]["payload"] == "digd: left out, 5002 bytes" and expected["event"]["recipients"] == ["a"]


def test_the_redaction_hook_gets_every_payload_and_one_that_raises_hides_it():
    hide = lambda value: {k: "*" for k in value}  # noqa: E731
    expected = json.loads(event_message(Event("e1", (), payload={"key": "secret"}), hide).frame(1, False))
    assert expected["event"]["payload"] == {"key": "*"}

    def broken(value):
        raise RuntimeError(value)

    frame = event_message(Event("e1", (), payload={"key": "secret"}), broken).frame(1, False)
    assert b"secret" not in frame and b"RuntimeError" in frame


class Odd:
    def __repr__(self):
        return "<odd>"


class Broken:
    def __repr__(self):
        raise RuntimeError("no")


def cyclic():
    loop = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    "payload, expected",
    [
        (Odd(), "<odd>"),
        ({"s": {1}}, {"s": [1]}),
        (float("nan"), "digd: left out, no JSON: ValueError"),
        (cyclic(), "digd: left out, no JSON: ValueError"),
        (Broken(), "digd: left out, RuntimeError"),
        ("\ud800x", "?x"),
        (
            Event("e", ("a",)),
            {
                "id": "e",
                "recipients": ["a"],
                "kind": None,
                "payload": None,
                "fyi": False,
                "submit": False,
                "source": None,
                "fingerprint": None,
            },
        ),
    ],
)
def test_a_payload_of_any_kind_becomes_json(payload, expected):
    frame = event_message(Event("e1", (), payload=payload)).frame(1, False)
    assert json.loads(frame.decode())["event"]["payload"] == expected


def test_deliveries_have_no_empty_members():
    assert json.loads(delivery_message("created", of="sys:1").frame(3, True)) == {
        "type": "delivery",
        "seq": 3,
        "of": "sys:1",
        "applied": "created",
    }


# ---- bounds on what healing costs


def judged(conversation, seq, event, now, **verdict):
    receive(conversation, now, type="verdicts", seq=seq, verdicts=[{"event": event, "action": "deliver", **verdict}])


def bounded(max_added_s):
    conversation = Conversation({}, max_added_s=max_added_s)
    welcome(conversation)
    return conversation


def test_a_message_waits_no_longer_than_the_remaining_added_time():
    conversation = bounded(0.1)
    first = event(conversation, "e1", now=0.0)
    sent(conversation)
    assert conversation.next_deadline() == 0.1
    judged(conversation, 1, "e1", 0.06)
    assert as_is_reasons(first) == [None] and conversation.added_s(5.0) == 0.06
    second = event(conversation, "e2", now=10.0)
    sent(conversation)
    conversation.expire(10.039)
    assert second.verdicts is None
    conversation.expire(10.041)
    assert as_is_reasons(second) == ["max_added_ms"] and conversation.counters.timeouts == 0
    assert as_is_reasons(event(conversation, "e3", now=11.0)) == ["max_added_ms"]
    assert [(f["type"], f.get("reason"), f.get("as_is")) for f in sent(conversation)] == [
        ("delivery", "max_added_ms", None),
        ("event", None, True),
    ]


def test_messages_held_at_the_same_time_count_once():
    conversation = bounded(1.0)
    event(conversation, "e1", now=0.0)
    event(conversation, "e2", now=0.1)
    sent(conversation)
    judged(conversation, 1, "e1", 0.15)
    judged(conversation, 2, "e2", 0.2)
    assert conversation.added_s(9.0) == pytest.approx(0.2) and conversation.no_hold_reason is None


def test_a_lost_connection_ends_the_hold_period():
    conversation = bounded(1.0)
    event(conversation, "e1", now=0.0)
    sent(conversation)
    conversation.disconnected(0.2)
    assert conversation.added_s(9.0) == pytest.approx(0.2)


def test_an_added_time_of_zero_holds_nothing_even_before_the_first_connection():
    conversation = Conversation({}, max_added_s=0.0)
    assert as_is_reasons(event(conversation)) == ["max_added_ms"]


def test_detections_that_only_the_mode_left_unhealed_are_counted_once_per_answer(conversation):
    shadow = {"rule": "orphaned_event", "cause": "mode", "healing": "reroute"}
    observed = {"rule": "deadlock", "cause": "mode", "healing": None}
    used_up = {"rule": "deadlock", "cause": "attempts", "healing": "create"}
    for id in ("e1", "e2"):
        event(conversation, id)
    sent(conversation)
    judged(conversation, 1, "e1", 0.0, detections=[shadow, observed, used_up])
    judged(conversation, 2, "e2", 0.3, detections=[shadow])
    judged(conversation, 2, "e2", 0.4, detections=[shadow])
    assert conversation.unhealed == {"orphaned_event": 2}
