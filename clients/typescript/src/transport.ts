// What a connection is to the rest of the client. One implementation for Node, one for browsers; `#transport` chooses.

export interface Target {
  /** ws://, wss://, http://, https://, HOST:PORT, or unix:/PATH (Node only). */
  url: string;
  run: string;
  token?: string | undefined;
}

export interface SocketEvents {
  open(): void;
  frame(text: string): void;
  /** Called once, last. `final`: trying again is no use (refused, replaced). */
  closed(why: string, final: boolean): void;
}

export interface Socket {
  /** Writes frames together; nothing if it is not open. */
  send(frames: readonly string[]): void;
  close(): void;
}

export const subprotocol = "digd.v1";
export const openWithinMs = 5000;

/** The daemon's close codes after which this session must not come back by itself. */
export const finalCloses: ReadonlyMap<number, string> = new Map([
  [4400, "refused for good"],
  [4409, "replaced by a newer connection of the same run and session"],
]);

/** The address of the ingest door: `url` with the path if it has none, and the run. */
export function ingestUrl(url: string, run: string): URL {
  let parsed: URL;
  try {
    parsed = new URL(/^[a-z+]+:\/\//i.test(url) ? url : `ws://${url}`);
  } catch {
    throw new TypeError(`url: expected ws://HOST:PORT, wss://HOST:PORT, HOST:PORT or unix:/PATH, got ${JSON.stringify(url)}`);
  }
  if (parsed.protocol === "http:") parsed.protocol = "ws:";
  if (parsed.protocol === "https:") parsed.protocol = "wss:";
  if (parsed.protocol !== "ws:" && parsed.protocol !== "wss:") {
    throw new TypeError(`url: expected ws, wss, http, https or unix, got ${JSON.stringify(url)}`);
  }
  if (parsed.pathname === "/" || parsed.pathname === "") parsed.pathname = "/v1/ingest";
  if (!parsed.searchParams.has("run")) parsed.searchParams.set("run", run);
  return parsed;
}
