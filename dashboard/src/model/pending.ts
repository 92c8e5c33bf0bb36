// The pending deliveries, by event and lane. An event has at most one pending delivery in each lane.
import type {Delivery, EventNode, Lane} from './types';

export class PendingTable {
  private readonly byEvent = new Map<EventNode, Map<Lane, Delivery>>();

  find(event: EventNode, lane: Lane): Delivery | undefined {
    return this.byEvent.get(event)?.get(lane);
  }
  hasPending(event: EventNode): boolean {
    return this.byEvent.has(event);
  }
  deliveriesOf(event: EventNode): Delivery[] {
    return [...(this.byEvent.get(event)?.values() ?? [])];
  }

  deliveries(): Delivery[] {
    const result: Delivery[] = [];
    for (const lanes of this.byEvent.values()) result.push(...lanes.values());
    return result;
  }

  add(delivery: Delivery): void {
    let lanes = this.byEvent.get(delivery.event);
    if (!lanes) this.byEvent.set(delivery.event, (lanes = new Map()));
    lanes.set(delivery.lane, delivery);
  }

  remove(delivery: Delivery): void {
    const lanes = this.byEvent.get(delivery.event);
    if (lanes?.get(delivery.lane) !== delivery) return;
    lanes.delete(delivery.lane);
    if (lanes.size === 0) this.byEvent.delete(delivery.event);
  }

  forget(event: EventNode): void {
    this.byEvent.delete(event);
  }
}
