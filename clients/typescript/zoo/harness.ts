// The harness of the zoo: runs a multi-agent system plain and attached, and compares everything that its user can
// observe.
//
// A healthy case runs three times: plain, attached with the defaults, and attached with `mode: "enforce"`. The
// observations must be equal, and digd must report no detection. A broken case makes one rule fire; with `enforce` it
// must be healed.
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Run, RunOptions } from "../src/index.js";
import { Daemon, until } from "../test/daemon.js";

export type Mode = "plain" | "default" | "enforce";

export interface CaseOptions {
  /** False: the order of parallel work is free, so observations compare as a multiset. */
  ordered?: boolean;
  rules?: RunOptions["rules"];
  /** The run ends with an error or is cancelled, so detections about open work are expected. */
  mayReport?: boolean;
}

export class Probe {
  readonly runs: Run[] = [];
  readonly calls: Record<string, number> = {};
  readonly observations: unknown[] = [];
  readonly inputs: unknown[] = [];
  constructor(
    readonly mode: Mode,
    private readonly url: string,
    private readonly caseOptions: CaseOptions,
  ) {}

  get attached(): boolean {
    return this.mode !== "plain";
  }
  get enforces(): boolean {
    return this.mode === "enforce";
  }
  /** Options for `instrument`. */
  get options(): { mode?: "enforce"; run: RunOptions; onRun: (run: Run) => void } {
    const run: RunOptions = {
      url: this.url,
      deadlineMs: 60_000,
      ...(this.caseOptions.rules ? { rules: this.caseOptions.rules } : {}),
    };
    return { ...(this.enforces ? { mode: "enforce" as const } : {}), run, onRun: (r) => this.runs.push(r) };
  }
  /** Counts a call of a node, a model or a tool. */
  countCall(name: string): number {
    return (this.calls[name] = (this.calls[name] ?? 0) + 1);
  }
  /** Records something that a user can observe. */
  record<T>(value: T): T {
    this.observations.push(plainValue(value));
    return value;
  }
  /** Records the input of a node or a model. The reader of a stream runs concurrently, so this list is separate. */
  recordInput<T>(value: T): T {
    this.inputs.push(plainValue(value));
    return value;
  }
}

export interface Case {
  name: string;
  body: (probe: Probe) => unknown;
  rule?: string;
  options: CaseOptions;
}

const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** A value that compares by content. */
export function plainValue(value: unknown, path: ReadonlySet<unknown> = new Set()): unknown {
  if (typeof value === "function" || typeof value === "symbol") return String(value);
  if (typeof value !== "object" || value === null) return value === undefined ? "undefined" : value;
  if (path.has(value)) return "cycle";
  const inner = new Set(path).add(value);
  if (value instanceof Error) return [value.name, value.message];
  if (value instanceof Map) return [...value].map((v) => plainValue(v, inner));
  if (value instanceof Set) return [...value].map((v) => plainValue(v, inner));
  if (Array.isArray(value)) return value.map((v) => plainValue(v, inner));
  const json = (value as { toJSON?: () => unknown }).toJSON;
  if (typeof json === "function") return plainValue(json.call(value), inner);
  // Some configurations contain LangGraph's live stream object, whose state depends on timing.
  return Object.fromEntries(
    Object.keys(value)
      .filter((k) => k !== "__pregel_stream")
      .sort((a, b) => (a.replace(uuid, "") < b.replace(uuid, "") ? -1 : 1))
      .map((k) => [k, plainValue((value as Record<string, unknown>)[k], inner)]),
  );
}

/** JSON in which each random id is replaced by the number of its first appearance. */
function stable(value: unknown): string {
  const names = new Map<string, string>();
  const id = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b|\bcall_[0-9a-zA-Z]{8,}\b/g;
  return (JSON.stringify(value) ?? "undefined")
    .replace(id, (m) => names.get(m) ?? (names.set(m, `id${names.size + 1}`), names.get(m) as string))
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?/g, "TIME");
}

interface Observation {
  result: string;
  error: string | null;
  calls: Record<string, number>;
  observations: string[];
  inputs: string[];
  lines: string[];
}

async function execute(zooCase: Case, mode: Mode, url: string): Promise<[Observation, Probe, unknown]> {
  const probe = new Probe(mode, url, zooCase.options);
  const lines: string[] = [];
  const originals = { log: console.log, info: console.info, warn: console.warn, error: console.error };
  for (const level of Object.keys(originals) as (keyof typeof originals)[]) {
    console[level] = (...parts: unknown[]) => void lines.push(`${level} ${parts.map(String).join(" ")}`);
  }
  let result: unknown;
  let error: unknown = null;
  try {
    result = plainValue(await zooCase.body(probe));
  } catch (raised) {
    error = raised;
  } finally {
    Object.assign(console, originals);
  }
  const listed = (values: unknown[]): string[] =>
    zooCase.options.ordered === false ? values.map(stable).sort() : [stable(values)];
  const text = error === null ? null : stable(`${(error as Error).name}: ${(error as Error).message}`);
  return [
    {
      result: stable(result),
      error: text,
      calls: probe.calls,
      observations: listed(probe.observations),
      inputs: listed(probe.inputs),
      lines,
    },
    probe,
    error,
  ];
}

async function detectionsOf(daemon: Daemon, probe: Probe): Promise<Awaited<ReturnType<Daemon["detections"]>>> {
  for (const run of probe.runs)
    await until(async () => (await daemon.trace(run.id)).at(-1)?.type === "run_ended", "the end of the run");
  return (await Promise.all(probe.runs.map((run) => daemon.detections(run.id)))).flat();
}

/** How often a healthy system runs in `enforce`, to find rare races. */
const times = Number(process.env["ZOO_TIMES"] ?? 1);

export async function assertHealthy(zooCase: Case, daemon: Daemon): Promise<void> {
  const [plain] = await execute(zooCase, "plain", daemon.url);
  for (const mode of ["default", ...Array<"enforce">(times).fill("enforce")] as const) {
    const [attached, probe] = await execute(zooCase, mode, daemon.url);
    expect(attached, `${zooCase.name} (${mode}) differs from the plain run`).toEqual(plain);
    expect(probe.runs.length, `${zooCase.name} (${mode}): digd saw no run`).toBeGreaterThan(0);
    expect(await detectionsOf(daemon, probe), `${zooCase.name} (${mode}): a rule fired`).toEqual(
      zooCase.options.mayReport ? expect.anything() : [],
    );
    for (const run of probe.runs) {
      expect(run.welcome?.mode).toBe(mode === "enforce" ? "enforce" : "shadow");
      expect(run.counters, "nothing was refused, dropped or delivered as is").toMatchObject({
        asIs: 0,
        dropped: 0,
        errors: 0,
      });
    }
  }
}

export async function assertBroken(zooCase: Case, daemon: Daemon): Promise<void> {
  const [plain, , failure] = await execute(zooCase, "plain", daemon.url);
  if (failure !== null && (failure as Error).name === "AssertionError") throw failure;
  const [shadow, probe] = await execute(zooCase, "default", daemon.url);
  expect((await detectionsOf(daemon, probe)).map((d) => d.rule)).toContain(zooCase.rule);
  expect({ ...shadow, lines: plain.lines }, `${zooCase.name} (default) differs from the plain run`).toEqual(plain);
  const [, enforced, error] = await execute(zooCase, "enforce", daemon.url);
  if (error !== null) throw error;
  const fired = (await detectionsOf(daemon, enforced)).filter((d) => d.rule === zooCase.rule);
  expect(
    fired.some((d) => d.healed),
    `${zooCase.name}: not healed: ${JSON.stringify(fired)}`,
  ).toBe(true);
}

/** All cases with ZOO=all; else every fourth case, from an offset that changes every day. */
function sampled(names: readonly string[]): Set<string> {
  if (process.env["ZOO"] === "all") return new Set(names);
  const every = Number(process.env["ZOO_EVERY"] ?? 4);
  const offset = Number(process.env["ZOO_SEED"] ?? Math.floor(Date.now() / 86_400_000)) % every;
  return new Set([...names].sort().filter((_, i) => i % every === offset));
}

export class Zoo {
  private readonly cases: Case[] = [];
  healthy(name: string, body: (probe: Probe) => unknown, options: CaseOptions = {}): void {
    this.cases.push({ name, body, options });
  }
  broken(name: string, rule: string, body: (probe: Probe) => unknown, options: CaseOptions = {}): void {
    this.cases.push({ name, rule, body, options });
  }
  /** Registers the tests of the cases, and a daemon for them. Call it once, after the last case. */
  register(): void {
    let daemon: Daemon;
    beforeAll(async () => void (daemon = await Daemon.start("threads = 2\nverdict_deadline_ms = 60000\n")));
    afterAll(() => daemon.stop());
    const names = this.cases.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const chosen = sampled(names);
    for (const zooCase of this.cases) {
      const { name, rule } = zooCase;
      if (rule) it(`${name}: ${rule} fires and is healed`, () => assertBroken(zooCase, daemon));
      else if (chosen.has(name)) it(`${name} runs as without digd`, () => assertHealthy(zooCase, daemon));
    }
  }
}
