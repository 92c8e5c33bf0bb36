// The connection in Node: what a faulty one does to the program, and what keeps its process alive.
import { createServer, type AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Run } from "../src/index.js";
import { Bundle } from "./child.js";
import { until } from "./daemon.js";
import { fakeDaemons, obedient, send, welcome } from "./fake_daemon.js";

let bundle: Bundle;
beforeAll(async () => void (bundle = await Bundle.build()));
afterAll(() => bundle.remove());

const fake = fakeDaemons();

describe("a token", () => {
  it("may end with a newline", async () => {
    let header: string | undefined;
    const daemon = await fake((_, __, request) => void (header = request.headers.authorization));
    const run = new Run({ url: daemon.url, token: "secret\n", log: () => {} });
    await until(() => header, "the hello");
    expect(header).toBe("Bearer secret");
    await run.end();
  });

  it("that no header can carry leaves the program unwatched", async () => {
    const { url } = await fake();
    const program = `
      const run = new client.Run({ url: ${JSON.stringify(url)}, token: "a\\nb" });
      await new Promise((next) => setTimeout(next, 500));
      await run.end();`;
    const { code, stderr } = await bundle.run(program);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^digd: not connected to .*authorization.*; this run continues unwatched\n$/);
  });
});

describe("the process", () => {
  it("ends soon after the run, although the daemon hangs", async () => {
    const { url } = await fake((message, socket) => {
      if (message["type"] === "hello") send(socket, welcome);
      else socket.pause(); // reads no close frame
    });
    const program = `
      const run = await client.connect({ url: ${JSON.stringify(url)}, lingerMs: 10 });
      await run.end();`;
    const { code, ms } = await bundle.run(program);
    expect(code).toBe(0);
    expect(ms).toBeLessThan(4000);
  });

  it("does not wait for a server that accepts the connection and says nothing", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((next) => server.once("listening", next));
    const { port } = server.address() as AddressInfo;
    const { code, ms } = await bundle.run(`new client.Run({ url: "127.0.0.1:${port}" });`);
    server.close();
    expect(code).toBe(0);
    expect(ms).toBeLessThan(4000);
  });

  it("does not wait for a handler of interventions that never returns", async () => {
    const { url } = await fake((message, socket) => {
      obedient(message, socket, null as never);
      const intervention = { type: "intervention", id: "sys:1", action: "create", recipients: ["a"] };
      if (message["type"] === "hello") send(socket, intervention);
    });
    const program = `
      let called;
      const promise = new Promise((next) => (called = next));
      const onIntervention = () => (called(), new Promise(() => {}));
      const run = await client.connect({ url: ${JSON.stringify(url)}, mode: "enforce", onIntervention });
      await promise;
      await run.end();`;
    const { code, ms } = await bundle.run(program);
    expect(code).toBe(0);
    expect(ms).toBeLessThan(4000);
  });
});

describe("the link", () => {
  it("survives a log that throws, and a frame without its fields", async () => {
    const { url } = await fake((message, socket, request) => {
      obedient(message, socket, request);
      for (const type of ["verdicts", "intervention", "error"]) send(socket, { type, verdicts: [null] });
      if (message["type"] === "hello") send(socket, { type: "error", code: "run_closed" });
    });
    const program = `
      const log = () => { throw new Error("the log is full"); };
      const run = await client.connect({ url: ${JSON.stringify(url)}, log });
      const verdict = await run.emit(["a"]);
      if (verdict.asIs !== undefined) throw new Error(verdict.asIs);
      if (run.counters.unreadable === 0) throw new Error("nothing unreadable");
      if (!(await run.end())) throw new Error("not durable");`;
    expect(await bundle.run(program)).toMatchObject({ code: 0, stderr: "" });
  });

  it("waits longer and longer for a daemon that welcomes and hangs up", async () => {
    const daemon = await fake((_, socket) => {
      send(socket, welcome);
      socket.close();
    });
    const run = new Run({ url: daemon.url, log: () => {}, backoff: { firstMs: 10, maxMs: 60_000 } });
    await new Promise((next) => setTimeout(next, 1500));
    expect(daemon.connections).toBeGreaterThan(2);
    expect(daemon.connections).toBeLessThan(12);
    await run.close();
  });

  it("logs a final refusal also after an outage, and no refusal with 404 is final", async () => {
    const log: string[] = [];
    const statuses = [404, 404, 401];
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(`HTTP/1.1 ${statuses.shift()} Refused\r\nContent-Length: 0\r\n\r\n`));
    }).listen(0, "127.0.0.1");
    await new Promise((next) => server.once("listening", next));
    const { port } = server.address() as AddressInfo;
    const backoff = { firstMs: 1, maxMs: 10 };
    const run = new Run({ url: `127.0.0.1:${port}`, log: (line) => void log.push(line), backoff });
    await until(() => log.length === 2, "both lines");
    expect(log[0]).toMatch(/refused with 404.*the client retries/);
    expect(log[1]).toMatch(/refused with 401.*this run continues unwatched/);
    await run.close();
    server.close();
  });

  it("waits as long as asked, also beyond the longest timer", async () => {
    const { url } = await fake((message, socket) => void (message["type"] === "hello" && send(socket, welcome)));
    const run = new Run({ url, log: () => {}, failClosedMs: 2 ** 40, lingerMs: 10 });
    await run.ready(2 ** 40);
    expect(run.connected).toBe(true);
    void run.begin("a");
    let isOver = false;
    const flushed = run.flush(2 ** 40).finally(() => (isOver = true));
    const answer = run.activation("a", [], (a) => a.submit()).finally(() => (isOver = true));
    await new Promise((next) => setTimeout(next, 100));
    expect(isOver).toBe(false);
    await run.close();
    await Promise.all([flushed, answer]);
  });
});
