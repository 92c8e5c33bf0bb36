// The OpenAI Agents SDK under the real daemon: what is seen, and each rule that fires with the agents seeing what heals it.
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
const says = (text: string): ScriptedModelInput => [assistantMessage(text)];
const does = (...names: (string | [string, object])[]): ScriptedModelInput =>
  names.map((name) =>
    typeof name === "string"
      ? functionCall(name, {}, { callId: `c${++calls}` })
      : functionCall(name[0], name[1] as Record<string, unknown>, { callId: `c${++calls}` }),
  );
const asks = (name: string, input: string): [string, object] => [name, { input }];
const agent = (name: string, script: ScriptedModelInput[], more: object = {}) => {
  const model = new ScriptedModel(script);
  return Object.assign(new Agent({ name, model, ...more }), { script: model });
};
/** What the agent read last in one of its calls. */
const read = (of: { script: ScriptedModel }, call: number): string => {
  const { input } = (of.script.calls[call] as RecordedModelCall).request;
  return JSON.stringify(typeof input === "string" ? input : input.at(-1));
};

describe("what is seen", () => {
  it("a turn is an activation, a handoff an event, the final answer a submit", async () => {
    const coder = agent("coder", [says("done")]);
    const triage = agent("triage", [does("transfer_to_coder")], { handoffs: [coder] });
    const w = watched();
    const result = await w.runner.run(triage, "build it");
    expect([result.finalOutput, result.lastAgent?.name]).toEqual(["done", "coder"]);
    const { activations, events } = await w.graph();
    expect(activations.map((a: any) => [a.agent, a.inputs.map((i: any) => i.reaction), a.outputs.length])).toEqual([
      ["triage", ["consume"], 1],
      ["coder", ["consume"], 1],
    ]);
    expect(events.map((e: any) => e.submit === true)).toEqual([false, false, true]);
    expect((await w.trace()).at(-1)).toMatchObject({ type: "run_ended", outcome: "success" });
  });

  it("what is no runner is refused", () => expect(() => instrument({} as Runner)).toThrow(/expected a Runner/));

  it("who has worked before the handoff makes something of it", async () => {
    const look = tool({ name: "look", description: "looks", parameters: z.object({}), execute: () => "seen" });
    const coder = agent("coder", [says("done")]);
    const triage = agent("triage", [does("look"), does("transfer_to_coder")], {
      handoffs: [handoff(coder)],
      tools: [look],
    });
    const w = watched();
    await w.runner.run(triage, "build it");
    const { activations } = await w.graph();
    expect(activations.map((a: any) => [a.agent, a.inputs.map((i: any) => i.reaction), a.outputs.length])).toEqual([
      ["triage", ["consume"], 1],
      ["coder", ["consume"], 1],
    ]);
  });

  it("an agent as a tool is a request and a response", async () => {
    const helper = agent("helper", [says("42")]);
    const lead = agent("lead", [does(asks("ask_helper", "what?")), says("it is 42")]);
    lead.tools = [helper.asTool({ toolName: "ask_helper", toolDescription: "asks" })];
    const w = watched();
    expect((await w.runner.run(lead, "question")).finalOutput).toBe("it is 42");
    const { activations, events } = await w.graph();
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
    expect(await daemon.detections(w.runs[0]!.id)).toEqual([]);
  });

  it("a stream is watched; its answer is reported, not held", async () => {
    const coder = agent("coder", [says("done")]);
    const triage = agent("triage", [does("transfer_to_coder")], { handoffs: [coder] });
    const w = watched();
    const stream = await w.runner.run(triage, "build it", { stream: true });
    for await (const _ of stream) void _;
    await stream.completed;
    expect(stream.finalOutput).toBe("done");
    await until(async () => (await w.trace()).at(-1)?.type === "run_ended", "the end of the run");
    expect((await w.graph()).activations.map((a: any) => a.agent)).toEqual(["triage", "coder"]);
  });

  it("an approval leaves the inputs waiting, and the resumption goes on in the same run", async () => {
    const act = tool({
      name: "act",
      description: "acts",
      parameters: z.object({}),
      needsApproval: true,
      execute: () => "acted",
    });
    const lead = agent("lead", [does("act"), says("done")], { tools: [act] });
    const w = watched();
    const first = await w.runner.run(lead, "go");
    first.state.approve(first.interruptions[0]!);
    expect((await w.runner.run(lead, first.state)).finalOutput).toBe("done");
    expect(w.runs).toHaveLength(1);
    const { activations } = await w.graph();
    expect(activations.map((a: any) => a.inputs.map((i: any) => [i.event, i.reaction]))).toEqual([
      [["r1", "wait"]],
      [["r1", "consume"]],
    ]);
  });

  it("an error fails the activation and the run, and comes through", async () => {
    const lead = agent("lead", [modelError(new Error("no model"))]);
    const w = watched();
    await expect(w.runner.run(lead, "go")).rejects.toThrow("no model");
    const trace = await w.trace();
    expect(trace.find((m) => m.type === "activation_ended")).toMatchObject({ failed: true });
    expect(trace.at(-1)).toMatchObject({ outcome: "failure" });
  });

  it("an unwatched runner with the same agents, and a watched one without a daemon, do what they did", async () => {
    const coder = agent("coder", [says("one"), says("two")]);
    const triage = agent("triage", [does("transfer_to_coder"), does("transfer_to_coder")], { handoffs: [coder] });
    const lines: string[] = [];
    const alone = instrument(new Runner({ tracingDisabled: true }), {
      run: { url: "ws://127.0.0.1:1", log: (l) => lines.push(l) },
    });
    expect((await alone.run(triage, "a")).finalOutput).toBe("one");
    expect((await new Runner({ tracingDisabled: true }).run(triage, "b")).finalOutput).toBe("two");
    expect(lines).toHaveLength(1);
  });
});

describe("each rule fires, and the agents see the healing", () => {
  it("early termination: the answer is given back while a request is open, and the agent asks again", async () => {
    const helper = agent("helper", [modelError(new Error("busy")), says("42")]);
    const lead = agent("lead", [
      does(asks("ask_helper", "what?")),
      says("no idea"),
      does(asks("ask_helper", "what?")),
      says("it is 42"),
    ]);
    lead.tools = [helper.asTool({ toolName: "ask_helper", toolDescription: "asks" })];
    const w = watched();
    const result = await w.runner.run(lead, "question");
    expect(result.finalOutput).toBe("it is 42");
    expect(await w.rules()).toEqual(["early_termination"]);
    expect(read(lead, 2)).toMatch(/helper/);
    lead.script.assertComplete();
  });

  it("a handoff that leads to an agent chosen at run time is no orphan", async () => {
    const coder = agent("coder", [says("done")]);
    const expert = agent("expert", [says("done by the expert")]);
    const chosen = new Handoff(coder, () => expert);
    const triage = agent("triage", [does("transfer_to_coder")], { handoffs: [chosen] });
    const w = watched();
    expect((await w.runner.run(triage, "go")).finalOutput).toBe("done by the expert");
    expect(await daemon.detections(w.runs[0]!.id)).toEqual([]);
  });

  it("excessive rerouting: who gets it next is told to handle it", async () => {
    const a = agent("a", [does("transfer_to_b"), does("transfer_to_b"), says("handled")]);
    const b = agent("b", [does("transfer_to_a"), does("transfer_to_a")]);
    a.handoffs = [b];
    b.handoffs = [a];
    const w = watched();
    expect((await w.runner.run(a, "go")).finalOutput).toBe("handled");
    expect(await w.rules()).toEqual(["excessive_rerouting"]);
    expect(read(a, 2)).toMatch(/passed on 3 times/);
  });

  it("equal requests to two agents are separate events, and the answers of a tree of requests may meet", async () => {
    const leaf = agent("leaf", [says("p"), says("q")]);
    const left = agent("left", [does(asks("ask_leaf", "same"), asks("ask_leaf", "same")), says("left's")]);
    left.tools = [leaf.asTool({ toolName: "ask_leaf", toolDescription: "asks" })];
    const other = agent("other", [says("r"), says("s")]);
    const right = agent("right", [does(asks("ask_leaf", "same"), asks("ask_leaf", "same")), says("right's")]);
    right.tools = [other.asTool({ toolName: "ask_leaf", toolDescription: "asks" })];
    const lead = agent("lead", [does(asks("ask_left", "x"), asks("ask_right", "x")), says("both")]);
    lead.tools = [
      left.asTool({ toolName: "ask_left", toolDescription: "asks" }),
      right.asTool({ toolName: "ask_right", toolDescription: "asks" }),
    ];
    const w = watched();
    expect((await w.runner.run(lead, "go")).finalOutput).toBe("both");
    expect(await daemon.detections(w.runs[0]!.id)).toEqual([]);
  });

  it("missing termination: an empty answer is none; who acted last is told to answer, and does", async () => {
    const lead = agent("lead", [says(""), says("done")]);
    const w = watched(
      { rules: { missing_termination: { window_ms: 100, max_attempts: 1 } } },
      { waitForHealingMs: 20_000 },
    );
    expect((await w.runner.run(lead, "go")).finalOutput).toBe("done");
    expect(new Set(await w.rules())).toEqual(new Set(["missing_termination"])); // a slow machine may let its window pass twice
    expect(read(lead, 1)).toMatch(/"role":"user"/);
    expect((await w.trace()).some((m) => m.type === "delivery" && m.of === "sys:1" && m.applied === "created")).toBe(
      true,
    );
  });

  it("deadlock: after an error nobody acts and work is open; the agents are woken", async () => {
    const lead = agent("lead", [modelError(new Error("no model")), says("done")]);
    const w = watched(
      { rules: { deadlock: { window_ms: 100, max_attempts: 1 } } },
      { healErrors: true, waitForHealingMs: 20_000 },
    );
    expect((await w.runner.run(lead, "go")).finalOutput).toBe("done");
    expect(await w.rules()).toContain("deadlock");
    expect(read(lead, 1)).toMatch(/r1/);
  });
});
