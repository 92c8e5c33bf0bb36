// Healthy LangGraph.js graphs by their nodes: subgraphs, tools, models, custom state.
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import {
  Annotation,
  Command,
  END,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
  task,
} from "@langchain/langgraph";
import { createReactAgent, ToolNode } from "@langchain/langgraph/prebuilt";
import { z } from "zod";
import {
  build,
  node,
  parallel,
  question,
  shapesOf,
  State,
  threadConfig,
  watched,
  type Builder,
  type S,
} from "./langgraph-graphs.js";
import { Zoo, type Probe } from "./harness.js";

const zoo = new Zoo();
const shape = shapesOf(zoo);

const innerGraph = (p: Probe): Builder =>
  build(p, { deep: undefined, deeper: undefined }, [
    [START, "deep"],
    ["deep", "deeper"],
    ["deeper", END],
  ]);
const outerGraph = (p: Probe, sub: unknown): Builder =>
  (
    build(p, { first: undefined, last: undefined }, [
      [START, "first"],
      ["last", END],
    ]) as any
  )
    .addNode("sub", sub)
    .addEdge("first", "sub")
    .addEdge("sub", "last");
shape("plain subgraph", (p) => outerGraph(p, innerGraph(p).compile()));
shape("instrumented subgraph", (p) => outerGraph(p, watched(p, innerGraph(p)).compile()));
shape("instrumented graph in a node", (p) =>
  outerGraph(p, async (s: S) => ({
    log: ((await watched(p, innerGraph(p)).compile().invoke({ messages: s.messages })) as S).log,
  })),
);
zoo.healthy("langgraph subgraph with a checkpointer of its own", async (p) => {
  const graph = watched(p, outerGraph(p, watched(p, innerGraph(p)).compile({ checkpointer: true } as never))).compile({
    checkpointer: new MemorySaver(),
  }) as any;
  const config = { configurable: { thread_id: "t" } };
  for (let i = 0; i < 2; ++i) p.record(await graph.invoke(question, config));
  for await (const state of graph.getStateHistory(config)) p.record(state);
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
const toolCalls = new AIMessage({
  content: "",
  id: "call",
  tool_calls: [
    { name: "look", args: { q: "x" }, id: "c1" },
    { name: "look", args: { q: "x" }, id: "c2" },
  ],
});
const toolAgent = (p: Probe, look: () => Promise<string>): Builder =>
  (new StateGraph(MessagesAnnotation) as any)
    .addNode("agent", async ({ messages }: { messages: BaseMessage[] }) => {
      p.recordInput(messages);
      return {
        messages: [p.countCall("model") % 2 === 1 ? toolCalls : new AIMessage({ content: "done", id: "done" })],
      };
    })
    .addNode(
      "tools",
      new ToolNode([
        tool(async () => (p.countCall("look"), look()), {
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
shape("agent with tools of equal texts", (p) => toolAgent(p, async () => "the same"));
shape(
  "instrumented graph in a tool",
  (p) => toolAgent(p, async () => String(((await watched(p, innerGraph(p)).compile().invoke(question)) as S).log)),
  parallel,
);
shape("model that streams", (p) => {
  const model = new FakeListChatModel({ responses: ["hello there"] });
  return (new StateGraph(MessagesAnnotation) as any)
    .addNode("m", async (s: any, config: any) => ({
      messages: [
        new AIMessage({
          content: String((await model.invoke(s.messages, config)).content),
          id: `m${p.countCall("m")}`,
        }),
      ],
    }))
    .addEdge(START, "m")
    .addEdge("m", END);
});
shape("custom stream chunks", (p) =>
  (new StateGraph(State) as any)
    .addNode("a", async (_: S, config: any) => (config.writer?.({ at: p.countCall("a") }), { log: ["a"] }))
    .addEdge(START, "a")
    .addEdge("a", END),
);
shape(
  "zod state",
  (p) =>
    (new StateGraph(z.object({ n: z.number().default(0) })) as any)
      .addNode("a", async (s: any) => (p.recordInput(s), { n: s.n + 1 }))
      .addNode("b", async (s: any) => (p.recordInput(s), { n: s.n + 1 }))
      .addEdge(START, "a")
      .addEdge("a", "b")
      .addEdge("b", END),
  {},
  { n: 1 },
);
shape("functions of the functional API within a node", (p) => {
  const twice = task("twice", async (n: number) => (p.countCall("twice"), n * 2));
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

/** A model that calls a tool first, and answers after the tool's result. */
class ToolModel extends FakeListChatModel {
  override bindTools(): any {
    return this;
  }
  override async _generate(messages: BaseMessage[], ...more: any[]): Promise<any> {
    const answer = await (super._generate as any)(messages, ...more);
    if (messages.some((m) => m.getType() === "tool"))
      return { generations: [{ text: "done", message: new AIMessage({ content: "done", id: "done" }) }] };
    return answer && { generations: [{ text: "", message: toolCalls }] };
  }
}
zoo.healthy(
  "langgraph prebuilt agent, and as a node of another graph",
  async (p) => {
    const tools = [
      tool(async () => (p.countCall("look"), "seen"), {
        name: "look",
        description: "looks",
        schema: z.object({ q: z.string() }),
      }),
    ];
    const prebuilt = createReactAgent({ llm: new ToolModel({ responses: ["x"] }), tools }) as any;
    p.record(await watched(p, prebuilt).invoke(question));
    const outer = (new StateGraph(MessagesAnnotation) as any)
      .addNode("agent", prebuilt)
      .addEdge(START, "agent")
      .addEdge("agent", END);
    const graph = watched(p, outer).compile({ checkpointer: new MemorySaver() });
    for await (const chunk of await graph.stream(question, {
      ...threadConfig,
      streamMode: ["values", "updates", "messages", "debug"],
      subgraphs: true,
    }))
      p.record(chunk);
  },
  parallel,
);

zoo.register();
