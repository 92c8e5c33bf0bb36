// Healthy LangGraph.js graphs by their edges: chains, branches, joins, loops, Send and goto.
import { AIMessage } from "@langchain/core/messages";
import { Command, END, Send, START } from "@langchain/langgraph";
import { build, parallel, shapesOf, type Builder, type S } from "./langgraph-graphs.js";
import { Zoo, type Probe } from "./harness.js";

const zoo = new Zoo();
const shape = shapesOf(zoo);

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
    build(p, { plan: undefined, first: undefined, mid: undefined, second: undefined, end: undefined }, [
      [START, "plan"],
      ["first", "mid"],
      ["second", "end"],
      ["end", END],
    ])
      .addConditionalEdges("plan" as never, () => [new Send("first", { n: 1 }), new Send("first", { n: 2 })] as never)
      .addConditionalEdges("mid" as never, () => [new Send("second", { n: 3 }), new Send("second", { n: 4 })] as never),
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
shape("goto with updates back and forth", (p) =>
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

zoo.register();
