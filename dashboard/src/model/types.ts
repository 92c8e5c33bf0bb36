// What a run is made of, as the feed told it. Nothing here is guessed: every node, edge and state comes from a frame, by the
// rules of recording in the daemon's documentation.
//
// A position is the number of an entry of this run, counted from 0: everything that one message or one firing brought about
// has the same. What a thing was at a position is asked of `at.ts`; so a step back in time changes nothing here.

export type Reaction = 'open' | 'consume' | 'wait' | 'discard' | 'reroute' | 'failed';
export type DeliveryState = 'pending' | 'consumed' | 'discarded' | 'rerouted' | 'lost' | 'withdrawn' | 'unknown';
export type LaneKind = 'outside' | 'agent' | 'monitor';
export const NEVER = Number.POSITIVE_INFINITY;

// Who events come from and go to: an agent, the world outside, the monitor.
export interface Lane {
  index: number;
  name: string;
  kind: LaneKind;
  left: number;  // position at which the agent left
}

// An event presented to an activation.
export interface Input {
  event: EventNode;
  activation: ActivationNode;
  reaction: Reaction;  // holds from the activation's end on; open before
}

export interface Delivery {
  event: EventNode;
  lane: Lane;
  changes: {at: number; state: DeliveryState}[];  // never empty, in order
}

export interface Said {
  at: number;
  action: string;
  recipients: string[];
  inject: string | null;
}

interface Placed {
  id: string;
  lane: Lane;
  column: number;  // its place among all nodes, left to right
  row: number;     // among those of its entry and lane
  rows: number;
  born: number;
  ts: number;
  forgotten: boolean;  // dropped: there were too many
}

export interface EventNode extends Placed {
  what: 'event';
  kind: string | null;
  submit: boolean;
  givenBack: number;   // position at which it lost `submit`
  fyi: boolean;
  root: boolean;
  system: boolean;
  announced: number;   // later than `born` for what was seen as an input first
  source: ActivationNode | null;
  derivedFrom: EventNode[];
  asIs: boolean;
  deliveries: Delivery[];
  inputs: Input[];
  said: Said[];        // verdicts and interventions
  reports: {at: number; applied: string; reason: string | null}[];
  detections: Detection[];
}

export interface ActivationNode extends Placed {
  what: 'activation';
  ended: number;       // position
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
  key: number;  // counts the run's detections
  name: string; // as digd calls it: the number of its entry, and its place there if it is not the first
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
  said: Said[];
  outcome: {at: number; outcome: string} | null;
}

// What is not a node and yet happened to the run as a whole.
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
