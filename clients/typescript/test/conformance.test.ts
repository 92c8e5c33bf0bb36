// The conformance vectors from the client's side: its messages reach the daemon, and it delivers what the daemon
// decides. Once with the recorded answers of the vectors, once with the real daemon.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  Run,
  Session,
  type Hello,
  type Intervention,
  type Message,
  type Verdict,
  type WireVerdict,
} from "../src/index.js";
import type { Blocked, Answer } from "../src/session.js";
import { verdictsOf } from "../src/verdict.js";
import { Daemon, traces, until } from "./daemon.js";

type Line = Record<string, any>;
interface Vector {
  name: string;
  lines: Line[];
  expected: Line[];
}

/** A line that is intentionally no JSON stays text. */
function parsed(line: string): Line {
  try {
    return JSON.parse(line);
  } catch {
    return { text: line };
  }
}

const folder = join(traces, "conformance");
const read = (name: string): Line[] => readFileSync(join(folder, name), "utf8").split("\n").filter(Boolean).map(parsed);
const vectors: Vector[] = readdirSync(folder)
  .filter((name) => name.endsWith(".expected.jsonl"))
  .map((name) => name.replace(".expected.jsonl", ""))
  .map((name) => ({ name, lines: read(`${name}.jsonl`), expected: read(`${name}.expected.jsonl`) }));

/** The events for which a line requests verdicts. */
function blockedBy(line: Line): Blocked[] {
  if (line["type"] === "event" && line["event"]?.id)
    return [{ event: line["event"].id, recipients: line["event"].recipients ?? [] }];
  if (line["type"] !== "activation_ended") return [];
  const rerouted = Object.entries(line["reactions"] ?? {}).filter(([, r]) => typeof r === "object" && r !== null);
  return [
    ...rerouted.map(([event, r]) => ({ event, recipients: (r as { reroute: string[] }).reroute })),
    ...(line["outputs"] ?? []).map((o: Line) => ({ event: o["id"], recipients: o["recipients"] ?? [] })),
  ];
}

/** The deliveries that the expected verdicts demand. */
function deliveries(blocked: readonly Blocked[], expected: readonly WireVerdict[] | null): unknown[] {
  return blocked.map(({ event, recipients }) => {
    const verdict = expected?.find((v) => v.event === event);
    if (!verdict || verdict.action === "deliver") return { event, recipients, text: false };
    return {
      event,
      recipients: verdict.action === "reroute" ? verdict.recipients : recipients,
      text: verdict.inject !== undefined,
    };
  });
}
const deliveredBy = (verdicts: readonly Verdict[]): unknown[] =>
  verdicts.map((v) => ({
    event: v.event,
    recipients: v.recipients,
    text: v.inject !== undefined && String(v.inject).length > 0,
  }));

/** The frame as a daemon sends it: in the vectors, `true` stands for the monitor's texts. */
const withTexts = (frame: Line): string =>
  JSON.stringify(frame, (name, value: unknown) => (name === "inject" && value === true ? "a text" : value));

describe("with recorded answers", () => {
  const singleSession = vectors.filter((v) =>
    v.lines.every((line) => line["session"] === undefined || line["type"] === "hello"),
  );
  it.each(singleSession.map((v) => [v.name, v] as const))("%s", (_, { lines, expected }) => {
    const interventions: Intervention[] = [];
    const session = new Session(
      () => lines[0] as unknown as Hello,
      { deadlineMs: 250, failClosedMs: 0, keep: 4096, maxBufferBytes: 1 << 26 },
      { intervention: (intervention) => interventions.push(intervention), welcome: () => {}, refused: () => {} },
    );
    session.connected();
    session.receive(
      JSON.stringify({
        type: "welcome",
        acked_seq: 0,
        mode: "enforce",
        rules: {},
        limits: {},
        verdict_deadline_ms: 250,
        credits: 4096,
      }),
      0,
    );
    const answers: { blocked: Blocked[]; seq: number; answer: Answer | null }[] = [];
    let seq = 0;
    for (const line of lines.slice(1)) {
      const blocked = blockedBy(line);
      const waiting = { blocked, seq: ++seq, answer: null as Answer | null };
      answers.push(waiting);
      session.report(line as Message, 0, blocked, blocked.length > 0 ? (answer) => (waiting.answer = answer) : null);
    }
    for (const frame of expected) session.receive(withTexts(frame), 0);
    for (const { blocked, seq: at, answer } of answers) {
      if (!answer) continue;
      const frame = expected.find((f) => f["type"] === "verdicts" && f["seq"] === at);
      expect(deliveredBy(verdictsOf(blocked, answer))).toEqual(deliveries(blocked, frame?.["verdicts"] ?? null));
    }
    const ids = expected.filter((f) => f["type"] === "intervention").map((f) => f["id"]);
    if (!session.isOver) expect(interventions.map((i) => i.id)).toEqual([...new Set(ids)]);
  });
});

/** Detections as in the expected files, which leave out the monitor's texts. */
function bare(detections: readonly Line[] | undefined): unknown {
  return (detections ?? []).map(({ reason: _r, witness: _w, ...rest }) => rest);
}

describe("with the real daemon", () => {
  let daemon: Daemon;
  beforeAll(async () => void (daemon = await Daemon.start("threads = 2\nverdict_deadline_ms = 20000\n")));
  afterAll(() => daemon.stop());

  // A client numbers its messages, sends the hello and has one session. Skip the vectors that break these rules.
  const sendable = vectors.filter(({ lines }) =>
    lines
      .slice(1)
      .every((line, i) => line["seq"] === i + 1 && line["type"] !== "hello" && typeof line["type"] === "string"),
  );

  it("nearly all vectors contain only messages that a client can send", () =>
    expect(sendable.length / vectors.length).toBeGreaterThan(0.85));

  it.each(sendable.map((v) => [v.name, v] as const))("%s", async (name, { lines, expected }) => {
    const { type: _t, protocol: _p, run: _r, client: _c, agents, ...hello } = lines[0] as Line;
    const interventions: Line[] = [];
    const run = new Run({
      ...hello,
      ...(hello["healing"]
        ? { budget: hello["healing"].budget, maxReturnsPerAgent: hello["healing"].max_returns_per_agent }
        : {}),
      ...(agents ? { agents } : {}),
      run: `v-${name}`,
      url: daemon.url,
      log: () => {},
      deadlineMs: 20_000,
      onIntervention: (intervention) => (interventions.push(intervention), "created"),
      capabilities: { create: true, ...hello["capabilities"] },
    });
    await run.ready(20_000);
    const answers = await Promise.all(
      lines.slice(1).map(({ seq: _s, session: _n, ...line }) => run.tell(line as Message, blockedBy(line))),
    );
    const wanted = expected.filter((f) => f["type"] === "verdicts");
    for (const frame of wanted) {
      const verdicts = answers[frame["seq"] - 1] as Verdict[];
      const blocked = blockedBy(lines[frame["seq"]] as Line);
      const byId = new Map(verdicts.map((v) => [v.event, v]));
      const inOrder = (frame["verdicts"] as WireVerdict[]).map((v) => byId.get(v.event) as Verdict);
      expect(deliveredBy(verdicts)).toEqual(deliveries(blocked, frame["verdicts"]));
      expect(inOrder.map((v) => bare(v.detections as unknown as Line[]))).toEqual(
        (frame["verdicts"] as WireVerdict[]).map((v) => bare(v.detections as unknown as Line[])),
      );
    }
    const sent = expected.filter((f) => f["type"] === "intervention");
    await until(() => interventions.length >= sent.length, `${sent.length} interventions`);
    expect(interventions.map(({ id, action, recipients, event }) => ({ id, action, recipients, event }))).toEqual(
      sent.map(({ id, action, recipients, event }) => ({ id, action, recipients, event })),
    );
    await run.close();
  });
});
