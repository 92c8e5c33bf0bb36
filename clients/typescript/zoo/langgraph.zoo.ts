// Healthy and broken LangGraph.js graphs, in the shapes of LangGraph's own tutorials.
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { tool } from "@langchain/core/tools";
import { InMemoryCache } from "@langchain/langgraph-checkpoint";
import {
  Annotation,
  Command,
  END,
  MemorySaver,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
  interrupt,
  task,
} from "@langchain/langgraph";
import { createReactAgent, ToolNode } from "@langchain/langgraph/prebuilt";
import { z } from "zod";
import { afterAll, beforeAll, expect } from "vitest";
import { instrument, notes, type LangGraphOptions } from "../src/langgraph.js";
import { Daemon } from "../test/daemon.js";
import { Zoo, type Extra, type Probe } from "./harness.js";

let daemon: Daemon;
beforeAll(async () => void (daemon = await Daemon.start("threads = 2\nverdict_deadline_ms = 60000\n")));
afterAll(() => daemon.stop());

const zoo = new Zoo();
const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  n: Annotation<number>({ reducer: (_, b) => b, default: () => 0 }),
});
type S = typeof State.State;
const question = { messages: [new HumanMessage({ content: "the question", id: "m0" })] };
const parallel: Extra = { ordered: false };

/** A node that records that it ran and what it was given. */
const node =
  (probe: Probe, name: string, make: (state: S, call: number) => unknown = () => ({ log: [name] })) =>
  async (state: S): Promise<any> => {
    const call = probe.call(name);
    probe.reads([name, state]);
    return make(state, call);
  };
const watched = <G>(probe: Probe, graph: G, more: LangGraphOptions = {}): G =>
  probe.attached ? instrument(graph, { ...probe.options, ...more }) : graph;
type Builder = StateGraph<any, any, any, any, any, any>;

/** A builder whose nodes record, with one edge for each pair. */
function build(
  probe: Probe,
  nodes: Record<string, ((state: S, call: number) => unknown) | undefined>,
  edges: [string | string[], string][],
  deferred: string[] = [],
): Builder {
  const builder = new StateGraph(State) as any;
  for (const [name, make] of Object.entries(nodes))
    builder.addNode(name, node(probe, name, make), { defer: deferred.includes(name), ends: Object.keys(nodes) });
  for (const [from, to] of edges) builder.addEdge(from, to);
  return builder as Builder;
}

/** Streams every mode, reads the state and its history, and invokes the graph once more without a checkpointer. */
async function observe(
  probe: Probe,
  make: () => Builder,
  input: unknown = question,
  more: LangGraphOptions = {},
): Promise<unknown> {
  const graph = watched(probe, make(), more).compile({ checkpointer: new MemorySaver() }) as any;
  const config = { configurable: { thread_id: "t" } };
  const modes = ["values", "updates", "messages", "custom", "tasks", "checkpoints", "debug"];
  for await (const chunk of await graph.stream(input, { ...config, streamMode: modes, subgraphs: true }))
    probe.saw(chunk);
  probe.saw((await graph.getState(config)).values);
  for await (const state of graph.getStateHistory(config)) probe.saw(state);
  const compiled = watched(probe, make(), more).compile() as any;
  probe.saw((await compiled.getGraphAsync()).drawMermaid());
  probe.saw(Object.keys(compiled).sort());
  return compiled.invoke(input);
}

const shape = (name: string, make: (probe: Probe) => Builder, extra: Extra = {}, input: unknown = question): void =>
  zoo.healthy(`langgraph ${name}`, (probe) => observe(probe, () => make(probe), input), extra);

shape("chain", (p) =>
  build(p, { a: undefined, b: undefined, c: undefined }, [
    [START, "a"],
    ["a", "b"],
    ["b", "c"],
    ["c", END],
  ]),
);
shape("single node", (p) =>
  build(p, { a: undefined }, [
    [START, "a"],
    ["a", END],
  ]),
);
shape("router", (p) =>
  build(p, { a: undefined, b: undefined, c: undefined }, [
    [START, "a"],
    ["b", END],
    ["c", END],
  ]).addConditionalEdges("a" as never, () => "c" as never),
);
shape("router from START", (p) =>
  build(p, { b: undefined, c: undefined }, [
    ["b", END],
    ["c", END],
  ]).addConditionalEdges(START, () => "b" as never),
);
shape("START straight to END", (p) =>
  build(p, { a: undefined }, [["a", END]]).addConditionalEdges(START, () => END as never),
);
shape("loop until done", (p) =>
  build(p, { a: (s) => ({ n: s.n + 1 }) }, [[START, "a"]]).addConditionalEdges(
    "a" as never,
    (s: S) => (s.n < 5 ? "a" : END) as never,
  ),
);
shape("writer and critic loop", (p) =>
  build(p, { write: (s) => ({ n: s.n + 1 }), judge: undefined }, [
    [START, "write"],
    ["write", "judge"],
  ]).addConditionalEdges("judge" as never, (s: S) => (s.n < 3 ? "write" : END) as never),
);
shape(
  "diamond without a join list",
  (p) =>
    build(p, { a: undefined, b: undefined, c: undefined, d: undefined }, [
      [START, "a"],
      ["a", "b"],
      ["a", "c"],
      ["b", "d"],
      ["c", "d"],
      ["d", END],
    ]),
  parallel,
);
shape(
  "diamond with a join list",
  (p) =>
    build(p, { a: undefined, b: undefined, c: undefined, d: undefined }, [
      [START, "a"],
      ["a", "b"],
      ["a", "c"],
      [["b", "c"], "d"],
      ["d", END],
    ]),
  parallel,
);
shape(
  "uneven join list",
  (p) =>
    build(p, { a: undefined, b: undefined, b2: undefined, c: undefined, d: undefined }, [
      [START, "a"],
      ["a", "b"],
      ["b", "b2"],
      ["a", "c"],
      [["b2", "c"], "d"],
      ["d", END],
    ]),
  parallel,
);
shape(
  "uneven branches that meet without a join list",
  (p) =>
    build(p, { a: undefined, b: undefined, b2: undefined, c: undefined, d: undefined }, [
      [START, "a"],
      ["a", "b"],
      ["b", "b2"],
      ["a", "c"],
      ["b2", "d"],
      ["c", "d"],
      ["d", END],
    ]),
  parallel,
);
shape(
  "deferred node",
  (p) =>
    build(
      p,
      { a: undefined, b: undefined, b2: undefined, c: undefined, d: undefined },
      [
        [START, "a"],
        ["a", "b"],
        ["b", "b2"],
        ["a", "c"],
        ["b2", "d"],
        ["c", "d"],
        ["d", END],
      ],
      ["d"],
    ),
  parallel,
);
shape(
  "deferred join list",
  (p) =>
    build(
      p,
      { a: undefined, b: undefined, c: undefined, d: undefined },
      [
        [START, "a"],
        ["a", "b"],
        ["a", "c"],
        [["b", "c"], "d"],
        ["d", END],
      ],
      ["d"],
    ),
  parallel,
);
shape(
  "parallel branches that each end",
  (p) =>
    build(p, { a: undefined, b: undefined, c: undefined }, [
      [START, "a"],
      ["a", "b"],
      ["a", "c"],
      ["b", END],
      ["c", END],
    ]),
  parallel,
);
shape(
  "parallel from START",
  (p) =>
    build(p, { a: undefined, b: undefined }, [
      [START, "a"],
      [START, "b"],
      ["a", END],
      ["b", END],
    ]),
  parallel,
);
shape(
  "a side branch shorter than the main one",
  (p) =>
    build(p, { a: undefined, note: undefined, b: undefined, c: undefined }, [
      [START, "a"],
      ["a", "note"],
      ["a", "b"],
      ["b", "c"],
      ["c", END],
      ["note", END],
    ]),
  parallel,
);
shape(
  "a side branch longer than the main one",
  (p) =>
    build(p, { a: undefined, s1: undefined, s2: undefined, s3: undefined, b: undefined }, [
      [START, "a"],
      ["a", "s1"],
      ["s1", "s2"],
      ["s2", "s3"],
      ["a", "b"],
      ["b", END],
      ["s3", END],
    ]),
  parallel,
);
shape("a node without a way out", (p) =>
  build(p, { a: undefined, b: undefined }, [
    [START, "a"],
    ["a", "b"],
  ]),
);
shape("an edge to END beside an edge to work", (p) =>
  build(p, { a: undefined, b: undefined }, [
    [START, "a"],
    ["a", "b"],
    ["a", END],
    ["b", END],
  ]),
);
const mapReduce = (p: Probe, to: string): Builder =>
  build(p, { plan: undefined, work: (s) => ({ log: [`work ${s.n}`] }), reduce: undefined }, [
    [START, "plan"],
    ["work", to],
    ["reduce", END],
  ]).addConditionalEdges("plan" as never, () => [1, 2, 3].map((n) => new Send("work", { n })) as never);
shape("Send map-reduce with a join", (p) => mapReduce(p, "reduce"), parallel);
shape("Send to END", (p) => mapReduce(p, END), parallel);
shape(
  "Send with equal arguments",
  (p) =>
    build(p, { plan: undefined, work: undefined }, [
      [START, "plan"],
      ["work", END],
    ]).addConditionalEdges("plan" as never, () => [new Send("work", { n: 1 }), new Send("work", { n: 1 })] as never),
  parallel,
);
shape(
  "nested Send",
  (p) =>
    build(
      p,
      {
        plan: undefined,
        sub: (s) => new Command({ goto: [new Send("leaf", { n: s.n * 10 }), new Send("leaf", { n: s.n * 10 + 1 })] }),
        leaf: (s) => ({ log: [`leaf ${s.n}`] }),
        reduce: undefined,
      },
      [
        [START, "plan"],
        ["leaf", "reduce"],
        ["reduce", END],
      ],
    ).addConditionalEdges("plan" as never, () => [new Send("sub", { n: 1 }), new Send("sub", { n: 2 })] as never),
  parallel,
);
shape(
  "Send in two stages",
  (p) =>
    build(p, { plan: undefined, one: undefined, mid: undefined, two: undefined, end: undefined }, [
      [START, "plan"],
      ["one", "mid"],
      ["two", "end"],
      ["end", END],
    ])
      .addConditionalEdges("plan" as never, () => [new Send("one", { n: 1 }), new Send("one", { n: 2 })] as never)
      .addConditionalEdges("mid" as never, () => [new Send("two", { n: 3 }), new Send("two", { n: 4 })] as never),
  parallel,
);
shape(
  "Send beside an edge",
  (p) =>
    build(p, { plan: undefined, work: undefined, side: undefined, end: undefined }, [
      [START, "plan"],
      ["plan", "side"],
      ["work", "end"],
      ["side", "end"],
      ["end", END],
    ]).addConditionalEdges("plan" as never, () => [new Send("work", { n: 1 })] as never),
  parallel,
);
shape("escalation ladder by bare goto", (p) =>
  build(
    p,
    {
      l1: () => new Command({ goto: "l2" }),
      l2: () => new Command({ goto: "l3" }),
      l3: () => new Command({ goto: "l4" }),
      l4: () => new Command({ goto: "l5" }),
      l5: undefined,
    },
    [
      [START, "l1"],
      ["l5", END],
    ],
  ),
);
shape("goto with updates to and fro", (p) =>
  build(
    p,
    {
      a: (s) => new Command({ update: { n: s.n + 1 }, goto: s.n < 4 ? "b" : END }),
      b: (s) => new Command({ update: { n: s.n + 1 }, goto: "a" }),
    },
    [[START, "a"]],
  ),
);
shape(
  "bare goto to several nodes",
  (p) =>
    build(p, { a: () => new Command({ goto: ["b", "c"] }), b: undefined, c: undefined, d: undefined }, [
      [START, "a"],
      [["b", "c"], "d"],
      ["d", END],
    ]),
  parallel,
);
shape("triage that takes back once", (p) =>
  build(
    p,
    {
      triage: (_, call) => new Command({ goto: call % 2 === 1 ? "billing" : "sales" }),
      billing: () => new Command({ goto: "triage" }),
      sales: undefined,
    },
    [
      [START, "triage"],
      ["sales", END],
    ],
  ),
);
shape("polling by a bare goto to itself", (p) =>
  build(p, { poll: (_, call) => (call % 6 === 0 ? { log: ["ready"] } : new Command({ goto: "poll" })) }, [
    [START, "poll"],
  ]),
);
shape(
  "self-consistency vote of equal nodes",
  (p) =>
    build(
      p,
      { v1: () => ({ log: ["42"] }), v2: () => ({ log: ["42"] }), v3: () => ({ log: ["42"] }), tally: undefined },
      [
        [START, "v1"],
        [START, "v2"],
        [START, "v3"],
        [["v1", "v2", "v3"], "tally"],
        ["tally", END],
      ],
    ),
  parallel,
);
shape(
  "broadcast and a debate in rounds",
  (p) =>
    build(p, { mod: (s) => ({ n: s.n + 1 }), pro: undefined, con: undefined }, [
      [START, "mod"],
      ["pro", "mod"],
      ["con", "mod"],
    ]).addConditionalEdges("mod" as never, (s: S) => (s.n < 3 ? ["pro", "con"] : END) as never),
  parallel,
);
shape("supervisor and workers", (p) =>
  build(
    p,
    {
      boss: (s) => new Command({ update: { n: s.n + 1 }, goto: ["coder", "tester", END][s.n] as string }),
      coder: undefined,
      tester: undefined,
    },
    [
      [START, "boss"],
      ["coder", "boss"],
      ["tester", "boss"],
    ],
  ),
);
shape("empty updates", (p) =>
  build(p, { a: () => ({}), b: () => null, c: () => undefined }, [
    [START, "a"],
    ["a", "b"],
    ["b", "c"],
    ["c", END],
  ]),
);
shape("messages without content", (p) =>
  build(p, { a: () => ({ messages: [new AIMessage({ content: "", id: "m1" })] }) }, [
    [START, "a"],
    ["a", END],
  ]),
);
shape("JSON messages", (p) =>
  build(
    p,
    { a: () => ({ messages: [new AIMessage({ content: JSON.stringify({ done: true }), id: "m1" })] }), b: undefined },
    [
      [START, "a"],
      ["a", "b"],
      ["b", END],
    ],
  ),
);
shape("human handoff: goto END", (p) =>
  build(p, { a: () => new Command({ update: { log: ["ask a person"] }, goto: END }) }, [[START, "a"]]),
);
shape(
  "conditional edge to several and END",
  (p) =>
    build(p, { a: undefined, b: undefined, c: undefined }, [
      [START, "a"],
      ["b", END],
      ["c", END],
    ]).addConditionalEdges("a" as never, () => ["b", "c", END] as never),
  parallel,
);
shape(
  "loop over a parallel stage with a join",
  (p) =>
    build(p, { a: (s) => ({ n: s.n + 1 }), b: undefined, c: undefined, j: undefined }, [
      [START, "a"],
      ["a", "b"],
      ["a", "c"],
      [["b", "c"], "j"],
    ]).addConditionalEdges("j" as never, (s: S) => (s.n < 3 ? "a" : END) as never),
  parallel,
);
shape(
  "two joins in a row",
  (p) =>
    build(p, { a: undefined, b: undefined, j: undefined, c: undefined, d: undefined, k: undefined }, [
      [START, "a"],
      [START, "b"],
      [["a", "b"], "j"],
      ["j", "c"],
      ["j", "d"],
      [["c", "d"], "k"],
      ["k", END],
    ]),
  parallel,
);

const inner = (p: Probe): Builder =>
  build(p, { deep: undefined, deeper: undefined }, [
    [START, "deep"],
    ["deep", "deeper"],
    ["deeper", END],
  ]);
const around = (p: Probe, sub: unknown): Builder =>
  (
    build(p, { first: undefined, last: undefined }, [
      [START, "first"],
      ["last", END],
    ]) as any
  )
    .addNode("sub", sub)
    .addEdge("first", "sub")
    .addEdge("sub", "last");
shape("plain subgraph", (p) => around(p, inner(p).compile()));
shape("instrumented subgraph", (p) => around(p, watched(p, inner(p)).compile()));
shape("instrumented graph in a node", (p) =>
  around(p, async (s: S) => ({
    log: ((await watched(p, inner(p)).compile().invoke({ messages: s.messages })) as S).log,
  })),
);
zoo.healthy("langgraph subgraph with a checkpointer of its own", async (p) => {
  const graph = watched(p, around(p, watched(p, inner(p)).compile({ checkpointer: true } as never))).compile({
    checkpointer: new MemorySaver(),
  }) as any;
  const config = { configurable: { thread_id: "t" } };
  for (let i = 0; i < 2; ++i) p.saw(await graph.invoke(question, config));
  for await (const state of graph.getStateHistory(config)) p.saw(state);
});
shape("swarm: a subgraph hands over to a node of its parent", (p) => {
  const sub = (new StateGraph(State) as any)
    .addNode(
      "deep",
      node(p, "deep", () => new Command({ goto: "other", graph: Command.PARENT, update: { log: ["handed over"] } })),
      { ends: [] },
    )
    .addEdge(START, "deep");
  return (build(p, { other: undefined }, [["other", END]]) as any)
    .addNode("sub", sub.compile(), { ends: ["other"] })
    .addEdge(START, "sub");
});
const asksTool = new AIMessage({
  content: "",
  id: "call",
  tool_calls: [
    { name: "look", args: { q: "x" }, id: "c1" },
    { name: "look", args: { q: "x" }, id: "c2" },
  ],
});
const agent = (p: Probe, look: () => Promise<string>): Builder =>
  (new StateGraph(MessagesAnnotation) as any)
    .addNode("agent", async ({ messages }: { messages: BaseMessage[] }) => {
      p.reads(messages);
      return { messages: [p.call("model") % 2 === 1 ? asksTool : new AIMessage({ content: "done", id: "done" })] };
    })
    .addNode(
      "tools",
      new ToolNode([
        tool(async () => (p.call("look"), look()), {
          name: "look",
          description: "looks",
          schema: z.object({ q: z.string() }),
        }),
      ]),
    )
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }: { messages: AIMessage[] }) =>
      messages.at(-1)?.tool_calls?.length ? "tools" : END,
    )
    .addEdge("tools", "agent");
shape("agent with tools of equal texts", (p) => agent(p, async () => "the same"));
shape(
  "instrumented graph in a tool",
  (p) => agent(p, async () => String(((await watched(p, inner(p)).compile().invoke(question)) as S).log)),
  parallel,
);
shape("model that streams", (p) => {
  const model = new FakeListChatModel({ responses: ["hello there"] });
  return (new StateGraph(MessagesAnnotation) as any)
    .addNode("m", async (s: any, config: any) => ({
      messages: [
        new AIMessage({ content: String((await model.invoke(s.messages, config)).content), id: `m${p.call("m")}` }),
      ],
    }))
    .addEdge(START, "m")
    .addEdge("m", END);
});
shape("custom stream chunks", (p) =>
  (new StateGraph(State) as any)
    .addNode("a", async (_: S, config: any) => (config.writer?.({ at: p.call("a") }), { log: ["a"] }))
    .addEdge(START, "a")
    .addEdge("a", END),
);
shape(
  "zod state",
  (p) =>
    (new StateGraph(z.object({ n: z.number().default(0) })) as any)
      .addNode("a", async (s: any) => (p.reads(s), { n: s.n + 1 }))
      .addNode("b", async (s: any) => (p.reads(s), { n: s.n + 1 }))
      .addEdge(START, "a")
      .addEdge("a", "b")
      .addEdge("b", END),
  {},
  { n: 1 },
);
shape("functions of the functional API within a node", (p) => {
  const twice = task("twice", async (n: number) => (p.call("twice"), n * 2));
  return build(p, { a: async () => ({ n: (await twice(2)) + (await twice(3)) }) }, [
    [START, "a"],
    ["a", END],
  ]);
});
shape("private input of a node", (p) =>
  (new StateGraph(State) as any)
    .addNode("a", node(p, "a"), { input: Annotation.Root({ n: State.spec.n }) })
    .addEdge(START, "a")
    .addEdge("a", END),
);

const two = (p: Probe): Builder =>
  build(p, { a: undefined, b: undefined, c: undefined }, [
    [START, "a"],
    ["a", "b"],
    ["b", "c"],
    ["c", END],
  ]);
const thread = { configurable: { thread_id: "t" } };
const history = async (p: Probe, graph: any): Promise<void> => {
  for await (const state of graph.getStateHistory(thread)) p.saw(state);
};
zoo.healthy("langgraph cached nodes", async (p) => {
  const graph = (watched(p, new StateGraph(State)) as any)
    .addNode("a", node(p, "a"), { cachePolicy: {} })
    .addNode("b", node(p, "b"), { cachePolicy: {} })
    .addNode("c", node(p, "c"))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addEdge("b", "c")
    .addEdge("c", END)
    .compile({ cache: new InMemoryCache() });
  p.saw(await graph.invoke(question));
  for await (const chunk of await graph.stream(question, { streamMode: ["updates", "tasks"] })) p.saw(chunk);
});
zoo.healthy(
  "langgraph all nodes cached, in parallel",
  async (p) => {
    const graph = (watched(p, new StateGraph(State)) as any)
      .addNode("a", node(p, "a"), { cachePolicy: {} })
      .addNode("b", node(p, "b"), { cachePolicy: {} })
      .addNode("j", node(p, "j"), { cachePolicy: {} })
      .addEdge(START, "a")
      .addEdge(START, "b")
      .addEdge(["a", "b"], "j")
      .addEdge("j", END)
      .compile({ cache: new InMemoryCache() });
    return [await graph.invoke(question), await graph.invoke(question)];
  },
  parallel,
);
zoo.healthy("langgraph retries", (p) => {
  const graph = (watched(p, new StateGraph(State)) as any)
    .addNode(
      "a",
      node(p, "a", (_, call) => {
        if (call < 3) throw new Error("again");
        return { log: ["a"] };
      }),
      { retryPolicy: { maxAttempts: 3, initialInterval: 1, jitter: false } },
    )
    .addEdge(START, "a")
    .addEdge("a", END);
  return graph.compile().invoke(question);
});
zoo.healthy("langgraph interrupt and resume", async (p) => {
  const graph = watched(
    p,
    build(p, { a: undefined, ask: () => ({ log: [String(interrupt("who?"))] }), b: undefined }, [
      [START, "a"],
      ["a", "ask"],
      ["ask", "b"],
      ["b", END],
    ]),
  ).compile({ checkpointer: new MemorySaver() }) as any;
  p.saw(await graph.invoke(question, thread));
  p.saw(await graph.getState(thread));
  p.saw(await graph.invoke(new Command({ resume: "me" }), thread));
  await history(p, graph);
});
zoo.healthy(
  "langgraph two parallel interrupts",
  async (p) => {
    const ask = (name: string) => () => ({ log: [name + String(interrupt(name))] });
    const graph = watched(
      p,
      build(p, { a: ask("a"), b: ask("b"), c: undefined, j: undefined }, [
        [START, "a"],
        [START, "b"],
        [START, "c"],
        [["a", "b", "c"], "j"],
        ["j", END],
      ]),
    ).compile({ checkpointer: new MemorySaver() }) as any;
    const first = p.saw(await graph.invoke(question, thread));
    const resume = Object.fromEntries(first.__interrupt__.map((i: any) => [i.id, "yes"]));
    return graph.invoke(new Command({ resume }), thread);
  },
  parallel,
);
zoo.healthy("langgraph breakpoints", async (p) => {
  const graph = watched(p, two(p)).compile({
    checkpointer: new MemorySaver(),
    interruptBefore: ["b"] as never,
    interruptAfter: ["b"] as never,
  }) as any;
  for (const input of [question, null, null]) p.saw(await graph.invoke(input, thread));
  await history(p, graph);
});
for (const [first, name] of [
  [true, "begun with digd and resumed without"],
  [false, "begun without digd and resumed with it"],
] as const) {
  zoo.healthy(`langgraph thread ${name}`, async (p) => {
    const checkpointer = new MemorySaver();
    const make = (attach: boolean): any =>
      (attach ? watched(p, two(p)) : two(p)).compile({ checkpointer, interruptAfter: ["a"] as never });
    p.saw(await make(first).invoke(question, thread));
    p.saw(await make(!first).invoke(null, thread));
    await history(p, make(false));
  });
}
zoo.healthy("langgraph updateState, and a fork of the past", async (p) => {
  const graph = watched(p, two(p)).compile({ checkpointer: new MemorySaver() }) as any;
  await graph.invoke(question, thread);
  const states: any[] = [];
  for await (const state of graph.getStateHistory(thread)) states.push(state);
  const before = states.find((s) => s.next[0] === "b");
  p.saw(await graph.invoke(null, before.config));
  await graph.updateState(thread, { log: ["by hand"] }, "a");
  p.saw(await graph.invoke(null, thread));
});
zoo.healthy("langgraph several turns on a thread", async (p) => {
  const graph = watched(p, two(p)).compile({ checkpointer: new MemorySaver() }) as any;
  for (let i = 0; i < 3; ++i)
    p.saw(await graph.invoke({ messages: [new HumanMessage({ content: "again", id: `h${i}` })] }, thread));
});
zoo.healthy("langgraph a Command as input", async (p) => {
  const graph = watched(p, two(p)).compile({ checkpointer: new MemorySaver() }) as any;
  await graph.invoke(question, thread);
  return graph.invoke(new Command({ goto: "b", update: { log: ["jump"] } }), thread);
});
zoo.healthy(
  "langgraph recursion limit",
  (p) =>
    watched(
      p,
      build(p, { a: undefined, b: undefined }, [
        [START, "a"],
        ["a", "b"],
        ["b", "a"],
      ]),
    )
      .compile()
      .invoke(question, { recursionLimit: 7 })
      .catch((error: Error) => [error.name, error.message]),
  {
    reports: true,
  },
);
zoo.healthy("langgraph exactly as many steps as allowed", (p) =>
  watched(p, two(p)).compile().invoke(question, { recursionLimit: 4 }),
);
zoo.healthy("langgraph cancelled by a signal", async (p) => {
  const control = new AbortController();
  const graph = watched(
    p,
    build(p, { a: () => (control.abort(), { log: ["a"] }), b: undefined }, [
      [START, "a"],
      ["a", "b"],
      ["b", END],
    ]),
  ).compile() as any;
  return graph.invoke(question, { signal: control.signal }).catch((error: Error) => [error.name, error.message]);
});
zoo.healthy("langgraph a stream that its reader leaves", async (p) => {
  const graph = watched(p, two(p)).compile() as any;
  for await (const chunk of await graph.stream(question, { streamMode: "updates" })) {
    p.saw(chunk);
    break;
  }
});
zoo.healthy(
  "langgraph batch and withConfig",
  async (p) => {
    const graph = (watched(p, two(p)).compile() as any).withConfig({ tags: ["x"] });
    return graph.batch([question, question]);
  },
  parallel,
);
zoo.healthy("langgraph streamEvents", async (p) => {
  const graph = watched(p, two(p)).compile() as any;
  for await (const event of graph.streamEvents(question, { version: "v2" }))
    p.saw([event.event, event.name, event.data, event.metadata, event.tags]);
});
zoo.healthy("langgraph compiled graph", async (p) => {
  const graph = two(p).compile() as any;
  return watched(p, graph).invoke(question);
});
zoo.healthy("langgraph debug output", (p) => (watched(p, two(p)).compile() as any).invoke(question, { debug: true }));
zoo.healthy("langgraph joins and subgraphs with an error handler", async (p) => {
  const builder = build(p, { c: undefined }, [["c", END]]) as any;
  builder
    .addNode(
      "a",
      node(p, "a", () => {
        throw new Error("no luck");
      }),
      { errorHandler: async () => (p.call("handler"), { log: ["handled"] }) },
    )
    .addEdge(START, "a")
    .addEdge("a", "c");
  return watched(p, builder).compile().invoke(question);
});

/** A model that takes tools, and calls one of them first. */
class ToolModel extends FakeListChatModel {
  override bindTools(): any {
    return this;
  }
  override async _generate(messages: BaseMessage[], ...more: any[]): Promise<any> {
    const answer = await (super._generate as any)(messages, ...more);
    if (messages.some((m) => m.getType() === "tool"))
      return { generations: [{ text: "done", message: new AIMessage({ content: "done", id: "done" }) }] };
    return answer && { generations: [{ text: "", message: asksTool }] };
  }
}
zoo.healthy(
  "langgraph prebuilt agent, and as a node of another graph",
  async (p) => {
    const tools = [
      tool(async () => (p.call("look"), "seen"), {
        name: "look",
        description: "looks",
        schema: z.object({ q: z.string() }),
      }),
    ];
    const prebuilt = createReactAgent({ llm: new ToolModel({ responses: ["x"] }), tools }) as any;
    p.saw(await watched(p, prebuilt).invoke(question));
    const outer = (new StateGraph(MessagesAnnotation) as any)
      .addNode("agent", prebuilt)
      .addEdge(START, "agent")
      .addEdge("agent", END);
    const graph = watched(p, outer).compile({ checkpointer: new MemorySaver() });
    for await (const chunk of await graph.stream(question, {
      ...thread,
      streamMode: ["values", "updates", "messages", "debug"],
      subgraphs: true,
    }))
      p.saw(chunk);
  },
  parallel,
);
zoo.healthy(
  "langgraph a wide fan-out by Send",
  async (p) => {
    const builder = build(p, { plan: undefined, work: (s) => ({ log: [String(s.n)] }), reduce: undefined }, [
      [START, "plan"],
      ["work", "reduce"],
      ["reduce", END],
    ]).addConditionalEdges(
      "plan" as never,
      () => Array.from({ length: 300 }, (_, n) => new Send("work", { n })) as never,
    );
    return watched(p, builder).compile().invoke(question);
  },
  parallel,
);
zoo.healthy("langgraph a long loop", async (p) => {
  const builder = build(p, { a: (s) => ({ n: s.n + 1 }), b: undefined }, [
    [START, "a"],
    ["a", "b"],
  ]).addConditionalEdges("b" as never, (s: S) => (s.n < 100 ? "a" : END) as never);
  return watched(p, builder).compile().invoke({ n: 0 }, { recursionLimit: 300 });
});
zoo.healthy(
  "langgraph a deferred node after a conditional fan-out, and a second one",
  async (p) =>
    observe(p, () =>
      build(
        p,
        { a: undefined, b: undefined, c: undefined, d: undefined, e: undefined },
        [
          [START, "a"],
          ["b", "d"],
          ["c", "d"],
          ["a", "e"],
          ["d", "e"],
          ["e", END],
        ],
        ["d", "e"],
      ).addConditionalEdges("a" as never, () => ["b", "c"] as never),
    ),
  parallel,
);
zoo.healthy("langgraph an optional branch that joins without a list", async (p) =>
  observe(p, () =>
    build(p, { a: undefined, b: undefined, c: undefined, d: undefined }, [
      [START, "a"],
      ["b", "d"],
      ["c", "d"],
      ["d", END],
    ]).addConditionalEdges("a" as never, () => ["c"] as never),
  ),
);
zoo.healthy(
  "langgraph Send of a whole state, and a bare goto with Send",
  async (p) =>
    observe(p, () =>
      build(
        p,
        {
          a: (s) => new Command({ goto: [new Send("b", s), new Send("c", s)] }),
          b: undefined,
          c: () => new Command({ goto: "d" }),
          d: undefined,
        },
        [
          [START, "a"],
          ["b", END],
          ["d", END],
        ],
      ),
    ),
  parallel,
);
zoo.healthy(
  "langgraph five invocations at once",
  async (p) => {
    const graph = watched(p, two(p)).compile() as any;
    return Promise.all(Array.from({ length: 5 }, () => graph.invoke(question)));
  },
  parallel,
);

// ---- broken graphs: their nodes play a model that looks at the last message, and acts on digd's text

const reads = (state: S, word: string): boolean =>
  state.messages.length > 0 &&
  HumanMessage.isInstance(state.messages.at(-1)) &&
  state.messages.at(-1)?.id !== "m0" &&
  String(state.messages.at(-1)?.content).includes(word);
const fail = (p: Probe, ok: boolean, seen: unknown): void => expect(ok, JSON.stringify(seen)).toBe(p.enforces);

zoo.broken("langgraph goto an agent that does not exist", "orphaned_event", async (p) => {
  const builder = build(
    p,
    {
      boss: (s) => new Command({ update: { log: ["boss"] }, goto: reads(s, "coder") ? "coder" : "ghost" }),
      coder: undefined,
    },
    [
      [START, "boss"],
      ["coder", END],
    ],
  );
  const out = (await watched(p, builder).compile().invoke(question)) as S;
  fail(p, out.log.includes("coder"), out.log);
  expect(out.messages).toHaveLength(1);
  return out;
});
zoo.broken(
  "langgraph an answer while a join waits for a branch that nobody started",
  "early_termination",
  async (p) => {
    const nodes = {
      a: undefined,
      b: undefined,
      join: undefined,
      out: (s: S) => new Command({ update: { log: ["out"] }, goto: reads(s, "join") ? "b" : END }),
    };
    const out = (await watched(
      p,
      build(p, nodes, [
        [START, "a"],
        ["a", "out"],
        [["a", "b"], "join"],
        ["join", END],
      ]),
    )
      .compile()
      .invoke(question)) as S;
    fail(p, out.log.at(-1) === "join", out.log);
    return out;
  },
);
zoo.broken("langgraph nodes that pass the same work to and fro", "excessive_rerouting", async (p) => {
  const pass = (to: string) => (s: S, call: number) =>
    reads(s, "passed on") || call > 6
      ? { log: [reads(s, "passed on") ? "handled" : "gave up"] }
      : new Command({ goto: to });
  const out = (await watched(p, build(p, { a: pass("b"), b: pass("a") }, [[START, "a"]]))
    .compile()
    .invoke(question)) as S;
  fail(p, out.log.at(-1) === "handled", out.log);
  return out;
});
const woken = (p: Probe): LangGraphOptions => (p.enforces ? { waitForHealingMs: 20_000 } : {});
zoo.broken(
  "langgraph no node reaches the answer",
  "missing_termination",
  async (p) => {
    const builder = build(
      p,
      { a: (s) => new Command({ update: { log: ["a"] }, goto: reads(s, "") ? "answer" : END }), answer: undefined },
      [
        [START, "a"],
        ["answer", END],
      ],
    );
    const out = (await watched(p, builder, { submits: ["answer"], ...woken(p) })
      .compile()
      .invoke(question)) as S;
    fail(p, out.log.at(-1) === "answer", out.log);
    return out;
  },
  { rules: { missing_termination: { window_ms: 200, max_attempts: 1 } } },
);
zoo.broken(
  "langgraph every branch waits at a join",
  "deadlock",
  async (p) => {
    const builder = build(p, { a: undefined, b: undefined, join: undefined }, [
      [START, "a"],
      [["a", "b"], "join"],
      ["join", END],
    ]);
    const out = (await watched(p, builder, woken(p)).compile().invoke(question)) as S;
    fail(p, out.log.includes("b"), out.log);
    return out;
  },
  { rules: { deadlock: { window_ms: 200, max_attempts: 1 } } },
);
zoo.broken("langgraph a node without messages that asks for notes", "orphaned_event", async (p) => {
  const Plain = Annotation.Root({ log: State.spec.log });
  const builder = (new StateGraph(Plain) as any)
    .addNode(
      "boss",
      async (_: unknown, config: unknown) => (
        p.call("boss"),
        new Command({ update: { log: ["boss"] }, goto: notes(config).length > 0 ? "coder" : "ghost" })
      ),
      { ends: ["coder"] },
    )
    .addNode("coder", async () => ({ log: ["coder"] }))
    .addEdge(START, "boss")
    .addEdge("coder", END);
  const out = (await watched(p, builder as Builder)
    .compile()
    .invoke({ log: [] })) as any;
  fail(p, out.log.includes("coder"), out.log);
  return out;
});

zoo.register(() => daemon);
