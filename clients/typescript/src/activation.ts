// An activation: one span of an agent acting, with its inputs, its reactions to them, and its outputs.
import type { Run } from "./run.js";
import { eventId, type EventLike, type Verdict } from "./verdict.js";
import type { Reaction, Usage, WireEvent } from "./wire.js";

/** Options of an output of an activation. */
export interface OutputOptions {
  /** Generated if missing. */
  id?: string;
  payload?: unknown;
  kind?: string;
  /** Asks nothing of its recipients: a log line, a notice. */
  fyi?: boolean;
  /** The final answer. */
  submit?: boolean;
  /** Events with the same fingerprint count as repetitions. Without a fingerprint, the payload decides. */
  fingerprint?: string;
}

/** An output that is announced when its activation ends. */
export interface Output {
  readonly id: string;
  /** Resolves when the activation has ended. */
  readonly verdict: Promise<Verdict>;
}

interface PendingOutput extends Output {
  event: WireEvent;
  resolve(verdict: Verdict): void;
}

/** Created by `Run.begin` or `Run.activation`. It ends once; every later call throws a TypeError. */
export class Activation {
  private readonly reactions = new Map<string, Reaction>();
  private readonly outputs: PendingOutput[] = [];
  private ended = false;
  /** @internal */
  used: Usage = {}; // not reported yet

  /** @internal */
  constructor(
    private readonly run: Run,
    readonly id: string,
    readonly agent: string,
    readonly inputs: readonly string[],
  ) {}

  /** Whether the activation has not ended yet. */
  get isOpen(): boolean {
    return !this.ended;
  }

  /** Adds to what the activation used; reported with its next work output or its end. */
  addUsage(usage: Usage): void {
    for (const [name, n] of Object.entries(usage) as [keyof Usage, number][])
      this.used[name] = (this.used[name] ?? 0) + n;
  }

  /** The agent used the inputs. This is the default for an input without a reaction. */
  consume(...inputs: EventLike[]): void {
    this.react(inputs, "consume");
  }
  /** The inputs stay pending for the agent. */
  wait(...inputs: EventLike[]): void {
    this.react(inputs, "wait");
  }
  /** The agent drops the inputs. */
  discard(...inputs: EventLike[]): void {
    this.react(inputs, "discard");
  }
  /** Passes the input to other agents. They get it after the activation has ended and its verdict has arrived. */
  reroute(input: EventLike, to: readonly string[]): void {
    this.react([input], { reroute: [...to] });
  }

  /** Announces an output while the activation continues, and waits for its verdict. */
  async emit(recipients: readonly string[], options: OutputOptions = {}): Promise<Verdict> {
    this.mustBeOpen("emit");
    // If `budget` does not judge this event, it could only cancel. So the usage waits for a later message.
    const isJudged = !options.fyi && !options.submit;
    return this.run.announce(this.event(recipients, options), isJudged ? this : undefined);
  }

  /** Submits the final answer now. The verdict `reroute` gives it back; then the run is not over. */
  submit(payload?: unknown, options: Omit<OutputOptions, "submit" | "payload"> = {}): Promise<Verdict> {
    return this.emit([], { ...options, payload, submit: true });
  }

  /** Adds an output that is announced when the activation ends, together with all others. */
  output(recipients: readonly string[], options: OutputOptions = {}): Output {
    this.mustBeOpen("output");
    const event = this.event(recipients, options);
    let resolve!: (verdict: Verdict) => void;
    const verdict = new Promise<Verdict>((resolveVerdict) => (resolve = resolveVerdict));
    const output: PendingOutput = { id: event.id, verdict, event, resolve };
    this.outputs.push(output);
    return { id: output.id, verdict };
  }

  /**
   * Ends the activation; the daemon judges its reactions and outputs together. Returns the verdicts: first those of
   * rerouted inputs in the order of the inputs, then those of the outputs.
   */
  async end(): Promise<Verdict[]> {
    this.close("end");
    const rerouted: WireEvent[] = [];
    for (const input of this.inputs) {
      const reaction = this.reactions.get(input);
      if (typeof reaction === "object") rerouted.push({ id: input, recipients: reaction.reroute });
    }
    const verdicts = await this.run.endActivation(
      this,
      Object.fromEntries(this.reactions),
      rerouted,
      this.outputs.map((o) => o.event),
    );
    this.outputs.forEach((output, i) => output.resolve(verdicts[rerouted.length + i] as Verdict));
    return verdicts;
  }

  /** Ends the activation as failed. Its inputs stay pending; outputs that were not announced do not exist. */
  fail(error?: unknown): void {
    this.close("fail");
    for (const output of this.outputs) output.resolve(this.run.deliveredUnannounced(output.event));
    this.run.failActivation(this, error);
  }

  private event(recipients: readonly string[], options: OutputOptions): WireEvent {
    return this.run.makeEvent(recipients, options, this.id);
  }

  private react(inputs: readonly EventLike[], reaction: Reaction): void {
    this.mustBeOpen("react");
    for (const input of inputs.map(eventId)) {
      if (!this.inputs.includes(input))
        throw new TypeError(
          `${JSON.stringify(input)} is not an input of activation ${this.id}; ` +
            `its inputs: ${this.inputs.join(", ") || "none"}`,
        );
      this.reactions.set(input, reaction);
    }
  }

  private mustBeOpen(call: string): void {
    if (this.ended) throw new TypeError(`${call}: activation ${this.id} of ${JSON.stringify(this.agent)} has ended`);
  }

  private close(call: string): void {
    this.mustBeOpen(call);
    this.ended = true;
  }
}
