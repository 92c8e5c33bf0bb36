// Browsers (and whatever else has the platform's WebSocket): a token travels as a subprotocol, as no header can be set.
import { finalCloses, ingestUrl, openWithinMs, subprotocol, type Socket, type SocketEvents, type Target } from "./transport.js";

/** The page's own host, else the default address. */
export const defaultUrl = (): string => {
  const page = (globalThis as { location?: { origin?: string } }).location?.origin;
  return page && /^https?:/.test(page) ? page : "ws://127.0.0.1:7344";
};
export const defaultToken = (): string | undefined => undefined;

/** Monotonic milliseconds. */
export const now = (): number => performance.now();

/** Fails with a TypeError on an address that cannot be one, before anything is tried. */
export function checkTarget(target: Target): void {
  ingestUrl(target.url, target.run);
}

/** Opens a connection; whatever becomes of it is told to `on`. */
export function openSocket(target: Target, on: SocketEvents): Socket {
  const offered = target.token ? [subprotocol, `bearer.${target.token}`] : [subprotocol];
  const ws = new WebSocket(ingestUrl(target.url, target.run), offered);
  let done = false;
  const finish = (why: string, final: boolean): void => {
    if (done) return;
    done = true;
    clearTimeout(timer);
    on.closed(why, final);
  };
  const timer = setTimeout(() => {
    finish(`no answer within ${openWithinMs} ms`, false);
    ws.close();
  }, openWithinMs);
  ws.onopen = () => {
    clearTimeout(timer);
    if (!done) on.open();
  };
  ws.onmessage = (message: MessageEvent) => {
    if (!done && typeof message.data === "string") on.frame(message.data);
  };
  ws.onclose = (event: CloseEvent) => {
    const why = finalCloses.get(event.code);
    finish(`closed with ${event.code} ${why ?? event.reason}`.trimEnd(), why !== undefined);
  };
  return {
    send: (frames) => {
      if (ws.readyState !== WebSocket.OPEN) return;
      for (const frame of frames) ws.send(frame);
    },
    close: () => {
      done = true;
      clearTimeout(timer);
      ws.close(1000);
    },
  };
}
