import { describe, expect, it } from "vitest";
import { readFrame } from "../src/frames.js";
import { Run } from "../src/run.js";
import { fakeDaemons, obedient, send, welcome } from "./fake_daemon.js";

const read = (frame: unknown) => readFrame(JSON.stringify(frame));
const verdicts = (verdict: unknown) => ({ type: "verdicts", seq: 1, verdicts: [verdict] });
const deliver = { event: "e1", action: "deliver" };
const create = { type: "intervention", id: "sys:1", action: "create", recipients: ["a"] };

describe("a frame", () => {
  it.each<[unknown, string]>([
    [null, "expected an object, got nothing"],
    [[welcome], "expected an object, got a list"],
    [{ type: 1 }, "type: expected a text, got 1"],
    [{ ...welcome, credits: "64" }, "welcome: credits: expected a number from 0, got a text"],
    [{ ...welcome, verdict_deadline_ms: -1 }, "welcome: verdict_deadline_ms: expected a number from 0, got -1"],
    [{ ...welcome, limits: [] }, "welcome: limits: expected an object, got a list"],
    [{ type: "ack", seq: true }, "ack: seq: expected a number from 0, got a boolean"],
    [{ type: "verdicts", seq: 1, verdicts: {} }, "verdicts: verdicts: expected a list of objects, got an object"],
    [verdicts(null), "verdicts: verdicts: expected a list of objects, got nothing in it"],
    [verdicts({ ...deliver, event: 1 }), "verdicts: event: expected a text, got 1"],
    [verdicts({ ...deliver, action: "explode" }), "verdicts: action: expected one of deliver, inject, reroute, hold"],
    [verdicts({ ...deliver, action: "inject", inject: {} }), "verdicts: inject: expected a text, got an object"],
    [verdicts({ ...deliver, recipients: "ab" }), "verdicts: recipients: expected a list of texts, got a text"],
    [verdicts({ ...deliver, recipients: ["a", 1] }), "verdicts: recipients: expected a list of texts, got 1 in it"],
    [verdicts({ ...deliver, action: "hold", hold: "hold:1" }), "verdicts: hold_ms: expected a number from 0"],
    [verdicts({ ...deliver, detections: [{ reason: 5 }] }), "verdicts: reason: expected a text, got 5"],
    [verdicts({ ...deliver, detections: ["deadlock"] }), "verdicts: detections: expected a list of objects"],
    [{ ...create, id: undefined }, "intervention: id: expected a text, got nothing"],
    [{ ...create, recipients: { 0: "a" } }, "intervention: recipients: expected a list of texts, got an object"],
    [{ ...create, activations: [{}] }, "intervention: activations: expected a list of texts, got an object in it"],
    [{ type: "error", code: 5 }, "error: code: expected a text, got 5"],
    [{ type: "error", code: "moved", to: ["b:1"] }, "error: to: expected a text, got a list"],
  ])("with a wrong field is refused: %j", (frame, text) => {
    expect(() => read(frame)).toThrow(text);
  });

  it("with an infinite number is refused", () => {
    expect(() => readFrame('{"type":"ack","seq":1e999}')).toThrow("ack: seq: expected a number from 0, got Infinity");
  });

  it("of an unknown type is null, even if Object has a member of that name", () => {
    expect([read({ type: "something_new" }), read({ type: "constructor" }), read({ type: "__proto__" })]).toEqual([
      null,
      null,
      null,
    ]);
  });

  it("is read as it is, and null stands for a missing field", () => {
    const detection = { rule: "deadlock", event: null, agent: null, healing: null, cause: "mode", evidence: ["e1"] };
    const frame = verdicts({ ...deliver, detections: [detection], more: 1 });
    expect(read(frame)).toEqual(frame);
    expect(read({ ...create, inject: null, event: null })).toEqual(create);
    expect(read(welcome)).toEqual(welcome);
  });
});

describe("a run whose daemon sends wrong fields", () => {
  const fake = fakeDaemons();

  it("delivers as is at the deadline, says why once, and follows the next verdict", async () => {
    const lines: string[] = [];
    const { url } = await fake((message, socket, request) => {
      if (message["type"] === "hello") return send(socket, { ...welcome, verdict_deadline_ms: 200 });
      if (message["event"]?.id !== "e1") return obedient(message, socket, request);
      send(socket, { type: "intervention", id: "sys:1", action: "create", recipients: 5 });
      send(socket, { type: "verdicts", seq: message["seq"], verdicts: [{ ...deliver, action: "inject", inject: {} }] });
    });
    let interventions = 0;
    const onIntervention = (): void => void ++interventions;
    const run = new Run({ url, log: (line) => void lines.push(line), onIntervention });
    expect(await run.ready(5000)).toBe(true);
    const first = await run.emit(["a"]);
    expect([first.action, first.inject, first.asIs]).toEqual(["deliver", undefined, "timeout"]);
    expect((await run.emit(["a"])).asIs).toBeUndefined();
    expect([run.counters.unreadable, interventions]).toEqual([2, 0]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("intervention: recipients: expected a list of texts, got 5");
    await run.close();
  });
});
