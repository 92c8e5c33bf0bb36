// The interface of a connection. There is an implementation for Node and one for browsers; `#transport` chooses.

export interface Target {
  /** HOST:PORT, ws://HOST:PORT, wss://HOST:PORT or, in Node, unix:/PATH. */
  url: string;
  run: string;
  token?: string | undefined;
}

export interface SocketEvents {
  open(): void;
  frame(text: string): void;
  /** Called once, as the last event. `final`: do not reconnect (refused, replaced). */
  closed(reason: string, final: boolean): void;
}

export interface Socket {
  /** Writes frames in one batch. Does nothing if the connection is not open. */
  send(frames: readonly string[]): void;
  close(): void;
}

export const subprotocol = "digd.v1";
export const maxOpenMs = 5000;

/** The daemon's close codes after which the session must not reconnect by itself. */
export const finalCloses: ReadonlyMap<number, string> = new Map([
  [4400, "refused permanently"],
  [4409, "replaced by a newer connection of the same run and session"],
]);

const network = /^(?:(wss?):\/\/)?(\[[0-9A-Fa-f:.]+\]|[^\s/?#@:[\]]+):([0-9]{1,5})$/;
const maxSocketPathBytes = 107; // sockaddr_un.sun_path without its terminator

/**
 * Throws a TypeError on an address of none of the four forms, so that a typing error does not cause an unwatched run.
 */
export function checkUrl(url: string, name = "url"): void {
  const path = socketPath(url);
  if (
    path !== null &&
    !path.startsWith("//") &&
    !path.includes("\0") &&
    new TextEncoder().encode(path).length <= maxSocketPathBytes
  )
    return;
  const port = Number(network.exec(url)?.[3] ?? 0);
  if (path === null && port > 0 && port < 65536) return;
  throw new TypeError(
    `${name}: ${JSON.stringify(url)} is not an address of a daemon; ` +
      `expected HOST:PORT, ws://HOST:PORT, wss://HOST:PORT or unix:/PATH`,
  );
}

/** The path of a `unix:/PATH` address; null for the other forms. */
export function socketPath(url: string): string | null {
  return url.startsWith("unix:/") ? url.slice("unix:".length) : null;
}

/** The URL of the ingest endpoint of a run, for an address that `checkUrl` accepts. */
export function ingestUrl(url: string, run: string): URL {
  const endpoint = new URL(/^wss?:\/\//.test(url) ? url : `ws://${url}`);
  endpoint.pathname = "/v1/ingest";
  endpoint.searchParams.set("run", run);
  return endpoint;
}
