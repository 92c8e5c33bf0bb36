// The OpenAI Agents SDK with the real daemon: the graph of a run, and rules that fire and whose texts the agents read.
import { Agent, handoff, Handoff, Runner, setTracingDisabled, tool } from "@openai/agents";
import {
  assistantMessage,
  functionCall,
  modelError,
  ScriptedModel,
  type RecordedModelCall,
  type ScriptedModelInput,
} from "@openai/agents/testing";
import { z } from "zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { instrument, type OpenAIAgentsOptions } from "../src/openai-agents.js";
import type { Run, RunOptions } from "../src/index.js";
import { Daemon, until } from "./daemon.js";

let daemon: Daemon;
beforeAll(async () => {
  setTracingDisabled(true);
  daemon = await Daemon.start("threads = 2\nverdict_deadline_ms = 20000\n");
});
afterAll(() => daemon.stop());

function watched(run: RunOptions = {}, more: Omit<OpenAIAgentsOptions, "run" | "onRun"> = {}) {
  const runs: Run[] = [];
  const runner = instrument(new Runner({ tracingDisabled: true }), {
    mode: "enforce",
    run: { url: daemon.url, deadlineMs: 20_000, log: () => {}, ...run },
    onRun: (r) => runs.push(r),
    ...more,
  });
  const id = (): string => (runs[0] as Run).id;
  return {
    runner,
    runs,
    rules: async () => (await daemon.detections(id())).filter((d) => d.healed).map((d) => d.rule),
    trace: () => daemon.trace(id()),
    graph: () => daemon.get(`/v1/runs/${id()}/graph`),
  };
}

let calls = 0;
const answers = (text: string): ScriptedModelInput => [assistantMessage(text)];
const callsTools = (...names: (string | [string, object])[]): ScriptedModelInput =>
  names.map((name) =>
    typeof name === "string"
      ? functionCall(name, {}, { callId: `c${++calls}` })
      : functionCall(name[0], name[1] as Record<string, unknown>, { callId: `c${++calls}` }),
  );
const request = (name: string, input: string): [string, object] => [name, { input }];
const agent = (name: string, script: ScriptedModelInput[], more: object = {}) => {
  const model = new ScriptedModel(script);
  return Object.assign(new Agent({ name, model, ...more }), { script: model });
};
/** The last input item of one of the agent's model calls. */
const lastInput = (scripted: { script: ScriptedModel }, call: number): string => {
  const { input } = (scripted.script.calls[call] as RecordedModelCall).request;
  return JSON.stringify(typeof input === "string" ? input : input.at(-1));
};

describe("the graph of a run", () => {
  it("a turn is an activation, a handoff an event, and the final answer a submit event", async () => {
    const coder = agent("coder", [answers("done")]);
    const triage = agent("triage", [callsTools("transfer_to_coder")], { handoffs: [coder] });
    const watch = watched();
    const result = await watch.runner.run(triage, "build it");
    expect([result.finalOutput, result.lastAgent?.name]).toEqual(["done", "coder"]);
    const { activations, events } = await watch.graph();
    expect(activations.map((a: any) => [a.agent, a.inputs.map((i: any) => i.reaction), a.outputs.length])).toEqual([
      ["triage", ["consume"], 1],
      ["coder", ["consume"], 1],
    ]);
    expect(events.map((e: any) => e.submit === true)).toEqual([false, false, true]);
    expect((await watch.trace()).at(-1)).toMatchObject({ type: "run_ended", outcome: "success" });
  });

  it("an object that is not a runner is refused", () =>
    expect(() => instrument({} as Runner)).toThrow(/expected a Runner/));

  it("a handoff after work is a new event, not a reroute", async () => {
    const look = tool({ name: "look", description: "looks", parameters: z.object({}), execute: () => "seen" });
    const coder = agent("coder", [answers("done")]);
    const triage = agent("triage", [callsTools("look"), callsTools("transfer_to_coder")], {
      handoffs: [handoff(coder)],
      tools: [look],
    });
    const watch = watched();
    await watch.runner.run(triage, "build it");
    const { activations } = await watch.graph();
    expect(activations.map((a: any) => [a.agent, a.inputs.map((i: any) => i.reaction), a.outputs.length])).toEqual([
      ["triage", ["consume"], 1],
      ["coder", ["consume"], 1],
    ]);
  });

  it("an agent as a tool is a request and a response", async () => {
    const helper = agent("helper", [answers("42")]);
    const lead = agent("lead", [callsTools(request("ask_helper", "what?")), answers("it is 42")]);
    lead.tools = [helper.asTool({ toolName: "ask_helper", toolDescription: "asks" })];
    const watch = watched();
    expect((await watch.runner.run(lead, "question")).finalOutput).toBe("it is 42");
    const { activations, events } = await watch.graph();
    expect(activations.map((a: any) => [a.agent, a.inputs.map((i: any) => i.event), a.outputs])).toEqual([
      ["lead", ["r1"], ["r2"]],
      ["helper", ["r2"], ["e1"]],
      ["lead", ["e1"], ["e2"]],
    ]);
    expect(events.map((e: any) => e.deliveries.map((d: any) => `${d.agent} ${d.state}`))).toEqual([
      ["lead consumed"],
      ["helper consumed"],
      ["lead consumed"],
      [],
    ]);
    expect(await daemon.detections(watch.runs[0]!.id)).toEqual([]);
  });

  it("a stream is watched, and its answer is reported but not held", async () => {
    const coder = agent("coder", [answers("done")]);
    const triage = agent("triage", [callsTools("transfer_to_coder")], { handoffs: [coder] });
    const watch = watched();
    const stream = await watch.runner.run(triage, "build it", { stream: true });
    for await (const _ of stream) void _;
    await stream.completed;
    expect(stream.finalOutput).toBe("done");
    await until(async () => (await watch.trace()).at(-1)?.type === "run_ended", "the end of the run");
    expect((await watch.graph()).activations.map((a: any) => a.agent)).toEqual(["triage", "coder"]);
  });

  it("an approval leaves the inputs waiting, and the resumption continues the same run", async () => {
    const act = tool({
      name: "act",
      description: "acts",
      parameters: z.object({}),
      needsApproval: true,
      execute: () => "acted",
    });
    const lead = agent("lead", [callsTools("act"), answers("done")], { tools: [act] });
    const watch = watched();
    const first = await watch.runner.run(lead, "go");
    first.state.approve(first.interruptions[0]!);
    expect((await watch.runner.run(lead, first.state)).finalOutput).toBe("done");
    expect(watch.runs).toHaveLength(1);
    const { activations } = await watch.graph();
    expect(activations.map((a: any) => a.inputs.map((i: any) => [i.event, i.reaction]))).toEqual([
      [["r1", "wait"]],
      [["r1", "consume"]],
    ]);
  });

  it("an error fails the activation and the run, and propagates", async () => {
    const lead = agent("lead", [modelError(new Error("no model"))]);
    const watch = watched();
    await expect(watch.runner.run(lead, "go")).rejects.toThrow("no model");
    const trace = await watch.trace();
    expect(trace.find((m) => m.type === "activation_ended")).toMatchObject({ failed: true });
    expect(trace.at(-1)).toMatchObject({ outcome: "failure" });
  });

  it("an unwatched runner with the same agents, and a watched one without a daemon, run unchanged", async () => {
    const coder = agent("coder", [answers("one"), answers("two")]);
    const triage = agent("triage", [callsTools("transfer_to_coder"), callsTools("transfer_to_coder")], {
      handoffs: [coder],
    });
    const lines: string[] = [];
    const alone = instrument(new Runner({ tracingDisabled: true }), {
      run: { url: "ws://127.0.0.1:1", log: (l) => lines.push(l) },
    });
    expect((await alone.run(triage, "a")).finalOutput).toBe("one");
    expect((await new Runner({ tracingDisabled: true }).run(triage, "b")).finalOutput).toBe("two");
    expect(lines).toHaveLength(1);
  });
});

describe("healing", () => {
  it("early termination: an answer is given back while a request is open, and the agent asks again", async () => {
    const helper = agent("helper", [modelError(new Error("busy")), answers("42")]);
    const lead = agent("lead", [
      callsTools(request("ask_helper", "what?")),
      answers("no idea"),
      callsTools(request("ask_helper", "what?")),
      answers("it is 42"),
    ]);
    lead.tools = [helper.asTool({ toolName: "ask_helper", toolDescription: "asks" })];
    const watch = watched();
    const result = await watch.runner.run(lead, "question");
    expect(result.finalOutput).toBe("it is 42");
    expect(await watch.rules()).toEqual(["early_termination"]);
    expect(lastInput(lead, 2)).toMatch(/helper/);
    lead.script.assertComplete();
  });

  it("a handoff to an agent chosen at run time is not an orphaned event", async () => {
    const coder = agent("coder", [answers("done")]);
    const expert = agent("expert", [answers("done by the expert")]);
    const chosen = new Handoff(coder, () => expert);
    const triage = agent("triage", [callsTools("transfer_to_coder")], { handoffs: [chosen] });
    const watch = watched();
    expect((await watch.runner.run(triage, "go")).finalOutput).toBe("done by the expert");
    expect(await daemon.detections(watch.runs[0]!.id)).toEqual([]);
  });

  it("excessive rerouting: the next agent reads that it should handle the task", async () => {
    const a = agent("a", [callsTools("transfer_to_b"), callsTools("transfer_to_b"), answers("handled")]);
    const b = agent("b", [callsTools("transfer_to_a"), callsTools("transfer_to_a")]);
    a.handoffs = [b];
    b.handoffs = [a];
    const watch = watched();
    expect((await watch.runner.run(a, "go")).finalOutput).toBe("handled");
    expect(await watch.rules()).toEqual(["excessive_rerouting"]);
    expect(lastInput(a, 2)).toMatch(/passed on 3 times/);
  });

  it("equal requests to two agents are separate, and answers in a tree of requests may be combined", async () => {
    const leaf = agent("leaf", [answers("p"), answers("q")]);
    const left = agent("left", [
      callsTools(request("ask_leaf", "same"), request("ask_leaf", "same")),
      answers("left's"),
    ]);
    left.tools = [leaf.asTool({ toolName: "ask_leaf", toolDescription: "asks" })];
    const other = agent("other", [answers("r"), answers("s")]);
    const right = agent("right", [
      callsTools(request("ask_leaf", "same"), request("ask_leaf", "same")),
      answers("right's"),
    ]);
    right.tools = [other.asTool({ toolName: "ask_leaf", toolDescription: "asks" })];
    const lead = agent("lead", [callsTools(request("ask_left", "x"), request("ask_right", "x")), answers("both")]);
    lead.tools = [
      left.asTool({ toolName: "ask_left", toolDescription: "asks" }),
      right.asTool({ toolName: "ask_right", toolDescription: "asks" }),
    ];
    const watch = watched();
    expect((await watch.runner.run(lead, "go")).finalOutput).toBe("both");
    expect(await daemon.detections(watch.runs[0]!.id)).toEqual([]);
  });

  it("missing termination: after an empty answer the last agent is asked to answer, and does", async () => {
    const lead = agent("lead", [answers(""), answers("done")]);
    const watch = watched(
      { rules: { missing_termination: { window_ms: 100, max_attempts: 1 } } },
      { waitForHealingMs: 20_000 },
    );
    expect((await watch.runner.run(lead, "go")).finalOutput).toBe("done");
    // On a slow machine the window may pass twice.
    expect(new Set(await watch.rules())).toEqual(new Set(["missing_termination"]));
    expect(lastInput(lead, 1)).toMatch(/"role":"user"/);
    expect(
      (await watch.trace()).some((m) => m.type === "delivery" && m.of === "sys:1" && m.applied === "created"),
    ).toBe(true);
  });

  it("deadlock: after an error with open work the monitor wakes the agents", async () => {
    const lead = agent("lead", [modelError(new Error("no model")), answers("done")]);
    const watch = watched(
      { rules: { deadlock: { window_ms: 100, max_attempts: 1 } } },
      { healErrors: true, waitForHealingMs: 20_000 },
    );
    expect((await watch.runner.run(lead, "go")).finalOutput).toBe("done");
    expect(await watch.rules()).toContain("deadlock");
    expect(lastInput(lead, 1)).toMatch(/r1/);
  });
});
