// The feed of one run, from its beginning for as long as the page shows it. After a lost connection it resumes behind
// the last complete entry. The delay between attempts doubles up to MAX_RETRY_MS.
import type {Frame} from '../model/frames';
import {token} from './session';

export type FeedState = 'missing' | 'connecting' | 'live' | 'waiting' | 'closed';

const MIN_RETRY_MS = 250;
const MAX_RETRY_MS = 10_000;

export interface FeedListener {
  frame(frame: Frame): void;
  state(state: FeedState, reason: string): void;
  resumed(): void; // a connection is open; its frames begin behind the last complete entry
}

export class Feed {
  private socket: WebSocket | null = null;
  private since = 0;
  private retryMs = MIN_RETRY_MS;
  private timer = 0;
  private closed = false;

  constructor(
    private readonly run: string,
    private readonly listener: FeedListener,
  ) {
    this.open();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket?.close();
    this.listener.state('closed', '');
  }

  private open(): void {
    this.listener.state('connecting', '');
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    const url = `${scheme}://${location.host}/v1/feed?run=${encodeURIComponent(this.run)}&since=${this.since}&batch=1`;
    const bearer = token();
    const socket = new WebSocket(url, ['digd.feed.v1', ...(bearer === null ? [] : [`bearer.${bearer}`])]);
    this.socket = socket;
    socket.onopen = () => {
      this.listener.resumed();
      this.listener.state('live', '');
    };
    socket.onmessage = (message) => this.receive(String(message.data));
    socket.onclose = (event) =>
      this.retry(event.reason || (event.code === 1006 ? 'the connection was lost' : `code ${event.code}`));
  }

  private receive(text: string): void {
    if (this.closed) return;
    this.retryMs = MIN_RETRY_MS;
    for (const frame of JSON.parse(text) as Frame[]) {
      this.listener.frame(frame);
      if (frame.last) this.since = frame.seq;
    }
  }

  private retry(reason: string): void {
    if (this.closed) return;
    this.listener.state('waiting', reason);
    this.timer = window.setTimeout(() => this.open(), this.retryMs);
    this.retryMs = Math.min(this.retryMs * 2, MAX_RETRY_MS);
  }
}
