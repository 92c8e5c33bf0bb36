"""The vectors of tests/traces/conformance, without a socket and live.

Without a socket: the client sends each trace, receives the frames that the vector expects, and must follow them.
Live: the client sends each trace to a real daemon, and its verdicts must be those that the vector expects.

A client numbers its own messages, so it cannot send the lines of `sequence` that have a wrong seq or are not JSON. That
vector runs without a socket only, and without these lines.
"""

import asyncio
import json
from collections import Counter

import pytest

from digd.conversation import Conversation, Phase
from digd.messages import (
    Blocked,
    Event,
    Message,
    Verdict,
    delivery_message,
    ended_message,
    ended_run_message,
    event_message,
    failed_message,
    message,
    started_message,
)
from digd.options import parse_address
from digd.session import Session, Target
from client_helpers import ROOT, async_test, wait_for, url_of

FOLDER = ROOT / "tests" / "traces" / "conformance"
TRACES = sorted(p for p in FOLDER.glob("*.jsonl") if not p.name.endswith(".expected.jsonl"))
NAMES = [p.stem for p in TRACES]


def lines_of(path):
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            assert path.stem == "sequence"  # broken on purpose


def sendable_lines(trace):
    """The hellos, and the lines with the next seq of their session."""
    seen = Counter()
    for line in trace:
        session = line.get("session", "main")
        if line["type"] == "hello":
            yield line
        elif line.get("seq") == seen[session] + 1:
            seen[session] += 1
            yield line


def event_of(fields):
    known = {k: fields[k] for k in ("kind", "payload", "source") if k in fields}
    return Event(
        fields["id"],
        tuple(fields.get("recipients", ())),
        fyi=fields.get("fyi", False),
        submit=fields.get("submit", False),
        **known,
    )


def built_message(line):
    """The message from the client's own builders; None if they cannot build such an invalid message."""
    ts = line.get("ts")
    try:
        if line["type"] == "event":
            return event_message(event_of(line["event"]), ts=ts)
        if line["type"] == "activation_started":
            return started_message(line["activation"], line["agent"], line["inputs"], ts)
        if line["type"] == "activation_ended" and not line.get("failed"):
            reactions = {
                e: tuple(r["reroute"]) if isinstance(r, dict) else r for e, r in line.get("reactions", {}).items()
            }
            return ended_message(
                line["activation"], reactions, reactions, map(event_of, line.get("outputs", ())), ts=ts
            )
        if line["type"] == "activation_ended" and not {"outputs", "reactions"} & set(line):
            return failed_message(line["activation"], line.get("error"), ts=ts)
        if line["type"] == "delivery":
            return delivery_message(line["applied"], line.get("event"), line.get("of"), line.get("reason"), ts=ts)
        if line["type"] == "run_ended":
            return ended_run_message(line.get("outcome"), line.get("metrics"), ts=ts)
    except (KeyError, TypeError):
        return None
    return None


def as_message(line):
    built = built_message(line)
    if built is not None and not is_incomplete(line, built):
        return built
    rest = {k: v for k, v in line.items() if k not in ("type", "seq", "session", "as_is", "ts")}
    return message(line["type"], blocked_in(line), ts=line.get("ts"), **rest)


def is_incomplete(line, built: Message):
    """Whether the built message lacks a member of the line, which repeats it or spells it in its own way."""
    frame = json.loads(built.frame(line["seq"], bool(line.get("as_is"))))
    return normal(frame) != normal({k: v for k, v in line.items() if k != "session"})


def normal(frame):
    """The frame without empty members: an empty list and false count as missing."""
    if isinstance(frame, dict):
        return {k: normal(v) for k, v in frame.items() if v not in ([], False, {}) or k in ("recipients", "inputs")}
    return [normal(v) for v in frame] if isinstance(frame, list) else frame


def blocked_in(line):
    if line["type"] == "event":
        e = line["event"]
        return [Blocked(e.get("id", ""), tuple(e.get("recipients", ())), e.get("submit", False))]
    if line["type"] != "activation_ended":
        return []
    rerouted = [Blocked(e, tuple(r["reroute"])) for e, r in line.get("reactions", {}).items() if isinstance(r, dict)]
    return rerouted + [
        Blocked(o["id"], tuple(o.get("recipients", ())), o.get("submit", False)) for o in line.get("outputs", ())
    ]


def expected_verdicts(frames):
    return {(f.get("session", "main"), f["seq"]): f["verdicts"] for f in frames if f["type"] == "verdicts"}


def check_verdict(got: Verdict, expected, blocked: Blocked):
    """Checks that the client follows the frame: unchanged, with a text, or to other recipients."""
    assert (got.event, got.action, got.as_is) == (expected["event"], expected["action"], None)
    assert list(got.recipients) == expected.get("recipients", list(blocked.recipients))
    assert bool(got.inject) == bool(expected.get("inject"))
    for detection, wanted in zip(got.detections, expected.get("detections", ()), strict=True):
        for name in ("rule", "severity", "session", "at", "ts", "event", "agent", "healed", "healing", "cause"):
            assert getattr(detection, name) == wanted[name]
        assert list(detection.evidence) == wanted["evidence"]


def check_ticket(ticket, line, expected, refused):
    session, seq = line.get("session", "main"), line["seq"]
    if (session, seq) in expected:
        judged = expected.pop((session, seq))
        by_id = {b.event: b for b in ticket.blocked}
        assert len(ticket.verdicts) == len(judged)
        for got, want in zip(ticket.verdicts, judged):
            check_verdict(got, want, by_id[want["event"]])
    elif ticket.blocked and not line.get("as_is"):
        assert {v.as_is for v in ticket.verdicts} == {f"error:{refused[session, seq]}"}


def with_texts(value):
    """The frame as a daemon sends it: in the vectors, `true` stands for the monitor's texts."""
    if isinstance(value, dict):
        return {k: "a text" if k == "inject" and v else with_texts(v) for k, v in value.items()}
    return [with_texts(v) for v in value] if isinstance(value, list) else value


def answer(conversation, frames, session):
    """Sends the client the frames for its session."""
    for frame in frames:
        if frame.get("session", session) == session:
            conversation.receive(json.dumps(with_texts(frame)).encode(), 0.0)


@pytest.mark.parametrize("path", TRACES, ids=NAMES)
def test_the_client_sends_the_trace_and_follows_the_expected_verdicts(path):
    trace, frames = list(lines_of(path)), list(lines_of(path.parent / f"{path.stem}.expected.jsonl"))
    conversations, tickets = {}, []
    for line in sendable_lines(trace):
        c = conversations.setdefault(line.get("session", "main"), Conversation({}))
        if line["type"] == "hello":
            c.hello = line
            hello = json.loads(c.connected())
            assert {k: v for k, v in hello.items() if k != "answered_seq"} == line
            assert hello.get("answered_seq") == (c.window.next_seq - 1 if c.window.next_seq > 1 else None)
            welcome = {
                "type": "welcome",
                "acked_seq": c.window.next_seq - 1,
                "verdict_deadline_ms": 250,
                "credits": 1024,
            }
            c.receive(json.dumps(welcome).encode(), 0)
            continue
        c.no_hold_reason = "unheld" if line.get("as_is") else None
        tickets.append((line, c.enqueue(as_message(line), 0.0)))
        (frame,) = c.take_frames()
        assert normal(json.loads(frame)) == normal({k: v for k, v in line.items() if k != "session"})
        answer(c, (f for f in frames if f.get("seq") == line["seq"]), line.get("session", "main"))
    for session, c in conversations.items():
        answer(c, (f for f in frames if f["type"] == "intervention"), session)
    expected = expected_verdicts(frames)
    refused = {(f.get("session", "main"), f["seq"]): f["code"] for f in frames if f["type"] == "error"}
    for line, ticket in tickets:
        if not line.get("as_is"):
            check_ticket(ticket, line, expected, refused)
    for session, c in conversations.items():
        interventions = [f for f in frames if f["type"] == "intervention" and f.get("session", session) == session]
        assert [i.id for i in c.take_interventions()] == [f["id"] for f in interventions]


async def open_session(sessions, name, hello, daemon, interventions):
    """Connects a session. A second hello of the same session is a reconnection."""

    def count(i):
        interventions.update([(name, i.id, i.action, i.event, i.recipients, bool(i.inject))])

    if name in sessions:
        assert await sessions[name].flush(20)
        sessions[name].conversation.hello = hello
        sessions[name].reconnect()
    else:
        sessions[name] = Session(Target(parse_address(url_of(daemon)), hello["run"]), Conversation(hello), count)
        sessions[name].start()
    conversation = sessions[name].conversation
    greetings = conversation.counters.connections + 1
    await wait_for(
        lambda: conversation.counters.connections == greetings and conversation.phase is Phase.UP, "the welcome"
    )


@pytest.mark.parametrize("path", [p for p in TRACES if p.stem != "sequence"], ids=[n for n in NAMES if n != "sequence"])
@async_test
async def test_a_daemon_answers_the_client_as_the_vector_expects(path, shared_daemon):
    trace, frames = list(lines_of(path)), list(lines_of(path.parent / f"{path.stem}.expected.jsonl"))
    sessions, tickets, interventions = {}, [], Counter()
    for line in sendable_lines(trace):
        name = line.get("session", "main")
        if line["type"] == "hello":
            await open_session(sessions, name, {**line, "run": path.stem}, shared_daemon, interventions)
            continue
        session = sessions[name]
        session.conversation.no_hold_reason = "unheld" if line.get("as_is") else None
        tickets.append((line, session.enqueue(as_message(line))))
        if len(sessions) > 1:
            assert await session.flush(20)  # the order among sessions is that of the trace
    for session in sessions.values():
        assert await session.flush(20)
    await asyncio.gather(*(sessions[line.get("session", "main")].verdicts(t) for line, t in tickets))
    expected = expected_verdicts(frames)
    refused = {(f.get("session", "main"), f["seq"]): f["code"] for f in frames if f["type"] == "error"}
    for line, ticket in tickets:
        if not line.get("as_is"):
            check_ticket(ticket, line, expected, refused)
    codes = sum((Counter(s.conversation.counters.errors) for s in sessions.values()), Counter())
    assert codes == Counter(refused.values())
    assert interventions == Counter(
        (f.get("session", "main"), f["id"], f["action"], f.get("event"), tuple(f["recipients"]), "inject" in f)
        for f in frames
        if f["type"] == "intervention"
    )
    for session in sessions.values():
        await session.stop()
