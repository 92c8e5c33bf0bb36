// Broken LangGraph.js graphs. Their nodes play a model that acts on digd's text in the last message.
import { HumanMessage } from "@langchain/core/messages";
import { Annotation, Command, END, START, StateGraph } from "@langchain/langgraph";
import { expect } from "vitest";
import { notes, type LangGraphOptions } from "../src/langgraph.js";
import { build, question, State, watched, type Builder, type S } from "./langgraph-graphs.js";
import { Zoo, type Probe } from "./harness.js";

const zoo = new Zoo();

const readsText = (state: S, word: string): boolean =>
  state.messages.length > 0 &&
  HumanMessage.isInstance(state.messages.at(-1)) &&
  state.messages.at(-1)?.id !== "m0" &&
  String(state.messages.at(-1)?.content).includes(word);
const expectIfEnforced = (p: Probe, ok: boolean, observed: unknown): void =>
  expect(ok, JSON.stringify(observed)).toBe(p.enforces);

zoo.broken("langgraph goto an agent that does not exist", "orphaned_event", async (p) => {
  const builder = build(
    p,
    {
      boss: (s) => new Command({ update: { log: ["boss"] }, goto: readsText(s, "coder") ? "coder" : "ghost" }),
      coder: undefined,
    },
    [
      [START, "boss"],
      ["coder", END],
    ],
  );
  const state = (await watched(p, builder).compile().invoke(question)) as S;
  expectIfEnforced(p, state.log.includes("coder"), state.log);
  expect(state.messages).toHaveLength(1);
  return state;
});
zoo.broken(
  "langgraph an answer while a join waits for a branch that was never started",
  "early_termination",
  async (p) => {
    const nodes = {
      a: undefined,
      b: undefined,
      join: undefined,
      out: (s: S) => new Command({ update: { log: ["out"] }, goto: readsText(s, "join") ? "b" : END }),
    };
    const state = (await watched(
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
    expectIfEnforced(p, state.log.at(-1) === "join", state.log);
    return state;
  },
);
zoo.broken("langgraph nodes that pass the same work back and forth", "excessive_rerouting", async (p) => {
  const pass = (to: string) => (s: S, call: number) =>
    readsText(s, "passed on") || call > 6
      ? { log: [readsText(s, "passed on") ? "handled" : "gave up"] }
      : new Command({ goto: to });
  const state = (await watched(p, build(p, { a: pass("b"), b: pass("a") }, [[START, "a"]]))
    .compile()
    .invoke(question)) as S;
  expectIfEnforced(p, state.log.at(-1) === "handled", state.log);
  return state;
});
const waitIfEnforced = (p: Probe): LangGraphOptions => (p.enforces ? { waitForHealingMs: 20_000 } : {});
zoo.broken(
  "langgraph no node reaches the answer",
  "missing_termination",
  async (p) => {
    const builder = build(
      p,
      { a: (s) => new Command({ update: { log: ["a"] }, goto: readsText(s, "") ? "answer" : END }), answer: undefined },
      [
        [START, "a"],
        ["answer", END],
      ],
    );
    const state = (await watched(p, builder, { submits: ["answer"], ...waitIfEnforced(p) })
      .compile()
      .invoke(question)) as S;
    expectIfEnforced(p, state.log.at(-1) === "answer", state.log);
    return state;
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
    const state = (await watched(p, builder, waitIfEnforced(p)).compile().invoke(question)) as S;
    expectIfEnforced(p, state.log.includes("b"), state.log);
    return state;
  },
  { rules: { deadlock: { window_ms: 200, max_attempts: 1 } } },
);
zoo.broken("langgraph a node without messages that calls notes", "orphaned_event", async (p) => {
  const Plain = Annotation.Root({ log: State.spec.log });
  const builder = (new StateGraph(Plain) as any)
    .addNode(
      "boss",
      async (_: unknown, config: unknown) => (
        p.countCall("boss"),
        new Command({ update: { log: ["boss"] }, goto: notes(config).length > 0 ? "coder" : "ghost" })
      ),
      { ends: ["coder"] },
    )
    .addNode("coder", async () => ({ log: ["coder"] }))
    .addEdge(START, "boss")
    .addEdge("coder", END);
  const state = (await watched(p, builder as Builder)
    .compile()
    .invoke({ log: [] })) as any;
  expectIfEnforced(p, state.log.includes("coder"), state.log);
  return state;
});

zoo.register();
