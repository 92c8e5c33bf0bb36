// A run of a multi-agent system, as its program reports it. Everything here also works without a daemon.
import { now as clock } from "#transport";
import { Activation, type OutputOptions } from "./activation.js";
import { background, Link } from "./link.js";
import {
  helloOf,
  nonce,
  resolveOptions,
  safeLog,
  type Handled,
  type InterventionHandler,
  type Redact,
  type RunOptions,
  type Settings,
} from "./options.js";
import { Session, type Answer, type Blocked, type Counters } from "./session.js";
import { eventId, unchangedVerdict, verdictsOf, type EventLike, type Verdict } from "./verdict.js";
import type {
  Applied,
  Detection,
  Intervention,
  Message,
  Mode,
  Outcome,
  Reaction,
  Usage,
  Welcome,
  WireEvent,
} from "./wire.js";

/** Options of a root event. */
export type EmitOptions = Omit<OutputOptions, "submit">;

const maxHandlerMs = 30_000;
const appliedByAction = { create: "created", reroute: "rerouted", release: "released", cancel: "cancelled" } as const;
const maxTextCharacters = 2000; // of an error or a reason
const maxFailedHealings = 3; // from then on, everything in the run goes out unchanged

/**
 * One run of one system. The constructor starts to connect in the background. Only a held event waits for the daemon,
 * and no longer than the verdict deadline. Always call `end`; it waits at most `lingerMs` for the last ack.
 *
 * Any number of asynchronous tasks may share a run. Threads may not.
 */
export class Run {
  readonly id: string;
  private readonly settings: Settings;
  private readonly session: Session;
  private readonly link: Link;
  private readonly agents: Set<string> | null;
  private readonly redact: Redact | null;
  private handler: InterventionHandler | null;
  private helloHasHandler = false; // the last hello claimed the capability `create`
  private idSuffix = ""; // keeps ids distinct from those of an earlier process of this session
  private readonly idCounts = { e: 0, v: 0 }; // events, activations
  private interventionQueue: Promise<void> = Promise.resolve(); // handles one intervention at a time
  private ending: Promise<boolean> | null = null; // of `end` or `close`
  private readonly unhealedByRule = new Map<string, number>(); // by rule: healings that only `enforce` would have made
  private failedHealings = 0;
  private addedMs = 0; // total time for which messages were held
  private unheldReason: "max_added_ms" | "healing_failed" | null = null;
  private readonly loggedKeys = new Set<string>();
  private helloSent = false;
  private adapterCameLate = false; // attached after the hello: the daemon's mode may be stronger than `shadow`

  constructor(options: RunOptions = {}) {
    this.settings = resolveOptions(options);
    this.id = this.settings.target.run;
    this.agents = options.agents ? new Set(options.agents) : null;
    this.redact = options.redact ?? null;
    this.handler = options.onIntervention ?? null;
    this.session = new Session(
      () => {
        this.helloSent = true;
        return helloOf(this.settings, this.agents, (this.helloHasHandler = this.handler !== null));
      },
      {
        deadlineMs: options.deadlineMs ?? 250,
        failClosedMs: options.failClosedMs ?? 0,
        keep: options.keep ?? 1024,
        maxBufferBytes: options.maxBufferBytes ?? 16 << 20,
      },
      {
        intervention: (intervention) =>
          void (this.interventionQueue = this.interventionQueue.then(() => this.intervene(intervention))),
        welcome: (welcome) => {
          if (this.session.counters.welcomes === 1 && welcome.acked_seq > 0) this.idSuffix = `-${nonce(4)}`;
          // The handler came after the hello. Reconnect once the session has processed this frame.
          if (this.handler !== null && !this.helloHasHandler) queueMicrotask(() => this.link.reconnect());
        },
        moved: (to) => this.link.moveTo(to),
        unreadable: (reason) =>
          this.logOnce(
            "unreadable",
            `digd: ignored an unreadable frame of the daemon (${cut(reason)}); its events go out unchanged`,
          ),
        verdicts: (verdicts) => verdicts.forEach((v) => this.countUnhealed(v.detections ?? [])),
        error: (error) => {
          if (error.code === "run_closed" && this.ending === null)
            this.logOnce(
              "run_closed",
              `digd: run ${this.id} has ended already, so the daemon refuses it; ` +
                `give each run a new id, or leave \`run\` out`,
            );
        },
        refused: (error) => {
          this.settings.log(
            `digd: refused: ${error.code} ${JSON.stringify(error.message ?? "")}; this run continues unwatched`,
          );
          this.link.stop();
        },
      },
    );
    this.link = new Link(this.session, this.settings.target, this.settings.backoff, this.settings.log);
    if (this.settings.mode === "off") this.session.finish();
    else this.link.start();
  }

  /** Whether the connection is open and the daemon has sent its welcome. */
  get connected(): boolean {
    return this.session.isOpen;
  }
  /** The effective mode, rules and limits, from the daemon's last welcome. */
  get welcome(): Welcome | null {
    return this.session.lastWelcome;
  }
  /** The requested mode; undefined leaves it to the daemon. `welcome.mode` is the effective one. */
  get mode(): Mode | undefined {
    return this.settings.mode;
  }
  /**
   * Whether a verdict may still change what this run does. The mode of the welcome decides, because an operator's
   * canary enforces some of the runs that asked for shadow.
   */
  get heals(): boolean {
    if (this.unheldReason !== null || this.session.isOver || this.adapterCameLate || this.settings.mode === "off")
      return false;
    return (this.welcome?.mode ?? this.settings.mode ?? "enforce") === "enforce";
  }
  /** Counts of messages, of deliveries unchanged and of errors. */
  get counters(): Readonly<Counters> {
    return this.session.counters;
  }
  /** The number of messages without an ack. */
  get unacked(): number {
    return this.session.unacked;
  }

  /** Waits until the daemon has welcomed this run (true), or the connection has failed (false). */
  async ready(withinMs = 1000): Promise<boolean> {
    await this.link.until(() => this.session.isOpen || this.session.hasFailed, withinMs);
    return this.session.isOpen;
  }

  /** Waits until the daemon has acknowledged every message. Returns false if it has not, or if messages are lost. */
  async flush(withinMs = 5000): Promise<boolean> {
    await this.link.until(() => this.session.isDurable || this.session.isOver, withinMs);
    return this.session.isDurable;
  }

  /** For adapters, before the hello is sent: names the client, and makes `shadow` the mode if none was chosen. */
  adapterDefaults(name: string): void {
    this.settings.client = `digd-${name}`;
    this.settings.hasAdapter = true;
    if (this.settings.mode === undefined && this.helloSent) this.adapterCameLate = true;
    this.settings.mode ??= "shadow";
  }

  // ---- reporting

  /** Announces a root event and waits for its verdict. */
  emit(recipients: readonly string[], options: EmitOptions = {}): Promise<Verdict> {
    return this.announce(this.makeEvent(recipients, options));
  }

  /** Begins an activation. The caller must end it. */
  begin(agent: string, inputs: readonly EventLike[] = [], id?: string): Activation {
    const activation = new Activation(this, id ?? this.nextId("v"), agent, [...new Set(inputs.map(eventId))]);
    this.agents?.add(agent);
    this.send({ type: "activation_started", activation: activation.id, agent, inputs: activation.inputs });
    return activation;
  }

  /** Runs `body` as an activation, which ends when `body` returns and fails when it throws. Returns its value. */
  async activation<T>(
    agent: string,
    inputs: readonly EventLike[],
    body: (a: Activation) => T | Promise<T>,
  ): Promise<T> {
    const activation = this.begin(agent, inputs);
    let value: T;
    try {
      value = await body(activation);
    } catch (error) {
      if (activation.isOpen) activation.fail(error);
      throw error;
    }
    if (activation.isOpen) await activation.end();
    return value;
  }

  /** Reports what an activation used since the last report, also after its end. */
  usage(activation: Activation | string, used: Usage): void {
    // A daemon that does not know `usage` would refuse the message.
    if (isUnused(used) || (this.welcome && this.welcome.guards === undefined)) return;
    const id = typeof activation === "string" ? activation : activation.id;
    this.send({ type: "usage", activation: id, usage: used });
  }

  /** Reports that an agent can receive events from now on. */
  agentJoined(agent: string): void {
    this.agents?.add(agent);
    this.send({ type: "agent_joined", agent });
  }

  /** Reports that an agent can receive no events any more. */
  agentLeft(agent: string): void {
    this.agents?.delete(agent);
    this.send({ type: "agent_left", agent });
  }

  /** Reports that `dropped` observations are missing. */
  gap(dropped = 1): void {
    this.send({ type: "gap", dropped });
  }

  /** Moves the clock of a run with `clock: "trace"`. */
  tick(ts: number): void {
    this.send({ type: "time", ts });
  }

  /** Reports that a verdict was applied or, with `asIs`, the reason why it was not. `deliver` needs no report. */
  applied(verdict: Verdict, asIs?: string): void {
    if (verdict.asIs !== undefined || (verdict.action === "deliver" && asIs === undefined)) return;
    if (verdict.hold !== undefined && asIs === undefined) return; // the end of a hold is reported already
    if (asIs !== undefined && verdict.action !== "deliver") this.countFailedHealing(asIs);
    const applied: Applied = asIs !== undefined ? "as_is" : verdict.action === "inject" ? "injected" : "rerouted";
    this.send({
      type: "delivery",
      event: verdict.event,
      applied,
      ...(asIs === undefined ? {} : { reason: this.redactText(asIs, "reason") }),
    });
  }

  /** Sends a message of the protocol; resolves to the verdicts of `blocked`. For replays and adapters. */
  tell(message: Message, blocked: readonly Blocked[] = []): Promise<Verdict[]> {
    return this.sendBlocked(message, blocked);
  }

  /** Sets the handler, which is called once for each intervention, even if the daemon repeats it. */
  onIntervention(handler: InterventionHandler): void {
    this.handler = handler;
    if (!this.helloHasHandler) this.link.reconnect();
  }

  /**
   * Ends the run, waits at most `lingerMs` for the last ack, and disconnects. Returns whether everything is durable. A
   * second call returns the promise of the first one.
   */
  end(outcome?: Outcome, metrics?: Record<string, number>): Promise<boolean> {
    if (this.ending) return this.ending;
    this.send({ type: "run_ended", ...(outcome ? { outcome } : {}), ...(metrics ? { metrics } : {}) });
    return this.close();
  }

  /** Disconnects without ending the run, so that another process may continue it. */
  close(): Promise<boolean> {
    return (this.ending ??= this.disconnect());
  }

  private async disconnect(): Promise<boolean> {
    const { lingerMs = 2000, deadlineMs = 250 } = this.settings.options;
    // Without a welcome so far, wait no longer than for a verdict.
    const withinMs = this.welcome ? lingerMs : Math.min(lingerMs, deadlineMs);
    await this.link.until(() => this.session.isDurable || this.session.isOver || this.session.hasFailed, withinMs);
    const durable = this.session.isDurable && !this.session.isOver;
    this.session.finish();
    this.link.stop();
    this.logSummary();
    return durable;
  }

  // ---- for activations

  /** @internal */
  makeEvent(recipients: readonly string[], options: OutputOptions, source?: string): WireEvent {
    return {
      id: options.id ?? this.nextId("e"),
      ...(source === undefined ? {} : { source }),
      recipients: [...recipients],
      ...(options.kind === undefined ? {} : { kind: options.kind }),
      ...(options.submit ? { submit: true } : {}),
      ...(options.fyi ? { fyi: true } : {}),
      ...(options.fingerprint === undefined ? {} : { fingerprint: options.fingerprint }),
      ...(options.payload === undefined ? {} : { payload: this.redactValue(options.payload, "payload") }),
    };
  }

  /** @internal */
  async announce(event: WireEvent, source?: Activation): Promise<Verdict> {
    const message: Message = { type: "event", event, ...(source ? usageOf(source) : {}) };
    const [verdict] = await this.sendBlocked(message, [blockedBy(event)]);
    return verdict as Verdict;
  }

  /** @internal */
  endActivation(
    activation: Activation,
    reactions: Record<string, Reaction>,
    rerouted: readonly WireEvent[],
    outputs: readonly WireEvent[],
  ): Promise<Verdict[]> {
    const events = outputs.map(({ source: _, ...event }) => event);
    const message: Message = {
      type: "activation_ended",
      activation: activation.id,
      ...(Object.keys(reactions).length > 0 ? { reactions } : {}),
      ...(events.length > 0 ? { outputs: events } : {}),
      ...usageOf(activation),
    };
    return this.sendBlocked(message, [...rerouted, ...outputs].map(blockedBy));
  }

  /** @internal */
  failActivation(activation: Activation, error: unknown): void {
    const text = error === undefined ? undefined : String(error instanceof Error ? error.message : error);
    this.send({
      type: "activation_ended",
      activation: activation.id,
      failed: true,
      ...(text === undefined ? {} : { error: this.redactText(text, "error") }),
      ...usageOf(activation),
    });
  }

  /** @internal */
  deliveredUnannounced(event: WireEvent): Verdict {
    return { ...unchangedVerdict(event.id, []), asIs: "off" };
  }

  // ---- holding

  private sendBlocked(message: Message, blocked: readonly Blocked[]): Promise<Verdict[]> {
    if (blocked.length === 0) {
      this.send(message);
      return Promise.resolve([]);
    }
    const reason = this.settings.options.hold === false ? "unheld" : this.unheldReason;
    if (reason !== null) {
      this.session.report(message, clock(), blocked);
      this.link.update();
      return Promise.resolve(verdictsOf(blocked, { verdicts: null, asIs: reason }));
    }
    const from = clock();
    return new Promise((resolve) => {
      const settle = (answer: Answer): void => {
        this.countAdded(clock() - from - (answer.heldMs ?? 0));
        resolve(verdictsOf(blocked, answer));
      };
      const leftMs = (this.settings.options.maxAddedMs ?? Infinity) - this.addedMs;
      this.session.report(message, from, blocked, settle, leftMs);
      this.link.update();
    });
  }

  // ---- bounds

  private countAdded(ms: number): void {
    const { maxAddedMs } = this.settings.options;
    this.addedMs += ms;
    if (maxAddedMs === undefined || this.addedMs < maxAddedMs || !this.heals) return;
    this.unheldReason = "max_added_ms";
    this.logOnce(
      "bound",
      `digd: run ${this.id}: holding messages has added maxAddedMs (${maxAddedMs} ms); ` +
        `messages go out unchanged from now on`,
    );
  }

  private countFailedHealing(reason: string): void {
    this.failedHealings += 1;
    if (this.failedHealings < maxFailedHealings) return;
    this.unheldReason ??= "healing_failed";
    this.logOnce(
      "bound",
      `digd: run ${this.id}: ${maxFailedHealings} of digd's decisions could not be carried out ` +
        `(the last one: ${reason}); messages go out unchanged from now on`,
    );
  }

  private countUnhealed(detections: readonly Detection[]): void {
    for (const { rule, cause, healing } of detections) {
      if (cause === "mode" && healing !== null) this.unhealedByRule.set(rule, (this.unhealedByRule.get(rule) ?? 0) + 1);
    }
  }

  /** Logs one line if `enforce` would have healed something in this run. */
  private logSummary(): void {
    if (this.unhealedByRule.size === 0) return;
    const counts = [...this.unhealedByRule].sort(([a], [b]) => (a < b ? -1 : 1));
    const total = counts.reduce((sum, [, n]) => sum + n, 0);
    const list = counts.map(([rule, n]) => `${rule} ${n}`).join(", ");
    const log = safeLog(this.settings.options.log ?? ((line) => console.info(line)));
    log(
      `digd: run ${this.id}: digd would have healed ${total} times (${list}) and changed nothing: the mode is ` +
        `${this.welcome?.mode ?? "shadow"}. Pass mode: "enforce" or set DIGD_MODE=enforce to enable healing; ` +
        `\`digctl show ${this.id}\` has the details`,
    );
  }

  private logOnce(key: string, line: string): void {
    if (this.loggedKeys.has(key)) return;
    this.loggedKeys.add(key);
    this.settings.log(line);
  }

  private send(message: Message): void {
    this.session.report(message, clock());
    this.link.update();
  }

  private nextId(kind: "e" | "v"): string {
    const prefix = this.settings.session === "main" ? "" : `${this.settings.session}/`;
    return `${prefix}${kind}${++this.idCounts[kind]}${this.idSuffix}`;
  }

  private async intervene(intervention: Intervention): Promise<void> {
    let applied: Applied = "unsupported";
    let reason: string | undefined;
    try {
      const handler = intervention.action === "cancel" ? (this.settings.options.onCancel ?? null) : this.handler;
      const done = handler && this.heals ? await withTimeout(handler(intervention), maxHandlerMs) : false;
      if (typeof done === "string") applied = done;
      else if (done !== false) applied = appliedByAction[intervention.action];
    } catch (error) {
      applied = "failed";
      reason = error instanceof Error ? error.message : String(error);
    }
    if (this.heals && (applied === "unsupported" || applied === "failed" || applied === "as_is"))
      this.countFailedHealing(reason ?? applied);
    this.session.answerIntervention(
      intervention.id,
      applied,
      clock(),
      reason === undefined ? undefined : this.redactText(reason, "reason"),
    );
    this.link.update();
  }

  private redactText(text: string, where: "error" | "reason"): string {
    const cleaned = this.redactValue(text, where);
    return typeof cleaned === "string" ? cut(cleaned) : "left out";
  }

  /** The value that may leave the process: the result of `redact` if it is JSON, else a note. */
  private redactValue(value: unknown, where: "payload" | "error" | "reason"): unknown {
    try {
      const redacted = this.redact ? this.redact(value, where) : value;
      const text = JSON.stringify(redacted);
      return text === undefined ? null : JSON.parse(text);
    } catch {
      return { digd: "left out: no JSON, or the redaction failed" };
    }
  }
}

/** At most `maxTextCharacters` of the text, without half of a surrogate pair at the end. */
function cut(text: string): string {
  if (text.length <= maxTextCharacters) return text;
  return text.slice(0, maxTextCharacters).replace(/[\uD800-\uDBFF]$/, "");
}

/** The value of the promise; throws after `ms`. */
async function withTimeout(handled: Handled | Promise<Handled>, ms: number): Promise<Handled> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = background(setTimeout(() => reject(new Error(`the handler took over ${ms} ms`)), ms));
  });
  try {
    return await Promise.race([handled, late]);
  } finally {
    clearTimeout(timer);
  }
}

function isUnused(used: Usage): boolean {
  return !Object.values(used).some((n) => n > 0);
}

/** Returns what the activation has not reported yet, and counts it as reported. */
function usageOf(activation: Activation): { usage?: Usage } {
  const usage = activation.used;
  if (isUnused(usage)) return {};
  activation.used = {};
  return { usage };
}

function blockedBy(event: WireEvent): Blocked {
  return { event: event.id, recipients: event.recipients, ...(event.submit ? { submit: true } : {}) };
}

/** Begins a run and waits for the daemon's welcome or a failed connection. A failed connection is not an error. */
export async function connect(options: RunOptions = {}): Promise<Run> {
  const run = new Run(options);
  await run.ready();
  return run;
}
