// A run without a daemon, or with one that answers only what the test needs.
import { describe, expect, it } from "vitest";
import { Run, type RunOptions } from "../src/index.js";
import { until } from "./daemon.js";
import { fakeDaemons, obedient, send, welcome, type FakeDaemon } from "./fake_daemon.js";

const fake = fakeDaemons();
const open = (daemon: FakeDaemon, options: RunOptions = {}): Run =>
  new Run({ url: daemon.url, log: () => {}, ...options });

describe("a run", () => {
  it("declares a handler that was registered between the hello and the welcome", async () => {
    const daemon = await fake((message, socket, request) => {
      if (message["type"] === "hello" && daemon.connections === 1) setTimeout(() => send(socket, welcome), 100);
      else obedient(message, socket, request);
    });
    const run = open(daemon);
    await until(() => daemon.received.length === 1, "the hello");
    run.onIntervention(() => true);
    await until(() => daemon.received.length === 2, "the second hello");
    expect(daemon.received.map((m) => m["capabilities"].create)).toEqual([false, true]);
    await until(() => run.connected, "the welcome");
    await run.end();
    expect(daemon.connections).toBe(2);
  });

  it("claims no success after a refusal dropped everything", async () => {
    const daemon = await fake((message, socket) => {
      if (message["type"] === "hello") send(socket, welcome);
      else send(socket, { type: "error", code: "hello_conflict", fatal: true });
    });
    const run = open(daemon);
    await run.ready();
    run.begin("a");
    expect(await run.flush()).toBe(false);
    expect(await run.end()).toBe(false);
  });

  it("a second end returns the promise of the first one", async () => {
    const run = open(await fake((message, socket) => void (message["type"] === "hello" && send(socket, welcome))), {
      lingerMs: 50,
    });
    await run.ready();
    const ending = run.end("success");
    expect(run.end()).toBe(ending);
    expect(await ending).toBe(false);
    expect(await run.end()).toBe(false);
    expect(await run.flush()).toBe(false);
  });

  it("in the mode off, flush does not wait", async () => {
    const run = new Run({ mode: "off" });
    await run.emit(["a"]);
    const started = Date.now();
    expect(await run.flush(5000)).toBe(false);
    expect(Date.now() - started).toBeLessThan(2500);
    await run.end();
  });

  it("cuts errors and reasons at 2000 characters, and no character in half", async () => {
    const daemon = await fake();
    const run = open(daemon);
    await run.ready();
    run.begin("a").fail(new Error("x".repeat(1999) + "😀".repeat(2000)));
    await run.end();
    expect(daemon.received.find((m) => m["failed"])?.["error"]).toBe("x".repeat(1999));
  });
});
