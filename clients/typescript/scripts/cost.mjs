// Measures the cost of the client when no daemon listens: a small run (connect, an event, an activation with an answer,
// end) as the first of a fresh process, as the first of a process that has used the network, and later. `npm run cost`.
import { execFileSync } from "node:child_process";
import { connect as connectSocket, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { connect } from "@digd/client";

const processes = 20;
const rounds = 200;
const median = (times) => [...times].sort((a, b) => a - b)[times.length >> 1];
const refused = (port) => new Promise((done) => connectSocket({ host: "127.0.0.1", port }).once("error", done));

async function run(port, lines) {
  const [from, used] = [performance.now(), process.cpuUsage()];
  const small = await connect({ url: `ws://127.0.0.1:${port}`, log: (line) => lines.push(line) });
  await small.activation("planner", [await small.emit(["planner"])], (a) => a.submit("done"));
  await small.end();
  const { user, system } = process.cpuUsage(used);
  return { wall: performance.now() - from, cpu: (user + system) / 1000 };
}

async function child(port, warm) {
  if (warm) for (let i = 0; i < 3; ++i) await refused(port); // as a program that has called a model
  const lines = [];
  const first = await run(port, lines);
  const later = [];
  for (let i = 0; i < rounds; ++i) later.push(await run(port, lines));
  console.log(
    JSON.stringify({
      first,
      later: { wall: median(later.map((r) => r.wall)), cpu: median(later.map((r) => r.cpu)) },
      lines: lines.length / (rounds + 1),
    }),
  );
}

async function main() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done)); // no process listens at this port now
  const measure = (warm) =>
    Array.from({ length: processes }, () =>
      JSON.parse(
        execFileSync(process.execPath, [fileURLToPath(import.meta.url), String(port), warm], { encoding: "utf8" }),
      ),
    );
  const [fresh, used] = [measure(""), measure("warm")];
  const row = (title, values) =>
    console.log(
      `${title.padEnd(54)} ${median(values.map((v) => v.wall))
        .toFixed(2)
        .padStart(6)} ${median(values.map((v) => v.cpu))
        .toFixed(2)
        .padStart(6)}`,
    );
  console.log(
    `no daemon listens; node ${process.version}; medians of ${processes} processes, ms`.padEnd(56) + " wall    cpu",
  );
  row(
    `a run (each process: the median of ${rounds})`,
    used.map((m) => m.later),
  );
  row(
    "the first of a process that has used the network",
    used.map((m) => m.first),
  );
  row(
    "the first of a fresh process (Node loads its network)",
    fresh.map((m) => m.first),
  );
  console.log(`log lines a run: ${median(used.map((m) => m.lines))}`);
}

if (process.argv[2]) await child(Number(process.argv[2]), process.argv[3] === "warm");
else await main();
