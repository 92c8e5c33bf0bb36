// The fields of the feed's frames (docs/feed.md) that the page reads. Agents choose the ids, names and texts in them,
// so treat those as untrusted data.

import type {Witness} from './types';

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
  witness?: Witness;
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

// The part of `/v1/runs/ID` that the model starts from. `agents` is present if the roster is closed.
export interface RunSettings {
  agents?: string[] | null;
}
