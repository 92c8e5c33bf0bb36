// The client with the real daemon.
import { createServer } from "node:net";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connect, Run, type Intervention, type RunOptions } from "../src/index.js";
import { Daemon, until } from "./daemon.js";

let daemon: Daemon;
const log: string[] = [];
const quiet = (line: string): void => void log.push(line);
const open = (options: RunOptions = {}): Promise<Run> =>
  connect({ url: daemon.url, log: quiet, deadlineMs: 5000, ...options });
const slowConfig = "threads = 2\nverdict_deadline_ms = 10000\n";

beforeEach(() => void log.splice(0));
afterEach(() => daemon.stop());

describe("with a daemon", () => {
  beforeEach(async () => void (daemon = await Daemon.start(slowConfig)));

  it("an early answer is given back, and an answer that builds on all work is delivered", async () => {
    const run = await open({ agents: ["planner", "coder"] });
    const task = await run.emit(["planner"], { payload: { text: "build it" }, kind: "problem" });
    expect(task).toMatchObject({ action: "deliver", recipients: ["planner"] });
    expect(task.asIs).toBeUndefined();
    const [plan, early] = await run.activation("planner", [task], async (a) => {
      const plan = await a.emit(["coder"], { payload: "a plan" });
      return [plan, await a.submit("done already")] as const;
    });
    expect(early).toMatchObject({ action: "reroute", recipients: ["planner"], givenBack: true });
    expect(early?.inject).toContain(plan.event);
    const code = await run.activation("coder", [plan], (a) => a.output(["planner"], { payload: "code" }));
    expect((await code.verdict).action).toBe("deliver");
    const answer = await run.activation("planner", [early, await code.verdict], (a) => a.submit("done"));
    expect(answer.action).toBe("deliver");
    expect(await run.end("success", { rmse: 0.3 })).toBe(true);
    expect((await daemon.detections(run.id)).map((d) => d.rule)).toEqual(["early_termination"]);
  });

  it("the id of an ended run is refused, and one line explains the remedy", async () => {
    for (let use = 0; use < 2; ++use) {
      const run = await open({ run: "used", agents: ["a"] });
      const event = await run.emit(["a"]);
      await run.activation("a", [event], (a) => a.submit("done"));
      await run.end("success");
      expect(log.filter((line) => line.includes("has ended already"))).toHaveLength(use);
    }
    expect(log).toHaveLength(1);
    expect(log[0]).toMatch(/give each run a new id/);
  });

  it("DIGD_MODE and an adapter choose the mode only where the program does not", async () => {
    const modeOf = async (options: RunOptions, environment?: string): Promise<string | undefined> => {
      if (environment !== undefined) process.env["DIGD_MODE"] = environment;
      const run = new Run({ url: daemon.url, log: quiet, ...options });
      delete process.env["DIGD_MODE"];
      run.adapterDefaults("test");
      await run.ready(20_000);
      await run.end("aborted");
      return run.welcome?.mode;
    };
    expect(await modeOf({})).toBe("shadow");
    expect(await modeOf({}, "observe")).toBe("observe");
    expect(await modeOf({ mode: "enforce" }, "observe")).toBe("enforce");
    expect(await modeOf({ mode: "off" }, "enforce")).toBeUndefined();
  });

  it("an adapter's run follows the mode of the welcome, which the canary may set to enforce", async () => {
    for (const [config, mode] of [
      ["enforce_share = 1\n", "enforce"],
      ["enforce_share = 0\n", "shadow"],
    ] as const) {
      const other = await Daemon.start(config);
      try {
        const run = new Run({ url: other.url, agents: ["a"], log: quiet });
        run.adapterDefaults("test");
        expect(run.heals).toBe(false); // no welcome yet
        expect(await run.ready(20_000)).toBe(true);
        expect([run.welcome?.mode, run.heals]).toEqual([mode, mode === "enforce"]);
        await run.end("aborted");
      } finally {
        await other.stop();
      }
    }
  });

  it("an adapter attached after the hello does not heal, whatever mode the daemon chose", async () => {
    const run = new Run({ url: daemon.url, agents: ["a"], log: quiet });
    expect(await run.ready(20_000)).toBe(true);
    expect(run.heals).toBe(true);
    run.adapterDefaults("test");
    expect(run.heals).toBe(false);
    await run.end("aborted");
  });

  it("the bounds on healing are part of the hello", async () => {
    const run = await open({ maxReturnsPerAgent: 1, budget: 7 });
    await run.end("aborted");
    await until(async () => (await daemon.trace(run.id)).length > 0, "the trace");
    expect((await daemon.trace(run.id))[0].healing).toMatchObject({ max_returns_per_agent: 1, budget: 7 });
  });

  it("the reactions wait, discard and reroute reach the graph", async () => {
    const run = await open({ agents: ["a", "b"] });
    const events = await Promise.all(["w", "d", "r"].map((id) => run.emit(["a"], { id })));
    const activation = run.begin("a", events);
    activation.wait("w");
    activation.discard("d");
    activation.reroute("r", ["b"]);
    expect(() => activation.consume("x")).toThrow(/not an input of/);
    const verdicts = await activation.end();
    expect(verdicts).toMatchObject([{ event: "r", action: "deliver", recipients: ["b"] }]);
    await expect(activation.emit(["b"])).rejects.toThrow(/has ended/);
    await run.end();
    const graph = await daemon.get(`/v1/runs/${run.id}/graph`);
    const states = Object.fromEntries(
      graph.events.map((e: any) => [e.id, e.deliveries.map((d: any) => `${d.agent}:${d.state}`)]),
    );
    expect(states).toEqual({ w: ["a:waiting"], d: ["a:discarded"], r: ["a:rerouted", "b:pending"] });
  });

  it("an exception fails the activation and propagates", async () => {
    const run = await open({ redact: (value, folder) => (folder === "error" ? "[secret]" : value) });
    const task = await run.emit(["a"]);
    await expect(run.activation("a", [task], () => Promise.reject(new Error("password 123")))).rejects.toThrow(
      "password 123",
    );
    await run.end("failure");
    const ended = (await daemon.trace(run.id)).find((m) => m.type === "activation_ended");
    expect(ended).toMatchObject({ failed: true, error: "[secret]" });
  });

  it("values that the redaction hook removes or fails on never leave the process", async () => {
    const run = await open({
      redact: (value) => {
        if (value === "bad") throw new Error("hook");
        return { ...(value as object), card: "[redacted]" };
      },
    });
    await run.emit(["a"], { payload: { card: "4111", text: "hi" } });
    await run.emit(["a"], { payload: "bad" });
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    await run.emit(["a"], { payload: loop });
    await run.end();
    const payloads = (await daemon.trace(run.id)).filter((m) => m.type === "event").map((m) => m.event.payload);
    expect(payloads[0]).toEqual({ card: "[redacted]", text: "hi" });
    expect(payloads[1]).toEqual({ digd: "left out: no JSON, or the redaction failed" });
    expect(payloads[2]).toEqual({ digd: "left out: no JSON, or the redaction failed" });
  });

  it("a deadlock is healed by an event of the monitor, which the client reports as created", async () => {
    const interventions: Intervention[] = [];
    const run = await open({ agents: ["a", "b"], rules: { deadlock: { window_ms: 20 } } });
    run.onIntervention((intervention) => void interventions.push(intervention));
    await run.emit(["a"], { id: "e1" });
    await until(() => interventions.length > 0, "the intervention");
    expect(interventions[0]).toMatchObject({ id: "sys:1", action: "create", recipients: ["a", "b"] });
    await until(
      async () =>
        (await daemon.trace(run.id)).some((m) => m.type === "delivery" && m.of === "sys:1" && m.applied === "created"),
      "the report",
    );
    await run.end();
  });

  it("without a handler the hello denies `create`, and the daemon reports the detection as unsupported", async () => {
    const run = await open({ agents: ["a"], rules: { deadlock: { window_ms: 20 } } });
    await run.emit(["a"]);
    const found = await until(async () => (await daemon.detections(run.id))[0], "the detection");
    expect(found).toMatchObject({ rule: "deadlock", healed: false, cause: "unsupported" });
    await run.end();
  });

  it("a handler that throws is reported as failed", async () => {
    const run = await open({
      agents: ["a"],
      rules: { deadlock: { window_ms: 20 } },
      onIntervention: () => Promise.reject(new Error("no hands")),
    });
    await run.emit(["a"]);
    const report = await until(
      async () => (await daemon.trace(run.id)).find((m) => m.type === "delivery"),
      "the report",
    );
    expect(report).toMatchObject({ of: "sys:1", applied: "failed", reason: "no hands" });
    await run.end();
  });

  it("when the daemon is killed, the client continues, reconnects, and loses no message", async () => {
    const run = await open({ agents: ["a"], backoff: { firstMs: 5, maxMs: 20 } });
    for (let i = 0; i < 50; ++i) await run.emit(["a"], { id: `before${i}` });
    const pending = Array.from({ length: 50 }, (_, i) => run.emit(["a"], { id: `during${i}` }));
    await daemon.kill();
    const during = await Promise.all(pending);
    const alone = await run.emit(["a"], { id: "alone" });
    expect(alone).toMatchObject({ action: "deliver", asIs: "disconnected" });
    await daemon.start();
    await until(() => run.connected, "the connection");
    const after = await run.emit(["a"], { id: "after" });
    expect(after.asIs).toBeUndefined();
    expect(await run.end()).toBe(true);
    const trace = await daemon.trace(run.id);
    const ids = trace.filter((m) => m.type === "event").map((m) => m.event.id);
    expect(ids).toEqual([
      ...Array.from({ length: 50 }, (_, i) => `before${i}`),
      ...during.map((v) => v.event),
      "alone",
      "after",
    ]);
    const admitted = new Set(trace.flatMap((m) => (m.as_is ? [m.event.id] : m.type === "delivery" ? [m.event] : [])));
    expect(during.filter((v) => v.asIs).every((v) => admitted.has(v.event))).toBe(true);
    expect(admitted).toContain("alone");
    expect(log).toHaveLength(2);
  });

  it("a second process of the same session takes over, and the first does not reconnect", async () => {
    const first = await open({ run: "shared" });
    await first.emit(["a"], { id: "e1" });
    await first.flush();
    const second = await open({ run: "shared" });
    await until(() => log.some((line) => line.includes("4409")), "the close of the first connection");
    expect((await first.emit(["a"])).asIs).toBe("off");
    const verdict = await second.emit(["a"]);
    expect(verdict.asIs).toBeUndefined();
    expect(verdict.event).not.toBe("e1");
    await second.end();
    await first.end();
  });

  it("a contradicting hello is refused permanently, with one log line", async () => {
    const first = await open({ run: "r", session: "one", mode: "observe" });
    await first.emit(["a"]);
    const second = await open({ run: "r", session: "two", mode: "enforce" });
    await until(() => log.length > 0, "the log line");
    expect(log.join("\n")).toMatch(/hello_conflict/);
    expect(log).toHaveLength(1);
    expect((await second.emit(["a"])).asIs).toBe("off");
    await second.end();
    await first.end();
  });

  it("mode off opens no connection; hold false waits for no verdict", async () => {
    const off = new Run({ url: daemon.url, mode: "off", log: quiet });
    expect((await off.emit(["a"])).asIs).toBe("off");
    await off.end();
    const unheld = await open({ hold: false });
    expect((await unheld.emit(["a"], { id: "e1" })).asIs).toBe("unheld");
    expect(await unheld.end()).toBe(true);
    expect((await daemon.trace(unheld.id)).filter((m) => m.type === "event")).toHaveLength(1);
    expect(log).toEqual([]);
  });

  it("each of many concurrent events gets its own verdict", async () => {
    const run = await open();
    const verdicts = await Promise.all(Array.from({ length: 500 }, (_, i) => run.emit([`agent${i}`], { id: `e${i}` })));
    expect(verdicts.map((v) => v.event)).toEqual(Array.from({ length: 500 }, (_, i) => `e${i}`));
    expect(verdicts.filter((v) => v.asIs)).toEqual([]);
    expect(await run.end()).toBe(true);
  });
});

describe("at the limit of credits", () => {
  it("the client continues without verdicts and reports the gap", async () => {
    daemon = await Daemon.start("threads = 2\ncredits = 4\nverdict_deadline_ms = 10000\n");
    const run = await open();
    const verdicts = await Promise.all(Array.from({ length: 40 }, () => run.emit(["a"])));
    const alone = verdicts.filter((v) => v.asIs === "credits").length;
    expect(alone).toBeGreaterThan(0);
    await run.flush();
    expect((await run.emit(["a"])).asIs).toBeUndefined();
    expect(await run.end()).toBe(true);
    const trace = await daemon.trace(run.id);
    expect(trace.filter((m) => m.type === "gap").reduce((sum, m) => sum + m.dropped, 0)).toBe(run.counters.dropped);
  });
});

describe("tokens and sockets", () => {
  it("a valid token is accepted; a wrong one is refused with one log line", async () => {
    const folder = new Daemon();
    const token = "0123456789abcdef".repeat(4);
    const file = join(folder.folder, "tokens.toml");
    writeFileSync(
      file,
      `[[token]]\nname = "t"\nsha256 = "${createHash("sha256").update(token).digest("hex")}"\nrights = ["ingest"]\n`,
      { mode: 0o600 },
    );
    daemon = await Daemon.start(`threads = 1\nverdict_deadline_ms = 10000\ntokens = "${file}"\n`);
    const good = await open({ token });
    expect((await good.emit(["a"])).asIs).toBeUndefined();
    await good.end();
    const bad = await open({ token: "wrong" });
    expect(bad.connected).toBe(false);
    expect(log.join()).toMatch(/401.*DIGD_TOKEN/);
    expect(log).toHaveLength(1);
    await bad.end();
    await folder.stop();
  });

  it("a Unix socket works", async () => {
    const folder = new Daemon();
    daemon = await Daemon.start(slowConfig, `unix:${folder.folder}/digd.sock`);
    const run = await open();
    expect((await run.emit(["a"])).asIs).toBeUndefined();
    await run.end();
    await folder.stop();
  });
});

describe("without a daemon", () => {
  beforeEach(() => void (daemon = new Daemon()));

  it("everything is delivered at once, with one log line", async () => {
    const run = await connect({ url: "ws://127.0.0.1:1", log: quiet, backoff: { firstMs: 1, maxMs: 2 } });
    for (let i = 0; i < 2000; ++i) expect((await run.emit(["a"])).action).toBe("deliver");
    expect(await run.activation("a", [], (a) => a.submit(1))).toMatchObject({ action: "deliver", recipients: [] });
    expect(await run.end()).toBe(false);
    expect(log).toHaveLength(1);
    expect(run.unacked).toBe(0);
  });

  it("a port that accepts connections and stays silent delays nothing beyond the deadline", async () => {
    const server = createServer((socket) => socket.resume());
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const port = (server.address() as { port: number }).port;
    const run = new Run({ url: `127.0.0.1:${port}`, log: quiet, deadlineMs: 30, lingerMs: 30 });
    expect((await run.emit(["a"])).asIs).toBe("disconnected");
    expect(await run.end()).toBe(false);
    await new Promise((closed) => server.close(closed));
  });

  it("invalid arguments throw at once", () => {
    expect(() => new Run({ url: "ftp://x" })).toThrow(/url: "ftp:.*expected HOST:PORT, ws:/);
    for (const url of [
      "http://localhost:1",
      "localhost",
      "ws://localhost",
      "ws://h:1/path",
      "unix:relative",
      "unix://h/x",
      "h:70000",
      "",
    ]) {
      expect(() => new Run({ url }), url).toThrow(/expected HOST:PORT, ws:.*unix:/);
    }
    for (const url of ["127.0.0.1:1", "ws://h.example:80", "wss://[::1]:443", "unix:/run/digd.sock"])
      expect(() => new Run({ url, mode: "off" }), url).not.toThrow();
    expect(() => new Run({ mode: "loud" as never })).toThrow(/mode: "loud" is not a mode/);
    expect(() => new Run({ deadlineMs: -1 })).toThrow(/deadlineMs: expected a number from 0/);
  });
});
