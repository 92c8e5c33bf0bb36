// The client side of the ingest protocol as a state machine without I/O: text and time go in, text and answers come
// out.
//
// It numbers messages, keeps those that are not durable yet, resumes after a lost connection, respects credits and
// verdict deadlines, and fails open. It has no socket and no clock: callers pass `now` (milliseconds, any origin, never
// decreasing) and take the frames to write with `drain`.
//
// Bounds: the queue takes a message only below `keep` messages, the daemon's `credits` once they are known, and
// `maxBufferBytes`. It may exceed credits that a welcome lowers. Beyond these limits it drops messages, counts them,
// and reports them with one `gap` as soon as half of the room is free. It remembers `maxKnownInterventions`
// interventions and forgets the oldest first.
import { readFrame } from "./frames.js";
import { Holds } from "./holds.js";
import type { Answer, AsIsReason, Blocked, Counters, SessionEvents, SessionOptions } from "./session-contract.js";
import type { Applied, DaemonError, Frame, Hello, Intervention, Message, Welcome } from "./wire.js";

export type { Answer, AsIsReason, Blocked, Counters, SessionEvents, SessionOptions } from "./session-contract.js";

interface QueuedMessage {
  body: string; // JSON of the message, without seq and as_is
  bytes: number;
  seq: number; // 0: not sent yet
  asIs: boolean; // its events were delivered before it was sent
  blocked: readonly Blocked[];
  deadline: number;
  settle: ((answer: Answer) => void) | null; // null: no caller waits
  holds: Holds | null; // events that wait for a person
}

const maxKnownInterventions = 1024;
const maxMoves = 5; // in a row, from one daemon to another, without a welcome
const maxUnanswered = 4096; // sent messages without a known answer; beyond it, the oldest are given up
const defaultMessageBytes = 1 << 20; // until `welcome` brings the daemon's limit
const envelopeBytes = 64; // for seq and as_is
const encoder = new TextEncoder();

/** The client side of the protocol as a state machine without I/O, for programs with a transport of their own. */
export class Session {
  readonly counters: Counters = { messages: 0, asIs: 0, dropped: 0, welcomes: 0, errors: 0, unreadable: 0 };
  private state: "starting" | "greeted" | "open" | "down" | "over" = "starting";
  private lastWelcomeFrame: Welcome | null = null;
  private queue: QueuedMessage[] = []; // in order; sent messages come first
  private writtenCount = 0; // messages of the queue that were written to this connection
  private queuedBytes = 0;
  private readonly held = new Set<QueuedMessage>();
  private readonly bySeq = new Map<number, QueuedMessage>(); // sent, with a waiting caller
  private readonly unanswered = new Set<number>(); // seqs of sent messages with blocked events, in order
  private lastSeq = 0;
  private acked = 0;
  private lastAnswered = 0;
  private moves = 0;
  private unreportedDrops = 0; // dropped messages that no `gap` has reported yet
  private droppedRunEnd: string | null = null; // a run_ended that did not fit
  private hasLost = false; // the session ended before a message was durable
  private outbox: string[] = [];
  private readonly interventions = new Map<string, { applied: Applied; reason?: string; queued: boolean } | null>();

  constructor(
    private readonly hello: () => Hello,
    private readonly options: SessionOptions,
    private readonly events: SessionEvents,
  ) {}

  // ---- the connection

  /** A connection is open: queues the hello. */
  connected(): void {
    if (this.state === "over") return;
    if (this.state !== "starting") this.state = "greeted";
    // The daemon sends the answers above `answered_seq` again.
    const again = this.lastWelcomeFrame ? { answered_seq: this.answeredSeq } : {};
    this.outbox = [JSON.stringify({ ...this.hello(), ...again })];
  }

  /** The connection was lost or failed: held messages go out as is, except those that fail closed. */
  disconnected(now: number): void {
    if (this.state === "over") return;
    this.state = "down";
    this.outbox = [];
    for (const queued of [...this.held]) {
      if (queued.deadline <= now && queued.holds !== null) this.expireHolds(queued, queued.holds, now);
      else if (queued.holds === null && !(this.failsClosed(queued) && queued.deadline > now))
        this.deliverAsIs(queued, "disconnected");
    }
  }

  /** Ends the session permanently: held messages go out as is, and the queue is cleared. */
  finish(): void {
    if (!this.isDurable) this.hasLost = true;
    this.state = "over";
    for (const queued of [...this.held]) this.settle(queued, { verdicts: null, asIs: "off" });
    this.queue = [];
    this.queuedBytes = 0;
    this.bySeq.clear();
    this.outbox = [];
  }

  /** Takes the frames to write, in order. */
  drain(): string[] {
    const frames = this.outbox;
    this.outbox = [];
    return frames;
  }

  /** Whether the daemon has welcomed this session on the present connection. */
  get isOpen(): boolean {
    return this.state === "open";
  }
  /** Whether the last attempt to connect failed, or the session is over. */
  get hasFailed(): boolean {
    return this.state === "down" || this.state === "over";
  }
  /** Whether the session has ended permanently. */
  get isOver(): boolean {
    return this.state === "over";
  }
  /** Whether everything is durable. After the end it stays false if something was not. */
  get isDurable(): boolean {
    return !this.hasLost && this.queue.length === 0 && this.unreportedDrops === 0 && this.droppedRunEnd === null;
  }
  /** The daemon's last welcome; null before the first. */
  get lastWelcome(): Welcome | null {
    return this.lastWelcomeFrame;
  }
  /** The number of messages without an ack. */
  get unacked(): number {
    return this.queue.length;
  }
  /** The earliest deadline of a held message, or Infinity. */
  get nextDeadline(): number {
    let next = Infinity;
    for (const queued of this.held) next = Math.min(next, queued.deadline);
    return next;
  }

  // ---- sending

  /** Queues a message. For `blocked` events `settle` is called once, within `maxMs`, with the answer. */
  report(
    message: Message,
    now: number,
    blocked: readonly Blocked[] = [],
    settle: ((answer: Answer) => void) | null = null,
    maxMs = Infinity,
  ): void {
    if (this.state === "over") {
      this.hasLost = true;
      return settle?.({ verdicts: null, asIs: "off" });
    }
    const body = this.encode(message);
    if (!this.hasRoom(body.length)) {
      this.counters.dropped += 1;
      if (message.type === "run_ended") this.droppedRunEnd = body;
      else this.unreportedDrops += 1;
      if (settle) this.counters.asIs += blocked.length;
      this.reportGap(); // no ack may come for a queue that is empty
      return settle?.({ verdicts: null, asIs: "credits" });
    }
    const queued = this.enqueue(body, blocked);
    // Without `settle` the caller has delivered the events already.
    queued.asIs = settle === null && blocked.length > 0;
    if (settle) {
      queued.settle = settle;
      this.held.add(queued);
      queued.deadline = now + Math.min(this.maxWaitMs(queued), maxMs);
      if (this.state === "down" && !this.failsClosed(queued)) this.deliverAsIs(queued, "disconnected");
    }
    this.write();
  }

  /** Releases the held messages whose deadline has passed. */
  tick(now: number): void {
    for (const queued of [...this.held]) {
      if (queued.deadline > now) continue;
      if (queued.holds !== null) this.expireHolds(queued, queued.holds, now);
      else this.deliverAsIs(queued, this.state === "open" ? "timeout" : "disconnected");
    }
  }

  /** Reports how an intervention was carried out. Ignores a second report for the same id. */
  answerIntervention(id: string, applied: Applied, now: number, reason?: string): void {
    if (this.interventions.get(id)) return;
    const answer = { applied, ...(reason === undefined ? {} : { reason }), queued: false };
    this.interventions.set(id, answer);
    this.sendAnswer(id, answer, now);
  }

  // ---- receiving

  /** Takes in one frame of the daemon. An unreadable frame changes nothing: its events wait until their deadline. */
  receive(text: string, now: number): void {
    if (this.state === "over") return;
    let frame: Frame | null;
    try {
      frame = readFrame(text);
    } catch (error) {
      this.counters.unreadable += 1;
      this.events.unreadable?.(error instanceof Error ? error.message : String(error));
      return;
    }
    switch (frame?.type) {
      case "welcome":
        return this.onWelcome(frame);
      case "verdicts":
        return this.onAnswer(frame.seq, { verdicts: frame.verdicts }, now);
      case "ack":
        return this.onAck(frame.seq);
      case "intervention":
        return this.onIntervention(frame, now);
      case "error":
        return this.onError(frame);
    }
  }

  private onWelcome(welcome: Welcome): void {
    this.counters.welcomes += 1;
    this.lastWelcomeFrame = welcome;
    this.moves = 0;
    this.state = "open";
    const durable = welcome.acked_seq;
    if (durable < this.acked) this.renumber(durable);
    else this.removeDurable(durable);
    this.lastSeq = Math.max(this.lastSeq, durable);
    this.acked = durable;
    this.events.welcome(welcome);
    this.writtenCount = 0;
    this.write();
    this.reportGap();
  }

  /**
   * The daemon has less than it had acknowledged, so its archive is new. Renumbers the queue behind a gap. The ids of
   * interventions begin again, too.
   */
  private renumber(durable: number): void {
    this.unreportedDrops += this.acked - durable;
    this.lastSeq = durable;
    this.lastAnswered = durable;
    this.bySeq.clear();
    this.unanswered.clear();
    this.interventions.clear();
    for (const queued of this.queue) {
      if (queued.seq > 0 && queued.settle === null && queued.blocked.length > 0) queued.asIs = true;
      queued.seq = 0;
    }
    if (this.queue.length >= this.limit()) this.dropNewest();
    const admitted = this.enqueue(JSON.stringify({ type: "gap", dropped: this.unreportedDrops }), []);
    this.unreportedDrops = 0;
    this.queue.unshift(...this.queue.splice(this.queue.indexOf(admitted)));
  }

  private dropNewest(): void {
    const queued = this.queue.pop();
    if (!queued) return;
    this.queuedBytes -= queued.bytes;
    this.counters.dropped += 1;
    this.unreportedDrops += 1;
    this.counters.asIs += queued.settle ? queued.blocked.length : 0;
    this.settle(queued, { verdicts: null, asIs: "credits" });
  }

  private onAck(seq: number): void {
    this.acked = Math.max(this.acked, seq);
    this.removeDurable(seq);
    this.write();
    this.reportGap();
  }

  private onAnswer(seq: number, answer: Answer, now: number): void {
    this.unanswered.delete(seq);
    if (answer.verdicts && seq > this.lastAnswered) {
      this.lastAnswered = seq;
      this.events.verdicts?.(answer.verdicts);
    }
    const queued = this.bySeq.get(seq);
    if (!queued) return;
    const holds = new Holds(answer.verdicts ?? [], now, this.lastWelcomeFrame?.verdict_deadline_ms ?? 0);
    if (holds.isOver) return this.settle(queued, answer);
    this.bySeq.delete(seq);
    queued.holds = holds;
    queued.deadline = holds.nextDeadline;
  }

  private onHoldEnd(end: Intervention, now: number): void {
    this.interventions.set(end.id, null);
    for (const queued of this.held) {
      const verdict = queued.holds?.end(end) ?? null;
      if (verdict === null) continue;
      this.updateHolds(queued, now);
      return this.answerIntervention(end.id, verdict.action === "reroute" ? "rerouted" : "released", now);
    }
    this.answerIntervention(end.id, "unsupported", now, "the event is not held any more");
  }

  private expireHolds(queued: QueuedMessage, holds: Holds, now: number): void {
    for (const { event, action } of holds.expire(now)) {
      const applied: Applied = action === "reroute" ? "rerouted" : "as_is";
      this.report({ type: "delivery", event, applied, reason: "hold_ms" }, now);
    }
    this.updateHolds(queued, now);
  }

  private updateHolds(queued: QueuedMessage, now: number): void {
    const { holds } = queued;
    if (holds?.isOver) this.settle(queued, { verdicts: holds.answer, heldMs: now - holds.since });
    else if (holds) queued.deadline = holds.nextDeadline;
  }

  private onError(error: DaemonError): void {
    this.counters.errors += 1;
    if (error.code === "moved" && typeof error.to === "string" && this.events.moved && this.moves < maxMoves) {
      this.moves += 1;
      return this.events.moved(error.to);
    }
    if (error.fatal) {
      this.finish();
      return this.events.refused(error);
    }
    this.events.error?.(error);
    // bad_seq carries the expected seq, not that of a refused message.
    if (error.code === "bad_seq" || error.seq === undefined) return;
    this.unanswered.delete(error.seq);
    const queued = this.bySeq.get(error.seq);
    if (!queued) return;
    this.counters.asIs += queued.blocked.length;
    this.settle(queued, { verdicts: null, asIs: `error:${error.code}`, error });
  }

  private onIntervention(intervention: Intervention, now: number): void {
    const known = this.interventions.get(intervention.id);
    if (known !== undefined) {
      if (known && !known.queued) this.sendAnswer(intervention.id, known, now);
      return;
    }
    if (this.interventions.size >= maxKnownInterventions) {
      const [oldest] = this.interventions.keys();
      this.interventions.delete(oldest as string);
    }
    if (intervention.id.startsWith("hold:")) return this.onHoldEnd(intervention, now);
    this.interventions.set(intervention.id, null);
    this.events.intervention({ ...intervention, recipients: intervention.recipients ?? [] });
  }

  // ---- the queue

  private limit(): number {
    return this.lastWelcomeFrame ? Math.min(this.lastWelcomeFrame.credits, this.options.keep) : this.options.keep;
  }

  private hasRoom(bytes: number): boolean {
    return (
      this.unreportedDrops === 0 &&
      this.queue.length < this.limit() &&
      this.queuedBytes + bytes <= this.options.maxBufferBytes
    );
  }

  /** The message as JSON, without payloads if the daemon would refuse it for its size. */
  private encode(message: Message): string {
    const body = JSON.stringify(message);
    const limit = this.lastWelcomeFrame?.limits?.["message_bytes"] ?? defaultMessageBytes;
    if (body.length * 3 < limit || encoder.encode(body).length + envelopeBytes <= limit) return body;
    return JSON.stringify(message, (name, value: unknown) =>
      name === "payload" ? { digd: "left out: too large" } : value,
    );
  }

  private enqueue(body: string, blocked: readonly Blocked[]): QueuedMessage {
    this.counters.messages += 1;
    const queued: QueuedMessage = {
      body,
      bytes: body.length,
      seq: 0,
      asIs: false,
      blocked,
      deadline: Infinity,
      settle: null,
      holds: null,
    };
    this.queue.push(queued);
    this.queuedBytes += queued.bytes;
    return queued;
  }

  /** Writes as many queued messages as credits allow. The queue may be longer if it was filled without a daemon. */
  private write(): void {
    if (this.state !== "open" || !this.lastWelcomeFrame) return;
    const maxWritten = Math.min(this.queue.length, this.lastWelcomeFrame.credits);
    while (this.writtenCount < maxWritten) this.send(this.queue[this.writtenCount++] as QueuedMessage);
  }

  private send(queued: QueuedMessage): void {
    if (queued.seq === 0) queued.seq = ++this.lastSeq;
    if (queued.settle) this.bySeq.set(queued.seq, queued);
    if (queued.blocked.length > 0) this.expectAnswer(queued.seq);
    this.outbox.push(`{"seq":${queued.seq},${queued.asIs ? '"as_is":true,' : ""}${queued.body.slice(1)}`);
  }

  private expectAnswer(seq: number): void {
    this.unanswered.add(seq);
    const [oldest] = this.unanswered;
    if (this.unanswered.size > maxUnanswered) this.unanswered.delete(oldest as number);
  }

  /** The last seq up to which every answer has come. */
  private get answeredSeq(): number {
    const [oldest] = this.unanswered;
    return (oldest ?? this.lastSeq + 1) - 1;
  }

  /** Removes the messages up to `seq`, which are durable. */
  private removeDurable(seq: number): void {
    let count = 0;
    for (const queued of this.queue) {
      if (queued.seq === 0 || queued.seq > seq) break;
      this.queuedBytes -= queued.bytes;
      count += 1;
    }
    this.queue.splice(0, count);
    this.writtenCount = Math.max(0, this.writtenCount - count);
  }

  /** Once half of the room is free again, reports the dropped messages, then a dropped end of the run. */
  private reportGap(): void {
    if (this.queue.length > this.limit() >> 1 || this.queuedBytes > this.options.maxBufferBytes / 2) return;
    const messages: string[] = [];
    if (this.unreportedDrops > 0) messages.push(JSON.stringify({ type: "gap", dropped: this.unreportedDrops }));
    this.unreportedDrops = 0;
    if (this.droppedRunEnd !== null && this.queue.length + messages.length < this.limit()) {
      messages.push(this.droppedRunEnd);
      this.droppedRunEnd = null;
    }
    for (const body of messages) this.enqueue(body, []);
    this.write();
  }

  // ---- waiting

  private maxWaitMs(queued: QueuedMessage): number {
    if (this.submits(queued) && this.options.failClosedMs > 0) return this.options.failClosedMs;
    return this.lastWelcomeFrame?.verdict_deadline_ms ?? this.options.deadlineMs;
  }

  private submits(queued: QueuedMessage): boolean {
    return queued.blocked.some((b) => b.submit === true);
  }

  private failsClosed(queued: QueuedMessage): boolean {
    return this.options.failClosedMs > 0 && this.submits(queued);
  }

  private settle(queued: QueuedMessage, answer: Answer): void {
    this.held.delete(queued);
    // After a renumbering, another message may have the seq of one that was durable before.
    if (this.bySeq.get(queued.seq) === queued) this.bySeq.delete(queued.seq);
    const settle = queued.settle;
    queued.settle = null;
    settle?.(answer);
  }

  /**
   * Fails open: delivers the events as is and reports it, in the message itself or, if that was sent, in a `delivery`.
   */
  private deliverAsIs(queued: QueuedMessage, reason: AsIsReason): void {
    this.counters.asIs += queued.blocked.length;
    const wasSent = queued.seq > 0;
    if (!wasSent) queued.asIs = queued.blocked.length > 0;
    this.settle(queued, { verdicts: null, asIs: reason });
    if (!wasSent) return;
    for (const { event } of queued.blocked) this.report({ type: "delivery", event, applied: "as_is", reason }, 0);
  }

  private sendAnswer(id: string, answer: { applied: Applied; reason?: string; queued: boolean }, now: number): void {
    const dropped = this.counters.dropped;
    const reason = answer.reason === undefined ? {} : { reason: answer.reason };
    this.report({ type: "delivery", of: id, applied: answer.applied, ...reason }, now);
    answer.queued = this.counters.dropped === dropped;
  }
}
