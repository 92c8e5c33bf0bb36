// The frames of the ingest protocol (docs/protocol.md) as types. This module has no code.
import type { RuleName } from "./rules.generated.js";

export type { RuleName } from "./rules.generated.js";

/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** How far digd goes: `off` opens no connection, `observe` and `shadow` change nothing, `enforce` heals. */
export type Mode = "off" | "observe" | "shadow" | "enforce";
/** The settings of a rule in `hello`; the daemon's configuration limits them. Times are in milliseconds. */
export interface RuleSettings {
  mode?: Mode;
  kinds?: string[];
  /** Agents for which the rule only observes. */
  except?: string[];
  window_ms?: number;
  max_attempts?: number;
  max_reroutes?: number;
  /** Only for `early_termination`: repeated work does not count as unresolved. */
  skip_repeated?: boolean;
  text?: string;
}

/** The kinds of healing that a client can carry out. */
export interface Capabilities {
  inject: boolean;
  reroute: boolean;
  create: boolean;
  hold: boolean;
  cancel: boolean;
}

/** What calls used since the last report; the daemon adds up the reports. `cost` is in the user's currency. */
export interface Usage {
  input_tokens?: number;
  output_tokens?: number;
  cost?: number;
  model_calls?: number;
  tool_calls?: number;
}

/** The client's first frame: the run and its settings. */
export interface Hello {
  type: "hello";
  protocol: 1;
  run: string;
  session: string;
  agents?: readonly string[];
  mode?: Mode;
  clock: "wall" | "trace";
  rules?: Partial<Record<RuleName, RuleSettings>>;
  healing?: { budget?: number; max_returns_per_agent?: number };
  guards?: Record<string, Json>;
  limits?: Record<string, number>;
  capabilities: Partial<Capabilities>;
  witness?: boolean;
  answered_seq?: number;
  client: { name: string; version: string };
  labels?: Record<string, string>;
}

/** The daemon's answer to `hello`: the effective mode, rules and limits. */
export interface Welcome {
  type: "welcome";
  run: string;
  session: string;
  acked_seq: number;
  mode: Mode;
  rules: Partial<Record<RuleName, RuleSettings>>;
  /** Missing: the daemon knows no guards. */
  guards?: Record<string, Json>;
  limits: Record<string, number>;
  verdict_deadline_ms: number;
  credits: number;
}

/** An event as announced. Without `source` it is a root event. */
export interface WireEvent {
  id: string;
  source?: string;
  recipients: readonly string[];
  kind?: string;
  submit?: boolean;
  fyi?: boolean;
  /** Events with the same fingerprint count as repetitions. Without a fingerprint, the payload decides. */
  fingerprint?: string;
  payload?: unknown;
}

/** An activation's reaction to an input. */
export type Reaction = "consume" | "wait" | "discard" | { reroute: readonly string[] };
/** The outcome of a run, as the program reports it. */
export type Outcome = "success" | "failure" | "aborted";
/** The way in which the client carried out a verdict or an intervention. */
export type Applied =
  "as_is" | "injected" | "rerouted" | "created" | "released" | "cancelled" | "unsupported" | "failed";

/** A message of the client, without `seq`. The session assigns it when it first sends the message. */
export interface Message {
  type:
    | "agent_joined"
    | "agent_left"
    | "event"
    | "activation_started"
    | "activation_ended"
    | "usage"
    | "delivery"
    | "gap"
    | "time"
    | "run_ended";
  [field: string]: unknown;
}

/** A report that a rule fired. `evidence` lists the ids that made it fire; `cause` says why it was not healed. */
export interface Detection {
  rule: RuleName;
  severity: "failure" | "warning";
  event: string | null;
  agent: string | null;
  evidence: string[];
  healed: boolean;
  healing: string | null;
  cause: string | null;
  reason: string;
  [more: string]: unknown;
}

/** The daemon's verdict on an event. */
export interface WireVerdict {
  event: string;
  action: "deliver" | "inject" | "reroute" | "hold";
  recipients?: string[];
  inject?: string;
  detections?: Detection[];
  /** The hold in which the event waits or has waited for a person. */
  hold?: string;
  /** Only for `hold`: how long it waits, and what happens then. */
  hold_ms?: number;
  on_timeout?: "release" | "return";
}

/** Healing without a blocked event, or the end of a hold. */
export interface Intervention {
  type: "intervention";
  id: string;
  action: "create" | "reroute" | "release" | "cancel";
  /** Only for `reroute` and `release`: the event to deliver again, or that is not held any more. */
  event?: string;
  recipients: string[];
  /** Only for `cancel`: the activations to end; `inject` says why. */
  activations?: string[];
  inject?: string;
  detections?: Detection[];
}

/** The daemon refused a message or, if `fatal`, the session. */
export interface DaemonError {
  type: "error";
  code: string;
  seq?: number;
  field?: string;
  message?: string;
  fatal?: boolean;
  /** Only with the code `moved`: the address of the daemon that has the run. */
  to?: string;
}

/** A frame of the daemon. */
export type Frame =
  | Welcome
  | { type: "verdicts"; seq: number; verdicts: WireVerdict[] }
  | { type: "ack"; seq: number }
  | Intervention
  | DaemonError;
