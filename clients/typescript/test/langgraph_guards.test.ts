// Guards against LangGraph.js graphs, with the real daemon: a person is asked, a loop is asked to stop, a budget holds.
import { Annotation, Command, START, StateGraph } from "@langchain/langgraph";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { instrument, notes } from "../src/langgraph.js";
import type { Run, RunOptions } from "../src/index.js";
import { Daemon, until } from "./daemon.js";

let daemon: Daemon;
beforeAll(async () => void (daemon = await Daemon.start("threads = 2\nverdict_deadline_ms = 20000\n")));
afterAll(() => daemon.stop());

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

/** A node that logs its name, and the monitor's texts. */
const node = (name: string) => async (_: unknown, config: unknown) => ({ log: [name, ...notes(config)] });

function guarded(builder: any, guards: RunOptions["guards"]): { graph: any; runs: Run[] } {
  const runs: Run[] = [];
  const run = { url: daemon.url, deadlineMs: 20_000, log: () => {}, guards };
  return { graph: instrument(builder, { mode: "enforce", run, onRun: (r) => runs.push(r) }).compile(), runs };
}

describe("guards", () => {
  it.each(["release", "return"])("a held write waits in its task until a person decides to %s it", async (decision) => {
    const builder = new StateGraph(State)
      .addNode("planner", node("planner"))
      .addNode("coder", node("coder"))
      .addNode("tester", node("tester"))
      .addEdge(START, "planner")
      .addEdge("planner", "coder")
      .addEdge("coder", "tester");
    const { graph, runs } = guarded(builder, { fan_out: { max_depth: 1, action: ["hold", "observe"] } });
    const result = graph.invoke({ log: [] });
    const path = `/v1/runs/${(await until(async () => runs[0], "the run")).id}/holds`;
    const hold = await until(async () => (await daemon.get(path))?.holds[0], "the hold");
    expect(hold).toMatchObject({ guard: "fan_out", sender: "coder", recipients: ["tester"] });
    const body = JSON.stringify({ decision, text: "Be brief.", by: "kim" });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`http://${daemon.address}${path}/${hold.hold}`, { method: "POST", headers, body });
    expect(answer.status).toBe(200);
    const { log } = await result;
    if (decision === "release") expect(log).toEqual(["planner", "coder", "tester", "Be brief."]);
    else expect(log).toEqual(["planner", "coder", "coder", "Be brief.", "tester"]);
  });

  it("a graph that ignores the texts of its budget stops anyway", async () => {
    let count = 0;
    const loops = async (_: unknown, config: unknown) => {
      notes(config); // so digd may run it again with a text
      return new Command({ update: { log: [`${++count}`] }, goto: "worker" });
    };
    const builder = new StateGraph(State).addNode("worker", loops, { ends: ["worker"] }).addEdge(START, "worker");
    const { graph, runs } = guarded(builder, { budget: { max_activations: 6 } });
    await graph.invoke({ log: [] }, { recursionLimit: 90 });
    expect(count).toBeGreaterThan(6);
    expect(count).toBeLessThan(30);
    const found = (await daemon.detections(runs[0]!.id)).filter((d) => d.rule === "budget");
    expect(found.at(-1)).toMatchObject({ healed: true });
  });

  it("guards that only report change nothing, and a request to cancel is one of these", async () => {
    const builder = new StateGraph(State).addNode("a", node("a")).addNode("b", node("b")).addEdge(START, "a");
    const { graph, runs } = guarded(builder.addEdge("a", "b"), { fan_out: { max_depth: 0, action: "cancel" } });
    expect((await graph.invoke({ log: [] })).log).toEqual(["a", "b"]);
    const found = (await daemon.detections(runs[0]!.id)).filter((d) => d.rule === "fan_out");
    expect(found.map((d) => [d.healed, d.cause])).toContainEqual([false, "unsupported"]);
  });
});
