"""Events that wait for a person, usage and fingerprints: the protocol's state machine without I/O."""

import json

import pytest

from digd import Run, Usage
from digd.cancellation import cancelled_text
from digd.conversation import Conversation
from digd.messages import Event, Intervention, ended_message, event_message, usage_message

WELCOME = {"type": "welcome", "acked_seq": 0, "verdict_deadline_ms": 250, "credits": 16, "guards": {}}
HOLD = {"event": "e1", "action": "hold", "hold": "hold:1", "hold_ms": 60_000, "inject": "over the budget"}


def receive(conversation, now=0.0, **frame):
    conversation.receive(json.dumps(frame).encode(), now)


def sent(conversation):
    return [json.loads(f) for f in conversation.take_frames()]


@pytest.fixture
def conversation():
    conversation = Conversation({"type": "hello", "run": "r"}, max_added_s=1.0)
    conversation.connected()
    receive(conversation, **WELCOME)
    return conversation


def held(conversation, on_timeout="release", now=0.0):
    ticket = conversation.enqueue(event_message(Event("e1", ("a",))), now)
    sent(conversation)
    receive(conversation, now, type="verdicts", seq=1, verdicts=[{**HOLD, "on_timeout": on_timeout}])
    assert ticket.verdicts is None
    return ticket


def end(conversation, now, **frame):
    receive(conversation, now, type="intervention", id="hold:1", event="e1", **frame)


def test_a_held_event_waits_for_the_decision_and_not_for_the_deadline(conversation):
    ticket = held(conversation)
    conversation.expire(30.0)
    assert ticket.verdicts is None and conversation.next_deadline() == 60.25
    end(conversation, 31.0, action="release")
    (verdict,) = ticket.verdicts
    assert (verdict.action, verdict.recipients, verdict.hold, verdict.as_is) == ("deliver", ("a",), "hold:1", None)
    assert sent(conversation) == [{"type": "delivery", "seq": 2, "of": "hold:1", "applied": "released"}]
    assert conversation.take_settled() == [ticket] and conversation.next_deadline() is None


def test_a_returned_event_goes_to_the_recipients_of_the_decision_with_its_text(conversation):
    ticket = held(conversation)
    end(conversation, 5.0, action="reroute", recipients=["author"], inject="not now")
    (verdict,) = ticket.verdicts
    assert (verdict.action, verdict.recipients, verdict.inject) == ("reroute", ("author",), "not now")
    assert [f["applied"] for f in sent(conversation)] == ["rerouted"]


def test_the_time_that_people_take_does_not_count_as_added_time(conversation):
    held(conversation)
    end(conversation, 30.0, action="release")
    assert conversation.no_hold_reason is None and conversation.added_s(30.0) < 1.0


@pytest.mark.parametrize(
    "on_timeout, action, recipients, applied",
    [("release", "deliver", ("a",), "as_is"), ("return", "reroute", (), "rerouted")],
)
def test_without_a_connection_the_client_ends_the_hold_itself_and_reports_it(
    conversation, on_timeout, action, recipients, applied
):
    ticket = held(conversation, on_timeout)
    conversation.disconnected(10.0)
    assert ticket.verdicts is None
    conversation.expire(60.25)
    (verdict,) = ticket.verdicts
    assert (verdict.action, verdict.recipients, verdict.as_is) == (action, recipients, None)
    conversation.connected()
    receive(conversation, 61.0, **{**WELCOME, "acked_seq": 1})
    (report,) = sent(conversation)
    assert (report["event"], report["applied"]) == ("e1", applied)
    end(conversation, 62.0, action="release")  # too late
    assert [f["applied"] for f in sent(conversation)] == ["unsupported"]


def test_the_other_events_of_a_message_keep_their_verdicts(conversation):
    ended = ended_message("v1", [], {}, [Event("e1", ("a",)), Event("e2", ("b",))])
    ticket = conversation.enqueue(ended, 0.0)
    sent(conversation)
    other = {"event": "e2", "action": "reroute", "recipients": ["c"]}
    receive(conversation, type="verdicts", seq=1, verdicts=[{**HOLD, "on_timeout": "release"}, other])
    end(conversation, 1.0, action="release")
    assert [(v.event, v.action, v.recipients) for v in ticket.verdicts] == [
        ("e1", "deliver", ("a",)),
        ("e2", "reroute", ("c",)),
    ]


def test_closing_releases_what_is_held(conversation):
    ticket = held(conversation)
    conversation.close("error:replaced")
    assert [v.as_is for v in ticket.verdicts] == ["error:replaced"]


def test_usage_is_added_up_and_sent_without_zeros():
    used = Usage(input_tokens=800, cost=0.004, model_calls=1) + Usage(input_tokens=12, tool_calls=2)
    members = {"input_tokens": 812, "cost": 0.004, "model_calls": 1, "tool_calls": 2}
    assert json.loads(usage_message("v1", used).frame(7, False)) == {
        "type": "usage",
        "seq": 7,
        "activation": "v1",
        "usage": members,
    }
    assert json.loads(ended_message("v1", [], {}, [], usage=used).frame(8, False))["usage"] == members
    assert "usage" not in json.loads(ended_message("v1", [], {}, [], usage=Usage()).frame(9, False))


def test_an_event_carries_its_fingerprint():
    frame = json.loads(event_message(Event("e1", ("a",), fingerprint="search x")).frame(1, False))
    assert frame["event"]["fingerprint"] == "search x"


def test_the_hello_declares_cancel_only_with_a_handler_and_hold_only_if_it_waits():
    plain, unheld, cancels = Run("r"), Run("r", hold=False), Run("r", guards={"budget": {"max_cost": 5}})
    cancels.on_intervention("cancel")(lambda intervention: True)
    adapted = Run("r")
    adapted.adapter_defaults("langgraph")
    seen = []
    for run in (plain, unheld, cancels, adapted):
        run._before_hello()
        can = run._conversation.hello["capabilities"]
        seen.append((can["hold"], can["cancel"]))
    assert seen == [(True, False), (False, False), (True, True), (False, False)]
    assert cancels._conversation.hello["guards"] == {"budget": {"max_cost": 5}}


def test_the_text_of_a_cancelled_agent_names_it_and_says_what_to_do():
    frame = {"id": "sys:1", "action": "cancel", "activations": ["v1"], "inject": "It hung."}
    text = cancelled_text("clerk", Intervention.of(frame))
    assert text == (
        "The monitor cancelled agent 'clerk'. It hung. It gives no answer: go on without it, or say what is missing."
    )


def test_a_caller_that_keeps_held_events_waits_for_no_decision(conversation):
    conversation.passes_holds = True
    ticket = conversation.enqueue(event_message(Event("e1", ("b",))), 0.0)
    sent(conversation)
    receive(conversation, type="verdicts", seq=1, verdicts=[{**HOLD, "on_timeout": "return"}])
    (verdict,) = ticket.verdicts
    assert (verdict.action, verdict.hold, verdict.hold_ms) == ("hold", "hold:1", 60_000)
    assert (verdict.on_timeout, verdict.recipients) == ("return", ("b",))
    assert not conversation.holds_events
    receive(conversation, type="intervention", id="hold:1", action="release", event="e1", recipients=["b"])
    (answer,) = sent(conversation)
    assert (answer["applied"], answer["reason"]) == ("unsupported", "the caller decides")
