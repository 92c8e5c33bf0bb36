// Healthy runs of LangGraph.js graphs: caches, retries, interrupts, checkpoints, limits, streams and errors.
import { HumanMessage } from "@langchain/core/messages";
import { Command, END, interrupt, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { InMemoryCache } from "@langchain/langgraph-checkpoint";
import {
  build,
  node,
  parallel,
  question,
  recordHistory,
  State,
  threadConfig,
  threeNodes,
  watched,
} from "./langgraph-graphs.js";
import { Zoo } from "./harness.js";

const zoo = new Zoo();

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
  p.record(await graph.invoke(question));
  for await (const chunk of await graph.stream(question, { streamMode: ["updates", "tasks"] })) p.record(chunk);
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
  p.record(await graph.invoke(question, threadConfig));
  p.record(await graph.getState(threadConfig));
  p.record(await graph.invoke(new Command({ resume: "me" }), threadConfig));
  await recordHistory(p, graph);
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
    const first = p.record(await graph.invoke(question, threadConfig));
    const resume = Object.fromEntries(first.__interrupt__.map((i: any) => [i.id, "yes"]));
    return graph.invoke(new Command({ resume }), threadConfig);
  },
  parallel,
);
zoo.healthy("langgraph breakpoints", async (p) => {
  const graph = watched(p, threeNodes(p)).compile({
    checkpointer: new MemorySaver(),
    interruptBefore: ["b"] as never,
    interruptAfter: ["b"] as never,
  }) as any;
  for (const input of [question, null, null]) p.record(await graph.invoke(input, threadConfig));
  await recordHistory(p, graph);
});
for (const [first, name] of [
  [true, "begun with digd and resumed without"],
  [false, "begun without digd and resumed with it"],
] as const) {
  zoo.healthy(`langgraph thread ${name}`, async (p) => {
    const checkpointer = new MemorySaver();
    const make = (attach: boolean): any =>
      (attach ? watched(p, threeNodes(p)) : threeNodes(p)).compile({ checkpointer, interruptAfter: ["a"] as never });
    p.record(await make(first).invoke(question, threadConfig));
    p.record(await make(!first).invoke(null, threadConfig));
    await recordHistory(p, make(false));
  });
}
zoo.healthy("langgraph updateState, and a fork of the past", async (p) => {
  const graph = watched(p, threeNodes(p)).compile({ checkpointer: new MemorySaver() }) as any;
  await graph.invoke(question, threadConfig);
  const states: any[] = [];
  for await (const state of graph.getStateHistory(threadConfig)) states.push(state);
  const before = states.find((s) => s.next[0] === "b");
  p.record(await graph.invoke(null, before.config));
  await graph.updateState(threadConfig, { log: ["by hand"] }, "a");
  p.record(await graph.invoke(null, threadConfig));
});
zoo.healthy("langgraph several turns on a thread", async (p) => {
  const graph = watched(p, threeNodes(p)).compile({ checkpointer: new MemorySaver() }) as any;
  for (let i = 0; i < 3; ++i)
    p.record(await graph.invoke({ messages: [new HumanMessage({ content: "again", id: `h${i}` })] }, threadConfig));
});
zoo.healthy("langgraph a Command as input", async (p) => {
  const graph = watched(p, threeNodes(p)).compile({ checkpointer: new MemorySaver() }) as any;
  await graph.invoke(question, threadConfig);
  return graph.invoke(new Command({ goto: "b", update: { log: ["jump"] } }), threadConfig);
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
    mayReport: true,
  },
);
zoo.healthy("langgraph exactly as many steps as allowed", (p) =>
  watched(p, threeNodes(p)).compile().invoke(question, { recursionLimit: 4 }),
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
  const graph = watched(p, threeNodes(p)).compile() as any;
  for await (const chunk of await graph.stream(question, { streamMode: "updates" })) {
    p.record(chunk);
    break;
  }
});
zoo.healthy(
  "langgraph batch and withConfig",
  async (p) => {
    const graph = (watched(p, threeNodes(p)).compile() as any).withConfig({ tags: ["x"] });
    return graph.batch([question, question]);
  },
  parallel,
);
zoo.healthy("langgraph streamEvents", async (p) => {
  const graph = watched(p, threeNodes(p)).compile() as any;
  for await (const event of graph.streamEvents(question, { version: "v2" }))
    p.record([event.event, event.name, event.data, event.metadata, event.tags]);
});
zoo.healthy("langgraph compiled graph", async (p) => {
  const graph = threeNodes(p).compile() as any;
  return watched(p, graph).invoke(question);
});
zoo.healthy("langgraph debug output", (p) =>
  (watched(p, threeNodes(p)).compile() as any).invoke(question, { debug: true }),
);
zoo.healthy("langgraph joins and subgraphs with an error handler", async (p) => {
  const builder = build(p, { c: undefined }, [["c", END]]) as any;
  builder
    .addNode(
      "a",
      node(p, "a", () => {
        throw new Error("no luck");
      }),
      { errorHandler: async () => (p.countCall("handler"), { log: ["handled"] }) },
    )
    .addEdge(START, "a")
    .addEdge("a", "c");
  return watched(p, builder).compile().invoke(question);
});
zoo.healthy(
  "langgraph five invocations at once",
  async (p) => {
    const graph = watched(p, threeNodes(p)).compile() as any;
    return Promise.all(Array.from({ length: 5 }, () => graph.invoke(question)));
  },
  parallel,
);

zoo.healthy(
  "langgraph graph that a node starts in the background",
  async (p) => {
    let isAnswered = (): void => {};
    const answered = new Promise<void>((resolve) => (isAnswered = resolve));
    const logger = (watched(p, new StateGraph(State)) as any)
      .addNode("waits", async (s: any) => {
        await answered;
        return node(p, "waits")(s);
      })
      .addNode("late", node(p, "late"))
      .addEdge(START, "waits")
      .addEdge("waits", "late")
      .compile();
    const started: Promise<unknown>[] = [];
    const graph = (watched(p, new StateGraph(State)) as any)
      .addNode("starts", (s: any) => {
        started.push(logger.invoke(question));
        return node(p, "starts")(s);
      })
      .addNode("answers", node(p, "answers"))
      .addEdge(START, "starts")
      .addEdge("starts", "answers")
      .compile();
    const result = await graph.invoke(question);
    isAnswered();
    return [result, ...(await Promise.all(started))];
  },
  parallel,
);

zoo.register();
