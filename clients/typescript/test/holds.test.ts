// Events that wait for a person, and what activations used: the session without I/O.
import { describe, expect, it } from "vitest";
import { Activation } from "../src/activation.js";
import { helloOf, resolveOptions } from "../src/options.js";
import { Session, type Answer } from "../src/session.js";
import { verdictsOf } from "../src/verdict.js";
import type { Hello } from "../src/wire.js";

const blocked = [{ event: "e1", recipients: ["a"] }];

function held(on_timeout = "release") {
  const session = new Session(
    () => ({ type: "hello" }) as Hello,
    { deadlineMs: 250, failClosedMs: 0, keep: 16, maxBufferBytes: 1 << 20 },
    { intervention: () => {}, welcome: () => {}, refused: () => {} },
  );
  const receive = (frame: object, now: number): void => session.receive(JSON.stringify(frame), now);
  const welcome = (acked_seq: number, now: number): void => {
    session.connected();
    receive({ type: "welcome", acked_seq, mode: "enforce", limits: {}, verdict_deadline_ms: 100, credits: 8 }, now);
  };
  const answers: Answer[] = [];
  welcome(0, 0);
  const event = { id: "e1", recipients: ["a"] };
  session.report({ type: "event", event }, 0, blocked, (answer) => answers.push(answer));
  session.drain();
  const verdict = { event: "e1", action: "hold", hold: "hold:1", hold_ms: 60_000, on_timeout, inject: "why" };
  receive({ type: "verdicts", seq: 1, verdicts: [verdict] }, 10);
  const sent = (): Record<string, unknown>[] => session.drain().map((f) => JSON.parse(f) as Record<string, unknown>);
  return { session, answers, receive, welcome, sent };
}

const verdict = (answer: Answer | undefined) => verdictsOf(blocked, answer as Answer)[0];

describe("a held event", () => {
  it("waits for the decision and not for the verdict deadline", () => {
    const { session, answers, receive, sent } = held();
    session.tick(30_000);
    expect(answers).toEqual([]);
    expect(session.nextDeadline).toBe(60_110);
    receive({ type: "intervention", id: "hold:1", action: "release", event: "e1" }, 31_010);
    expect(verdict(answers[0])).toMatchObject({ action: "deliver", recipients: ["a"], hold: "hold:1" });
    expect(verdict(answers[0])).not.toHaveProperty("inject");
    expect(answers[0]?.heldMs).toBe(31_000);
    expect(sent()).toEqual([{ type: "delivery", seq: 2, of: "hold:1", applied: "released" }]);
  });

  it("goes to the recipients of the decision, with its text", () => {
    const { answers, receive, sent } = held();
    const end = { type: "intervention", id: "hold:1", action: "reroute", event: "e1", recipients: ["b"], inject: "no" };
    receive(end, 20);
    receive(end, 21); // repeated by the daemon
    expect(verdict(answers[0])).toMatchObject({ action: "reroute", recipients: ["b"], inject: "no" });
    expect(sent().map((m) => m["applied"])).toEqual(["rerouted"]);
    expect(answers).toHaveLength(1);
  });

  it.each([
    ["release", "deliver", ["a"], "as_is"],
    ["return", "reroute", [], "rerouted"],
  ])("without a connection, %s ends it by the client's own clock", (on_timeout, action, recipients, applied) => {
    const { session, answers, receive, welcome, sent } = held(on_timeout);
    session.disconnected(1_000);
    expect(answers).toEqual([]);
    session.tick(60_110);
    expect(verdict(answers[0])).toMatchObject({ action, recipients });
    welcome(1, 61_000);
    expect(sent()[1]).toMatchObject({ event: "e1", applied, reason: "hold_ms" });
    receive({ type: "intervention", id: "hold:1", action: "release", event: "e1" }, 62_000);
    expect(sent()[0]).toMatchObject({ of: "hold:1", applied: "unsupported" });
  });

  it("that expires as the connection breaks ends as `on_timeout` says", () => {
    const { session, answers } = held("return");
    session.disconnected(60_110);
    expect(verdict(answers[0])).toMatchObject({ action: "reroute", recipients: [] });
  });

  it("does not end with a hold of another event, which a daemon with a new archive may send", () => {
    const { answers, receive, sent } = held();
    receive({ type: "intervention", id: "hold:1", action: "release", event: "e9" }, 20);
    expect(answers).toEqual([]);
    expect(sent()).toMatchObject([{ of: "hold:1", applied: "unsupported" }]);
  });

  it("goes out unchanged when the session ends", () => {
    const { session, answers } = held();
    session.finish();
    expect(answers).toEqual([{ verdicts: null, asIs: "off" }]);
  });
});

describe("the hello", () => {
  it("declares hold only without an adapter, and cancel only with a handler", () => {
    const capabilities = (options: object, hasAdapter = false) => {
      const { hold, cancel } = helloOf({ ...resolveOptions(options), hasAdapter }, null, false).capabilities;
      return [hold, cancel];
    };
    expect(capabilities({})).toEqual([true, false]);
    expect(capabilities({ hold: false })).toEqual([false, false]);
    expect(capabilities({ onCancel: () => true })).toEqual([true, true]);
    expect(capabilities({}, true)).toEqual([false, false]);
    expect(capabilities({ capabilities: { hold: true } }, true)).toEqual([true, false]);
  });
});

describe("an activation", () => {
  it("adds up what it used", () => {
    const activation = new Activation(null as never, "v1", "a", []);
    activation.addUsage({ input_tokens: 800, model_calls: 1 });
    activation.addUsage({ input_tokens: 12, cost: 0.5 });
    expect(activation.used).toEqual({ input_tokens: 812, model_calls: 1, cost: 0.5 });
  });
});
