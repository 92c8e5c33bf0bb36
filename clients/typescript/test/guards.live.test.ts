// Guards with the real daemon: a run that overspends, repeats itself, hangs, or waits for a person.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connect, type Intervention, type Run, type RunOptions } from "../src/index.js";
import { Daemon, until } from "./daemon.js";

let daemon: Daemon;
const open = (guards: RunOptions["guards"], options: RunOptions = {}): Promise<Run> =>
  connect({ url: daemon.url, log: () => {}, deadlineMs: 5000, agents: ["a", "b"], guards, ...options });

beforeEach(async () => void (daemon = await Daemon.start("threads = 2\nverdict_deadline_ms = 10000\n")));
afterEach(() => daemon.stop());

/** Decides on the first hold of the run, as a person does. */
async function decide(run: Run, decision: object): Promise<any> {
  const path = `/v1/runs/${run.id}/holds`;
  const hold = await until(async () => (await daemon.get(path))?.holds[0], "the hold");
  const answer = await fetch(`http://${daemon.address}${path}/${hold.hold}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(decision),
  });
  expect(answer.status).toBe(200);
  return hold;
}

describe("guards", () => {
  it("a budget gives work back to an agent that spent too much, and an answer always gets through", async () => {
    const run = await open({ budget: { max_tokens: 100, action: "return" } });
    const task = await run.emit(["a"]);
    const more = await run.activation("a", [task], async (a) => {
      run.usage(a, { input_tokens: 90, output_tokens: 30, model_calls: 1 });
      return a.emit(["b"], { payload: "more work" });
    });
    expect(more).toMatchObject({ action: "reroute", recipients: ["a"] });
    expect(more.inject).toContain("max_tokens");
    const answer = await run.activation("a", [more], (a) => a.submit("what I have"));
    expect(answer.action).toBe("deliver");
    await run.end("success");
    const used = await daemon.get(`/v1/runs/${run.id}/usage`);
    expect(used.totals).toMatchObject({ input_tokens: 90, output_tokens: 30, model_calls: 1 });
  });

  it("an output is judged with what its activation used so far", async () => {
    const run = await open({ budget: { max_cost: 5 } });
    const task = await run.emit(["a"]);
    const [note, costly] = await run.activation("a", [task], async (a) => {
      a.addUsage({ cost: 6 });
      return [await a.emit(["b"], { fyi: true }), await a.emit(["b"])] as const;
    });
    expect([note.action, costly.action]).toEqual(["deliver", "reroute"]);
    await run.end();
  });

  it("what an agent repeats comes back with a text, and another message goes out", async () => {
    const run = await open({ repetition: { max_repeats: 2, action: "return" } });
    const task = await run.emit(["a"]);
    const verdicts = await run.activation("a", [task], async (a) => {
      const asked = [];
      for (const query of ["x", "x", "x", "y"]) asked.push(await a.emit(["b"], { payload: `search ${query}` }));
      return asked;
    });
    expect(verdicts.map((v) => v.action)).toEqual(["deliver", "deliver", "reroute", "deliver"]);
    await run.end();
  });

  it.each([
    ["release", { action: "inject", recipients: ["b"] }],
    ["return", { action: "reroute", recipients: ["a"] }],
  ] as const)("an event that is held waits until a person decides to %s it", async (decision, expected) => {
    const run = await open({ fan_out: { max_outputs: 1, action: "hold" } });
    const task = await run.emit(["a"]);
    await run.activation("a", [task], async (a) => {
      expect((await a.emit(["b"])).action).toBe("deliver");
      let isBack = false;
      const second = a.emit(["b"]).then((verdict) => ((isBack = true), verdict));
      const hold = await until(async () => (await daemon.get(`/v1/runs/${run.id}/holds`))?.holds[0], "the hold");
      expect(hold).toMatchObject({ guard: "fan_out", sender: "a", recipients: ["b"] });
      expect(isBack).toBe(false);
      await decide(run, { decision, text: "One is enough." });
      const verdict = await second;
      expect(verdict).toMatchObject(expected);
      expect(verdict.inject).toContain("One is enough.");
    });
    await run.end();
  });

  it("a hold that nobody decides ends at its time", async () => {
    const run = await open({ fan_out: { max_outputs: 0, action: "hold" }, hold_ms: 50, on_timeout: "return" });
    const task = await run.emit(["a"]);
    const verdict = await run.activation("a", [task], (a) => a.emit(["b"]));
    expect(verdict).toMatchObject({ action: "reroute", recipients: ["a"] });
    await run.end();
  });

  it("an agent that hangs is cancelled by the program's handler", async () => {
    const cancelled: Intervention[] = [];
    let stop = (): void => {};
    const run = await open(
      { stall: { after_ms: 50, action: "cancel" } },
      { onCancel: (intervention) => (cancelled.push(intervention), stop()) },
    );
    const task = await run.emit(["a"]);
    const hangs = new Promise<void>((_, fail) => (stop = () => fail(new Error("cancelled"))));
    const work = run.activation("a", [task], () => hangs);
    await expect(work).rejects.toThrow("cancelled");
    expect(cancelled[0]?.inject).toContain("silent");
    await run.end("failure");
    expect((await daemon.detections(run.id)).map((d) => d.rule)).toContain("stall");
  });
});
