// The decision about an event: the daemon's verdict, or delivery as is with the reason.
import type { Answer, AsIsReason, Blocked } from "./session-contract.js";
import type { DaemonError, Detection, Intervention, WireVerdict } from "./wire.js";

/** The decision about an event: deliver it to `recipients`, with the text `inject` added if it is set. */
export interface Verdict {
  /** Id of the event. */
  readonly event: string;
  readonly action: "deliver" | "inject" | "reroute";
  /** The agents that get the event now. */
  readonly recipients: readonly string[];
  /** The text to add for the recipients. */
  readonly inject?: string;
  readonly detections: readonly Detection[];
  /** The answer was submitted too early. It is ordinary work now and goes back to its author. */
  readonly givenBack: boolean;
  /** The reason, if the event is delivered without a verdict. */
  readonly asIs?: AsIsReason;
  /** The hold in which the event waited for a person. The verdict is what the person decided, or the timeout. */
  readonly hold?: string;
  /** The daemon refused the message that announced it. */
  readonly error?: DaemonError;
}

/** An event: its id, the verdict on it, or the intervention that created or rerouted it. */
export type EventLike = string | Verdict | Intervention;

export function eventId(event: EventLike): string {
  if (typeof event === "string") return event;
  return "type" in event ? (event.event ?? event.id) : event.event;
}

/** A verdict that delivers the event as the program wrote it. */
export function unchangedVerdict(event: string, recipients: readonly string[]): Verdict {
  return { event, action: "deliver", recipients, detections: [], givenBack: false };
}

/** One verdict for each blocked event, in their order. */
export function verdictsOf(blocked: readonly Blocked[], answer: Answer): Verdict[] {
  const byEvent = new Map<string, WireVerdict>((answer.verdicts ?? []).map((v) => [v.event, v]));
  return blocked.map(({ event, recipients, submit }) => {
    const verdict = byEvent.get(event);
    if (!verdict) {
      const asIs = answer.verdicts ? undefined : (answer.asIs ?? "disconnected");
      return {
        ...unchangedVerdict(event, recipients),
        ...(asIs ? { asIs } : {}),
        ...(answer.error ? { error: answer.error } : {}),
      };
    }
    return {
      event,
      action: verdict.action === "hold" ? "deliver" : verdict.action,
      recipients: verdict.action === "reroute" ? (verdict.recipients ?? []) : recipients,
      ...(verdict.inject === undefined ? {} : { inject: verdict.inject }),
      detections: verdict.detections ?? [],
      givenBack: submit === true && verdict.action === "reroute",
      ...(verdict.hold === undefined ? {} : { hold: verdict.hold }),
    };
  });
}
