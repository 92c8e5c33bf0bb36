// digd's HTTP interface, as far as the page uses it. Errors are thrown as ApiError with the daemon's own words.
import type {RunSettings} from '../model/frames';
import {token} from './session';

export class ApiError extends Error {
  constructor(readonly status: number, readonly code: string, message: string) { super(message); }
}

export type Mode = 'off' | 'observe' | 'shadow' | 'enforce';
export const modes: Mode[] = ['off', 'observe', 'shadow', 'enforce'];

export interface RunRow {
  run: string;
  number: number;
  state: 'open' | 'ended';
  mode: Mode;
  operator_mode: Mode;
  opened_ms: number;
  last_ts: number | null;
  ended: string | null;
  ended_ms: number | null;
  heard_ms: number | null;
  bytes: number;
  counts: {messages: number; refused: number; detections: number; healed: number};
}

export interface RunDetails extends RunRow {
  rules: Record<string, Mode>;
  sessions: string[];
  labels: Record<string, string>;
  would_have: {rule: string; healing: string; count: number}[];
  settings: RunSettings | null;
}

export type Judgement = 'right' | 'wrong';

export interface Interval { value: number; low: number; high: number }

export interface Endings {
  ended: {success: number; failure: number; unknown: number; aborted: number; open: number};
  ended_badly: number;
}

export interface PilotPlace extends Endings {
  rule: string;
  agent: string | null;
  place: string | null;
  runs: number;
  would: number;
  did: number;
  judged: {right: number; wrong: number};
  examples: {run: string; link: string; detection: string; ended: string | null; reason: string}[];
  silence: Record<string, Record<string, unknown>>;
}

export interface CanaryGroup extends Endings {
  runs: number;
  success: Interval | null;
  calls: Interval | null;
  time_ms: Interval | null;
  metrics: Record<string, {runs: number; mean: Interval | null}>;
}

// docs/pilot.md
export interface Pilot {
  since_ms: number;
  until_ms: number;
  runs: Endings & {total: number; modes: Record<string, number>};
  intervened: Endings & {runs: number; would: number; did: number};
  rules: {rule: string; runs: number; would: number; did: number}[];
  places: PilotPlace[];
  canary: {
    method: string;
    groups: {enforce: CanaryGroup; shadow: CanaryGroup};
    difference: {success: Interval | null; calls: Interval | null; time_ms: Interval | null; metrics: Record<string, Interval | null>};
  } | null;
  precision: {rule: string; week: string; right: number; wrong: number; precision: Interval | null}[];
  left_out: boolean;
}

export interface Readiness { ready: boolean; reasons: {code: string; message: string}[] }

const WITHIN_MS = 15_000;

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const held = token();
  const headers = new Headers(init.headers);
  if (held !== null) headers.set('Authorization', `Bearer ${held}`);
  try {
    return await fetch(path, {...init, headers, signal: AbortSignal.timeout(WITHIN_MS), credentials: 'omit', cache: 'no-store'});
  } catch {
    throw new ApiError(0, 'unreachable', 'digd does not answer');
  }
}

async function refusal(answer: Response): Promise<ApiError> {
  try {
    const {error} = (await answer.json()) as {error: {code: string; message: string}};
    return new ApiError(answer.status, error.code, error.message);
  } catch {
    return new ApiError(answer.status, 'error', `digd answered ${answer.status}`);
  }
}

async function json<T>(path: string, init?: RequestInit): Promise<T> {
  const answer = await ask(path, init);
  if (!answer.ok) throw await refusal(answer);
  return (await answer.json()) as T;
}

export const runPath = (run: string): string => `/v1/runs/${encodeURIComponent(run)}`;

export const getRuns = (cursor: string | null): Promise<{runs: RunRow[]; next: string | null}> =>
  json(`/v1/runs?limit=100${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`);
export const getRun = (run: string): Promise<RunDetails> => json(runPath(run));
export const getMode = (): Promise<{mode: Mode}> => json('/v1/mode');
export const putMode = (mode: Mode): Promise<{mode: Mode; switched: number}> =>
  json('/v1/mode', {method: 'PUT', body: JSON.stringify({mode}), headers: {'Content-Type': 'application/json'}});

export const getPilot = (since: string): Promise<Pilot> => json(`/v1/pilot?since=${encodeURIComponent(since)}`);

const MAX_JUDGED_PAGES = 20;

// By the detections' names.
export async function getJudgements(run: string): Promise<Map<string, Judgement>> {
  const all = new Map<string, Judgement>();
  let cursor = '';
  for (let page = 0; page < MAX_JUDGED_PAGES; ++page) {
    const got = await json<{detections: {name: string; judgement: Judgement | null}[]; next: string | null}>(
      `${runPath(run)}/detections?limit=500${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`);
    for (const one of got.detections) if (one.judgement !== null) all.set(one.name, one.judgement);
    if (got.next === null) break;
    cursor = got.next;
  }
  return all;
}

// null withdraws.
export const postJudgement = (run: string, detection: string, judgement: Judgement | null): Promise<{judgement: Judgement | null}> =>
  json(`${runPath(run)}/detections/${encodeURIComponent(detection)}/judgement`,
    {method: 'POST', body: JSON.stringify({judgement}), headers: {'Content-Type': 'application/json'}});

export async function getReadiness(): Promise<Readiness> {
  const answer = await ask('/readyz');
  if (answer.status !== 200 && answer.status !== 503) throw await refusal(answer);
  return (await answer.json()) as Readiness;
}

export async function getMetrics(): Promise<string> {
  const answer = await ask('/metrics');
  if (!answer.ok) throw await refusal(answer);
  return answer.text();
}

// A file of digd's, for a browser that cannot send a token with a link.
export async function getFile(path: string): Promise<Blob> {
  const answer = await ask(path);
  if (!answer.ok) throw await refusal(answer);
  return answer.blob();
}
