// What the client costs a run when no daemon listens: the time until `connect` returns, what each emit takes then, and
// the lines in the log. `npm run cost` (after `npm run build`).
import { createServer } from "node:net";
import { connect } from "@digd/client";

const rounds = 200;
const emits = 1000;
const median = (times) => [...times].sort((a, b) => a - b)[times.length >> 1];
const ms = (value) => value.toFixed(3);

// A port that was free a moment ago: nobody listens there.
const server = createServer();
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const { port } = server.address();
await new Promise((done) => server.close(done));

const lines = [];
const connects = [];
const runs = [];
const each = [];
for (let round = 0; round < rounds; ++round) {
  const from = performance.now();
  const run = await connect({ url: `ws://127.0.0.1:${port}`, log: (line) => lines.push(line) });
  connects.push(performance.now() - from);
  await run.activation("planner", [await run.emit(["planner"])], (a) => a.submit("done"));
  await run.end();
  runs.push(performance.now() - from);
}
{
  const run = await connect({ url: `ws://127.0.0.1:${port}`, log: () => {} });
  for (let i = 0; i < emits; ++i) {
    const from = performance.now();
    await run.emit(["planner"], { payload: { text: "…" } });
    each.push(performance.now() - from);
  }
  await run.end();
}
console.log(`no daemon at 127.0.0.1:${port}, node ${process.version}`);
console.log(`whole run, first        ${ms(runs[0])} ms`);
console.log(`whole run, median       ${ms(median(runs))} ms of ${rounds}`);
console.log(`connect, median         ${ms(median(connects))} ms`);
console.log(`emit, median            ${ms(median(each))} ms of ${emits}`);
console.log(`log lines a run         ${lines.length / rounds}`);
if (median(runs) >= 1 || lines.length !== rounds) {
  console.error("expected under 1 ms and one log line");
  process.exitCode = 1;
}
