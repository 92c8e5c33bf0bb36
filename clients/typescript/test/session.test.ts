import { describe, expect, it } from "vitest";
import { Session, type Answer, type SessionOptions } from "../src/session.js";
import type { Hello, Intervention } from "../src/wire.js";

const hello: Hello = {
  type: "hello",
  protocol: 1,
  run: "r",
  session: "main",
  clock: "wall",
  capabilities: {},
  client: { name: "test", version: "0" },
};

function make(options: Partial<SessionOptions> = {}) {
  const interventions: Intervention[] = [];
  const session = new Session(
    () => hello,
    { deadlineMs: 250, failClosedMs: 0, keep: 1024, maxBufferBytes: 1 << 20, ...options },
    { intervention: (intervention) => interventions.push(intervention), welcome: () => {}, refused: () => {} },
  );
  const welcome = (acked_seq = 0, more: object = {}): void => {
    session.connected();
    session.receive(
      JSON.stringify({
        type: "welcome",
        acked_seq,
        mode: "enforce",
        rules: {},
        limits: {},
        verdict_deadline_ms: 100,
        credits: 8,
        ...more,
      }),
      0,
    );
  };
  const sent = (): Record<string, unknown>[] =>
    session.drain().map((frame) => JSON.parse(frame) as Record<string, unknown>);
  const event = (id: string, now = 0, submit = false): Answer[] => {
    const answers: Answer[] = [];
    session.report(
      { type: "event", event: { id, recipients: ["a"], ...(submit ? { submit } : {}) } },
      now,
      [{ event: id, recipients: ["a"], submit }],
      (a) => answers.push(a),
    );
    return answers;
  };
  return {
    session,
    interventions,
    welcome,
    sent,
    event,
    receive: (frame: object, now = 0) => session.receive(JSON.stringify(frame), now),
  };
}

describe("a session", () => {
  it("sends the hello first, and queued messages after the welcome", () => {
    const { session, welcome, sent, event } = make();
    event("e1");
    expect(sent()).toEqual([]);
    session.connected();
    expect(sent()).toEqual([hello]);
    welcome();
    expect(sent().map((m) => [m["type"], m["seq"]])).toEqual([
      ["hello", undefined],
      ["event", 1],
    ]);
  });

  it("continues the numbering of an earlier process of the same session", () => {
    const { welcome, sent, event } = make();
    event("e1");
    welcome(41);
    expect(sent()[1]?.["seq"]).toBe(42);
  });

  it("marks messages whose events it delivered before sending them", () => {
    const { session, welcome, sent, event } = make();
    const answers = event("e1");
    session.disconnected(1);
    expect(answers).toEqual([{ verdicts: null, asIs: "disconnected" }]);
    welcome();
    expect(sent()[1]).toMatchObject({ type: "event", seq: 1, as_is: true });
  });

  it("reports events that it delivered after sending them", () => {
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

  it("ignores late and repeated verdicts", () => {
    const { welcome, event, receive, session } = make();
    welcome();
    const answers = event("e1");
    const verdicts = { type: "verdicts", seq: 1, verdicts: [{ event: "e1", action: "deliver" }] };
    receive(verdicts);
    receive(verdicts);
    expect(answers).toEqual([{ verdicts: verdicts.verdicts }]);
    const late = event("e2", 0);
    session.tick(100);
    receive({ ...verdicts, seq: 2 });
    expect(late).toEqual([{ verdicts: null, asIs: "timeout" }]);
  });

  it("resends only messages that were not durable", () => {
    const { session, welcome, sent, event, receive } = make();
    welcome();
    for (const id of ["e1", "e2", "e3"]) event(id);
    receive({ type: "ack", seq: 1 });
    sent();
    session.disconnected(5);
    welcome(2);
    const again = sent().slice(1);
    expect(again.map((m) => m["seq"])).toEqual([3, 4, 5, 6]);
    expect(again.slice(1).map((m) => [m["type"], m["event"]])).toEqual([
      ["delivery", "e1"],
      ["delivery", "e2"],
      ["delivery", "e3"],
    ]);
  });

  it("never exceeds its credits, delivers as is, and reports the gap once there is room", () => {
    const { welcome, sent, event, receive, session } = make();
    welcome();
    const answers = Array.from({ length: 11 }, (_, i) => event(`e${i + 1}`)).map((a) => a[0]?.asIs);
    expect(sent().slice(1)).toHaveLength(8);
    expect(answers.slice(8)).toEqual(["credits", "credits", "credits"]);
    expect(session.isDurable).toBe(false);
    receive({ type: "ack", seq: 3 });
    expect(sent()).toEqual([]);
    receive({ type: "ack", seq: 8 });
    expect(sent()).toEqual([{ seq: 9, type: "gap", dropped: 3 }]);
  });

  it("reports the end of a run even if the queue was full", () => {
    const { welcome, sent, event, receive, session } = make();
    welcome();
    for (let i = 0; i < 9; ++i) event(`e${i}`);
    session.report({ type: "run_ended", outcome: "success" }, 0);
    sent();
    receive({ type: "ack", seq: 8 });
    expect(sent().map((m) => m["type"])).toEqual(["gap", "run_ended"]);
  });

  it("queues no more bytes than allowed", () => {
    const { session, event } = make({ maxBufferBytes: 200 });
    const answers = [1, 2, 3, 4].map((i) => event(`e${i}`)[0]);
    expect(session.unacked).toBeLessThan(4);
    expect(answers.at(-1)).toEqual({ verdicts: null, asIs: "credits" });
  });

  it("reports a message that is too large for the empty queue, and continues", () => {
    const { session, welcome, sent, event } = make({ maxBufferBytes: 200 });
    welcome();
    sent();
    session.report({ type: "event", event: { id: "e1", recipients: [], kind: "x".repeat(300) } }, 0);
    expect(sent()).toEqual([{ seq: 1, type: "gap", dropped: 1 }]);
    expect(event("e2")).toEqual([]); // waits for its verdict
    expect(sent()).toMatchObject([{ seq: 2, event: { id: "e2" } }]);
  });

  it("reports no gap for each drop while half of the bytes are in use", () => {
    const { session, welcome, sent, event, receive } = make({ maxBufferBytes: 200 });
    welcome();
    for (let i = 1; i <= 6; ++i) event(`e${i}`);
    sent();
    receive({ type: "ack", seq: session.unacked });
    expect(sent()).toEqual([{ seq: 4, type: "gap", dropped: 3 }]);
  });

  it("leaves out a payload that the daemon would refuse for its size", () => {
    const { session, welcome, sent } = make({ maxBufferBytes: 1 << 24 });
    welcome(0, { limits: { message_bytes: 1000 } });
    session.report({ type: "event", event: { id: "e1", recipients: [], payload: "ü".repeat(600) } }, 0);
    expect(sent()[1]?.["event"]).toEqual({ id: "e1", recipients: [], payload: { digd: "left out: too large" } });
  });

  it("with a new archive renumbers behind a gap, and marks delivered messages", () => {
    const { session, welcome, sent, event, receive } = make();
    welcome();
    event("e1");
    event("e2");
    receive({ type: "ack", seq: 1 });
    receive({ type: "verdicts", seq: 2, verdicts: [{ event: "e2", action: "deliver" }] });
    sent();
    session.disconnected(5);
    welcome(0);
    expect(sent().slice(1)).toMatchObject([
      { seq: 1, type: "gap", dropped: 1 },
      { seq: 2, type: "event", as_is: true, event: { id: "e2" } },
      { seq: 3, type: "delivery", event: "e1" },
    ]);
  });

  it("with a new archive takes an intervention whose id it knows from the old one", () => {
    const { session, interventions, welcome, sent, event, receive } = make();
    welcome();
    event("e1");
    receive({ type: "ack", seq: 1 });
    const intervention = { type: "intervention", id: "sys:1", action: "create", recipients: ["a"] };
    receive(intervention);
    session.answerIntervention("sys:1", "created", 0);
    session.disconnected(5);
    welcome(0);
    sent();
    receive({ ...intervention, inject: "of the new archive" });
    expect(interventions.map((i) => i.inject)).toEqual([undefined, "of the new archive"]);
  });

  it("with a new archive answers a message that has the seq of a durable one", () => {
    const { session, welcome, event, receive } = make({ failClosedMs: 1000 });
    welcome();
    session.report({ type: "gap", dropped: 1 }, 0);
    const old = event("old", 0, true);
    receive({ type: "ack", seq: 2 });
    session.disconnected(5);
    welcome(0); // the gap gets seq 1, and the next message seq 2
    const answers = event("e2", 950);
    session.tick(1000);
    expect(old[0]?.asIs).toBe("timeout");
    receive({ type: "verdicts", seq: 2, verdicts: [{ event: "e2", action: "deliver" }] });
    expect(answers[0]?.verdicts).toHaveLength(1);
  });

  it("with failClosedMs holds a final answer through an outage until its deadline", () => {
    const { session, welcome, event, receive } = make({ failClosedMs: 1000 });
    welcome();
    const answers = event("answer", 0, true);
    const other = event("e1", 0);
    session.disconnected(10);
    expect([answers.length, other.length]).toEqual([0, 1]);
    welcome();
    receive({ type: "verdicts", seq: 1, verdicts: [{ event: "answer", action: "reroute", recipients: ["a"] }] });
    expect(answers[0]?.verdicts?.[0]?.action).toBe("reroute");
    const second = event("answer2", 0, true);
    session.disconnected(20);
    session.tick(999);
    expect(second).toEqual([]);
    session.tick(1000);
    expect(second).toEqual([{ verdicts: null, asIs: "disconnected" }]);
  });

  it("asks for an answer that it missed at a reconnect, and acts on it", () => {
    const { session, welcome, sent, event, receive } = make({ failClosedMs: 1000 });
    welcome();
    expect(sent()[0]).not.toHaveProperty("answered_seq");
    event("e1");
    const answers = event("answer", 0, true);
    receive({ type: "verdicts", seq: 1, verdicts: [{ event: "e1", action: "deliver" }] });
    session.disconnected(10);
    welcome(2);
    expect(sent().find((m) => m["type"] === "hello")).toMatchObject({ answered_seq: 1 });
    expect(answers).toEqual([]);
    receive({ type: "verdicts", seq: 2, verdicts: [{ event: "answer", action: "reroute", recipients: ["a"] }] });
    expect(answers[0]?.verdicts?.[0]?.action).toBe("reroute");
    session.connected();
    expect(sent()[0]).toMatchObject({ answered_seq: 2 });
  });

  it("delivers refused events as is", () => {
    const { welcome, event, receive } = make();
    welcome();
    const answers = event("e1");
    receive({ type: "error", code: "duplicate_event", seq: 1, fatal: false });
    expect(answers).toMatchObject([{ verdicts: null, asIs: "error:duplicate_event" }]);
  });

  it("does not mistake the expected seq of bad_seq for a refused message", () => {
    const { welcome, event, receive } = make();
    welcome();
    const answers = event("e1");
    receive({ type: "error", code: "bad_seq", seq: 1, fatal: false });
    expect(answers).toEqual([]);
  });

  it("ends after a fatal error, and delivers as is", () => {
    const { session, welcome, event, receive } = make();
    welcome();
    const waiting = event("e1");
    receive({ type: "error", code: "hello_conflict", fatal: true });
    expect([waiting[0]?.asIs, event("e2")[0]?.asIs, session.isOver]).toEqual(["off", "off", true]);
  });

  it("claims nothing as durable that it lost when it ended", () => {
    const [empty, queued, late] = [make(), make(), make()];
    for (const { welcome } of [empty, queued, late]) welcome();
    queued.event("e1");
    for (const { session } of [empty, queued, late]) session.finish();
    late.event("e1");
    expect([empty, queued, late].map(({ session }) => session.isDurable)).toEqual([true, false, false]);
  });

  it("takes a welcome without limits", () => {
    const { welcome, event, sent } = make();
    welcome(0, { limits: undefined });
    event("e1");
    expect(sent()[1]).toMatchObject({ seq: 1 });
  });

  it("answers an intervention once, even if it is repeated", () => {
    const { session, interventions, welcome, sent, receive } = make();
    welcome();
    const intervention = { type: "intervention", id: "sys:1", action: "create", recipients: ["a"], inject: "…" };
    receive(intervention);
    receive(intervention);
    session.answerIntervention("sys:1", "created", 0);
    session.answerIntervention("sys:1", "failed", 0);
    receive(intervention);
    expect(interventions).toHaveLength(1);
    expect(sent().slice(1)).toEqual([{ seq: 1, type: "delivery", of: "sys:1", applied: "created" }]);
  });

  it("answers a repeated intervention if the first answer did not fit", () => {
    const { session, welcome, sent, event, receive } = make();
    welcome();
    for (let i = 0; i < 8; ++i) event(`e${i}`);
    const intervention = { type: "intervention", id: "sys:1", action: "create", recipients: ["a"] };
    receive(intervention);
    session.answerIntervention("sys:1", "created", 0);
    sent();
    receive({ type: "ack", seq: 8 });
    receive(intervention);
    expect(sent().map((m) => m["type"])).toEqual(["gap", "delivery"]);
  });

  it("ignores unreadable frames", () => {
    const { session, welcome, receive } = make();
    welcome();
    session.receive("no json", 0);
    session.receive("null", 0);
    receive({ type: "something_new" });
    expect([session.isOpen, session.counters.unreadable]).toEqual([true, 2]);
  });
});
