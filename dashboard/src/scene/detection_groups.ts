// The detections of a run as people read them: equal ones together, and the first failure. Pure.
import type {RunModel} from '../model/run_model';
import type {Detection, Node} from '../model/types';

export interface DetectionGroup {
  key: number; // of its first detection, so that it stays when the group grows
  members: Detection[]; // in the order of the list, never empty
}

// The agent that the rule names, else the sender of the event.
export const agentOf = (d: Detection): string | null => d.agent ?? d.event?.source?.lane.name ?? null;

// Equal detections have the same rule, agent and healing. Their sentences may name different events.
const kindOf = (d: Detection): string => JSON.stringify([d.rule, d.severity, agentOf(d), d.healed, d.healing, d.cause]);

export type Order = 'newest' | 'oldest'; // which comes first

// The detections up to the position; of one rule, or of all if `rule` is empty.
export function groupDetections(
  detections: readonly Detection[],
  at: number,
  rule: string,
  order: Order = 'newest',
): DetectionGroup[] {
  const groups = new Map<string, DetectionGroup>();
  const add = (detection: Detection): void => {
    if (detection.at > at || (rule !== '' && detection.rule !== rule)) return;
    const kind = kindOf(detection);
    const group = groups.get(kind);
    if (!group) groups.set(kind, {key: detection.key, members: [detection]});
    else {
      group.key = Math.min(group.key, detection.key);
      group.members.push(detection);
    }
  };
  if (order === 'oldest') for (const detection of detections) add(detection);
  else for (let i = detections.length - 1; i >= 0; --i) add(detections[i]!);
  return [...groups.values()];
}

// What a reader of an ended run looks for first: a failure that was not healed, else an activation that failed, else
// the first failure that was healed.
export function firstFailure(model: RunModel): {detection: Detection} | {node: Node} | null {
  const failures = model.detections.filter((detection) => detection.severity === 'failure');
  const unhealed = failures.find((detection) => !detection.healed);
  if (unhealed) return {detection: unhealed};
  const failed = model.nodes.find((node) => node.type === 'activation' && node.failed);
  if (failed) return {node: failed};
  return failures[0] ? {detection: failures[0]} : null;
}
