// The parts of a run, as the feed reports them. Nothing here is inferred: every node, edge and state comes from a
// frame, by the recording rules of docs/rules.md.
//
// A position is the number of an entry of this run, counted from 0. All changes caused by one message or one firing
// window have the same position. `state_at.ts` computes the state at a position, so a step back in time changes nothing
// here.

export type Reaction = 'open' | 'consume' | 'wait' | 'discard' | 'reroute' | 'failed';
export type DeliveryState = 'pending' | 'consumed' | 'discarded' | 'rerouted' | 'lost' | 'withdrawn' | 'unknown';
export type LaneKind = 'outside' | 'agent' | 'monitor';
export const NEVER = Number.POSITIVE_INFINITY;

// A sender or receiver of events: an agent, the outside world, or the monitor.
export interface Lane {
  index: number;
  name: string;
  kind: LaneKind;
  leftAt: number; // position; NEVER while the agent is there
}

// An event presented to an activation.
export interface Input {
  event: EventNode;
  activation: ActivationNode;
  reaction: Reaction; // valid from the end of the activation on; `open` before it
}

export interface Delivery {
  event: EventNode;
  lane: Lane;
  changes: {at: number; state: DeliveryState}[]; // never empty, in order of position
}

// A verdict or an intervention.
export interface MonitorAction {
  at: number;
  action: string;
  recipients: string[];
  inject: string | null;
}

interface PlacedNode {
  id: string;
  lane: Lane;
  column: number; // order of arrival, left to right
  row: number; // among the nodes of its entry and lane
  rows: number;
  createdAt: number; // position
  ts: number;
  forgotten: boolean; // dropped to stay within the bounds of the model
}

export interface EventNode extends PlacedNode {
  type: 'event';
  kind: string | null;
  submit: boolean;
  givenBackAt: number; // position from which on it is not a submit event any more
  fyi: boolean;
  root: boolean;
  system: boolean;
  announcedAt: number; // position; later than `createdAt` if the event was an input first
  source: ActivationNode | null;
  derivedFrom: EventNode[];
  asIs: boolean;
  deliveries: Delivery[];
  inputs: Input[];
  actions: MonitorAction[];
  reports: {at: number; applied: string; reason: string | null}[];
  detections: Detection[];
}

export interface ActivationNode extends PlacedNode {
  type: 'activation';
  endedAt: number; // position
  endedTs: number;
  failed: boolean;
  error: string | null;
  inputs: Input[];
  outputs: EventNode[];
  used: EventNode[] | null;
}

export type Node = EventNode | ActivationNode;

export interface WitnessEdge {
  kind: 'generated' | 'delivered' | 'pending';
  from: string;
  to: string;
  label?: string;
}

export interface Witness {
  activations: {id: string; agent: string}[];
  events: {id: string; agent: string}[];
  edges: WitnessEdge[];
  truncated?: boolean;
}

export interface Detection {
  key: number; // number of the detection in the run
  name: string; // as in digd's API: the entry's seq, plus the place in the entry if it is not the first
  at: number;
  column: number;
  ts: number;
  rule: string;
  severity: 'failure' | 'warning';
  healed: boolean;
  healing: string | null;
  cause: string | null;
  reason: string;
  event: EventNode | null;
  agent: string | null;
  evidence: string[];
  evidenceTotal: number;
  witness: Witness | null;
  actions: MonitorAction[];
  outcome: {at: number; outcome: string} | null;
}

// Something that happened to the run as a whole and is not a node.
export interface Mark {
  at: number;
  column: number;
  kind: 'gap' | 'mode' | 'ended';
  text: string;
}

export interface Ended {
  at: number;
  outcome: string;
}
