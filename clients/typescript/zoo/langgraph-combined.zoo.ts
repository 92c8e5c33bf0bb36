// Healthy LangGraph.js graphs that are large, or that combine several kinds of edges.
import { Command, END, Send, START } from "@langchain/langgraph";
import { build, observe, parallel, question, watched, type S } from "./langgraph-graphs.js";
import { Zoo } from "./harness.js";

const zoo = new Zoo();

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

zoo.register();
