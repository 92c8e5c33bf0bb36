// Guards against runs of the OpenAI Agents SDK, with the real daemon: work that is returned or dropped is not done.
import { Agent, Runner, setTracingDisabled } from "@openai/agents";
import {
  assistantMessage,
  functionCall,
  ScriptedModel,
  type RecordedModelCall,
  type ScriptedModelInput,
} from "@openai/agents/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { instrument, NotDelivered } from "../src/openai-agents.js";
import type { Run, RunOptions } from "../src/index.js";
import { Daemon } from "./daemon.js";

let daemon: Daemon;
beforeAll(async () => {
  setTracingDisabled(true);
  daemon = await Daemon.start("threads = 2\nverdict_deadline_ms = 20000\n");
});
afterAll(() => daemon.stop());

let calls = 0;
const answers = (text: string): ScriptedModelInput => [assistantMessage(text)];
const callsTool = (name: string, args: Record<string, unknown> = {}): ScriptedModelInput => [
  functionCall(name, args, { callId: `c${++calls}` }),
];
const agent = (name: string, script: ScriptedModelInput[], more: object = {}) => {
  const model = new ScriptedModel(script);
  return Object.assign(new Agent({ name, model, ...more }), { script: model });
};
const readBy = (scripted: { script: ScriptedModel }): string =>
  JSON.stringify((scripted.script.calls as RecordedModelCall[]).map(({ request }) => request.input));

function guarded(options: RunOptions): { runner: Runner; detections: (rule: string) => Promise<any[]> } {
  const runs: Run[] = [];
  const run = { url: daemon.url, deadlineMs: 20_000, log: () => {}, ...options };
  const runner = instrument(new Runner({ tracingDisabled: true }), {
    mode: "enforce",
    run,
    onRun: (r) => runs.push(r),
  });
  const detections = async (rule: string): Promise<any[]> =>
    (await daemon.detections((runs[0] as Run).id)).filter((d) => d.rule === rule);
  return { runner, detections };
}

describe("guards", () => {
  it("a repeated request goes back to its author, whose model reads why", async () => {
    const helper = agent("helper", [answers("no idea"), answers("no idea"), answers("never")]);
    const asks = () => callsTool("help", { input: "the same" });
    const tools = [helper.asTool({ toolName: "help", toolDescription: "helps" })];
    const lead = agent("lead", [asks(), asks(), asks(), answers("I try something else.")], { tools });
    const { runner, detections } = guarded({ guards: { repetition: { max_repeats: 2, action: "return" } } });
    expect((await runner.run(lead, "Go.")).finalOutput).toBe("I try something else.");
    expect(helper.script.calls).toHaveLength(2);
    expect(readBy(lead)).toContain("try something else, or say why");
    expect(await detections("repetition")).toMatchObject([{ healed: true }]);
  });

  it("the model whose request goes to nobody reads why", async () => {
    const helper = agent("helper", [answers("never")]);
    const tools = [helper.asTool({ toolName: "help", toolDescription: "helps" })];
    const lead = agent("lead", [callsTool("help", { input: "x" }), answers("I do it.")], { tools });
    const { runner } = guarded({ guards: { budget: { max_activations: 0 } }, maxReturnsPerAgent: 0 });
    expect((await runner.run(lead, "Go.")).finalOutput).toBe("I do it.");
    expect(helper.script.calls).toHaveLength(0);
    expect(readBy(lead)).toContain("submit the best answer you have");
  });

  it("a handoff that a budget gives to nobody ends the run with the text", async () => {
    const worker = agent("worker", [answers("never")]);
    const lead = agent("lead", [callsTool("transfer_to_worker")], { handoffs: [worker] });
    const { runner, detections } = guarded({ guards: { budget: { max_model_calls: 0 } }, maxReturnsPerAgent: 0 });
    const run = runner.run(lead, "Go.");
    await expect(run).rejects.toThrow(NotDelivered);
    await expect(run).rejects.toThrow(/max_model_calls/);
    expect(worker.script.calls).toHaveLength(0);
    expect(await detections("budget")).toContainEqual(
      expect.objectContaining({ healed: true, event: expect.anything() }),
    );
  });
});
