"""Frames that the protocol does not allow are refused as a whole; deadlines, and the memory of a conversation."""

import gc
import logging
import weakref

import pytest

import digd
from conversation_test import WELCOME, as_is_reasons, event, receive, sent, welcome
from digd.conversation import Conversation
from digd.messages import Event, delivery_message, event_message
from digd.options import parse_address
from digd.session import Session, Target


@pytest.fixture
def conversation():
    conversation = Conversation({"type": "hello", "run": "r"})
    welcome(conversation)
    return conversation


# ---- frames that the protocol does not allow

DELIVER = {"event": "e1", "action": "deliver"}
DETECTION = {"rule": "deadlock", "severity": "failure", "evidence": [], "reason": "…"}


@pytest.mark.parametrize(
    "verdict, field",
    [
        ({**DELIVER, "action": "explode"}, "action"),
        ({**DELIVER, "action": None}, "action"),
        ({**DELIVER, "event": ["e1"]}, "event"),
        ({**DELIVER, "action": "inject", "inject": {"text": "no text"}}, "inject"),
        ({**DELIVER, "action": "reroute", "recipients": "ab"}, "recipients"),
        ({**DELIVER, "action": "reroute", "recipients": [1]}, "recipients"),
        ({**DELIVER, "detections": [{**DETECTION, "reason": 5}]}, "reason"),
        ({**DELIVER, "detections": [{**DETECTION, "evidence": "e1"}]}, "evidence"),
        ({**DELIVER, "detections": ["deadlock"]}, "detections"),
        ({**DELIVER, "action": "hold", "hold": "hold:1"}, "hold_ms"),
        ({**DELIVER, "action": "hold", "hold": 1, "hold_ms": 1000}, "hold"),
        ({**DELIVER, "action": "hold", "hold": "hold:1", "hold_ms": 1000, "on_timeout": 1}, "on_timeout"),
    ],
)
def test_a_verdict_with_a_wrong_field_is_refused_and_its_event_meets_its_deadline(conversation, verdict, field):
    ticket, other = event(conversation), event(conversation, "e2")
    sent(conversation)
    receive(conversation, type="verdicts", seq=1, verdicts=[verdict])
    assert ticket.verdicts is None and conversation.counters.errors == {"unreadable": 1}
    assert conversation.last_unreadable.startswith(f"verdicts: {field}: expected ")
    receive(conversation, type="verdicts", seq=2, verdicts=[{"event": "e2", "action": "deliver"}])
    assert as_is_reasons(other) == [None] and conversation.answered_seq == 0  # so the daemon says it again
    conversation.expire(0.25)
    assert as_is_reasons(ticket) == ["timeout"] and conversation.next_deadline() is None


@pytest.mark.parametrize(
    "frame",
    [
        b"[]",
        b"5",
        b'{"type":{}}',
        b'{"type":"ack","seq":"1"}',
        b'{"type":"ack","seq":true}',
        b'{"type":"ack","seq":-1}',
        b'{"type":"ack","seq":NaN}',
        b'{"type":"verdicts","seq":1,"verdicts":{"event":"e1"}}',
        b'{"type":"intervention","id":7,"action":"create"}',
        b'{"type":"intervention","id":"sys:1","action":"create","recipients":["a"],"inject":7}',
        b'{"type":"intervention","id":"sys:1","action":"cancel","activations":[{}]}',
        b'{"type":"error","code":5}',
        b'{"type":"error","code":"bad_message","seq":"one"}',
    ],
)
def test_a_frame_with_a_wrong_field_changes_nothing(conversation, frame):
    ticket = event(conversation)
    sent(conversation)
    conversation.receive(frame, 0.0)
    assert conversation.counters.errors == {"unreadable": 1} and ticket.verdicts is None
    assert conversation.take_interventions() == [] and conversation.last_error is None and not conversation.closed


@pytest.mark.parametrize(
    "change",
    [
        {"verdict_deadline_ms": 1e999},
        {"verdict_deadline_ms": "250"},
        {"credits": None},
        {"mode": 1},
        {"acked_seq": []},
        {"limits": [4096]},
    ],
)
def test_a_welcome_with_a_wrong_field_opens_nothing(change):
    conversation = Conversation({})
    welcome(conversation, **change)
    assert conversation.welcome is None and conversation.deadline_s == 0.25 and sent(conversation) == []
    receive(conversation, **WELCOME)
    assert conversation.welcome is not None


def test_the_first_frame_that_cannot_be_read_is_logged(conversation, caplog):
    session = Session(Target(parse_address("h:1"), "r"), conversation, lambda intervention: None)
    session._pump_scheduled = True  # there is no loop
    with caplog.at_level(logging.WARNING, "digd"):
        for _ in range(3):
            session._on_frame(b'{"type":"ack","seq":"one"}')
    (line,) = [record.getMessage() for record in caplog.records]
    assert "ack: seq: expected a number from 0, got a text" in line and "delivered unchanged" in line
    assert conversation.counters.errors == {"unreadable": 3}


def test_a_closed_conversation_is_not_opened_by_a_late_welcome():
    conversation = Conversation({})
    conversation.connected()
    conversation.close("off")
    receive(conversation, **WELCOME)
    assert conversation.closed and as_is_reasons(event(conversation)) == ["off"]


# ---- deadlines and memory


def test_a_shorter_deadline_of_the_welcome_holds_for_events_that_wait_already():
    conversation = Conversation({})
    first = event(conversation, "e1", now=10.0)
    welcome(conversation, 10.01, verdict_deadline_ms=50)
    second = event(conversation, "e2", now=10.02)
    assert conversation.next_deadline() == pytest.approx(10.06)
    conversation.expire(10.065)
    assert as_is_reasons(first) == ["timeout"] and second.verdicts is None
    conversation.expire(10.075)
    assert as_is_reasons(second) == ["timeout"]


def test_messages_are_freed_without_the_collector_of_cycles(conversation):
    gc.disable()
    try:
        ticket = event(conversation)
        freed = weakref.ref(ticket)
        sent(conversation)
        receive(conversation, type="verdicts", seq=1, verdicts=[DELIVER])
        receive(conversation, type="ack", seq=1)
        conversation.take_settled()
        del ticket
        assert freed() is None
    finally:
        gc.enable()


def test_a_closed_conversation_keeps_no_messages_and_does_not_call_them_acked(conversation):
    conversation.enqueue(event_message(Event("e1", ("a",), payload="x" * 10000)), 0.0)
    sent(conversation)
    conversation.enqueue(delivery_message("as_is", event="e0"), 0.0)
    conversation.close("error:replaced")
    assert (len(conversation.window), conversation.window.bytes, conversation.idle) == (0, 0, False)
    assert conversation.window.dropped == 0


def test_a_verdict_is_found_by_the_id_that_the_program_gave():
    record = digd.activation.ActivationRecord("v1", "a", ("e\ud800",), iter("xyz").__next__)
    record.verdicts = (Event("e\ud800", ("a",)).blocked().as_is("off"),)
    assert record.verdict("e\ud800").as_is == "off"
