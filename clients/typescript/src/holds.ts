// Events that wait for a person. No I/O and no clock.
import type { Intervention, WireVerdict } from "./wire.js";

/** The holds of one message's events, and the verdicts on its other events, which wait with them. */
export class Holds {
  private readonly open = new Map<string, { verdict: WireVerdict; deadline: number }>(); // by hold
  private readonly verdicts: WireVerdict[];

  constructor(
    verdicts: readonly WireVerdict[],
    readonly since: number,
    graceMs: number, // the daemon ends the holds; its own clock may be a little behind
  ) {
    this.verdicts = [...verdicts];
    for (const verdict of verdicts) {
      if (verdict.action !== "hold" || verdict.hold === undefined) continue;
      this.open.set(verdict.hold, { verdict, deadline: since + (verdict.hold_ms ?? 0) + graceMs });
    }
  }

  get isOver(): boolean {
    return this.open.size === 0;
  }
  get answer(): readonly WireVerdict[] {
    return this.verdicts;
  }
  get nextDeadline(): number {
    return Math.min(...[...this.open.values()].map((hold) => hold.deadline));
  }

  /**
   * Ends a hold as the daemon says. Returns the verdict, or null if no such event is held. A daemon with a new archive
   * may use the hold's id for another event.
   */
  end(by: Intervention): WireVerdict | null {
    const held = this.open.get(by.id)?.verdict;
    if (held === undefined || (by.event !== undefined && by.event !== held.event)) return null;
    const text = by.inject === undefined ? {} : { inject: by.inject };
    if (by.action === "reroute")
      return this.settle(by.id, { ...released(held), ...text, action: "reroute", recipients: by.recipients });
    return this.settle(by.id, { ...released(held), ...text, action: by.inject === undefined ? "deliver" : "inject" });
  }

  /** Ends the holds that nobody decided in time, as each names for its timeout. Without the daemon nobody gets it. */
  expire(now: number): WireVerdict[] {
    return [...this.open]
      .filter(([, hold]) => hold.deadline <= now)
      .map(([id, { verdict }]) =>
        verdict.on_timeout === "return"
          ? this.settle(id, { ...released(verdict), action: "reroute", recipients: [] })
          : this.settle(id, { ...released(verdict), action: "deliver" }),
      );
  }

  private settle(id: string, verdict: WireVerdict): WireVerdict {
    this.open.delete(id);
    this.verdicts[this.verdicts.findIndex((v) => v.hold === id)] = verdict;
    return verdict;
  }
}

function released({ inject: _, hold_ms: _ms, on_timeout: _timeout, ...verdict }: WireVerdict): WireVerdict {
  return verdict;
}
