// One span of an agent acting: its inputs, its reactions to them, and its outputs.
import type { Run } from "./run.js";
import { eventId, type EventLike, type Verdict } from "./verdict.js";
import type { Reaction, WireEvent } from "./wire.js";

export interface OutputOptions {
  /** Made up if missing. */
  id?: string;
  payload?: unknown;
  kind?: string;
  /** Asks nothing of its recipients: a log line, a notice. */
  fyi?: boolean;
  /** The final answer. */
  submit?: boolean;
}

/** An output that is announced with the end of its activation. */
export interface Output {
  readonly id: string;
  /** Resolves when the activation has ended. */
  readonly verdict: Promise<Verdict>;
}

interface PendingOutput extends Output {
  event: WireEvent;
  resolve(verdict: Verdict): void;
}

/** Made by `Run.begin` or `Run.activation`. Ended once; calls after that throw. */
export class Activation {
  private readonly reactions = new Map<string, Reaction>();
  private readonly outputs: PendingOutput[] = [];
  private ended = false;

  /** @internal */
  constructor(
    private readonly run: Run,
    readonly id: string,
    readonly agent: string,
    readonly inputs: readonly string[],
  ) {}

  get isOpen(): boolean {
    return !this.ended;
  }

  /** Took the input up; the default for an input without a reaction. */
  consume(...inputs: EventLike[]): void {
    this.react(inputs, "consume");
  }
  /** Leaves it pending. */
  wait(...inputs: EventLike[]): void {
    this.react(inputs, "wait");
  }
  discard(...inputs: EventLike[]): void {
    this.react(inputs, "discard");
  }
  /** Passes it to other agents; they get it when the activation ends and the verdict is there. */
  reroute(input: EventLike, to: readonly string[]): void {
    this.react([input], { reroute: [...to] });
  }

  /** Announces an output now, while the activation goes on, and waits for its verdict. */
  async emit(recipients: readonly string[], options: OutputOptions = {}): Promise<Verdict> {
    this.mustBeOpen("emit");
    return this.run.announce(this.event(recipients, options));
  }

  /** Gives the final answer now. A verdict `reroute` gives it back: the run is not over. */
  submit(payload?: unknown, options: Omit<OutputOptions, "submit" | "payload"> = {}): Promise<Verdict> {
    return this.emit([], { ...options, payload, submit: true });
  }

  /** Adds an output that is announced with the end, together with all others. */
  output(recipients: readonly string[], options: OutputOptions = {}): Output {
    this.mustBeOpen("output");
    const event = this.event(recipients, options);
    let resolve!: (verdict: Verdict) => void;
    const verdict = new Promise<Verdict>((resolveVerdict) => (resolve = resolveVerdict));
    const output: PendingOutput = { id: event.id, verdict, event, resolve };
    this.outputs.push(output);
    return { id: output.id, verdict };
  }

  /** Ends it: reactions, then outputs, judged together. Verdicts of rerouted inputs first, in the order of the inputs. */
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

  /** Ends it as failed: its inputs stay pending, outputs that were not announced are not made. */
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
          `${JSON.stringify(input)} is no input of activation ${this.id}; its inputs: ${this.inputs.join(", ") || "none"}`,
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
