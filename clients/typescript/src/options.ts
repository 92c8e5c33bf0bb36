// The options of a run with their defaults, and the hello that is made from them.
import { checkTarget, defaultMode, defaultToken, defaultUrl } from "#transport";
import type { Target } from "./transport.js";
import { version } from "./version.generated.js";
import type { Applied, Capabilities, Hello, Intervention, Json, Mode, RuleName, RuleSettings } from "./wire.js";

/** Changes a value before it leaves the process; `where` is its kind. If it throws, the value is left out. */
export type Redact = (value: unknown, where: "payload" | "error" | "reason") => unknown;

/**
 * The result of a handler. Undefined or true: it carried the intervention out; false: it cannot (`unsupported`). Any
 * other value goes to the daemon as `applied`. If the handler throws, the client reports `failed`.
 */
export type Handled = void | boolean | Applied;

/** Carries out an intervention: gives `recipients` the text and, for `reroute`, also the event. */
export type InterventionHandler = (intervention: Intervention) => Handled | Promise<Handled>;

/** Options of a run. All of them have defaults. */
export interface RunOptions {
  /** Id of the run; generated if missing. */
  run?: string;
  /** Names this process among the processes of the run. Default `main`. */
  session?: string;
  /** The agents that can receive. If given, the roster is closed. */
  agents?: readonly string[];
  /**
   * HOST:PORT, ws://HOST:PORT, wss://HOST:PORT or unix:/PATH. Default: DIGD_URL, else 127.0.0.1:7344; in a browser the
   * host of the page.
   */
  url?: string;
  /** Bearer token. Default: DIGD_TOKEN. */
  token?: string;
  /** Default: DIGD_MODE, else the adapter's default (`shadow`), else the daemon's. `off` opens no connection. */
  mode?: Mode;
  rules?: Partial<Record<RuleName, RuleSettings>>;
  /** The maximum number of healings in the run. */
  budget?: number;
  /** How often healing may make the same agent act again in this run. */
  maxReturnsPerAgent?: number;
  /** The total time for which this run may hold messages, in milliseconds; afterwards they go out unchanged. */
  maxAddedMs?: number;
  /** Limits of the guards for this run, as in `hello`. */
  guards?: Record<string, Json>;
  limits?: Record<string, number>;
  labels?: Record<string, string>;
  /** The actions that this system can carry out. `create` is true by default if there is an intervention handler. */
  capabilities?: Partial<Capabilities>;
  /** Asks the daemon for witnesses in verdicts. */
  witness?: boolean;
  /** `trace`: the `ts` of the messages is the clock (for tests and replays). */
  clock?: "wall" | "trace";
  /** Called for each payload, error text and reason; returns what may leave the process. */
  redact?: Redact;
  /** False: never wait for a verdict. */
  hold?: boolean;
  onIntervention?: InterventionHandler;
  /** Carries out interventions that cancel activations. Without it the client declares that it cannot cancel. */
  onCancel?: InterventionHandler;
  /** The verdict deadline in milliseconds, until the daemon sends its own. */
  deadlineMs?: number;
  /** How long a final answer waits for its verdict, even without a connection, in milliseconds. 0: as other events. */
  failClosedMs?: number;
  /** Limits on unacknowledged messages. Beyond them, messages are dropped and reported with `gap`. */
  keep?: number;
  maxBufferBytes?: number;
  /** How long `end` and `close` wait for the last ack, in milliseconds. */
  lingerMs?: number;
  /** Delays between attempts to connect: doubled from `firstMs` to `maxMs`. */
  backoff?: { firstMs?: number; maxMs?: number };
  /** Receives log lines, never a payload. Default console.warn. */
  log?: (line: string) => void;
}

export interface Settings {
  options: RunOptions;
  mode: Mode | undefined;
  /** The client's name in the hello. */
  client: string;
  /** Whether an adapter feeds the run. It then states in `capabilities` whether its framework can wait for a person. */
  hasAdapter: boolean;
  target: Target;
  session: string;
  log: (line: string) => void;
  backoff: { firstMs: number; maxMs: number };
}

/** Random characters that make the ids of different processes differ. Not a secret. */
export function nonce(length = 8): string {
  return Array.from({ length }, () => Math.floor(Math.random() * 36).toString(36)).join("");
}

/** A log that cannot fail the caller: whatever `log` throws is dropped. */
export function safeLog(log: (line: string) => void): (line: string) => void {
  return (line) => {
    try {
      log(line);
    } catch {
      // The failure of a log has no other place to go.
    }
  };
}

const modes: readonly string[] = ["off", "observe", "shadow", "enforce"];

/** The requested mode, or the value of DIGD_MODE. Throws a TypeError if that is not a mode. */
export function requestedMode(requested: string | undefined): Mode | undefined {
  const mode = requested ?? defaultMode();
  if (mode === undefined || modes.includes(mode)) return mode as Mode | undefined;
  throw new TypeError(
    `${requested === undefined ? "DIGD_MODE" : "mode"}: ${JSON.stringify(mode)} is not a mode; ` +
      `expected off, observe, shadow or enforce`,
  );
}

/** Fills in defaults. Throws a TypeError on invalid values. */
export function resolveOptions(options: RunOptions): Settings {
  for (const name of [
    "deadlineMs",
    "failClosedMs",
    "keep",
    "maxBufferBytes",
    "lingerMs",
    "maxReturnsPerAgent",
    "maxAddedMs",
  ] as const) {
    const value = options[name];
    if (value !== undefined && !(Number.isFinite(value) && value >= 0))
      throw new TypeError(`${name}: expected a number from 0, got ${value}`);
  }
  const run = options.run ?? `run-${Date.now().toString(36)}-${nonce()}`;
  // A token that was read from a file may end with a newline, which no header may contain.
  const token = (options.token ?? defaultToken())?.trim();
  const target: Target = { url: options.url ?? defaultUrl(), run, token };
  checkTarget(target.url, options.url === undefined ? "DIGD_URL" : "url");
  return {
    options,
    mode: requestedMode(options.mode),
    client: "digd-typescript",
    hasAdapter: false,
    target,
    session: options.session ?? "main",
    log: safeLog(options.log ?? ((line) => console.warn(line))),
    backoff: { firstMs: options.backoff?.firstMs ?? 100, maxMs: options.backoff?.maxMs ?? 10_000 },
  };
}

/** The hello of a run with its current agents. */
export function helloOf(settings: Settings, agents: ReadonlySet<string> | null, canCreate: boolean): Hello {
  const { options } = settings;
  const optional = <K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } =>
    value === undefined ? {} : ({ [key]: value } as { [P in K]?: V });
  return {
    type: "hello",
    protocol: 1,
    run: settings.target.run,
    session: settings.session,
    ...optional("agents", agents ? [...agents] : undefined),
    ...optional("mode", settings.mode),
    clock: options.clock ?? "wall",
    ...optional("rules", options.rules),
    ...optional(
      "healing",
      options.budget === undefined && options.maxReturnsPerAgent === undefined
        ? undefined
        : { ...optional("budget", options.budget), ...optional("max_returns_per_agent", options.maxReturnsPerAgent) },
    ),
    ...optional("guards", options.guards),
    ...optional("limits", options.limits),
    capabilities: {
      inject: true,
      reroute: true,
      create: canCreate,
      hold: options.hold !== false && !settings.hasAdapter,
      cancel: options.onCancel !== undefined,
      ...options.capabilities,
    },
    ...optional("witness", options.witness),
    client: { name: settings.client, version },
    ...optional("labels", options.labels),
  };
}
