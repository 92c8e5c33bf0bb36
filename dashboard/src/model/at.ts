// The state of a thing at a position. Pure functions.
import type {ActivationNode, Delivery, DeliveryState, Detection, EventNode, Input, Node, Reaction} from './types';

export const existsAt = (node: Node, at: number): boolean => node.born <= at && !node.forgotten;

export function reactionAt(input: Input, at: number): Reaction {
  return input.activation.ended <= at ? input.reaction : 'open';
}

export const isOpenAt = (activation: ActivationNode, at: number): boolean => activation.born <= at && activation.ended > at;

// Null: it did not exist yet.
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

export const detectionsAt = (event: EventNode, at: number): Detection[] => event.detections.filter((one) => one.at <= at);

// A submit event that was given back is work from then on.
export const isSubmitAt = (event: EventNode, at: number): boolean => event.submit && event.givenBack > at;
