// What a viewer of a fleet answers (docs/fleet.md): totals, hosts, groups, and lists of runs.
import {requestJson, type RunRow} from './api';
import {type Hit} from './payloads';

export interface Sums {
  runs: number;
  open: number;
  success: number;
  failure: number;
  unknown: number;
  aborted: number;
  messages: number;
  detections: number;
  healed: number;
  input_tokens: number | null;
  output_tokens: number | null;
  cost: number | null;
}

export interface Group extends Sums {
  value: string | null; // null: runs without the label
}

// The record that a daemon publishes about itself. A daemon of an older version publishes none.
export interface HostRecord {
  version?: string;
  sent_ms?: number;
  every_ms?: number;
  lag?: number;
  open_runs?: number;
  stopping?: boolean;
}

export interface Host {
  tenant: string;
  host: string;
  heard_ms: number | null;
  messages: number;
  runs: number;
  open: number;
  record: HostRecord | null;
}

export interface Series {
  start_ms: number;
  width_ms: number;
  runs: number[];
  failure: number[];
  detected: number[];
}

export interface Fleet {
  now_ms: number;
  files: {read: number; total: number; left_out: number; complete: boolean; problem: string};
  stream: {connected: boolean; waiting: number | null; problem: string; rows: number; dropped: number} | null;
  totals: Sums;
  groups: Group[];
  groups_left_out: boolean;
  rules: {rule: string; detections: number; healed: number; runs: number}[];
  labels: string[];
  series: Series | null;
  hosts: Host[];
  hosts_left_out: boolean;
}

export interface FleetRun extends RunRow {
  id: string;
  tenant: string;
  host: string;
  labels: Record<string, string>;
  usage: {input_tokens: number | null; output_tokens: number | null; cost: number | null} | null;
}

export interface FleetHit extends Hit {
  arrived_ms: number;
}

export interface FleetHits {
  hits: FleetHit[];
  next: string | null;
  read_down_to: string | null; // the day that the search reached; older texts were not searched
}

export const getFleet = (query: string): Promise<Fleet> => requestJson(`/v1/fleet?${query}`);
export const getFleetRuns = (query: string): Promise<{runs: FleetRun[]; next: string | null; total: number}> =>
  requestJson(`/v1/fleet/runs?${query}`);
export const searchFleet = (words: string, cursor: string): Promise<FleetHits> =>
  requestJson(`/v1/search?${new URLSearchParams({q: words, limit: '20', ...(cursor === '' ? {} : {cursor})})}`);
