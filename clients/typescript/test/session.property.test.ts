// The guarantees of the protocol and of the client hold under any order of losses, kills and answers.
import fc from "fast-check";
import { expect, it } from "vitest";
import { Session, type Answer } from "../src/session.js";
import type { Hello } from "../src/wire.js";
import { ModelDaemon } from "./model_daemon.js";

type Step =
  | { do: "say"; held: boolean; submit: boolean }
  | { do: "connect" | "write" | "read" | "cut" | "kill" | "wipe" }
  | { do: "ack"; share: number }
  | { do: "wait"; ms: number };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("say" as const), held: fc.boolean(), submit: fc.boolean() }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constantFrom("connect" as const, "write" as const, "read" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("cut" as const, "kill" as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("ack" as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 300 }) }) },
);
const wipe: fc.Arbitrary<Step> = fc.constant({ do: "wipe" });
const hello: Hello = {
  type: "hello",
  protocol: 1,
  run: "r",
  session: "main",
  clock: "wall",
  capabilities: {},
  client: { name: "t", version: "0" },
};

const caseCount = Number(process.env["DIGD_PROPERTY_RUNS"] ?? 300);

class World {
  now = 0;
  readonly daemon: ModelDaemon;
  readonly session: Session;
  readonly sentEvents = new Map<
    string,
    { answers: Answer[]; deadline: number; answeredAt: number; dropped: boolean }
  >();
  private linked = false;
  private count = 0;

  constructor(
    readonly failClosedMs: number,
    credits: number,
  ) {
    this.daemon = new ModelDaemon(credits, 100);
    this.session = new Session(
      () => hello,
      { deadlineMs: 100, failClosedMs, keep: 16, maxBufferBytes: 1 << 20 },
      { intervention: () => {}, welcome: () => {}, refused: () => {} },
    );
  }

  take(step: Step): void {
    if (step.do === "say") this.say(step.held, step.submit);
    else if (step.do === "wait") this.wait(step.ms);
    else if (step.do === "connect") this.connect();
    else if (step.do === "write") this.write();
    else if (step.do === "read") this.read();
    else if (step.do === "ack") this.daemon.ack(Math.ceil(this.daemon.record.length * step.share));
    else this.disconnect(step.do);
    if (this.session.unacked > 16) throw new Error("queues more than `keep` messages");
  }

  /** Completes everything in progress. */
  finishAll(): void {
    for (let i = 0; i < 8; ++i) {
      this.connect();
      this.write();
      this.read();
      this.daemon.ack(this.daemon.record.length);
      this.read();
    }
    this.wait(this.failClosedMs + 100);
  }

  private say(held: boolean, submit: boolean): void {
    const id = `e${++this.count}`;
    const entry = {
      answers: [] as Answer[],
      deadline: this.now + (submit && this.failClosedMs > 0 ? this.failClosedMs : 100),
      answeredAt: -1,
      dropped: false,
    };
    const before = this.session.counters.dropped;
    this.sentEvents.set(id, entry);
    const settle = (answer: Answer): void => {
      entry.answers.push(answer);
      entry.answeredAt = this.now;
    };
    const message = { type: "event" as const, event: { id, recipients: ["a"] } };
    if (held) this.session.report(message, this.now, [{ event: id, recipients: ["a"], submit }], settle);
    else this.session.report(message, this.now);
    if (!held) settle({ verdicts: [] });
    entry.dropped = this.session.counters.dropped > before;
  }

  private wait(ms: number): void {
    const until = this.now + ms;
    for (let next = this.session.nextDeadline; next <= until; next = this.session.nextDeadline) {
      this.now = Math.max(this.now, next);
      this.session.tick(this.now);
    }
    this.now = until;
  }
  private connect(): void {
    if (this.linked) return;
    this.linked = true;
    this.session.connected();
  }
  private write(): void {
    if (!this.linked) return;
    for (const frame of this.session.drain()) this.daemon.receive(frame);
  }
  private read(): void {
    if (!this.linked) return;
    for (const frame of this.daemon.unread.splice(0)) this.session.receive(frame, this.now);
  }
  private disconnect(kind: "cut" | "kill" | "wipe"): void {
    this.daemon.disconnect(kind);
    this.linked = false;
    this.session.disconnected(this.now);
  }
}

function recordOf(world: World): { events: string[]; dropped: number; reported: Set<string> } {
  const events: string[] = [];
  const reported = new Set<string>();
  let dropped = 0;
  for (const { message } of world.daemon.record) {
    if (message["type"] === "event") {
      const id = (message["event"] as { id: string }).id;
      events.push(id);
      if (message["as_is"] === true) reported.add(id);
    }
    if (message["type"] === "gap") dropped += message["dropped"] as number;
    if (message["type"] === "delivery") reported.add(message["event"] as string);
  }
  return { events, dropped, reported };
}

function check(world: World, wiped: boolean): void {
  expect(world.daemon.breach).toBeNull();
  expect(world.session.isDurable).toBe(true);
  for (const [id, entry] of world.sentEvents) {
    expect(entry.answers, `${id} is answered once`).toHaveLength(1);
    expect(entry.answeredAt, `${id} in time`).toBeLessThanOrEqual(entry.deadline);
  }
  const { events, dropped, reported } = recordOf(world);
  expect(events, "once each, in order").toEqual([...world.sentEvents.keys()].filter((id) => events.includes(id)));
  if (wiped) return;
  expect(dropped).toBe(world.session.counters.dropped);
  const droppedReports = world.session.counters.dropped > 0;
  for (const [id, { answers, dropped: wasDropped }] of world.sentEvents) {
    const asIs = answers[0]?.asIs;
    expect(events.includes(id), `${id} is recorded unless it was dropped`).toBe(!wasDropped);
    if ((asIs === "timeout" || asIs === "disconnected") && !droppedReports)
      expect(reported, `${id} went out as is and was reported`).toContain(id);
  }
}

const worlds = { failClosed: fc.constantFrom(0, 400), credits: fc.integer({ min: 1, max: 20 }) };

it("no message is lost, doubled or reordered, every caller is answered in time, and all drops are reported", () => {
  fc.assert(
    fc.property(
      fc.array(anyStep, { maxLength: 120 }),
      worlds.failClosed,
      worlds.credits,
      (steps, failClosed, credits) => {
        const world = new World(failClosed, credits);
        for (const step of steps) world.take(step);
        world.finishAll();
        check(world, false);
      },
    ),
    { numRuns: caseCount },
  );
});

it("a daemon with a new archive gets the remaining messages in order", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 20, arbitrary: anyStep }, { weight: 1, arbitrary: wipe }), { maxLength: 120 }),
      worlds.credits,
      (steps, credits) => {
        const world = new World(0, credits);
        for (const step of steps) world.take(step);
        world.finishAll();
        check(world, true);
      },
    ),
    { numRuns: caseCount },
  );
});
