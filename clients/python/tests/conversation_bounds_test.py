"""Bounds of a conversation: known interventions, numbers that do not fit, added time, and the pairing of verdicts."""

import json

import pytest

import digd
from client_helpers import async_test
from digd import conversation as module
from digd.conversation import Conversation, Ticket
from digd.messages import Blocked, Verdict
from conversation_test import WELCOME, as_is_reasons, event, receive, sent, welcome


@pytest.fixture
def conversation():
    conversation = Conversation({"type": "hello", "run": "r"}, max_added_s=0.1)
    welcome(conversation)
    return conversation


def test_the_ends_of_holds_are_remembered_up_to_a_bound(conversation, monkeypatch):
    monkeypatch.setattr(module, "MAX_KNOWN_INTERVENTIONS", 3)
    for number in range(9):
        receive(conversation, type="intervention", id=f"hold:{number}", action="release")
    assert list(conversation._known_interventions) == ["hold:6", "hold:7", "hold:8"]


@pytest.mark.parametrize("frame", [b'{"type":"ack","seq":1e999}', b'{"type":"verdicts","seq":-1e999,"verdicts":[]}'])
def test_a_number_without_an_end_is_an_unreadable_frame(conversation, frame):
    conversation.receive(frame, 0.0)
    assert conversation.counters.errors == {"unreadable": 1}


# ---- added time


def test_added_time_does_not_count_while_nothing_waits(conversation):
    conversation.counts_added_time = lambda: False
    for number in range(20):
        ticket = event(conversation, f"e{number}", now=number)
        sent(conversation)
        assert ticket.deadline == number + 0.25
        verdicts = [{"event": f"e{number}", "action": "deliver"}]
        receive(conversation, number + 0.2, type="verdicts", seq=number + 1, verdicts=verdicts)
        receive(conversation, number + 0.2, type="ack", seq=number + 1)
        assert as_is_reasons(ticket) == [None]
    assert conversation.added_s(20) == 0 and conversation.no_hold_reason is None


def test_all_events_that_wait_when_the_added_time_is_spent_have_this_reason(conversation):
    tickets = [event(conversation, f"e{number}") for number in range(3)]
    conversation.expire(0.1)
    assert [as_is_reasons(ticket) for ticket in tickets] == [["max_added_ms"]] * 3
    assert conversation.counters.timeouts == 0


@pytest.mark.parametrize("mode, canary, counts", [("shadow", "shadow", False), ("shadow", "enforce", True)])
def test_an_adapter_counts_added_time_by_the_effective_mode(mode, canary, counts):
    run = digd.Run(mode=mode, max_added_ms=0)
    run.count_added_time_in_enforce()
    conversation = run._conversation
    assert not conversation.counts_added_time()
    conversation.connected()
    conversation.receive(json.dumps({**WELCOME, "mode": canary}).encode(), 0.0)
    assert conversation.counts_added_time() == counts
    assert (event(conversation).verdicts is None) != counts
    assert (conversation.no_hold_reason == "max_added_ms") == counts


# ---- verdicts


@async_test
async def test_verdicts_in_another_order_are_replaced_for_their_own_events():
    run = digd.Run(mode="enforce")
    run._ignores_verdicts = True
    blocked = Blocked("e1", ("a",)), Blocked("e2", ("b",), submit=True)
    judged = Verdict("e2", "reroute", ("x",), submit=True), Verdict("e1", "reroute", ("y",))
    tickets = []

    def enqueue(report):
        tickets.append(Ticket(blocked, 0.0, verdicts=judged))
        return tickets[-1]

    run._session.enqueue = enqueue
    verdicts = await run._report_and_wait(None)
    assert [(v.event, v.recipients, v.submit, v.as_is) for v in verdicts] == [
        ("e2", ("b",), True, "shadow"),
        ("e1", ("a",), False, "shadow"),
    ]
