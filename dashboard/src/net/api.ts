// The part of digd's HTTP API that the page uses. Failures throw an ApiError with the daemon's message.
import type {RunSettings} from '../model/frames';
import {token} from './session';

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
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

export interface Interval {
  value: number;
  low: number;
  high: number;
}

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
  silence_in?: string; // `rules` or `guards`
}

export interface CanaryGroup extends Endings {
  runs: number;
  success: Interval | null;
  calls: Interval | null;
  time_ms: Interval | null;
  metrics: Record<string, {runs: number; mean: Interval | null}>;
}

// The answer of `/v1/pilot`: docs/pilot.md.
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
    difference: {
      success: Interval | null;
      calls: Interval | null;
      time_ms: Interval | null;
      metrics: Record<string, Interval | null>;
    };
  } | null;
  precision: {rule: string; week: string; right: number; wrong: number; precision: Interval | null}[];
  left_out: boolean;
}

export interface Readiness {
  ready: boolean;
  reasons: {code: string; message: string}[];
}

const TIMEOUT_MS = 15_000;

async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const bearer = token();
  const headers = new Headers(init.headers);
  if (bearer !== null) headers.set('Authorization', `Bearer ${bearer}`);
  try {
    return await fetch(path, {
      ...init,
      headers,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      credentials: 'omit',
      cache: 'no-store',
    });
  } catch {
    throw new ApiError(0, 'unreachable', 'digd does not answer');
  }
}

async function errorOf(answer: Response): Promise<ApiError> {
  try {
    const {error} = (await answer.json()) as {error: {code: string; message: string}};
    return new ApiError(answer.status, error.code, error.message);
  } catch {
    return new ApiError(answer.status, 'error', `digd answered ${answer.status}`);
  }
}

export async function requestJson<T>(path: string, init?: RequestInit): Promise<T> {
  const answer = await request(path, init);
  if (!answer.ok) throw await errorOf(answer);
  return (await answer.json()) as T;
}

export const runPath = (run: string): string => `/v1/runs/${encodeURIComponent(run)}`;

export const getRuns = (cursor: string | null): Promise<{runs: RunRow[]; next: string | null}> =>
  requestJson(`/v1/runs?limit=100${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`);
export const getRun = (run: string): Promise<RunDetails> => requestJson(runPath(run));
// `fleet`: digd is a viewer of a fleet, which judges nothing.
export const getMode = (): Promise<{mode: Mode; fleet?: boolean}> => requestJson('/v1/mode');
export const putMode = (mode: Mode): Promise<{mode: Mode; switched: number}> =>
  requestJson('/v1/mode', {method: 'PUT', body: JSON.stringify({mode}), headers: {'Content-Type': 'application/json'}});

export const getPilot = (since: string): Promise<Pilot> => requestJson(`/v1/pilot?since=${encodeURIComponent(since)}`);

const MAX_JUDGEMENT_PAGES = 20;

// The judgements of a run by detection name.
export async function getJudgements(run: string): Promise<Map<string, Judgement>> {
  const judgements = new Map<string, Judgement>();
  let cursor = '';
  for (let page = 0; page < MAX_JUDGEMENT_PAGES; ++page) {
    const answer = await requestJson<{detections: {name: string; judgement: Judgement | null}[]; next: string | null}>(
      `${runPath(run)}/detections?limit=500${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    for (const detection of answer.detections)
      if (detection.judgement !== null) judgements.set(detection.name, detection.judgement);
    if (answer.next === null) break;
    cursor = answer.next;
  }
  return judgements;
}

// Null withdraws the judgement.
export const postJudgement = (
  run: string,
  detection: string,
  judgement: Judgement | null,
): Promise<{judgement: Judgement | null}> =>
  requestJson(`${runPath(run)}/detections/${encodeURIComponent(detection)}/judgement`, {
    method: 'POST',
    body: JSON.stringify({judgement}),
    headers: {'Content-Type': 'application/json'},
  });

// The part of a run's report that the page shows: docs/report.md.
export interface Report {
  verdict: string[];
  conclusion: {kind: string; words: string};
  run: {outcome: string | null};
  passes: Record<string, {ran: boolean; command: string | null}>;
}

const MAX_BUSY_ANSWERS = 10;
const BUSY_PAUSE_MS = 1000;

// digd writes only a few reports at a time. While it is busy with others, this asks again.
export async function getReport(run: string): Promise<Report> {
  for (let busyAnswers = 1; ; ++busyAnswers) {
    try {
      return await requestJson(`${runPath(run)}/report`);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'busy' || busyAnswers === MAX_BUSY_ANSWERS) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, BUSY_PAUSE_MS));
  }
}

interface Spent {
  input_tokens: number;
  output_tokens: number;
  cost: number;
}

// An event that waits for a person: docs/guards.md.
export interface Hold {
  hold: string;
  event: string;
  guard: string;
  sender: string | null;
  recipients: string[];
  reason: string;
  since: number;
  due: number;
  cost?: number;
  payload?: unknown;
  spent?: {run: Spent; sender?: Spent};
}

export type Decision = 'release' | 'return';

export interface QueuedHold extends Hold {
  run: string;
}

export const MAX_QUEUED_HOLDS = 100;
export const getHoldQueue = (): Promise<{holds: QueuedHold[]; left_out: number}> =>
  requestJson(`/v1/holds?limit=${MAX_QUEUED_HOLDS}`);
export const getHolds = (run: string): Promise<{holds: Hold[]}> => requestJson(`${runPath(run)}/holds`);
export const postDecision = (run: string, hold: string, decision: Decision, text: string): Promise<unknown> =>
  requestJson(`${runPath(run)}/holds/${encodeURIComponent(hold)}`, {
    method: 'POST',
    body: JSON.stringify(text === '' ? {decision} : {decision, text}),
    headers: {'Content-Type': 'application/json'},
  });

interface Used extends Spent {
  model_calls: number;
  tool_calls: number;
  activations: number;
}

interface GuardedTotals {
  tokens: number;
  cost: number;
  model_calls: number;
  tool_calls: number;
  activations: number;
  ms: number;
}

export interface AgentUsage extends Used {
  agent: string;
  guarded?: GuardedTotals;
  series?: {tokens: number[]; cost: number[]};
}

// What a run used: docs/guards.md. digd reads the whole run for it.
export interface RunUsage {
  guards: Record<string, Record<string, unknown>>;
  totals: Used & {ms: number};
  guarded?: GuardedTotals;
  agents: AgentUsage[];
  agents_left_out: number;
  bins: {start: number; width_ms: number; count: number};
  series: Record<'tokens' | 'cost' | 'model_calls' | 'tool_calls' | 'activations' | 'depth' | 'live', number[]>;
  fan_out: {
    max_depth: number;
    max_live: number;
    depths: number[];
    activations: {activation: string; agent: string; outputs: number; depth: number}[];
  };
  holds: {opened: number; open: number; released: number; returned: number; decisions: number};
}

export const getUsage = (run: string): Promise<RunUsage> => requestJson(`${runPath(run)}/usage`);

export async function getReadiness(): Promise<Readiness> {
  const answer = await request('/readyz');
  if (answer.status !== 200 && answer.status !== 503) throw await errorOf(answer);
  return (await answer.json()) as Readiness;
}

export async function getMetrics(): Promise<string> {
  const answer = await request('/metrics');
  if (!answer.ok) throw await errorOf(answer);
  return answer.text();
}

// Fetches a file of digd. Needed where a token is required, because a link cannot carry one.
export async function getFile(path: string): Promise<Blob> {
  const answer = await request(path);
  if (!answer.ok) throw await errorOf(answer);
  return answer.blob();
}
