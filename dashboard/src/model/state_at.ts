// The state of nodes, deliveries and detections at a position of the run (types.ts). Pure functions.
import type {ActivationNode, Delivery, DeliveryState, Detection, EventNode, Input, Reaction} from './types';

export function reactionAt(input: Input, at: number): Reaction {
  return input.activation.endedAt <= at ? input.reaction : 'open';
}

export const isOpenAt = (activation: ActivationNode, at: number): boolean =>
  activation.createdAt <= at && activation.endedAt > at;

// Null if the delivery did not exist yet.
export function stateAt(delivery: Delivery, at: number): DeliveryState | null {
  let state: DeliveryState | null = null;
  for (const change of delivery.changes) {
    if (change.at > at) break;
    state = change.state;
  }
  return state;
}

export const isWaitingAt = (event: EventNode, at: number): boolean =>
  event.deliveries.some((delivery) => stateAt(delivery, at) === 'pending');

export const outcomeAt = (detection: Detection, at: number): string | null =>
  detection.outcome && detection.outcome.at <= at ? detection.outcome.outcome : null;

export const detectionsAt = (event: EventNode, at: number): Detection[] =>
  event.detections.filter((detection) => detection.at <= at);

// A final answer that was given back is ordinary work from then on.
export const isSubmitAt = (event: EventNode, at: number): boolean => event.submit && event.givenBackAt > at;
