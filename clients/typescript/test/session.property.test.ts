// Whatever happens in between, what the protocol and this client promise holds.
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

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("say" as const), held: fc.boolean(), submit: fc.boolean() }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constantFrom("connect" as const, "write" as const, "read" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("cut" as const, "kill" as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("ack" as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 300 }) }) },
);
const wipe: fc.Arbitrary<Step> = fc.constant({ do: "wipe" });
const hello: Hello = { type: "hello", protocol: 1, run: "r", session: "main", clock: "wall", capabilities: {}, client: { name: "t", version: "0" } };

const runs = Number(process.env["DIGD_PROPERTY_RUNS"] ?? 300);

class World {
  now = 0;
  readonly daemon: ModelDaemon;
  readonly session: Session;
  readonly said = new Map<string, { answers: Answer[]; by: number; at: number; dropped: boolean }>();
  private linked = false;
  private count = 0;

  constructor(readonly failClosedMs: number, credits: number) {
    this.daemon = new ModelDaemon(credits, 100);
    this.session = new Session(() => hello, { deadlineMs: 100, failClosedMs, keep: 16, maxBufferBytes: 1 << 20 }, { intervention: () => {}, welcome: () => {}, refused: () => {} });
  }

  take(s: Step): void {
    if (s.do === "say") this.say(s.held, s.submit);
    else if (s.do === "wait") this.wait(s.ms);
    else if (s.do === "connect") this.connect();
    else if (s.do === "write") this.write();
    else if (s.do === "read") this.read();
    else if (s.do === "ack") this.daemon.ack(Math.ceil(this.daemon.record.length * s.share));
    else this.lose(s.do);
    if (this.session.unacked > 16) throw new Error("keeps more than it may");
  }

  /** Whatever is under way comes to its end. */
  settleDown(): void {
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
    const entry = { answers: [] as Answer[], by: this.now + (submit && this.failClosedMs > 0 ? this.failClosedMs : 100), at: -1, dropped: false };
    const before = this.session.counters.dropped;
    this.said.set(id, entry);
    const settle = (answer: Answer): void => {
      entry.answers.push(answer);
      entry.at = this.now;
    };
    const message = { type: "event" as const, event: { id, recipients: ["a"] } };
    if (held) this.session.say(message, this.now, [{ event: id, recipients: ["a"], submit }], settle);
    else this.session.say(message, this.now);
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
    for (const frame of this.session.drain()) this.daemon.hear(frame);
  }
  private read(): void {
    if (!this.linked) return;
    for (const frame of this.daemon.out.splice(0)) this.session.receive(frame, this.now);
  }
  private lose(how: "cut" | "kill" | "wipe"): void {
    this.daemon.cut(how);
    this.linked = false;
    this.session.disconnected(this.now);
  }
}

function recordOf(world: World): { events: string[]; dropped: number; spoken: Set<string> } {
  const events: string[] = [];
  const spoken = new Set<string>();
  let dropped = 0;
  for (const { message } of world.daemon.record) {
    if (message["type"] === "event") {
      const id = (message["event"] as { id: string }).id;
      events.push(id);
      if (message["as_is"] === true) spoken.add(id);
    }
    if (message["type"] === "gap") dropped += message["dropped"] as number;
    if (message["type"] === "delivery") spoken.add(message["event"] as string);
  }
  return { events, dropped, spoken };
}

function check(world: World, wiped: boolean): void {
  expect(world.daemon.broken).toBeNull();
  expect(world.session.isDurable).toBe(true);
  for (const [id, one] of world.said) {
    expect(one.answers, `${id} is answered once`).toHaveLength(1);
    expect(one.at, `${id} in time`).toBeLessThanOrEqual(one.by);
  }
  const { events, dropped, spoken } = recordOf(world);
  expect(events, "once each, in the order said").toEqual([...world.said.keys()].filter((id) => events.includes(id)));
  if (wiped) return;
  expect(dropped).toBe(world.session.counters.dropped);
  const droppedReports = world.session.counters.dropped > 0;
  for (const [id, { answers, dropped: lost }] of world.said) {
    const asIs = answers[0]?.asIs;
    expect(events.includes(id), `${id} is recorded unless it was dropped`).toBe(!lost);
    if ((asIs === "timeout" || asIs === "disconnected") && !droppedReports) expect(spoken, `${id} went as is and says so`).toContain(id);
  }
}

const worlds = { failClosed: fc.constantFrom(0, 400), credits: fc.integer({ min: 1, max: 20 }) };

it("nothing said is lost, doubled or out of order, everybody is answered in time, all drops are admitted", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), worlds.failClosed, worlds.credits, (steps, failClosed, credits) => {
      const world = new World(failClosed, credits);
      for (const s of steps) world.take(s);
      world.settleDown();
      check(world, false);
    }),
    { numRuns: runs },
  );
});

it("a daemon with a new archive is told the rest, in order", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof({ weight: 20, arbitrary: step }, { weight: 1, arbitrary: wipe }), { maxLength: 120 }), worlds.credits, (steps, credits) => {
      const world = new World(0, credits);
      for (const s of steps) world.take(s);
      world.settleDown();
      check(world, true);
    }),
    { numRuns: runs },
  );
});
