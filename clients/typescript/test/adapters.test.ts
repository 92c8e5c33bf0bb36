// The adapters at their edges, with a daemon that answers only what the test needs: aborted and abandoned runs, and
// callbacks of the monitoring that fail.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { Agent, Runner, setTracingDisabled, tool } from "@openai/agents";
import { assistantMessage, functionCall, modelError, ScriptedModel } from "@openai/agents/testing";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import type { Run, RunOptions } from "../src/index.js";
import { instrument as instrumentGraph, type LangGraphOptions } from "../src/langgraph.js";
import { instrument as instrumentRunner, type OpenAIAgentsOptions } from "../src/openai-agents.js";
import { until } from "./daemon.js";
import { fakeDaemons, obedient, send, welcome, type Answer, type FakeDaemon, type Received } from "./fake_daemon.js";

setTracingDisabled(true);
const fake = fakeDaemons();
let daemon: FakeDaemon;
const log: string[] = [];
beforeEach(async () => {
  log.splice(0);
  daemon = await fake();
});
const runOptions = (more: RunOptions = {}): RunOptions => ({
  url: daemon.url,
  log: (line) => void log.push(line),
  ...more,
});
const find = (type: string): Received | undefined => daemon.received.find((m) => m["type"] === type);
const acknowledgesNothing: Answer = (message, socket) => {
  if (message["type"] === "hello") send(socket, { ...welcome, mode: "shadow" });
};
const collectGarbage = (): void => {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
};

describe("LangGraph.js", () => {
  const State = Annotation.Root({
    log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  const graphOf = (options: LangGraphOptions, body: () => unknown = () => ({})): any =>
    instrumentGraph(
      new StateGraph(State)
        .addNode("a", async () => ({ log: ["a"], ...((await body()) as object) }))
        .addEdge(START, "a")
        .compile(),
      options,
    );

  it("a graph does not wait for the end of an unrelated one", async () => {
    const silent = await fake(acknowledgesNothing);
    const runs: Run[] = [];
    const options = { run: runOptions({ url: silent.url, lingerMs: 3000 }), onRun: (run: Run) => void runs.push(run) };
    const slow = graphOf(options, () => until(() => runs[0]?.connected, "the welcome").then(() => ({})));
    const quick = graphOf({ run: runOptions() });
    const first = slow.invoke({}) as Promise<unknown>;
    await until(() => silent.received.some((m) => m["type"] === "run_ended"), "the end of the slow run");
    const started = Date.now();
    await quick.invoke({});
    expect(Date.now() - started).toBeLessThan(1500);
    await first;
  });

  it("the outermost graph waits for the ends of the graphs within it", async () => {
    const silent = await fake(acknowledgesNothing);
    const runs: Run[] = [];
    const options = { run: runOptions({ url: silent.url, lingerMs: 800 }), onRun: (run: Run) => void runs.push(run) };
    const innermost = graphOf(options, () => until(() => runs[0]?.connected, "the welcome").then(() => ({})));
    const inner = graphOf({ run: runOptions() }, () => innermost.invoke({}));
    const outer = graphOf({ run: runOptions() }, () => inner.invoke({}));
    await outer.invoke({});
    const ended = (runs[0] as Run).end().then(() => "ended");
    expect(await Promise.race([ended, new Promise((next) => setTimeout(next, 100, "ending"))])).toBe("ended");
  });

  it.each([
    ["run", { run: () => raise() }, 0],
    ["onRun", { run: () => runOptions(), onRun: () => raise() }, 1],
  ])("a callback %s that throws leaves the graph unwatched", async (_, options, connections) => {
    const warn = vi.spyOn(console, "warn").mockImplementation((line) => void log.push(String(line)));
    expect(await graphOf(options as LangGraphOptions).invoke({})).toEqual({ log: ["a"] });
    warn.mockRestore();
    expect(log).toEqual(["digd: the run could not begin (no such tenant); it continues unwatched"]);
    expect(daemon.connections).toBeLessThanOrEqual(connections);
    await until(() => daemon.open === 0, "the end of the connection");
  });

  it("in shadow the end waits a quarter of a second for its ack, unless the user sets lingerMs", async () => {
    const silent = await fake(acknowledgesNothing);
    const durations = [];
    for (const more of [{}, { lingerMs: 900 }]) {
      let begun = 0;
      await graphOf({ mode: "shadow", run: runOptions({ url: silent.url, ...more }) }, async () => {
        await until(() => silent.open > 0, "the connection");
        await new Promise((next) => setTimeout(next, 100));
        begun = Date.now();
      }).invoke({});
      durations.push(Date.now() - begun);
    }
    expect(durations[0]).toBeGreaterThanOrEqual(200);
    expect(durations[0]).toBeLessThan(800);
    expect(durations[1]).toBeGreaterThanOrEqual(850);
  });

  it("an answer names the latest branches only, and the latest payload of `submits`", async () => {
    const builder = new StateGraph(State)
      .addNode("first", () => ({ log: ["first"] }))
      .addNode("other", () => ({ log: ["other"] }))
      .addEdge(START, "first")
      .addEdge(START, "other");
    await (instrumentGraph(builder.compile(), { run: runOptions(), submits: ["first"] }) as any).invoke({});
    const submit = daemon.received.find((m) => m["outputs"]?.[0]?.submit);
    expect(submit?.["outputs"][0].payload).toEqual({ log: ["first"] });
    const begun = daemon.received.find(
      (m) => m["type"] === "activation_started" && m["activation"] === submit?.["activation"],
    );
    expect([begun?.["agent"], begun?.["inputs"].length]).toEqual(["first", 2]);
  });
});

function raise(): never {
  throw new Error("no such tenant");
}

describe("OpenAI Agents SDK", () => {
  const runnerOf = (options: OpenAIAgentsOptions = {}): Runner =>
    instrumentRunner(new Runner({ tracingDisabled: true }), { run: runOptions(), ...options });
  const answering = (text: string): Agent =>
    new Agent({ name: "a", model: new ScriptedModel([[assistantMessage(text)]]) }) as Agent;

  it("a stream that the program stops reading is not a success", async () => {
    const warn = vi.spyOn(console, "warn");
    const stream = await runnerOf().run(answering("done"), "task", { stream: true });
    for await (const _ of stream) break;
    await until(() => find("run_ended"), "the end");
    expect(find("run_ended")).toMatchObject({ outcome: "aborted" });
    expect(daemon.received.find((m) => m["failed"])).toMatchObject({ error: "the stream was cancelled" });
    expect(daemon.received.some((m) => m["outputs"]?.[0]?.submit)).toBe(false);
    expect(warn.mock.calls.filter(([line]) => String(line).includes("finalOutput"))).toEqual([]);
    warn.mockRestore();
  });

  it("a setting of a rule keeps the adapter's other settings of that rule", async () => {
    const rules = { deadlock: { mode: "observe" }, repeated_subproblem: { window_ms: 5 } } as const;
    await runnerOf({ run: runOptions({ rules }) }).run(answering("done"), "task");
    expect(find("hello")?.["rules"]).toMatchObject({
      deadlock: { mode: "observe", window_ms: 604_800_000 },
      repeated_subproblem: { window_ms: 5, kinds: ["work"] },
      cross_lineage_aggregation: { kinds: ["work"] },
    });
  });

  it("an aborted run waits for no healing and does not run again", async () => {
    const abort = new AbortController();
    let abortedAt = 0;
    daemon = await fake((message, socket, request) => {
      obedient(message, socket, request);
      if (!message["failed"]) return;
      const intervention = { type: "intervention", id: "sys:1", action: "create", recipients: ["a"], inject: "go on" };
      setTimeout(() => {
        abort.abort();
        abortedAt = Date.now();
        setTimeout(() => send(socket, intervention), 50);
      }, 50);
    });
    const model = new ScriptedModel([modelError(new Error("down")), [assistantMessage("again")]]);
    const runner = runnerOf({ mode: "enforce", run: runOptions(), waitForHealingMs: 5000, healErrors: true });
    const options = { signal: abort.signal };
    await expect(runner.run(new Agent({ name: "a", model }), "task", options)).rejects.toThrow();
    expect(Date.now() - abortedAt).toBeLessThan(2500);
    expect(model.calls.length).toBe(1);
    await until(() => find("run_ended"), "the end");
    expect(find("run_ended")).toMatchObject({ outcome: "aborted" });
  });

  it.each([
    ["run", { run: () => raise() }, 0],
    ["onRun", { run: () => runOptions(), onRun: () => raise() }, 1],
  ])("a callback %s that throws leaves the run unwatched", async (_, options, connections) => {
    const warn = vi.spyOn(console, "warn").mockImplementation((line) => void log.push(String(line)));
    const result = await runnerOf(options as OpenAIAgentsOptions).run(answering("done"), "task");
    warn.mockRestore();
    expect(result.finalOutput).toBe("done");
    expect(log).toEqual(["digd: the run could not begin (no such tenant); it continues unwatched"]);
    expect(daemon.connections).toBeLessThanOrEqual(connections);
    await until(() => daemon.open === 0, "the end of the connection");
  });

  it("a run whose approval nobody can give any more ends", async () => {
    const pause = async (): Promise<void> => {
      const asks = tool({
        name: "asks",
        description: "asks",
        parameters: z.object({}),
        needsApproval: true,
        execute: () => "yes",
      });
      const model = new ScriptedModel([[functionCall("asks", {}, { callId: "c1" })]]);
      const result = await runnerOf().run(new Agent({ name: "a", model, tools: [asks] }), "task");
      expect(result.interruptions).toHaveLength(1);
    };
    const count = 8; // the engine may keep the latest state for longer
    for (let i = 0; i < count; ++i) await pause();
    await until(() => daemon.open === count, "the connections");
    await until(() => {
      collectGarbage();
      return find("run_ended");
    }, "the end");
    expect(find("run_ended")).toMatchObject({ outcome: "aborted" });
  });
});
