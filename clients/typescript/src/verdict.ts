// What to do with an event, ready to be done: the daemon's verdict, or "as is" with the reason.
import type { Answer, AsIsReason, Blocked } from "./session.js";
import type { DaemonError, Detection, Intervention, WireVerdict } from "./wire.js";

export interface Verdict {
  /** Id of the event. */
  readonly event: string;
  readonly action: "deliver" | "inject" | "reroute";
  /** To whom it goes now. */
  readonly recipients: readonly string[];
  /** Text to be added for those who get it. */
  readonly inject?: string;
  readonly detections: readonly Detection[];
  /** An answer that was submitted too early: it is work now, and goes back to its author. */
  readonly givenBack: boolean;
  /** Set if it goes without the monitor's word: why. */
  readonly asIs?: AsIsReason;
  /** The daemon refused the message that announced it. */
  readonly error?: DaemonError;
}

/** An event by its id, by the verdict on it, or by the intervention that made it or gives it again. */
export type EventLike = string | Verdict | Intervention;

export function eventId(event: EventLike): string {
  if (typeof event === "string") return event;
  return "type" in event ? (event.event ?? event.id) : event.event;
}

/** A verdict a blocked event, in their order. */
export function verdictsOf(blocked: readonly Blocked[], answer: Answer): Verdict[] {
  const byEvent = new Map<string, WireVerdict>((answer.verdicts ?? []).map((v) => [v.event, v]));
  return blocked.map(({ event, recipients, submit }) => {
    const verdict = byEvent.get(event);
    if (!verdict) {
      const asIs = answer.verdicts ? undefined : (answer.asIs ?? "disconnected");
      return { event, action: "deliver", recipients, detections: [], givenBack: false, ...(asIs ? { asIs } : {}), ...(answer.error ? { error: answer.error } : {}) };
    }
    return {
      event,
      action: verdict.action,
      recipients: verdict.action === "reroute" ? (verdict.recipients ?? []) : recipients,
      ...(verdict.inject === undefined ? {} : { inject: verdict.inject }),
      detections: verdict.detections ?? [],
      givenBack: submit === true && verdict.action === "reroute",
    };
  });
}
