// The payloads of stored frames, and the search over them. The page requests a frame when it shows its payload.
// Bounds: MAX_CACHED frames are kept; the oldest is dropped first.
import type {RunModel} from '../model/run_model';
import {NEVER, type Node} from '../model/types';
import {ApiError, requestJson, runPath} from './api';

const MAX_CACHED = 300;
const MAX_OUTPUTS = 5;
export const MAX_SEARCH_WORDS = 200;

interface WireEvent {
  id: string;
  payload?: unknown;
}
interface StoredFrame {
  event?: WireEvent;
  outputs?: WireEvent[];
}

export interface Hit {
  run: string;
  seq: number;
  event: string;
  excerpt: string;
}

const cache = new Map<string, Promise<StoredFrame | null>>();

function frameOf(run: string, seq: number): Promise<StoredFrame | null> {
  const key = `${seq} ${run}`;
  const known = cache.get(key);
  if (known) return known;
  if (cache.size >= MAX_CACHED) cache.delete(cache.keys().next().value!);
  const loading = requestJson<{frame: StoredFrame}>(`${runPath(run)}/entries/${seq}`).then(
    (answer) => answer.frame,
    (error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return null; // an event of digd, or a deleted run
      cache.delete(key);
      throw error;
    },
  );
  cache.set(key, loading);
  return loading;
}

// A payload as people read it: its text, else its JSON.
export function payloadText(payload: unknown): string {
  if (payload === undefined || payload === null) return '';
  if (typeof payload === 'string') return payload;
  if (typeof payload === 'object')
    for (const name of ['text', 'content']) {
      const text = (payload as Record<string, unknown>)[name];
      if (typeof text === 'string' && text !== '') return text;
    }
  return JSON.stringify(payload, null, 1);
}

// The payloads of the event, or of the outputs of the activation, as text. Empty: nothing is stored.
export async function textOfNode(run: string, model: RunModel, node: Node): Promise<string> {
  if (node.type === 'event' && node.system) return ''; // its text is among its actions
  const at = node.type === 'event' ? node.announcedAt : node.endedAt;
  if (at === NEVER || at < model.entries.first) return '';
  const frame = await frameOf(run, model.entries.get(at)!.seq);
  if (frame === null) return '';
  const events = [...(frame.event ? [frame.event] : []), ...(frame.outputs ?? [])];
  const wanted = node.type === 'event' ? events.filter((event) => event.id === node.id) : events.slice(0, MAX_OUTPUTS);
  return wanted
    .map((event) => payloadText(event.payload))
    .filter((text) => text !== '')
    .join('\n\n');
}

// Null: digd indexes no texts.
export async function searchTexts(words: string, run: string | null, maxPages: number): Promise<Hit[] | null> {
  const hits: Hit[] = [];
  let cursor = '';
  for (let page = 0; page < maxPages; ++page) {
    const query = new URLSearchParams({q: words.slice(0, MAX_SEARCH_WORDS), limit: '100'});
    if (run !== null) query.set('run', run);
    if (cursor !== '') query.set('cursor', cursor);
    const answer = await requestJson<{on: boolean; hits: Hit[]; next: string | null}>(`/v1/search?${query}`);
    if (!answer.on) return null;
    hits.push(...answer.hits);
    if (answer.next === null) break;
    cursor = answer.next;
  }
  return hits;
}
