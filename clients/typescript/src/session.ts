// The client's side of the ingest protocol as a state machine without I/O: text and time go in, text and answers come out.
//
// It numbers messages, keeps those that are not durable yet, resumes after a broken connection, heeds credits and the
// verdict's deadline, and fails open. It knows no socket and no clock: `now` is handed in (milliseconds, any origin,
// never backwards), and what is to be written is taken with `drain`.
//
// Bounds: kept messages by `credits` (the daemon's word, `keep` before it is known) and `maxBufferBytes`; beyond either a
// message is dropped, counted, and admitted with one `gap` as soon as there is room. Known interventions by
// `rememberedInterventions`, the oldest forgotten first.
import type { Applied, DaemonError, Frame, Hello, Intervention, Message, Welcome, WireVerdict } from "./wire.js";

/** An event that a message asks a verdict for, and to whom it goes if nobody objects. */
export interface Blocked {
  event: string;
  recipients: readonly string[];
  submit?: boolean;
}

/** Why something was delivered without a verdict. */
export type AsIsReason =
  "timeout" | "disconnected" | "credits" | "off" | "unheld" | "max_added_ms" | "healing_failed" | `error:${string}`;

/** What became of a held message: the daemon's verdicts, or none and the reason. */
export interface Answer {
  verdicts: readonly WireVerdict[] | null;
  asIs?: AsIsReason;
  error?: DaemonError;
}

export interface SessionOptions {
  /** Verdict deadline until `welcome` tells the daemon's; milliseconds. */
  deadlineMs: number;
  /** Opt-in: how long a message with a submit event waits instead, connected or not; milliseconds. 0: as any other. */
  failClosedMs: number;
  /** Messages kept until `welcome` tells the daemon's credits. */
  keep: number;
  /** Bytes kept at most. */
  maxBufferBytes: number;
}

export interface SessionEvents {
  /** A new intervention; to be answered with `answerIntervention`. */
  intervention(what: Intervention): void;
  welcome(what: Welcome): void;
  /** The daemon will have no more of this session; final. */
  refused(why: DaemonError): void;
  /** The daemon's verdicts on a message, whether somebody waits for them or not. */
  verdicts?(verdicts: readonly WireVerdict[]): void;
  /** The daemon refused one message. */
  error?(why: DaemonError): void;
}

export interface Counters {
  said: number;
  asIs: number;
  dropped: number;
  welcomes: number;
  errors: number;
  unreadable: number;
}

interface Kept {
  body: string; // JSON of the message, without seq and as_is
  bytes: number;
  seq: number; // 0: not sent yet
  asIs: boolean; // delivered before it was sent: marked so
  blocked: readonly Blocked[];
  deadline: number;
  settle: ((answer: Answer) => void) | null; // null: nobody waits any more
}

const rememberedInterventions = 1024;
const presumedMessageBytes = 1 << 20; // until the daemon says
const envelopeBytes = 64; // seq, as_is
const encoder = new TextEncoder();

export class Session {
  readonly counters: Counters = { said: 0, asIs: 0, dropped: 0, welcomes: 0, errors: 0, unreadable: 0 };
  private state: "starting" | "greeted" | "open" | "down" | "over" = "starting";
  private welcomed: Welcome | null = null;
  private kept: Kept[] = []; // in the order said; the sent ones first
  private written = 0; // so many of them on this connection
  private keptBytes = 0;
  private readonly held = new Set<Kept>();
  private readonly bySeq = new Map<number, Kept>(); // sent and waited for
  private lastSeq = 0;
  private acked = 0;
  private lastAnswered = 0;
  private gap = 0; // dropped and not admitted yet
  private lastWords: string | null = null; // a run_ended that found no room
  private outbox: string[] = [];
  private readonly interventions = new Map<string, { applied: Applied; reason?: string; said: boolean } | null>();

  constructor(
    private readonly hello: () => Hello,
    private readonly options: SessionOptions,
    private readonly events: SessionEvents,
  ) {}

  // ---- the connection

  /** A connection stands: says hello. */
  connected(): void {
    if (this.state === "over") return;
    if (this.state !== "starting") this.state = "greeted";
    this.outbox = [JSON.stringify(this.hello())];
  }

  /** The connection is gone, or could not be made: whoever waits goes on alone. */
  disconnected(now: number): void {
    if (this.state === "over") return;
    this.state = "down";
    this.outbox = [];
    for (const one of [...this.held]) {
      if (this.failsClosed(one) && one.deadline > now) continue;
      this.giveUp(one, "disconnected");
    }
  }

  /** Ends it for good: the rest is delivered as is, nothing is kept. */
  finish(): void {
    this.state = "over";
    for (const one of [...this.held]) this.settle(one, { verdicts: null, asIs: "off" });
    this.kept = [];
    this.keptBytes = 0;
    this.bySeq.clear();
    this.outbox = [];
  }

  /** Frames to be written, in order; taken once. */
  drain(): string[] {
    const frames = this.outbox;
    this.outbox = [];
    return frames;
  }

  get isOpen(): boolean {
    return this.state === "open";
  }
  /** No connection stands, and none is under way for the first time. */
  get hasFailed(): boolean {
    return this.state === "down" || this.state === "over";
  }
  get isOver(): boolean {
    return this.state === "over";
  }
  /** All that was said is durable. */
  get isDurable(): boolean {
    return this.kept.length === 0 && this.gap === 0 && this.lastWords === null;
  }
  get lastWelcome(): Welcome | null {
    return this.welcomed;
  }
  get unacked(): number {
    return this.kept.length;
  }
  /** When somebody's patience ends, or Infinity. */
  get nextDeadline(): number {
    let next = Infinity;
    for (const one of this.held) next = Math.min(next, one.deadline);
    return next;
  }

  // ---- saying

  /** Says something; with `blocked` events, `settle` is called once, within `maxMs`, with what became of it. */
  say(
    message: Message,
    now: number,
    blocked: readonly Blocked[] = [],
    settle: ((answer: Answer) => void) | null = null,
    maxMs = Infinity,
  ): void {
    if (this.state === "over") return settle?.({ verdicts: null, asIs: "off" });
    const body = this.fitting(message);
    if (!this.hasRoom(body.length)) {
      this.counters.dropped += 1;
      if (message.type === "run_ended") this.lastWords = body;
      else this.gap += 1;
      if (settle) this.counters.asIs += blocked.length;
      return settle?.({ verdicts: null, asIs: "credits" });
    }
    const one = this.keep(body, blocked);
    // What nobody waits for has been delivered already.
    one.asIs = settle === null && blocked.length > 0;
    if (settle) {
      one.settle = settle;
      this.held.add(one);
      one.deadline = now + Math.min(this.patience(one), maxMs);
      if (this.state === "down" && !this.failsClosed(one)) this.giveUp(one, "disconnected");
    }
    this.write();
  }

  /** Gives up on whoever has waited long enough. */
  tick(now: number): void {
    for (const one of [...this.held]) {
      if (one.deadline <= now) this.giveUp(one, this.state === "open" ? "timeout" : "disconnected");
    }
  }

  /** Reports what was done about an intervention; a second report for the same id is not made. */
  answerIntervention(id: string, applied: Applied, now: number, reason?: string): void {
    if (this.interventions.get(id)) return;
    const answer = { applied, ...(reason === undefined ? {} : { reason }), said: false };
    this.interventions.set(id, answer);
    this.sayAnswer(id, answer, now);
  }

  // ---- hearing

  receive(text: string, now: number): void {
    if (this.state === "over") return;
    let frame: Frame;
    try {
      frame = JSON.parse(text) as Frame;
      if (typeof frame !== "object" || frame === null) throw new TypeError("no object");
    } catch {
      this.counters.unreadable += 1;
      return;
    }
    switch (frame.type) {
      case "welcome":
        return this.hearWelcome(frame);
      case "verdicts":
        return this.hearAnswer(frame.seq, { verdicts: frame.verdicts });
      case "ack":
        return this.hearAck(frame.seq);
      case "intervention":
        return this.hearIntervention(frame, now);
      case "error":
        return this.hearError(frame);
    }
  }

  private hearWelcome(welcome: Welcome): void {
    this.counters.welcomes += 1;
    this.welcomed = welcome;
    this.state = "open";
    const durable = welcome.acked_seq;
    if (durable < this.acked) this.startOver(durable);
    else this.drop(durable);
    this.lastSeq = Math.max(this.lastSeq, durable);
    this.acked = durable;
    this.events.welcome(welcome);
    this.written = 0;
    this.write();
    // What was durable and not answered is not answered any more.
    for (const [seq, one] of [...this.bySeq]) {
      if (seq <= durable) this.giveUp(one, "disconnected");
    }
    this.admitGap();
  }

  /** The daemon knows less than it had acknowledged: a new archive. The rest is numbered anew, behind a gap. */
  private startOver(durable: number): void {
    this.gap += this.acked - durable;
    this.lastSeq = durable;
    this.lastAnswered = durable;
    this.bySeq.clear();
    for (const one of this.kept) {
      if (one.seq > 0 && one.settle === null && one.blocked.length > 0) one.asIs = true;
      one.seq = 0;
    }
    if (this.kept.length >= this.limit()) this.dropNewest();
    const admitted = this.keep(JSON.stringify({ type: "gap", dropped: this.gap }), []);
    this.gap = 0;
    this.kept.unshift(...this.kept.splice(this.kept.indexOf(admitted)));
  }

  private dropNewest(): void {
    const one = this.kept.pop();
    if (!one) return;
    this.keptBytes -= one.bytes;
    this.counters.dropped += 1;
    this.gap += 1;
    this.counters.asIs += one.settle ? one.blocked.length : 0;
    this.settle(one, { verdicts: null, asIs: "credits" });
  }

  private hearAck(seq: number): void {
    this.acked = Math.max(this.acked, seq);
    this.drop(seq);
    this.write();
    this.admitGap();
  }

  private hearAnswer(seq: number, answer: Answer): void {
    if (answer.verdicts && seq > this.lastAnswered) {
      this.lastAnswered = seq;
      this.events.verdicts?.(answer.verdicts);
    }
    const one = this.bySeq.get(seq);
    if (one) this.settle(one, answer);
  }

  private hearError(error: DaemonError): void {
    this.counters.errors += 1;
    if (error.fatal) {
      this.finish();
      return this.events.refused(error);
    }
    this.events.error?.(error);
    // bad_seq names the seq expected, which is no message of ours that was refused.
    if (error.code === "bad_seq" || error.seq === undefined) return;
    const one = this.bySeq.get(error.seq);
    if (!one) return;
    this.counters.asIs += one.blocked.length;
    this.settle(one, { verdicts: null, asIs: `error:${error.code}`, error });
  }

  private hearIntervention(what: Intervention, now: number): void {
    const known = this.interventions.get(what.id);
    if (known !== undefined) {
      if (known && !known.said) this.sayAnswer(what.id, known, now);
      return;
    }
    if (this.interventions.size >= rememberedInterventions) {
      const [oldest] = this.interventions.keys();
      this.interventions.delete(oldest as string);
    }
    this.interventions.set(what.id, null);
    this.events.intervention(what);
  }

  // ---- keeping

  private limit(): number {
    return this.welcomed ? Math.min(this.welcomed.credits, this.options.keep) : this.options.keep;
  }

  private hasRoom(bytes: number): boolean {
    return this.gap === 0 && this.kept.length < this.limit() && this.keptBytes + bytes <= this.options.maxBufferBytes;
  }

  /** As JSON; without its payloads if the daemon would refuse it for its size. */
  private fitting(message: Message): string {
    const body = JSON.stringify(message);
    const limit = this.welcomed?.limits["message_bytes"] ?? presumedMessageBytes;
    if (body.length * 3 < limit || encoder.encode(body).length + envelopeBytes <= limit) return body;
    return JSON.stringify(message, (name, value: unknown) =>
      name === "payload" ? { digd: "left out: too large" } : value,
    );
  }

  private keep(body: string, blocked: readonly Blocked[]): Kept {
    this.counters.said += 1;
    const one: Kept = { body, bytes: body.length, seq: 0, asIs: false, blocked, deadline: Infinity, settle: null };
    this.kept.push(one);
    this.keptBytes += one.bytes;
    return one;
  }

  /** Sends what may be sent, in order. What was kept without a daemon can be more than its credits. */
  private write(): void {
    if (this.state !== "open" || !this.welcomed) return;
    const most = Math.min(this.kept.length, this.welcomed.credits);
    while (this.written < most) this.send(this.kept[this.written++] as Kept);
  }

  private send(one: Kept): void {
    if (one.seq === 0) one.seq = ++this.lastSeq;
    if (one.settle) this.bySeq.set(one.seq, one);
    this.outbox.push(`{"seq":${one.seq},${one.asIs ? '"as_is":true,' : ""}${one.body.slice(1)}`);
  }

  /** Forgets what is durable. */
  private drop(seq: number): void {
    let count = 0;
    for (const one of this.kept) {
      if (one.seq === 0 || one.seq > seq) break;
      this.keptBytes -= one.bytes;
      count += 1;
    }
    this.kept.splice(0, count);
    this.written = Math.max(0, this.written - count);
  }

  /** Half is free again: says how much went unsaid, then the end of the run if that was among it. */
  private admitGap(): void {
    if (this.kept.length > this.limit() >> 1) return;
    const late: string[] = [];
    if (this.gap > 0) late.push(JSON.stringify({ type: "gap", dropped: this.gap }));
    this.gap = 0;
    if (this.lastWords !== null && this.kept.length + late.length < this.limit()) {
      late.push(this.lastWords);
      this.lastWords = null;
    }
    for (const body of late) this.keep(body, []);
    this.write();
  }

  // ---- waiting

  private patience(one: Kept): number {
    if (this.submits(one) && this.options.failClosedMs > 0) return this.options.failClosedMs;
    return this.welcomed?.verdict_deadline_ms ?? this.options.deadlineMs;
  }

  private submits(one: Kept): boolean {
    return one.blocked.some((b) => b.submit === true);
  }

  private failsClosed(one: Kept): boolean {
    return this.options.failClosedMs > 0 && this.submits(one);
  }

  private settle(one: Kept, answer: Answer): void {
    this.held.delete(one);
    if (one.seq > 0) this.bySeq.delete(one.seq);
    const settle = one.settle;
    one.settle = null;
    settle?.(answer);
  }

  /** Fails open: as is, and says so. A message that was sent cannot be marked any more; a report follows it. */
  private giveUp(one: Kept, reason: AsIsReason): void {
    this.counters.asIs += one.blocked.length;
    const sent = one.seq > 0;
    if (!sent) one.asIs = one.blocked.length > 0;
    this.settle(one, { verdicts: null, asIs: reason });
    if (!sent) return;
    for (const { event } of one.blocked) this.say({ type: "delivery", event, applied: "as_is", reason }, 0);
  }

  private sayAnswer(id: string, answer: { applied: Applied; reason?: string; said: boolean }, now: number): void {
    const dropped = this.counters.dropped;
    const reason = answer.reason === undefined ? {} : { reason: answer.reason };
    this.say({ type: "delivery", of: id, applied: answer.applied, ...reason }, now);
    answer.said = this.counters.dropped === dropped;
  }
}
