// Connections in browsers and other platforms with a global WebSocket. It cannot set headers, so the token is a
// subprotocol.
import {
  checkUrl,
  finalCloses,
  ingestUrl,
  maxOpenMs,
  subprotocol,
  type Socket,
  type SocketEvents,
  type Target,
} from "./transport.js";

/** The page's own host, else the default address. */
export const defaultUrl = (): string => {
  const page = (globalThis as { location?: { protocol?: string; hostname?: string; port?: string } }).location;
  const secure = page?.protocol === "https:";
  if (!page?.hostname || (!secure && page.protocol !== "http:")) return "ws://127.0.0.1:7344";
  return `${secure ? "wss" : "ws"}://${page.hostname}:${page.port || (secure ? 443 : 80)}`;
};
export const defaultMode = (): string | undefined => undefined;
export const defaultToken = (): string | undefined => undefined;

/** Monotonic milliseconds. */
export const now = (): number => performance.now();

export function checkTarget(url: string, name?: string): void {
  if (url.startsWith("unix:"))
    throw new TypeError(
      `${name ?? "url"}: a browser cannot open ${JSON.stringify(url)}; ` +
        `expected HOST:PORT, ws://HOST:PORT or wss://HOST:PORT`,
    );
  checkUrl(url, name);
}

/** Opens a connection and reports its events. */
export function openSocket(target: Target, events: SocketEvents): Socket {
  const offered = target.token ? [subprotocol, `bearer.${target.token}`] : [subprotocol];
  const ws = new WebSocket(ingestUrl(target.url, target.run), offered);
  let isClosed = false;
  const finish = (reason: string, final: boolean): void => {
    if (isClosed) return;
    isClosed = true;
    clearTimeout(timer);
    events.closed(reason, final);
  };
  const timer = setTimeout(() => {
    finish(`no answer within ${maxOpenMs} ms`, false);
    ws.close();
  }, maxOpenMs);
  ws.onopen = () => {
    clearTimeout(timer);
    if (!isClosed) events.open();
  };
  ws.onmessage = (message: MessageEvent) => {
    if (!isClosed && typeof message.data === "string") events.frame(message.data);
  };
  ws.onclose = (event: CloseEvent) => {
    const finalReason = finalCloses.get(event.code);
    finish(`closed with ${event.code} ${finalReason ?? event.reason}`.trimEnd(), finalReason !== undefined);
  };
  return {
    send: (frames) => {
      if (ws.readyState !== WebSocket.OPEN) return;
      for (const frame of frames) ws.send(frame);
    },
    close: () => {
      isClosed = true;
      clearTimeout(timer);
      ws.close(1000);
    },
  };
}
