"""The vectors of tests/traces/conformance, both ways round.

Without a socket: the client says each trace, is sent the frames that the vector expects, and has to deliver what they say.
Live: the client says each trace to a real daemon, and what it hands its user is what the vector expects.

A client numbers its own messages, so the lines of `sequence` that carry a wrong seq or are no JSON are not its to say:
that vector is for the first way alone, without these lines.
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
from client_helpers import ROOT, async_test, until, url_of

FOLDER = ROOT / "tests" / "traces" / "conformance"
TRACES = sorted(p for p in FOLDER.glob("*.jsonl") if not p.name.endswith(".expected.jsonl"))
NAMES = [p.stem for p in TRACES]


def lines_of(path):
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            assert path.stem == "sequence"  # broken on purpose


def sayable(trace):
    """The hellos, and the lines whose seq is the next of their session."""
    seen = Counter()
    for line in trace:
        session = line.get("session", "main")
        if line["type"] == "hello":
            yield line
        elif line.get("seq") == seen[session] + 1:
            seen[session] += 1
            yield line


def event_of(said):
    known = {k: said[k] for k in ("kind", "payload", "source") if k in said}
    return Event(
        said["id"],
        tuple(said.get("recipients", ())),
        fyi=said.get("fyi", False),
        submit=said.get("submit", False),
        **known,
    )


def said_by_builder(line):
    """The message as the client's own builders say it; None if they could not say anything so wrong."""
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
    built = said_by_builder(line)
    if built is not None and not lacking(line, built):
        return built
    rest = {k: v for k, v in line.items() if k not in ("type", "seq", "session", "as_is", "ts")}
    return message(line["type"], blocked_in(line), ts=line.get("ts"), **rest)


def lacking(line, built: Message):
    """Whether the builder said less than the line: a member that the vector repeats or spells in a way of its own."""
    said = json.loads(built.frame(line["seq"], bool(line.get("as_is"))))
    return normal(said) != normal({k: v for k, v in line.items() if k != "session"})


def normal(frame):
    """Members that say nothing are as if missing: an empty list, false."""
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
    """A client delivers what the frame says: as it is, with the text, or to others instead."""
    assert (got.event, got.action, got.as_is) == (expected["event"], expected["action"], None)
    assert list(got.recipients) == expected.get("recipients", list(blocked.recipients))
    assert bool(got.inject) == bool(expected.get("inject"))
    for detection, said in zip(got.detections, expected.get("detections", ()), strict=True):
        for name in ("rule", "severity", "session", "at", "ts", "event", "agent", "healed", "healing", "cause"):
            assert getattr(detection, name) == said[name]
        assert list(detection.evidence) == said["evidence"]


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


def answer(conversation, frames, session):
    """Sends the client the frames that are for its session."""
    for frame in frames:
        if frame.get("session", session) == session:
            conversation.receive(
                json.dumps({k: "a text" if k == "inject" else v for k, v in frame.items()}).encode(), 0.0
            )


@pytest.mark.parametrize("path", TRACES, ids=NAMES)
def test_the_client_says_the_trace_and_delivers_what_it_is_answered(path):
    trace, frames = list(lines_of(path)), list(lines_of(path.parent / f"{path.stem}.expected.jsonl"))
    conversations, tickets = {}, []
    for line in sayable(trace):
        c = conversations.setdefault(line.get("session", "main"), Conversation({}))
        if line["type"] == "hello":
            c.hello = line
            assert json.loads(c.connected()) == line
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
        told = [f for f in frames if f["type"] == "intervention" and f.get("session", session) == session]
        assert [i.id for i in c.take_interventions()] == [f["id"] for f in told]


async def greet(sessions, name, hello, daemon, interventions):
    """Connects a session; a second hello of the same one is a reconnection."""

    def told(i):
        interventions.update([(name, i.id, i.action, i.event, i.recipients, bool(i.inject))])

    if name in sessions:
        assert await sessions[name].flush(20)
        sessions[name].conversation.hello = hello
        sessions[name].reconnect()
    else:
        sessions[name] = Session(Target(parse_address(url_of(daemon)), hello["run"]), Conversation(hello), told)
        sessions[name].start()
    conversation = sessions[name].conversation
    greetings = conversation.counters.connections + 1
    await until(
        lambda: conversation.counters.connections == greetings and conversation.phase is Phase.UP, "the welcome"
    )


@pytest.mark.parametrize("path", [p for p in TRACES if p.stem != "sequence"], ids=[n for n in NAMES if n != "sequence"])
@async_test
async def test_a_daemon_answers_the_client_as_the_vector_expects(path, shared_daemon):
    trace, frames = list(lines_of(path)), list(lines_of(path.parent / f"{path.stem}.expected.jsonl"))
    sessions, tickets, interventions = {}, [], Counter()
    for line in sayable(trace):
        name = line.get("session", "main")
        if line["type"] == "hello":
            await greet(sessions, name, {**line, "run": path.stem}, shared_daemon, interventions)
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
