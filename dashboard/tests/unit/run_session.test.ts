// The run on display, with a server of the test's own.
import {afterEach, beforeEach, expect, it, vi} from 'vitest';
import {RunSession} from '../../src/run_session';

const sockets: FakeSocket[] = [];
class FakeSocket {
  onopen: (() => void) | null = null;
  onmessage: ((message: {data: string}) => void) | null = null;
  onclose: ((event: {code: number; reason: string}) => void) | null = null;
  isClosed = false;
  constructor(readonly url: string) {
    sockets.push(this);
  }
  close(): void {
    this.isClosed = true;
  }
  receive(...frames: object[]): void {
    this.onmessage!({data: JSON.stringify(frames)});
  }
}

let known = true;
beforeEach(() => {
  known = true;
  sockets.splice(0);
  vi.stubGlobal('WebSocket', FakeSocket);
  vi.stubGlobal('location', {protocol: 'http:', host: '127.0.0.1:7344'});
  vi.stubGlobal('window', globalThis);
  vi.stubGlobal('sessionStorage', {getItem: () => null, removeItem: () => {}});
  vi.stubGlobal('requestAnimationFrame', () => 0);
  vi.stubGlobal('fetch', async () =>
    known
      ? new Response(JSON.stringify({state: 'open', settings: {}, counts: {messages: 1}}))
      : new Response(JSON.stringify({error: {code: 'not_found', message: 'no such run'}}), {status: 404}),
  );
});
afterEach(() => vi.unstubAllGlobals());

it('a run that was deleted and comes back is read from its beginning', async () => {
  const failed = vi.fn();
  const session = new RunSession('r1', () => {}, failed);
  await session.refresh();
  const frame = {type: 'message', seq: 1, run: 'r1', ts: 1, last: true};
  sockets[0]!.receive({...frame, message: {type: 'event', event: {id: 'old', recipients: ['a']}}});
  expect(session.model.counts.events).toBe(1);
  known = false;
  await session.refresh();
  expect(session.feedState).toBe('missing');
  expect(sockets.every((socket) => socket.isClosed)).toBe(true);
  known = true;
  await session.refresh();
  expect(session.feedState).not.toBe('missing');
  const reopened = sockets.at(-1)!;
  expect(reopened.isClosed).toBe(false);
  expect(reopened.url).toContain('since=0');
  reopened.receive({...frame, message: {type: 'event', event: {id: 'new', recipients: ['a']}}});
  expect(session.model.get('event', 'old')).toBeUndefined();
  expect(session.model.get('event', 'new')).toBeDefined();
  expect(session.progress.read).toBe(1);
  session.stop();
  expect(failed).not.toHaveBeenCalled();
});
