// A run that another daemon has: the client follows `moved` (docs/protocol.md).
import { createServer, type AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { connect, Run, type RunOptions } from "../src/index.js";
import { Daemon, until } from "./daemon.js";

const log: string[] = [];
const servers: WebSocketServer[] = [];
let daemon: Daemon;
const open = (options: RunOptions): Promise<Run> =>
  connect({ agents: ["a", "b"], log: (line) => void log.push(line), deadlineMs: 5000, ...options });

beforeEach(() => void log.splice(0));
afterEach(async () => {
  for (const server of servers.splice(0)) server.close();
  await daemon?.stop();
});

/** A server that answers each hello with `moved`, to each address in turn and then to the last; "": to itself. */
async function movingDaemon(...to: string[]): Promise<{ url: string; hellos: string[] }> {
  const hellos: string[] = [];
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  servers.push(server);
  await new Promise((next) => server.once("listening", next));
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.on("connection", (socket) =>
    socket.on("message", (hello) => {
      hellos.push(String(hello));
      const address = to[Math.min(hellos.length, to.length) - 1] || url;
      socket.send(JSON.stringify({ type: "error", code: "moved", to: address, message: "elsewhere", fatal: true }));
      socket.close(4400);
    }),
  );
  return { url, hellos };
}

/** The address of a port without a listener. */
async function unusedAddress(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((next) => server.once("listening", next));
  const { port } = server.address() as AddressInfo;
  await new Promise((next) => server.close(next));
  return `ws://127.0.0.1:${port}`;
}

it("connects to the daemon that has the run", async () => {
  daemon = await Daemon.start();
  const { url, hellos } = await movingDaemon(daemon.url);
  const run = await open({ url });
  const task = await run.emit(["a"]);
  expect(task).toMatchObject({ action: "deliver" });
  expect(task.asIs).toBeUndefined();
  expect(hellos.length).toBe(1);
  expect(await run.end("success")).toBe(true);
});

it("returns to the first daemon if the other cannot be reached", async () => {
  daemon = await Daemon.start();
  const { url, hellos } = await movingDaemon(await unusedAddress(), daemon.url);
  const run = await open({ url });
  await until(() => run.connected, "the connection");
  expect(hellos.length).toBe(2);
  expect((await run.emit(["a"])).asIs).toBeUndefined();
  await run.end("success");
});

it("follows at most five moves in a row", async () => {
  const { url, hellos } = await movingDaemon("");
  const run = await open({ url });
  await until(() => log.some((line) => line.includes("moved")), "the refusal");
  expect((await run.emit(["a"])).asIs).toBeDefined();
  expect(hellos.length).toBe(6);
});

it("never follows to an invalid address", async () => {
  const { url, hellos } = await movingDaemon("ftp://there");
  const run = await open({ url });
  await until(() => log.some((line) => line.includes("ftp://there") || line.includes("not connected")), "the refusal");
  expect((await run.emit(["a"])).asIs).toBeDefined();
  expect(hellos.length).toBe(1);
});
