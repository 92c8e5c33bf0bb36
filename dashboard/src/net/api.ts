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
