"""The protocol's machine without I/O: what follows from what, step by step."""

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


def hear(c, now=0.0, **frame):
    c.receive(json.dumps(frame).encode(), now)


def up(c, now=0.0, **change):
    c.connected()
    hear(c, now, **{**WELCOME, **change})


def event(c, id="e1", now=0.0, submit=False):
    return c.enqueue(event_message(Event(id, ("a",), submit=submit)), now)


def sent(c):
    return [json.loads(f) for f in c.take_frames()]


def reasons(ticket):
    return None if ticket.verdicts is None else [v.as_is for v in ticket.verdicts]


@pytest.fixture
def c():
    conversation = Conversation({"type": "hello", "run": "r"})
    up(conversation)
    return conversation


def test_a_message_is_numbered_sent_once_and_settled_by_its_verdict(c):
    t = event(c)
    (frame,) = sent(c)
    assert (frame["seq"], frame["event"]["id"]) == (1, "e1") and "as_is" not in frame
    assert sent(c) == [] and t.verdicts is None
    hear(
        c, type="verdicts", seq=1, verdicts=[{"event": "e1", "action": "reroute", "recipients": ["b"], "inject": "no"}]
    )
    assert (t.verdicts[0].action, t.verdicts[0].recipients, t.verdicts[0].inject) == ("reroute", ("b",), "no")
    assert c.take_settled() == [t] and c.next_deadline() is None


def test_nothing_is_sent_before_the_welcome():
    c = Conversation({})
    t = event(c)
    c.connected()
    assert sent(c) == [] and t.verdicts is None
    hear(c, **WELCOME)
    assert [f["seq"] for f in sent(c)] == [1]


def test_the_first_connection_is_hoped_for_within_one_deadline_only():
    c = Conversation({})
    first = event(c, "e1", now=10.0)
    second = event(c, "e2", now=10.2)
    assert c.next_deadline() == 10.25
    c.expire(10.25)
    assert reasons(first) == reasons(second) == ["disconnected"]
    assert reasons(event(c, "e3", now=11.0)) == ["disconnected"]
    up(c, 12.0)
    assert [f.get("as_is") for f in sent(c)] == [True, True, True]


def test_after_the_deadline_it_goes_out_as_is_and_says_so(c):
    t = event(c)
    sent(c)
    c.expire(0.249)
    assert t.verdicts is None
    c.expire(0.25)
    assert reasons(t) == ["timeout"]
    (report,) = sent(c)
    assert (report["type"], report["event"], report["applied"], report["reason"]) == (
        "delivery",
        "e1",
        "as_is",
        "timeout",
    )
    hear(c, type="verdicts", seq=1, verdicts=[{"event": "e1", "action": "reroute", "recipients": ["b"]}])
    assert reasons(t) == ["timeout"] and c.counters.second_verdicts == 1


def test_a_message_not_sent_before_its_deadline_is_marked_and_needs_no_report(c):
    t = event(c)
    c.expire(1.0)
    assert reasons(t) == ["timeout"]
    (frame,) = sent(c)
    assert (frame["type"], frame["as_is"]) == ("event", True)


def test_a_lost_connection_settles_what_waits_and_resumption_repeats_it(c):
    t, quiet = event(c), c.enqueue(message("time"), 0.0)
    sent(c)
    c.disconnected(0.1)
    assert reasons(t) == ["disconnected"] and quiet.verdicts == ()
    later = event(c, "e2", now=0.2)
    assert reasons(later) == ["disconnected"]
    up(c, 0.3)
    frames = sent(c)
    assert [f["seq"] for f in frames] == [1, 2, 3, 4]
    assert [f["type"] for f in frames] == ["event", "time", "delivery", "event"]
    assert [f.get("as_is") for f in frames] == [None, None, None, True]


def test_resumption_starts_after_what_is_durable(c):
    for i in range(4):
        event(c, f"e{i}")
    sent(c)
    hear(c, type="ack", seq=1)
    c.disconnected(0.0)
    up(c, acked_seq=3)
    assert [f["seq"] for f in sent(c) if f["type"] == "event"] == [4]


def test_a_session_that_went_on_elsewhere_is_continued_from_there():
    c = Conversation({})
    event(c)
    up(c, acked_seq=41)
    assert [f["seq"] for f in sent(c)] == [42]


def test_a_daemon_that_lost_its_data_gets_a_gap_and_new_numbers(c):
    for i in range(5):
        event(c, f"e{i}")
    sent(c)
    hear(c, type="ack", seq=3)
    c.disconnected(0.0)
    up(c, acked_seq=0)
    frames = sent(c)
    assert [f["seq"] for f in frames] == list(range(1, len(frames) + 1))
    assert (frames[0]["type"], frames[0]["dropped"]) == ("gap", 3)
    assert [f["event"]["id"] for f in frames if f["type"] == "event"] == ["e3", "e4"]


def test_at_the_credit_limit_it_goes_on_alone_and_confesses_a_gap():
    c = Conversation({})
    up(c, credits=6)
    tickets = [event(c, f"e{i}") for i in range(9)]
    assert [reasons(t) for t in tickets] == [None] * 4 + [["credits"]] * 5
    assert [f["seq"] for f in sent(c)] == [1, 2, 3, 4]
    hear(c, type="ack", seq=1)
    (gap,) = sent(c)
    assert (gap["type"], gap["dropped"], gap["seq"]) == ("gap", 5, 5)
    assert reasons(event(c, "late")) == ["credits"] and c.window.dropped == 6


def test_the_end_of_the_run_is_told_even_at_the_limit():
    c = Conversation({})
    up(c, credits=4)
    for i in range(5):
        event(c, f"e{i}")
    c.enqueue(ended_run_message("success", None), 0.0)
    frames = sent(c)
    assert (frames[-1]["type"], frames[-1]["outcome"]) == ("run_ended", "success") and len(frames) <= 4
    c.is_over = True
    assert reasons(event(c, "after")) == ["error:run_closed"]


def test_what_is_kept_is_bounded_by_bytes_too():
    c = Conversation({}, max_buffer_bytes=10_000)
    c.disconnected(0.0)
    for i in range(100):
        c.enqueue(event_message(Event(f"e{i}", ("a",), payload="x" * 1000)), 0.0)
    assert c.window.bytes <= 10_000 and c.window.dropped > 80


def test_fewer_credits_than_hoped_for_hold_back_what_is_kept():
    c = Conversation({})
    c.disconnected(0.0)
    for i in range(10):
        event(c, f"e{i}")
    up(c, credits=4)
    assert [f["seq"] for f in sent(c)] == [1, 2, 3, 4]
    hear(c, type="ack", seq=3)
    assert [f["seq"] for f in sent(c)] == [5, 6, 7]


def test_an_error_in_answer_to_something_held_means_deliver_as_is(c):
    t = event(c)
    sent(c)
    hear(c, type="error", code="duplicate_event", seq=1, field="id", message="…", fatal=False)
    assert reasons(t) == ["error:duplicate_event"] and c.counters.errors == {"duplicate_event": 1}
    assert sent(c) == []  # a refused message has no delivery to report


def test_a_fatal_error_ends_it_for_good(c):
    t = event(c)
    sent(c)
    hear(c, type="error", code="hello_conflict", message="…", fatal=True)
    assert c.phase is Phase.CLOSED and reasons(t) == ["error:hello_conflict"]
    assert reasons(event(c, "e2")) == ["error:hello_conflict"]
    c.disconnected(1.0)
    assert c.phase is Phase.CLOSED


def test_a_wrong_seq_asks_for_a_new_welcome(c):
    hear(c, type="error", code="bad_seq", seq=7, message="…", fatal=False)
    assert c.wants_reconnect
    c.disconnected(0.0)
    assert not c.wants_reconnect


def test_fail_closed_holds_a_submit_event_through_a_reconnect():
    c = Conversation({}, fail_closed_s=5.0)
    up(c)
    work, answer = event(c, "e1"), event(c, "e2", submit=True)
    sent(c)
    c.expire(1.0)
    c.disconnected(1.0)
    assert reasons(work) == ["timeout"] and answer.verdicts is None
    assert event(c, "e3", now=2.0, submit=True).verdicts is None
    up(c, 3.0)
    assert all("as_is" not in f for f in sent(c) if f["type"] == "event" and f["event"].get("submit"))
    hear(
        c,
        type="verdicts",
        seq=2,
        verdicts=[{"event": "e2", "action": "reroute", "recipients": ["a"], "inject": "early"}],
    )
    assert answer.verdicts[0].given_back


def test_fail_closed_is_bounded():
    c = Conversation({}, fail_closed_s=5.0)
    c.disconnected(0.0)
    answer = event(c, "e1", submit=True)
    assert c.next_deadline() == 5.0
    c.expire(5.0)
    assert reasons(answer) == ["disconnected"]


def test_a_deaf_daemon_is_not_waited_for_again_until_it_is_heard(c):
    for i in range(MAX_MISSED_DEADLINES):
        event(c, f"e{i}", now=float(i))
        sent(c)
        c.expire(i + 0.25)
    assert reasons(event(c, "quick", now=9.0)) == ["timeout"]
    assert [f.get("as_is") for f in sent(c) if f["type"] == "event"] == [True]
    hear(c, 9.5, type="ack", seq=1)
    assert event(c, "held", now=10.0).verdicts is None


def test_an_intervention_is_handed_out_once_and_its_answer_repeated_only_if_it_was_lost():
    c = Conversation({})
    up(c, credits=4)
    said = dict(type="intervention", id="sys:1", action="create", recipients=["a"], inject="wake up", detections=[])
    hear(c, **said)
    hear(c, **said)
    assert [i.id for i in c.take_interventions()] == ["sys:1"]
    event(c, "e1"), event(c, "e2")
    c.answer("sys:1", "created", None, 0.0)  # no room
    assert all(f["type"] == "event" for f in sent(c))
    hear(c, type="ack", seq=2)
    sent(c)
    hear(c, type="ack", seq=3)
    hear(c, **said)
    assert [(f["of"], f["applied"]) for f in sent(c) if f["type"] == "delivery"] == [("sys:1", "created")]
    hear(c, **said)
    assert sent(c) == [] and c.take_interventions() == []


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
def test_frames_that_make_no_sense_change_nothing(c, frame):
    t = event(c)
    sent(c)
    c.receive(frame, 0.0)
    assert t.verdicts is None and c.phase is Phase.UP
    hear(c, type="verdicts", seq=1, verdicts=[{"event": "e1", "action": "deliver"}])
    assert reasons(t) == [None]


def test_too_few_verdicts_leave_the_rest_as_is(c):
    t = c.enqueue(ended_message("v1", ["x"], {"x": ("b",)}, [Event("e1", ("a",))]), 0.0)
    assert [b.event for b in t.blocked] == ["x", "e1"]
    sent(c)
    hear(c, type="verdicts", seq=1, verdicts=[{"event": "x", "action": "deliver"}])
    assert reasons(t) == [None, "error:no_verdict"]


def test_an_unheld_run_waits_for_nothing_and_marks_everything():
    c = Conversation({}, hold=False)
    up(c)
    assert reasons(event(c)) == ["unheld"]
    assert sent(c)[0]["as_is"] is True


def test_a_message_that_would_close_the_connection_becomes_a_gap():
    c = Conversation({})
    c.enqueue(event_message(Event("e1", ("a",), payload="x" * 70_000), limit_bytes=1 << 20), 0.0)
    event(c, "e2")
    up(c)  # message_bytes 4096: the daemon closes at 16 times that
    assert [f["type"] for f in sent(c)] == ["gap", "event"]


@pytest.mark.parametrize(
    "draw, waits",
    [(1.0, [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10]), (0.0, [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5])],
)
def test_attempts_come_further_and_further_apart_up_to_a_bound(draw, waits):
    backoff = Backoff(random=lambda: draw)
    assert [backoff.next_s() for _ in waits] == pytest.approx(waits)
    backoff.attempts = 10**9
    assert backoff.next_s() <= 10


# ---- what leaves the process


def test_a_payload_over_the_limit_is_left_out_and_the_event_still_told():
    said = json.loads(event_message(Event("e1", ("a",), payload="x" * 5000), limit_bytes=4096).frame(1, False))
    assert said["event"]["payload"] == "digd: left out, 5002 bytes" and said["event"]["recipients"] == ["a"]


def test_the_redaction_hook_sees_everything_and_one_that_raises_lets_nothing_out():
    hide = lambda value: {k: "*" for k in value}  # noqa: E731
    said = json.loads(event_message(Event("e1", (), payload={"key": "secret"}), hide).frame(1, False))
    assert said["event"]["payload"] == {"key": "*"}

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
    "payload, said",
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
            },
        ),
    ],
)
def test_a_payload_of_any_kind_becomes_json(payload, said):
    frame = event_message(Event("e1", (), payload=payload)).frame(1, False)
    assert json.loads(frame.decode())["event"]["payload"] == said


def test_deliveries_leave_out_what_they_do_not_say():
    assert json.loads(delivery_message("created", of="sys:1").frame(3, True)) == {
        "type": "delivery",
        "seq": 3,
        "of": "sys:1",
        "applied": "created",
    }


# ---- bounds on what healing costs


def judged(c, seq, event, now, **verdict):
    hear(c, now, type="verdicts", seq=seq, verdicts=[{"event": event, "action": "deliver", **verdict}])


def bounded(max_added_s):
    c = Conversation({}, max_added_s=max_added_s)
    up(c)
    return c


def test_a_message_waits_no_longer_than_the_time_that_may_be_added():
    c = bounded(0.1)
    first = event(c, "e1", now=0.0)
    sent(c)
    assert c.next_deadline() == 0.1
    judged(c, 1, "e1", 0.06)
    assert reasons(first) == [None] and c.added_s(5.0) == 0.06
    second = event(c, "e2", now=10.0)
    sent(c)
    c.expire(10.039)
    assert second.verdicts is None
    c.expire(10.041)
    assert reasons(second) == ["max_added_ms"] and c.counters.timeouts == 0
    assert reasons(event(c, "e3", now=11.0)) == ["max_added_ms"]
    assert [(f["type"], f.get("reason"), f.get("as_is")) for f in sent(c)] == [
        ("delivery", "max_added_ms", None),
        ("event", None, True),
    ]


def test_messages_that_wait_at_the_same_time_count_once():
    c = bounded(1.0)
    event(c, "e1", now=0.0)
    event(c, "e2", now=0.1)
    sent(c)
    judged(c, 1, "e1", 0.15)
    judged(c, 2, "e2", 0.2)
    assert c.added_s(9.0) == pytest.approx(0.2) and c.no_hold_reason is None


def test_a_lost_connection_ends_the_time_that_is_added():
    c = bounded(1.0)
    event(c, "e1", now=0.0)
    sent(c)
    c.disconnected(0.2)
    assert c.added_s(9.0) == pytest.approx(0.2)


def test_no_time_at_all_holds_nothing_even_before_the_first_connection():
    c = Conversation({}, max_added_s=0.0)
    assert reasons(event(c)) == ["max_added_ms"]


def test_what_only_the_mode_kept_from_healing_is_counted_once_for_each_answer(c):
    shadow = {"rule": "orphaned_event", "cause": "mode", "healing": "reroute"}
    observed = {"rule": "deadlock", "cause": "mode", "healing": None}
    used_up = {"rule": "deadlock", "cause": "attempts", "healing": "create"}
    for id in ("e1", "e2"):
        event(c, id)
    sent(c)
    judged(c, 1, "e1", 0.0, detections=[shadow, observed, used_up])
    judged(c, 2, "e2", 0.3, detections=[shadow])
    judged(c, 2, "e2", 0.4, detections=[shadow])
    assert c.unhealed == {"orphaned_event": 2}
