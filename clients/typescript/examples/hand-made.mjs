// A system of three agents without a framework. The planner answers too early, gets its answer back, and finishes the
// work.
//
// build/release/bin/digd &        node examples/hand-made.mjs
import { connect } from "@digd/client";

const run = await connect({ agents: ["planner", "coder", "tester"], labels: { example: "hand-made" } });
const task = await run.emit(["planner"], { kind: "problem", payload: { text: "a function that adds" } });

const [plan, early] = await run.activation("planner", [task], async (a) => [
  await a.emit(["coder"], { kind: "plan", payload: { text: "write add(a, b)" } }),
  await a.submit({ text: "done, I think" }),
]);
console.log(`submitted too early: ${early.action} to ${early.recipients}\n  ${early.inject ?? ""}`);

const code = await run.activation("coder", [plan], (a) =>
  a.output(["tester"], { kind: "code", payload: { text: "const add = (a, b) => a + b;" } }),
);
const report = await run.activation("tester", [await code.verdict], (a) =>
  a.output(["planner"], { kind: "report", payload: { text: "it adds" } }),
);
const answer = await run.activation(
  "planner",
  early.givenBack ? [early, await report.verdict] : [await report.verdict],
  (a) => a.submit({ text: "it adds, and is tested" }),
);
console.log(`submitted again: ${answer.action}`);
console.log(
  (await run.end("success"))
    ? `everything is recorded: digctl show ${run.id}`
    : "no daemon was listening; the run went on unchanged",
);
