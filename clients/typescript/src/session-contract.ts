// The types of a session: its options, the answers to held messages, its events and its counters.
import type { DaemonError, Intervention, Welcome, WireVerdict } from "./wire.js";

/** An event for which a message requests a verdict, with its recipients if the verdict is `deliver`. */
export interface Blocked {
  event: string;
  recipients: readonly string[];
  submit?: boolean;
}

/** The reason why an event was delivered without a verdict. */
export type AsIsReason =
  "timeout" | "disconnected" | "credits" | "off" | "unheld" | "max_added_ms" | "healing_failed" | `error:${string}`;

/** The answer to a held message: the daemon's verdicts, or null and the reason. */
export interface Answer {
  verdicts: readonly WireVerdict[] | null;
  asIs?: AsIsReason;
  error?: DaemonError;
  /** How long an event of the message waited for a person, in milliseconds. */
  heldMs?: number;
}

/** Options of a session. */
export interface SessionOptions {
  /** The verdict deadline in milliseconds, until `welcome` brings the daemon's. */
  deadlineMs: number;
  /** The longest time that a submit event waits, even without a connection, in milliseconds. 0: as other events. */
  failClosedMs: number;
  /** The maximum number of queued messages; `welcome` may lower it to the daemon's credits. */
  keep: number;
  /** The maximum size of all queued messages. */
  maxBufferBytes: number;
}

/** The functions that a session calls. */
export interface SessionEvents {
  /** A new intervention. Answer it with `answerIntervention`. */
  intervention(intervention: Intervention): void;
  /** The daemon has welcomed the session. */
  welcome(welcome: Welcome): void;
  /** The daemon refused this session permanently. */
  refused(error: DaemonError): void;
  /** The daemon's verdicts on a message, even if no caller waits for them any more. */
  verdicts?(verdicts: readonly WireVerdict[]): void;
  /** Another daemon has the run. Connect there. */
  moved?(to: string): void;
  /** A frame of the daemon breaks the protocol, for this reason. The session ignores it. */
  unreadable?(reason: string): void;
  /** The daemon refused one message. */
  error?(error: DaemonError): void;
}

/** Counts over the life of a session. */
export interface Counters {
  messages: number;
  asIs: number;
  dropped: number;
  welcomes: number;
  errors: number;
  unreadable: number;
}
