// A model of the daemon, without sockets: it checks numbering, answers and acknowledges, and can be killed and wiped.

export interface Recorded {
  seq: number;
  message: Record<string, unknown>;
}

export class ModelDaemon {
  record: Recorded[] = []; // its messages; the first `durable` ones survive a kill
  durable = 0;
  unread: string[] = []; // frames that the client has not read yet
  breach: string | null = null; // the client's first violation of the protocol
  private greeted = false;
  private durableAtWelcome = 0;

  constructor(
    readonly credits: number,
    readonly deadlineMs: number,
  ) {}

  /** Handles a frame of the client. */
  receive(text: string): void {
    const message = JSON.parse(text) as Record<string, unknown>;
    if (message["type"] === "hello") return this.welcome();
    if (!this.greeted) this.reportBreach(`a message before hello: ${text}`);
    const seq = message["seq"] as number;
    if (seq <= this.record.length) {
      if (seq > this.durableAtWelcome) this.answer(seq);
      return;
    }
    if (seq !== this.record.length + 1) return this.reportBreach(`expected seq ${this.record.length + 1}: ${text}`);
    this.record.push({ seq, message });
    if (this.record.length - this.durable > this.credits) this.reportBreach(`over its credits: ${text}`);
    this.answer(seq);
  }

  ack(upTo: number): void {
    this.durable = Math.max(this.durable, Math.min(upTo, this.record.length));
    if (this.greeted) this.unread.push(JSON.stringify({ type: "ack", seq: this.durable }));
  }

  /** Breaks the connection. `kill` also loses what is not durable, `wipe` everything. */
  disconnect(kind: "cut" | "kill" | "wipe"): void {
    this.greeted = false;
    this.unread = [];
    if (kind === "kill") this.record.length = this.durable;
    if (kind === "wipe") {
      this.record = [];
      this.durable = 0;
    }
  }

  private welcome(): void {
    this.greeted = true;
    this.durableAtWelcome = this.durable;
    this.unread.push(
      JSON.stringify({
        type: "welcome",
        protocol: 1,
        run: "r",
        session: "main",
        acked_seq: this.durable,
        mode: "enforce",
        rules: {},
        limits: { message_bytes: 1 << 20 },
        verdict_deadline_ms: this.deadlineMs,
        credits: this.credits,
      }),
    );
  }

  private answer(seq: number): void {
    const message = this.record[seq - 1]?.message;
    if (message?.["type"] !== "event") return;
    const event = (message["event"] as { id: string }).id;
    this.unread.push(
      JSON.stringify({ type: "verdicts", seq, verdicts: [{ event, action: "inject", inject: `of ${event}` }] }),
    );
  }

  private reportBreach(problem: string): void {
    this.breach ??= problem;
  }
}
