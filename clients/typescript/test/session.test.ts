import { describe, expect, it } from "vitest";
import { Session, type Answer, type SessionOptions } from "../src/session.js";
import type { Hello, Intervention } from "../src/wire.js";

const hello: Hello = { type: "hello", protocol: 1, run: "r", session: "main", clock: "wall", capabilities: {}, client: { name: "test", version: "0" } };

function make(options: Partial<SessionOptions> = {}) {
  const interventions: Intervention[] = [];
  const session = new Session(
    () => hello,
    { deadlineMs: 250, failClosedMs: 0, keep: 1024, maxBufferBytes: 1 << 20, ...options },
    { intervention: (what) => interventions.push(what), welcome: () => {}, refused: () => {} },
  );
  const welcome = (acked_seq = 0, more: object = {}): void => {
    session.connected();
    session.receive(JSON.stringify({ type: "welcome", acked_seq, mode: "enforce", rules: {}, limits: {}, verdict_deadline_ms: 100, credits: 8, ...more }), 0);
  };
  const sent = (): Record<string, unknown>[] => session.drain().map((frame) => JSON.parse(frame) as Record<string, unknown>);
  const event = (id: string, now = 0, submit = false): Answer[] => {
    const answers: Answer[] = [];
    session.say({ type: "event", event: { id, recipients: ["a"], ...(submit ? { submit } : {}) } }, now, [{ event: id, recipients: ["a"], submit }], (a) => answers.push(a));
    return answers;
  };
  return { session, interventions, welcome, sent, event, hear: (frame: object, now = 0) => session.receive(JSON.stringify(frame), now) };
}

describe("a session", () => {
  it("says hello first and what it kept after the welcome", () => {
    const { session, welcome, sent, event } = make();
    event("e1");
    expect(sent()).toEqual([]);
    session.connected();
    expect(sent()).toEqual([hello]);
    welcome();
    expect(sent().map((m) => [m["type"], m["seq"]])).toEqual([["hello", undefined], ["event", 1]]);
  });

  it("goes on where another process of the same session stopped", () => {
    const { welcome, sent, event } = make();
    event("e1");
    welcome(41);
    expect(sent()[1]?.["seq"]).toBe(42);
  });

  it("marks what it delivered before it could send it", () => {
    const { session, welcome, sent, event } = make();
    const answers = event("e1");
    session.disconnected(1);
    expect(answers).toEqual([{ verdicts: null, asIs: "disconnected" }]);
    welcome();
    expect(sent()[1]).toMatchObject({ type: "event", seq: 1, as_is: true });
  });

  it("reports what it delivered after it had sent it", () => {
    const { session, welcome, sent, event } = make();
    welcome();
    const answers = event("e1", 10);
    sent();
    session.tick(109);
    expect(answers).toEqual([]);
    session.tick(110);
    expect(answers).toEqual([{ verdicts: null, asIs: "timeout" }]);
    expect(sent()).toEqual([{ seq: 2, type: "delivery", event: "e1", applied: "as_is", reason: "timeout" }]);
  });

  it("ignores a verdict that comes too late, and one that comes twice", () => {
    const { welcome, event, hear, session } = make();
    welcome();
    const answers = event("e1");
    const verdicts = { type: "verdicts", seq: 1, verdicts: [{ event: "e1", action: "deliver" }] };
    hear(verdicts);
    hear(verdicts);
    expect(answers).toEqual([{ verdicts: verdicts.verdicts }]);
    const late = event("e2", 0);
    session.tick(100);
    hear({ ...verdicts, seq: 2 });
    expect(late).toEqual([{ verdicts: null, asIs: "timeout" }]);
  });

  it("sends again what was not durable, and nothing else", () => {
    const { session, welcome, sent, event, hear } = make();
    welcome();
    for (const id of ["e1", "e2", "e3"]) event(id);
    hear({ type: "ack", seq: 1 });
    sent();
    session.disconnected(5);
    welcome(2);
    const again = sent().slice(1);
    expect(again.map((m) => m["seq"])).toEqual([3, 4, 5, 6]);
    expect(again.slice(1).map((m) => [m["type"], m["event"]])).toEqual([["delivery", "e1"], ["delivery", "e2"], ["delivery", "e3"]]);
  });

  it("is never more than its credits ahead, goes on alone, and says so once there is room", () => {
    const { welcome, sent, event, hear, session } = make();
    welcome();
    const answers = Array.from({ length: 11 }, (_, i) => event(`e${i + 1}`)).map((a) => a[0]?.asIs);
    expect(sent().slice(1)).toHaveLength(8);
    expect(answers.slice(8)).toEqual(["credits", "credits", "credits"]);
    expect(session.isDurable).toBe(false);
    hear({ type: "ack", seq: 3 });
    expect(sent()).toEqual([]);
    hear({ type: "ack", seq: 8 });
    expect(sent()).toEqual([{ seq: 9, type: "gap", dropped: 3 }]);
  });

  it("ends a run even if there was no room to say so", () => {
    const { welcome, sent, event, hear, session } = make();
    welcome();
    for (let i = 0; i < 9; ++i) event(`e${i}`);
    session.say({ type: "run_ended", outcome: "success" }, 0);
    sent();
    hear({ type: "ack", seq: 8 });
    expect(sent().map((m) => m["type"])).toEqual(["gap", "run_ended"]);
  });

  it("keeps no more bytes than allowed", () => {
    const { session, event } = make({ maxBufferBytes: 200 });
    const answers = [1, 2, 3, 4].map((i) => event(`e${i}`)[0]);
    expect(session.unacked).toBeLessThan(4);
    expect(answers.at(-1)).toEqual({ verdicts: null, asIs: "credits" });
  });

  it("leaves out a payload that the daemon would refuse for its size", () => {
    const { session, welcome, sent } = make({ maxBufferBytes: 1 << 24 });
    welcome(0, { limits: { message_bytes: 1000 } });
    session.say({ type: "event", event: { id: "e1", recipients: [], payload: "ü".repeat(600) } }, 0);
    expect(sent()[1]?.["event"]).toEqual({ id: "e1", recipients: [], payload: { digd: "left out: too large" } });
  });

  it("with a new archive numbers anew, behind a gap, and marks what was delivered", () => {
    const { session, welcome, sent, event, hear } = make();
    welcome();
    event("e1");
    event("e2");
    hear({ type: "ack", seq: 1 });
    hear({ type: "verdicts", seq: 2, verdicts: [{ event: "e2", action: "deliver" }] });
    sent();
    session.disconnected(5);
    welcome(0);
    expect(sent().slice(1)).toMatchObject([
      { seq: 1, type: "gap", dropped: 1 },
      { seq: 2, type: "event", as_is: true, event: { id: "e2" } },
      { seq: 3, type: "delivery", event: "e1" },
    ]);
  });

  it("holds a final answer through an outage if told to, for so long and no longer", () => {
    const { session, welcome, event, hear } = make({ failClosedMs: 1000 });
    welcome();
    const answers = event("answer", 0, true);
    const other = event("e1", 0);
    session.disconnected(10);
    expect([answers.length, other.length]).toEqual([0, 1]);
    welcome();
    hear({ type: "verdicts", seq: 1, verdicts: [{ event: "answer", action: "reroute", recipients: ["a"] }] });
    expect(answers[0]?.verdicts?.[0]?.action).toBe("reroute");
    const second = event("answer2", 0, true);
    session.disconnected(20);
    session.tick(999);
    expect(second).toEqual([]);
    session.tick(1000);
    expect(second).toEqual([{ verdicts: null, asIs: "disconnected" }]);
  });

  it("delivers as is what the daemon refuses", () => {
    const { welcome, event, hear } = make();
    welcome();
    const answers = event("e1");
    hear({ type: "error", code: "duplicate_event", seq: 1, fatal: false });
    expect(answers).toMatchObject([{ verdicts: null, asIs: "error:duplicate_event" }]);
  });

  it("does not take the seq that the daemon expects for a message that it refused", () => {
    const { welcome, event, hear } = make();
    welcome();
    const answers = event("e1");
    hear({ type: "error", code: "bad_seq", seq: 1, fatal: false });
    expect(answers).toEqual([]);
  });

  it("takes a fatal error for the end, and goes on as is", () => {
    const { session, welcome, event, hear } = make();
    welcome();
    const waiting = event("e1");
    hear({ type: "error", code: "hello_conflict", fatal: true });
    expect([waiting[0]?.asIs, event("e2")[0]?.asIs, session.isOver]).toEqual(["off", "off", true]);
  });

  it("answers an intervention once, however often it is sent", () => {
    const { session, interventions, welcome, sent, hear } = make();
    welcome();
    const what = { type: "intervention", id: "sys:1", action: "create", recipients: ["a"], inject: "…" };
    hear(what);
    hear(what);
    session.answerIntervention("sys:1", "created", 0);
    session.answerIntervention("sys:1", "failed", 0);
    hear(what);
    expect(interventions).toHaveLength(1);
    expect(sent().slice(1)).toEqual([{ seq: 1, type: "delivery", of: "sys:1", applied: "created" }]);
  });

  it("answers an intervention sent again if there was no room for the first answer", () => {
    const { session, welcome, sent, event, hear } = make();
    welcome();
    for (let i = 0; i < 8; ++i) event(`e${i}`);
    const what = { type: "intervention", id: "sys:1", action: "create", recipients: ["a"] };
    hear(what);
    session.answerIntervention("sys:1", "created", 0);
    sent();
    hear({ type: "ack", seq: 8 });
    hear(what);
    expect(sent().map((m) => m["type"])).toEqual(["gap", "delivery"]);
  });

  it("is not troubled by what it cannot read", () => {
    const { session, welcome, hear } = make();
    welcome();
    session.receive("no json", 0);
    session.receive("null", 0);
    hear({ type: "something_new" });
    expect([session.isOpen, session.counters.unreadable]).toEqual([true, 2]);
  });
});
