// "Who caused this?": digd ranks the suspects of a run in a process of its own (docs/dashboard.md). Failures throw an
// ApiError.
import {requestJson, runPath} from './api';

export interface Suspect {
  agent: string;
  step: number;
  event?: string;
  probability: number;
  proven: boolean;
  chain: {says: string; accuses: boolean}[]; // strongest first; items with `accuses` false only ordered the suspects
}

export interface Attribution {
  state: 'none' | 'reading' | 'ranking' | 'done' | 'failed';
  read?: number;
  messages?: number;
  ms?: number;
  max_ms?: number;
  answer?: {verdict: {kind: string; confidence: string; words: string}; ranking: Suspect[]};
  problem?: string;
}

const path = (run: string): string => `${runPath(run)}/attribution`;

export const getAttribution = (run: string): Promise<Attribution> => requestJson(path(run));
export const startAttribution = (run: string): Promise<Attribution> => requestJson(path(run), {method: 'POST'});
export const isRunning = (a: Attribution | null): boolean => a?.state === 'reading' || a?.state === 'ranking';
