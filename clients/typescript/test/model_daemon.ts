// A daemon as the protocol promises it, without sockets: numbers, answers, acknowledges; can be killed and wiped.

export interface Recorded {
  seq: number;
  message: Record<string, unknown>;
}

export class ModelDaemon {
  record: Recorded[] = []; // what it has; the first `durable` survive a kill
  durable = 0;
  out: string[] = []; // what the client has not read yet
  broken: string | null = null; // the first breach of the protocol by the client
  private greeted = false;
  private durableAtWelcome = 0;

  constructor(
    readonly credits: number,
    readonly deadlineMs: number,
  ) {}

  /** One frame of the client. */
  hear(text: string): void {
    const message = JSON.parse(text) as Record<string, unknown>;
    if (message["type"] === "hello") return this.welcome();
    if (!this.greeted) this.breach(`a message before hello: ${text}`);
    const seq = message["seq"] as number;
    if (seq <= this.record.length) {
      if (seq > this.durableAtWelcome) this.answer(seq);
      return;
    }
    if (seq !== this.record.length + 1) return this.breach(`expected seq ${this.record.length + 1}: ${text}`);
    this.record.push({ seq, message });
    if (this.record.length - this.durable > this.credits) this.breach(`over its credits: ${text}`);
    this.answer(seq);
  }

  ack(upTo: number): void {
    this.durable = Math.max(this.durable, Math.min(upTo, this.record.length));
    if (this.greeted) this.out.push(JSON.stringify({ type: "ack", seq: this.durable }));
  }

  /** The connection goes; what is not durable may be lost with the process, or all of it with the disk. */
  cut(how: "cut" | "kill" | "wipe"): void {
    this.greeted = false;
    this.out = [];
    if (how === "kill") this.record.length = this.durable;
    if (how === "wipe") {
      this.record = [];
      this.durable = 0;
    }
  }

  private welcome(): void {
    this.greeted = true;
    this.durableAtWelcome = this.durable;
    this.out.push(
      JSON.stringify({
        type: "welcome", protocol: 1, run: "r", session: "main", acked_seq: this.durable, mode: "enforce", rules: {},
        limits: { message_bytes: 1 << 20 }, verdict_deadline_ms: this.deadlineMs, credits: this.credits,
      }),
    );
  }

  private answer(seq: number): void {
    const message = this.record[seq - 1]?.message;
    if (message?.["type"] !== "event") return;
    const event = (message["event"] as { id: string }).id;
    this.out.push(JSON.stringify({ type: "verdicts", seq, verdicts: [{ event, action: "inject", inject: `of ${event}` }] }));
  }

  private breach(what: string): void {
    this.broken ??= what;
  }
}
