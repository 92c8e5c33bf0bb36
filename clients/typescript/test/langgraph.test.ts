// LangGraph.js with the real daemon: the graph of a run, and the options. The zoo has the healthy and the broken
// graphs.
import { FakeChatModel } from "@langchain/core/utils/testing";
import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import {
  Annotation,
  Command,
  END,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
  interrupt,
} from "@langchain/langgraph";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { instrument, type LangGraphOptions } from "../src/langgraph.js";
import type { Run, RunOptions } from "../src/index.js";
import { Daemon } from "./daemon.js";

let daemon: Daemon;
beforeAll(async () => void (daemon = await Daemon.start("threads = 2\nverdict_deadline_ms = 20000\n")));
afterAll(() => daemon.stop());

/** Options for a test, and the runs that they begin. */
function watched(run: RunOptions = {}, more: Omit<LangGraphOptions, "run" | "onRun"> = {}) {
  const runs: Run[] = [];
  const options: LangGraphOptions = {
    mode: "enforce",
    run: { url: daemon.url, deadlineMs: 20_000, log: () => {}, ...run },
    onRun: (r) => runs.push(r),
    ...more,
  };
  const rules = async (i = 0): Promise<string[]> =>
    (await daemon.detections((runs[i] as Run).id)).filter((d) => d.healed).map((d) => d.rule);
  const trace = (i = 0): Promise<any[]> => daemon.trace((runs[i] as Run).id);
  const graph = (i = 0): Promise<any> => daemon.get(`/v1/runs/${(runs[i] as Run).id}/graph`);
  return { options, runs, rules, trace, graph };
}

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  tries: Annotation<number>({ reducer: (_, b) => b, default: () => 0 }),
});
type S = typeof State.State;

/** LangChain's own fake model: it answers with the content of its input. */
const model = new FakeChatModel({});
const textOf = (answer: BaseMessage): string => String(answer.content);
/** A node that asks the model and stores its answer. */
const asksModel =
  (name: string, then: (reply: string, state: S) => object = () => ({})) =>
  async (state: S) => {
    const reply = textOf(await model.invoke(state.messages));
    return { log: [`${name}: ${reply}`], ...then(reply, state) };
  };
const task = { messages: [new HumanMessage("the task")] };

/** Agent, reactions and number of outputs of each activation, without those of START. */
const activationsOf = (graph: any): any[] =>
  graph.activations
    .filter((a: any) => a.agent !== "__start__")
    .map((a: any) => [a.agent, a.inputs.map((i: any) => i.reaction ?? "none"), a.outputs.length]);
const submitsOf = (graph: any): any[] => graph.events.filter((e: any) => e.submit === true);

describe("the graph of a run", () => {
  it("nodes are activations, edges are events, and the answer is submitted when the graph comes to rest", async () => {
    const watch = watched();
    const builder = new StateGraph(State)
      .addNode("plan", asksModel("plan"))
      .addNode("code", asksModel("code"))
      .addEdge(START, "plan")
      .addEdge("plan", "code")
      .addEdge("code", END);
    const state = await instrument(builder, watch.options).compile().invoke(task);
    expect(state.log).toEqual(["plan: the task", "code: the task"]);
    const graph = await watch.graph();
    expect(activationsOf(graph)).toEqual([
      ["plan", ["consume"], 1],
      ["code", ["consume"], 1],
      ["code", ["consume"], 1],
    ]);
    expect(submitsOf(graph)).toHaveLength(1);
    expect((await watch.trace()).at(-1)).toMatchObject({ type: "run_ended", outcome: "success" });
    expect(await daemon.detections(watch.runs[0]!.id)).toEqual([]);
  });

  it("a fan-out is one event for each target, and a join consumes all its events at once", async () => {
    const watch = watched();
    const builder = new StateGraph(State)
      .addNode("split", asksModel("split"))
      .addNode("left", asksModel("left"))
      .addNode("right", asksModel("right"))
      .addNode("join", asksModel("join"))
      .addEdge(START, "split")
      .addEdge("split", "left")
      .addEdge("split", "right")
      .addEdge(["left", "right"], "join");
    await instrument(builder, watch.options).compile().invoke(task);
    const graph = await watch.graph();
    expect(activationsOf(graph)).toContainEqual(["split", ["consume"], 2]);
    expect(activationsOf(graph)).toContainEqual(["join", ["consume", "consume"], 1]);
    expect(Math.max(...graph.events.map((e: any) => e.deliveries.length))).toBe(1);
    expect(await daemon.detections(watch.runs[0]!.id)).toEqual([]);
  });

  it("only a bare goto back to a node that had the work is a reroute", async () => {
    const watch = watched();
    const builder = new StateGraph(State)
      .addNode("a", async (s: S) => (s.tries > 0 ? {} : new Command({ goto: "b" })), { ends: ["b"] })
      .addNode("b", async () => new Command({ goto: "c" }), { ends: ["c"] })
      .addNode("c", async (s: S) => (s.log.length > 0 ? { log: ["c"] } : new Command({ goto: "d" })), { ends: ["d"] })
      .addNode("d", async () => new Command({ goto: "b" }), { ends: ["b"] })
      .addEdge(START, "a");
    await instrument(builder, watch.options)
      .compile()
      .invoke(task, { recursionLimit: 6 })
      .catch(() => undefined);
    const reactions = activationsOf(await watch.graph()).map(([agent, [reaction]]) => [
      agent,
      typeof reaction === "object" || String(reaction).includes("reroute"),
    ]);
    expect(reactions.slice(0, 4)).toEqual([
      ["a", false],
      ["b", false],
      ["c", false],
      ["d", true],
    ]);
  });

  it("neither the graph nor its builder is changed", async () => {
    const make = () => new StateGraph(State).addNode("a", asksModel("a")).addEdge(START, "a").addEdge("a", END);
    const [builder, watch] = [make(), watched()];
    const before = Reflect.ownKeys(builder);
    const compiled = instrument(builder, watch.options).compile();
    expect(Reflect.ownKeys(builder)).toEqual(before);
    expect(Reflect.ownKeys(compiled)).toEqual(Reflect.ownKeys(make().compile()));
    expect(Object.keys(compiled.nodes)).toEqual(["__start__", "a"]);
    await compiled.withConfig({ tags: ["x"] }).invoke(task);
    expect(watch.runs).toHaveLength(1);
  });

  it("mode off begins no run, and undoes an earlier instrument", async () => {
    const watch = watched();
    const builder = instrument(
      new StateGraph(State).addNode("a", asksModel("a")).addEdge(START, "a").addEdge("a", END),
      watch.options,
    );
    await instrument(builder, { ...watch.options, mode: "off" })
      .compile()
      .invoke(task);
    expect(watch.runs).toEqual([]);
  });

  it("the default mode is shadow, and DIGD_MODE replaces it", async () => {
    const watch = watched();
    const { mode: _, ...options } = watch.options;
    const graph = instrument(
      new StateGraph(State).addNode("a", asksModel("a")).addEdge(START, "a").addEdge("a", END),
      options,
    ).compile();
    await graph.invoke(task);
    process.env["DIGD_MODE"] = "observe";
    try {
      await graph.invoke(task);
    } finally {
      delete process.env["DIGD_MODE"];
    }
    expect(watch.runs.map((run) => run.welcome?.mode)).toEqual(["shadow", "observe"]);
  });

  it("an object that is not a graph, a wrong address and a wrong mode are refused", () => {
    expect(() => instrument({} as object)).toThrow(/expected a StateGraph/);
    expect(() => instrument(new StateGraph(State), { run: { url: "http://localhost:1" } })).toThrow(
      /expected HOST:PORT/,
    );
    expect(() => instrument(new StateGraph(State), { mode: "loud" as never })).toThrow(/is not a mode/);
  });

  it("a node that throws fails its activation, and the run", async () => {
    const watch = watched();
    const builder = new StateGraph(State)
      .addNode("a", () => Promise.reject(new Error("no luck")))
      .addEdge(START, "a")
      .addEdge("a", END);
    await expect(instrument(builder, watch.options).compile().invoke(task)).rejects.toThrow("no luck");
    const trace = await watch.trace();
    expect(trace).toContainEqual(expect.objectContaining({ type: "activation_ended", failed: true, error: "no luck" }));
    expect(trace.at(-1)).toMatchObject({ outcome: "failure" });
  });

  it("a retried node is a new activation with the same inputs", async () => {
    const watch = watched();
    let tries = 0;
    const builder = new StateGraph(State)
      .addNode("a", async () => (++tries < 2 ? Promise.reject(new Error("again")) : { log: ["done"] }), {
        retryPolicy: { maxAttempts: 2, initialInterval: 1, jitter: false, logWarning: false },
      })
      .addEdge(START, "a")
      .addEdge("a", END);
    await instrument(builder, watch.options).compile().invoke(task);
    const { activations } = await watch.graph();
    const mine = activations.filter((a: any) => a.agent === "a");
    expect(mine.slice(0, 2).map((a: any) => a.failed === true)).toEqual([true, false]);
    expect(mine[0].inputs[0].event).toBe(mine[1].inputs[0].event);
  });

  it("an interrupt leaves the inputs waiting and ends the run; the resumption is another run", async () => {
    const watch = watched();
    const builder = new StateGraph(State)
      .addNode("ask", async () => ({ log: [String(interrupt("who?"))] }))
      .addEdge(START, "ask")
      .addEdge("ask", END);
    const graph = instrument(builder, watch.options).compile({ checkpointer: new MemorySaver() });
    const config = { configurable: { thread_id: "t1" } };
    await graph.invoke(task, config);
    const state = await graph.invoke(new Command({ resume: "me" }), config);
    expect(state.log).toEqual(["me"]);
    expect(activationsOf(await watch.graph(0))).toEqual([["ask", ["wait"], 0]]);
    expect((await watch.trace(0)).at(-1)).toMatchObject({ outcome: "success" });
    expect(submitsOf(await watch.graph(1))).toHaveLength(1);
  });

  it("an instrumented graph in another graph's node is a run of its own, labelled with the run around it", async () => {
    const watch = watched();
    const inner = instrument(
      new StateGraph(State).addNode("deep", asksModel("deep")).addEdge(START, "deep"),
      watch.options,
    ).compile();
    await instrument(new StateGraph(State).addNode("sub", inner).addEdge(START, "sub"), watch.options)
      .compile()
      .invoke(task);
    expect(activationsOf(await watch.graph(0)).map(([agent]) => agent)).toEqual(["sub", "sub"]);
    expect(activationsOf(await watch.graph(1)).map(([agent]) => agent)).toEqual(["deep", "deep"]);
    expect((await watch.trace(1))[0].labels).toEqual({ parent_run: watch.runs[0]!.id });
  });

  it("after three verdicts that could not be carried out everything goes out unchanged", async () => {
    const lines: string[] = [];
    const watch = watched({ log: (line) => lines.push(line) });
    const Plain = Annotation.Root({ n: State.spec.tries });
    const builder = new StateGraph(Plain)
      .addNode("boss", async (s) => new Command({ update: { n: s.n + 1 }, goto: s.n < 5 ? ["ghost", "boss"] : [] }), {
        ends: ["boss"],
      })
      .addEdge(START, "boss");
    await instrument(builder, watch.options).compile().invoke({ n: 0 });
    expect(lines.filter((line) => line.includes("could not be carried out"))).toHaveLength(1);
    expect((await watch.trace()).filter((m) => m.type === "delivery" && m.applied === "as_is")).toHaveLength(3);
  });

  it("beyond maxAddedMs messages go out unchanged, and one line reports it", async () => {
    const lines: string[] = [];
    const watch = watched({ log: (line) => lines.push(line) }, { maxAddedMs: 0 });
    await instrument(
      new StateGraph(State)
        .addNode("a", asksModel("a"))
        .addNode("b", asksModel("b"))
        .addEdge(START, "a")
        .addEdge("a", "b"),
      watch.options,
    )
      .compile()
      .invoke(task);
    expect(lines.filter((line) => line.includes("maxAddedMs"))).toHaveLength(1);
  });

  it("in shadow a run that digd would have healed logs one line, and a healthy run none", async () => {
    const lines: string[] = [];
    const watch = watched({ log: (line) => lines.push(line) }, { mode: "shadow" });
    const graph = (goto: string) =>
      instrument(
        new StateGraph(State)
          .addNode("a", async () => new Command({ update: { tries: 1 }, goto }), { ends: ["b"] })
          .addNode("b", asksModel("b"))
          .addEdge(START, "a"),
        watch.options,
      ).compile();
    await graph("b").invoke(task);
    expect(lines).toEqual([]);
    await graph("ghost").invoke(task);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/would have healed 1 times \(orphaned_event 1\).*DIGD_MODE=enforce/);
  });

  it("without a daemon the graph runs unchanged, and one line is logged", async () => {
    const lines: string[] = [];
    const builder = new StateGraph(State).addNode("a", asksModel("a")).addEdge(START, "a").addEdge("a", END);
    const state = await instrument(builder, { run: { url: "ws://127.0.0.1:1", log: (l) => lines.push(l) } })
      .compile()
      .invoke(task);
    expect(state.log).toEqual(["a: the task"]);
    expect(lines).toHaveLength(1);
  });
});
