// The feed's frames (docs/feed.md), as far as they are read here. They come from digd, but ids, names and texts in them were
// chosen by agents: data, whatever they look like.

export interface WireEvent {
  id: string;
  source?: string | null;
  recipients?: string[] | null;
  kind?: string | null;
  submit?: boolean | null;
  fyi?: boolean | null;
}

export type WireReaction = string | {reroute: string[]};

export interface WireMessage {
  type: string;
  event?: WireEvent;
  activation?: string;
  agent?: string;
  inputs?: string[] | null;
  reactions?: Record<string, WireReaction> | null;
  outputs?: WireEvent[] | null;
  failed?: boolean | null;
  error?: string | null;
  as_is?: boolean | null;
  dropped?: number | null;
  outcome?: string | null;
}

export interface WireDetection {
  rule: string;
  severity: 'failure' | 'warning';
  ts: number;
  event: string | null;
  agent: string | null;
  evidence: string[];
  evidence_total?: number;
  healed: boolean;
  healing: string | null;
  cause: string | null;
  reason: string;
  witness?: import('./types').Witness;
}

export interface WireVerdict {
  event: string;
  action: string;
  recipients?: string[];
  inject?: string;
  detections?: WireDetection[];
}

export interface WireIntervention {
  id: string;
  action: string;
  event?: string;
  recipients: string[];
  inject?: string;
  detections?: WireDetection[];
}

export interface Frame {
  type: string;
  seq: number;
  run: string;
  session?: string;
  ts: number;
  last?: boolean;
  message?: WireMessage;
  delivery?: {event?: string | null; of?: string | null; applied: string; reason?: string | null};
  detection?: WireDetection;
  verdicts?: WireVerdict[];
  intervention?: WireIntervention;
  outcome?: {rule: string; ts: number; event: string | null; detected_ts: number; outcome: string};
  operator_mode?: {mode: string};
}

// What of `/v1/runs/ID` the model starts from: a closed roster, if the run has one.
export interface RunSettings {
  agents?: string[] | null;
}
