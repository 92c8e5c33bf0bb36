// Parts that the adapters share: payloads of bounded size, options of runs, and interventions that wait for the
// framework.
import { now } from "#transport";
import { requestedMode, resolveOptions, safeLog, type RunOptions } from "./options.js";
import { runWindowRules } from "./rules.generated.js";
import type { Run } from "./run.js";
import type { Intervention, Mode, RuleName, RuleSettings } from "./wire.js";

const maxPayloadCharacters = 16 << 10;
const maxWaitMs = 25_000; // below the limit of an intervention handler in run.ts

/** The value as a payload. If it is not JSON, or too long, a short note replaces it. */
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

/** The options of `instrument` that all adapters share. `C` is the context in which a run begins. */
export interface AdapterOptions<C> {
  /** Default: DIGD_MODE, else `shadow`, which changes nothing. `off` undoes an earlier `instrument`. */
  mode?: Mode;
  /** Options of each run of digd, with defaults of the adapter. */
  run?: RunOptions | ((context: C) => RunOptions);
  /** How long a run at rest without an answer waits for healing, in milliseconds. Default 0: it does not wait. */
  waitForHealingMs?: number;
  /** How often healing may make the same agent act again in one run. */
  maxReturnsPerAgent?: number;
  /** The total time for which a run may hold messages, in milliseconds; afterwards they go out unchanged. */
  maxAddedMs?: number;
  /** Called with each run of digd when it begins. */
  onRun?: (run: Run) => void;
}

type Rules = Partial<Record<RuleName, RuleSettings>>;
const neverMs = 7 * 24 * 3600 * 1000;

export const waitsForHealing = ({ waitForHealingMs = 0 }: AdapterOptions<never>): boolean => waitForHealingMs > 0;

/** Checks the options of `instrument` before any run begins. Returns the mode. Throws a TypeError on invalid values. */
export function checkedMode({ mode, run }: AdapterOptions<never>): Mode | undefined {
  const fixed = typeof run === "function" ? {} : (run ?? {});
  return resolveOptions({ ...fixed, ...(mode === undefined ? {} : { mode }) }).mode;
}

/** The options of one run: the given ones, the options of `instrument`, and the adapter's `rules` as defaults. */
export function runOptionsOf(options: AdapterOptions<never>, given: RunOptions, rules: Rules = {}): RunOptions {
  const mode = requestedMode(options.mode ?? given.mode);
  return {
    ...given,
    ...(mode === undefined ? {} : { mode }),
    ...(options.maxReturnsPerAgent === undefined ? {} : { maxReturnsPerAgent: options.maxReturnsPerAgent }),
    ...(options.maxAddedMs === undefined ? {} : { maxAddedMs: options.maxAddedMs }),
    rules: mergeRules({ ...rules, ...withoutClock(options) }, given.rules),
    limits: { stalled_ms: neverMs, ...given.limits },
  };
}

/** The user's settings of each rule over the adapter's settings of the same rule. */
function mergeRules(defaults: Rules, rules: Rules = {}): Rules {
  const names = Object.keys({ ...defaults, ...rules }) as RuleName[];
  return Object.fromEntries(names.map((name) => [name, { ...defaults[name], ...rules[name] }]));
}

/** Without a wait for healing, a slow agent is not stuck: problems of a run at rest are reported at its end. */
function withoutClock(options: AdapterOptions<never>): Rules {
  if (waitsForHealing(options)) return {};
  return Object.fromEntries(runWindowRules.map((name) => [name, { window_ms: neverMs }]));
}

/** Options of the runs that an adapter begins. From its second use on, a fixed `run` id gets a number. */
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

const shadowLingerMs = 250;

/** The adapters' default of `lingerMs`. In a mode that only watches, the program waits less for the last ack. */
export const lingerDefault = (mode: Mode | undefined): RunOptions =>
  mode === "enforce" ? {} : { lingerMs: shadowLingerMs };

/** Logs that the monitoring of a run could not begin. That must not fail the user's call. */
export function logUnwatched(error: unknown, log: RunOptions["log"]): void {
  const text = error instanceof Error ? error.message : String(error);
  safeLog(log ?? ((line) => console.warn(line)))(`digd: the run could not begin (${text}); it continues unwatched`);
}

interface WaitingIntervention {
  intervention: Intervention;
  resolve(done: boolean): void;
}

/** Interventions that wait until the framework can act on them. */
export class Inbox {
  private readonly waiting: WaitingIntervention[] = [];
  private wake: (() => void) | null = null;
  private closed = false;

  /** For `Run.onIntervention`: resolves true when the adapter takes the intervention, false after `maxWaitMs`. */
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

  /** Takes all waiting interventions. The caller must act on them. */
  takeAll(): Intervention[] {
    return this.waiting.splice(0).map(({ intervention, resolve }) => {
      resolve(true);
      return intervention;
    });
  }

  /**
   * Waits until there is an intervention, `withinMs` have passed, or `isOver` is true. Returns whether there is one.
   */
  async waitForAny(withinMs: number, isOver: () => boolean): Promise<boolean> {
    const deadline = now() + withinMs;
    while (this.waiting.length === 0 && !isOver()) {
      const leftMs = deadline - now();
      if (leftMs <= 0) return false;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(leftMs, 250)); // polls `isOver`
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.wake = null;
    }
    return this.waiting.length > 0;
  }

  /** Refuses the waiting interventions and every later one. */
  close(): void {
    this.closed = true;
    for (const { resolve } of this.waiting.splice(0)) resolve(false);
  }
}
