// The deliveries that are pending, found by event and lane: an event has at most one to a lane.
import type {Delivery, EventNode, Lane} from './types';

export class PendingTable {
  private readonly of = new Map<EventNode, Map<Lane, Delivery>>();

  find(event: EventNode, lane: Lane): Delivery | undefined { return this.of.get(event)?.get(lane); }
  anyOf(event: EventNode): boolean { return this.of.has(event); }
  allOf(event: EventNode): Delivery[] { return [...(this.of.get(event)?.values() ?? [])]; }

  all(): Delivery[] {
    const out: Delivery[] = [];
    for (const lanes of this.of.values()) out.push(...lanes.values());
    return out;
  }

  add(one: Delivery): void {
    let lanes = this.of.get(one.event);
    if (!lanes) this.of.set(one.event, (lanes = new Map()));
    lanes.set(one.lane, one);
  }

  remove(one: Delivery): void {
    const lanes = this.of.get(one.event);
    if (lanes?.get(one.lane) !== one) return;
    lanes.delete(one.lane);
    if (lanes.size === 0) this.of.delete(one.event);
  }

  forget(event: EventNode): void { this.of.delete(event); }
}
