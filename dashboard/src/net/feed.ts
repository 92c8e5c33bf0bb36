// The feed of one run, from its beginning and for as long as the page shows it. A connection that ends is opened again after
// the last whole entry; how long that waits grows to 10 s and no further.
import type {Frame} from '../model/frames';
import {token} from './session';

export type FeedState = 'missing' | 'connecting' | 'live' | 'waiting' | 'closed';

const LEAST_WAIT_MS = 250;
const MOST_WAIT_MS = 10_000;

export interface FeedListener {
  frame(frame: Frame): void;
  state(state: FeedState, why: string): void;
  resumed(): void;  // what follows begins after the last whole entry
}

export class Feed {
  private socket: WebSocket | null = null;
  private since = 0;
  private wait = LEAST_WAIT_MS;
  private timer = 0;
  private closed = false;

  constructor(private readonly run: string, private readonly listener: FeedListener) { this.open(); }

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
    const held = token();
    const socket = new WebSocket(url, ['digd.feed.v1', ...(held === null ? [] : [`bearer.${held}`])]);
    this.socket = socket;
    socket.onopen = () => {
      this.listener.resumed();
      this.listener.state('live', '');
    };
    socket.onmessage = (message) => this.take(String(message.data));
    socket.onclose = (gone) => this.again(gone.reason || (gone.code === 1006 ? 'the connection was lost' : `code ${gone.code}`));
  }

  private take(text: string): void {
    this.wait = LEAST_WAIT_MS;
    for (const frame of JSON.parse(text) as Frame[]) {
      this.listener.frame(frame);
      if (frame.last) this.since = frame.seq;
    }
  }

  private again(why: string): void {
    if (this.closed) return;
    this.listener.state('waiting', why);
    this.timer = window.setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(this.wait * 2, MOST_WAIT_MS);
  }
}
