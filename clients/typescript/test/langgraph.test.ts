// LangGraph.js under the real daemon: what is seen, and each rule that fires with the agents seeing what heals it.
import { FakeChatModel } from "@langchain/core/utils/testing";
import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { Annotation, Command, END, MemorySaver, MessagesAnnotation, Send, START, StateGraph, interrupt } from "@langchain/langgraph";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { instrument, type LangGraphOptions } from "../src/langgraph.js";
import type { Run, RunOptions } from "../src/index.js";
import { Daemon } from "./daemon.js";

let daemon: Daemon;
beforeAll(async () => void (daemon = await Daemon.start("threads = 2\nverdict_deadline_ms = 20000\n")));
afterAll(() => daemon.stop());

/** Options for a test, and the runs they begin. */
function watched(run: RunOptions = {}, more: Omit<LangGraphOptions, "run" | "onRun"> = {}) {
  const runs: Run[] = [];
  const options: LangGraphOptions = { run: { url: daemon.url, deadlineMs: 20_000, log: () => {}, ...run }, onRun: (r) => runs.push(r), ...more };
  const rules = async (i = 0): Promise<string[]> => (await daemon.detections((runs[i] as Run).id)).filter((d) => d.healed).map((d) => d.rule);
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

/** The package's own fake model: it answers with the content of all that it was given. */
const model = new FakeChatModel({});
const said = (answer: BaseMessage): string => String(answer.content);
/** A node that asks the model and keeps what it answered. */
const thinks = (name: string, then: (heard: string, state: S) => object = () => ({})) => async (state: S) => {
  const heard = said(await model.invoke(state.messages));
  return { log: [`${name}: ${heard}`], ...then(heard, state) };
};
const task = { messages: [new HumanMessage("the task")] };
const heardBy = (state: S, name: string): string[] => state.log.filter((l) => l.startsWith(`${name}: `));

describe("what is seen", () => {
  it("nodes are activations, static edges events, END the answer", async () => {
    const w = watched();
    const builder = new StateGraph(State).addNode("plan", thinks("plan")).addNode("code", thinks("code")).addEdge(START, "plan").addEdge("plan", "code").addEdge("code", END);
    const out = await instrument(builder, w.options).compile().invoke(task);
    expect(out.log).toEqual(["plan: the task", "code: the task"]);
    const graph = await w.graph();
    expect(graph.activations.map((a: any) => [a.agent, a.inputs.map((i: any) => i.reaction), a.outputs.length])).toEqual([["plan", ["consume"], 1], ["code", ["consume"], 1]]);
    expect(graph.events.map((e: any) => [e.source === null, e.submit === true, e.deliveries.map((d: any) => `${d.agent} ${d.state}`)])).toEqual([
      [true, false, ["plan consumed"]],
      [false, false, ["code consumed"]],
      [false, true, []],
    ]);
    expect((await w.trace()).at(-1)).toMatchObject({ type: "run_ended", outcome: "success" });
    expect(await daemon.detections(w.runs[0]!.id)).toEqual([]);
  });

  it("conditional edges, Command, Send, joins and subgraphs do what they did, and each way is an event", async () => {
    const inner = new StateGraph(State).addNode("deep", thinks("deep")).addEdge(START, "deep").addEdge("deep", END).compile();
    const make = () =>
      new StateGraph(State)
        .addNode("split", thinks("split"))
        .addNode("worker", async (s: S) => ({ log: [`worker ${s.tries}`] }))
        .addNode("left", thinks("left"))
        .addNode("right", async () => new Command({ update: { log: ["right"] }, goto: "sub" }), { ends: ["sub"] })
        .addNode("sub", inner)
        .addNode("join", thinks("join"))
        .addEdge(START, "split")
        .addConditionalEdges("split", () => [new Send("worker", { tries: 1 }), new Send("worker", { tries: 2 }), "left", "right"])
        .addEdge(["left", "sub"], "join")
        .addEdge("join", END);
    const plain = await make().compile().invoke(task);
    // Two nodes that an edge leads to work on the same thing; this graph means it so.
    const w = watched({ rules: { repeated_subproblem: { mode: "observe" } } }, { submits: ["join"] });
    const out = await instrument(make(), w.options).compile().invoke(task);
    expect([...out.log].sort()).toEqual([...plain.log].sort());
    expect(out.log.at(-1)).toBe("join: the task");
    const graph = await w.graph();
    const count = (agent: string) => graph.activations.filter((a: any) => a.agent === agent).length;
    expect(["split", "worker", "left", "right", "sub", "join"].map(count)).toEqual([1, 2, 1, 1, 1, 2]);
    const joins = graph.activations.filter((a: any) => a.agent === "join").map((a: any) => a.inputs.map((i: any) => i.reaction));
    expect(joins).toEqual([["wait"], ["consume", "consume"]]);
    expect(graph.events.map((e: any) => e.recipients?.length ?? e.deliveries.length)).toContain(2);
    expect(graph.activations.every((a: any) => a.inputs.length > 0)).toBe(true);
  });

  it("the drawing, streams of updates and the limit of steps are as without", async () => {
    const make = () => new StateGraph(State).addNode("a", thinks("a")).addNode("b", thinks("b")).addEdge(START, "a").addEdge("a", "b").addEdge("b", END);
    const w = watched();
    const graph = instrument(instrument(make(), w.options), w.options).compile(); // twice is once
    expect((await graph.getGraphAsync()).drawMermaid()).toBe((await make().compile().getGraphAsync()).drawMermaid());
    const chunks = [];
    for await (const chunk of await graph.stream(task, { streamMode: "updates", recursionLimit: 3 })) chunks.push(Object.keys(chunk));
    expect(chunks).toEqual([["a"], ["b"]]);
    expect(w.runs).toHaveLength(1);
    await graph.withConfig({ tags: ["x"] }).invoke(task);
    expect(w.runs).toHaveLength(2);
  });

  it("what is no graph is refused", () => expect(() => instrument({} as object)).toThrow(/expected a StateGraph/));

  it("a node that throws fails its activation, and the run", async () => {
    const w = watched();
    const builder = new StateGraph(State).addNode("a", () => Promise.reject(new Error("no luck"))).addEdge(START, "a").addEdge("a", END);
    await expect(instrument(builder, w.options).compile().invoke(task)).rejects.toThrow("no luck");
    const trace = await w.trace();
    expect(trace.find((m) => m.type === "activation_ended")).toMatchObject({ failed: true, error: "no luck" });
    expect(trace.at(-1)).toMatchObject({ outcome: "failure" });
  });

  it("a retried node is a new activation with the same inputs", async () => {
    const w = watched();
    let tries = 0;
    const builder = new StateGraph(State)
      .addNode("a", async () => (++tries < 2 ? Promise.reject(new Error("again")) : { log: ["done"] }), { retryPolicy: { maxAttempts: 2, initialInterval: 1, jitter: false, logWarning: false } })
      .addEdge(START, "a")
      .addEdge("a", END);
    await instrument(builder, w.options).compile().invoke(task);
    const { activations } = await w.graph();
    expect(activations.map((a: any) => [a.failed === true, a.inputs.map((i: any) => i.event)])).toEqual([[true, ["e1"]], [false, ["e1"]]]);
  });

  it("an interrupt leaves the inputs waiting, and the resumption goes on in the same run", async () => {
    const w = watched();
    const builder = new StateGraph(State).addNode("ask", async () => ({ log: [String(interrupt("who?"))] })).addEdge(START, "ask").addEdge("ask", END);
    const graph = instrument(builder, w.options).compile({ checkpointer: new MemorySaver() });
    const config = { configurable: { thread_id: "t1" } };
    await graph.invoke(task, config);
    const out = await graph.invoke(new Command({ resume: "me" }), config);
    expect(out.log).toEqual(["me"]);
    expect(w.runs).toHaveLength(1);
    const { activations } = await w.graph();
    expect(activations.map((a: any) => a.inputs.map((i: any) => [i.event, i.reaction]))).toEqual([[["e1", "wait"]], [["e1", "consume"]]]);
  });

  it("a subgraph's Command to its parent is the parent node's way", async () => {
    const inner = new StateGraph(State)
      .addNode("deep", async () => new Command({ goto: "other", graph: Command.PARENT, update: { log: ["deep"] } }), { ends: [] as any })
      .addEdge(START, "deep")
      .compile();
    const w = watched();
    const builder = new StateGraph(State).addNode("sub", inner, { ends: ["other"] }).addNode("other", thinks("other")).addEdge(START, "sub").addEdge("other", END);
    const out = await instrument(builder as any, w.options).compile().invoke(task);
    expect(out.log).toEqual(["deep", "other: the task"]);
    const { activations } = await w.graph();
    expect(activations.map((a: any) => [a.agent, a.inputs.length, a.outputs.length])).toEqual([["sub", 1, 1], ["other", 1, 1]]);
  });

  it("without a daemon it does what it did", async () => {
    const lines: string[] = [];
    const builder = new StateGraph(State).addNode("a", thinks("a")).addEdge(START, "a").addEdge("a", END);
    const out = await instrument(builder, { run: { url: "ws://127.0.0.1:1", log: (l) => lines.push(l) } }).compile().invoke(task);
    expect(out.log).toEqual(["a: the task"]);
    expect(lines).toHaveLength(1);
  });
});

describe("each rule fires, and the agents see the healing", () => {
  it("early termination: the answer is given back to its author, with what is unresolved", async () => {
    const w = watched();
    const builder = new StateGraph(State)
      .addNode("boss", thinks("boss", (_, s) => ({ tries: s.tries + 1 })))
      .addNode("worker", thinks("worker"))
      .addEdge(START, "boss")
      .addConditionalEdges("boss", (s: S) => (s.tries === 1 ? ["worker", END] : s.tries === 2 ? [] : [END]))
      .addEdge("worker", "boss");
    const out = await instrument(builder, w.options).compile().invoke(task);
    expect(await w.rules()).toEqual(["early_termination"]);
    const heard = heardBy(out, "boss");
    expect(heard).toHaveLength(3);
    expect(heard[1]).toMatch(/^boss: the task\n.*"worker"/s);
    expect((await w.graph()).events.filter((e: any) => e.given_back)).toHaveLength(1);
  });

  it("orphaned event: a way to nobody goes back to who took it, with who there is", async () => {
    const w = watched();
    const builder = new StateGraph(State)
      .addNode("lead", thinks("lead", () => ({})), {})
      .addNode("pick", async (s: S) => {
        const heard = said(await model.invoke(s.messages));
        return new Command({ update: { log: [`pick: ${heard}`] }, goto: heard.includes("coder") ? "coder" : "codr" });
      }, { ends: ["coder"] })
      .addNode("coder", thinks("coder"))
      .addEdge(START, "lead")
      .addEdge("lead", "pick")
      .addEdge("coder", END);
    const out = await instrument(builder, w.options).compile().invoke(task);
    expect(await w.rules()).toEqual(["orphaned_event"]);
    expect(heardBy(out, "pick")).toHaveLength(2);
    expect(heardBy(out, "coder")).toHaveLength(1);
  });

  it("excessive rerouting: who gets it next is told to handle it", async () => {
    const w = watched();
    const passes = (name: string, to: string) => async (s: S) => {
      const heard = said(await model.invoke(s.messages));
      return heard === "the task" ? new Command({ goto: to }) : { log: [`${name}: ${heard}`] };
    };
    const builder = new StateGraph(State)
      .addNode("a", passes("a", "b"), { ends: ["b"] })
      .addNode("b", passes("b", "a"), { ends: ["a"] })
      .addEdge(START, "a");
    const out = await instrument(builder, { ...w.options, patienceMs: 0 }).compile().invoke(task);
    expect(await w.rules()).toEqual(["excessive_rerouting"]);
    expect(out.log).toHaveLength(1);
    expect(out.log[0]).toMatch(/^b: the task\n.*passed on 3 times/s);
  });

  it("cross-lineage aggregation: the join is told where each comes from", async () => {
    // LangGraph runs deferred nodes beside `Send`s; who took that for rest would wait a minute here.
    const w = watched({}, { submits: ["join"], patienceMs: 60_000 });
    const builder = new StateGraph(State)
      .addNode("a", thinks("a"))
      .addNode("b", thinks("b"))
      .addNode("join", thinks("join"))
      .addEdge(START, "a")
      .addEdge(START, "b")
      .addConditionalEdges("a", () => [new Send("join", task), new Send("join", task)])
      .addConditionalEdges("b", () => [new Send("join", task), new Send("join", task)])
      .addEdge("join", END);
    const out = await instrument(builder, w.options).compile().invoke(task);
    expect(await w.rules()).toContain("cross_lineage_aggregation");
    expect(heardBy(out, "join").join("\n")).toMatch(/join: the task\n.*("a".*"b"|"b".*"a")/s);
  });

  it("repeated subproblem: what follows is told who has worked on it before", async () => {
    const w = watched({}, { submits: ["end"] });
    const builder = new StateGraph(State)
      .addNode("router", async () => new Command({ goto: ["one", "two"] }), { ends: ["one", "two"] })
      .addNode("one", thinks("one"))
      .addNode("two", thinks("two"))
      .addNode("end", thinks("end"))
      .addEdge(START, "router")
      .addEdge(["one", "two"], "end")
      .addEdge("end", END);
    const out = await instrument(builder, w.options).compile().invoke(task);
    expect(await w.rules()).toEqual(["repeated_subproblem"]);
    expect(heardBy(out, "end")[0]).toMatch(/"one"|"two"/);
  });

  it("missing termination: who acted last is told to answer, and does", async () => {
    const w = watched({ rules: { missing_termination: { window_ms: 100 } } });
    const builder = new StateGraph(State)
      .addNode("a", thinks("a", (heard) => ({ tries: heard === "the task" ? 0 : 1 })))
      .addEdge(START, "a")
      .addConditionalEdges("a", (s: S) => (s.tries > 0 ? END : []));
    const out = await instrument(builder, w.options).compile().invoke(task);
    expect(new Set(await w.rules())).toEqual(new Set(["missing_termination"])); // a slow machine may let its window pass twice
    expect(out.log.length).toBeGreaterThan(1);
    expect(out.log[1]).toMatch(/^a: the task\n.+/s);
    expect((await w.trace()).some((m) => m.type === "delivery" && m.of === "sys:1" && m.applied === "created")).toBe(true);
  });

  it("deadlock: a join that waits for somebody who never ran; all are told, and it is resolved", async () => {
    const w = watched({ rules: { deadlock: { window_ms: 100 } } }, { submits: ["join"] });
    const builder = new StateGraph(State)
      .addNode("a", thinks("a"))
      .addNode("b", thinks("b"))
      .addNode("join", thinks("join"))
      .addEdge(START, "a")
      .addConditionalEdges("a", () => [], ["b"])
      .addEdge(["a", "b"], "join")
      .addEdge("join", END);
    const out = await instrument(builder, w.options).compile().invoke(task);
    expect(await w.rules()).toContain("deadlock");
    expect(heardBy(out, "b")).toHaveLength(1);
    expect(heardBy(out, "b")[0]).not.toBe("b: the task");
    expect((await w.graph()).events.find((e: any) => e.id === "sys:1").deliveries.map((d: any) => d.agent).sort()).toEqual(["a", "b", "join"]);
  });
});
