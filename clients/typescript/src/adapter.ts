// Parts that the adapters share: payloads of bounded size, and interventions that wait until the framework can act.
import { now } from "#transport";
import type { RunOptions } from "./options.js";
import type { Intervention } from "./wire.js";

const maxPayloadCharacters = 16 << 10;
const maxWaitMs = 25_000; // less than a handler has

/** A value as a payload: JSON, or a note if it is none or too long. */
export function snapshot(value: unknown): unknown {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    return { digd: "left out: no JSON" };
  }
  if (text === undefined) return undefined;
  return text.length > maxPayloadCharacters ? { digd: `left out: ${text.length} characters` } : JSON.parse(text);
}

/** Options of a run that an adapter begins; a fixed `run` id is numbered from its second use on. */
export class RunSettings<C> {
  private uses = 0;
  constructor(private readonly source: RunOptions | ((context: C) => RunOptions) | undefined) {}

  next(context: C): RunOptions {
    const options = typeof this.source === "function" ? this.source(context) : (this.source ?? {});
    this.uses += 1;
    if (options.run === undefined || this.uses === 1 || typeof this.source === "function") return options;
    return { ...options, run: `${options.run}-${this.uses}` };
  }
}

interface WaitingIntervention {
  intervention: Intervention;
  resolve(done: boolean): void;
}

/** Interventions that came and wait until the framework can act on them. */
export class Inbox {
  private readonly waiting: WaitingIntervention[] = [];
  private wake: (() => void) | null = null;
  private closed = false;

  /** For `Run.onIntervention`: true when somebody takes it to act on it, false if nobody does in time. */
  readonly handler = (intervention: Intervention): Promise<boolean> => {
    if (this.closed) return Promise.resolve(false);
    return new Promise((done) => {
      const resolve = (acted: boolean): void => {
        clearTimeout(timer);
        done(acted);
      };
      const entry = { intervention, resolve };
      const timer = setTimeout(() => {
        this.waiting.splice(this.waiting.indexOf(entry), 1);
        done(false);
      }, maxWaitMs);
      (timer as { unref?: () => void }).unref?.();
      this.waiting.push(entry);
      this.wake?.();
    });
  };

  /** Takes all; whoever takes them acts on them. */
  takeAll(): Intervention[] {
    return this.waiting.splice(0).map(({ intervention, resolve }) => {
      resolve(true);
      return intervention;
    });
  }

  /** Waits for the first, `withinMs` at most, or until `gone` is true. Returns whether there is one. */
  async waitForAny(withinMs: number, isOver: () => boolean): Promise<boolean> {
    const deadline = now() + withinMs;
    while (this.waiting.length === 0 && !isOver()) {
      const leftMs = deadline - now();
      if (leftMs <= 0) return false;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(leftMs, 250)); // looks whether the daemon is still there
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.wake = null;
    }
    return this.waiting.length > 0;
  }

  /** Nobody will act any more. */
  close(): void {
    this.closed = true;
    for (const { resolve } of this.waiting.splice(0)) resolve(false);
  }
}
