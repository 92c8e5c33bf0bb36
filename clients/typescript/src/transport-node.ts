// Connections in Node with the `ws` package. First comes a plain TCP, TLS or Unix connection; `ws` is loaded only once
// that is open. So a missing daemon costs only one refused connect. An open socket does not keep the process alive.
// Connecting to a host that does not answer does, for at most `maxOpenMs`; closing does for `maxCloseMs`.
import * as net from "node:net";
import * as tls from "node:tls";
import type { WebSocket as NodeWebSocket } from "ws";
import {
  checkUrl,
  finalCloses,
  ingestUrl,
  maxOpenMs,
  socketPath,
  subprotocol,
  type Socket,
  type SocketEvents,
  type Target,
} from "./transport.js";

export const defaultUrl = (): string => process.env["DIGD_URL"] || "ws://127.0.0.1:7344";
export const defaultMode = (): string | undefined => process.env["DIGD_MODE"] || undefined;
export const defaultToken = (): string | undefined => process.env["DIGD_TOKEN"] || undefined;
const maxCloseMs = 200; // for the daemon's close frame; ws itself would wait for 30 s and keep the process alive

/** Monotonic milliseconds. */
export function now(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

export const checkTarget = checkUrl;

/** Opens a connection and reports its events. */
export function openSocket(target: Target, events: SocketEvents): Socket {
  return new NodeSocket(target, events);
}

class NodeSocket implements Socket {
  private readonly raw: net.Socket;
  private ws: NodeWebSocket | null = null;
  private isClosed = false;

  constructor(
    private readonly target: Target,
    private readonly events: SocketEvents,
  ) {
    const path = socketPath(target.url);
    const url = ingestUrl(path === null ? target.url : "ws://localhost", target.run);
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const port = Number(url.port || (url.protocol === "wss:" ? 443 : 80));
    const secure = url.protocol === "wss:";
    if (path !== null) this.raw = net.connect(path);
    else if (secure) this.raw = tls.connect({ host, port, ...(net.isIP(host) ? {} : { servername: host }) });
    else this.raw = net.connect({ host, port, noDelay: true });
    this.raw.unref();
    this.raw.setTimeout(maxOpenMs, () => this.raw.destroy(new Error(`no answer within ${maxOpenMs} ms`)));
    // Once there is a WebSocket, its own events have more detail.
    this.raw.on("error", (error: NodeJS.ErrnoException) => this.ws ?? this.finish(error.code ?? error.message, false));
    this.raw.once("close", () => this.ws ?? this.finish("the connection was closed", false));
    this.raw.once(secure ? "secureConnect" : "connect", () => {
      this.upgrade(url).catch((error: unknown) =>
        this.finish(error instanceof Error ? error.message : String(error), true),
      );
    });
  }

  private async upgrade(url: URL): Promise<void> {
    const { WebSocket } = await import("ws");
    if (this.isClosed) return;
    const headers = this.target.token ? { authorization: `Bearer ${this.target.token}` } : {};
    const ws = new WebSocket(url, subprotocol, {
      headers,
      createConnection: () => this.raw,
      perMessageDeflate: false,
      handshakeTimeout: maxOpenMs,
    });
    this.ws = ws;
    ws.on("open", () => {
      this.raw.setTimeout(0);
      this.events.open();
    });
    ws.on("message", (data: Buffer) => this.events.frame(data.toString("utf8")));
    ws.on("error", (error: NodeJS.ErrnoException) => this.finish(error.code ?? error.message, false));
    ws.on("close", (code, reason) => {
      const finalReason = finalCloses.get(code);
      this.finish(`closed with ${code} ${finalReason ?? reason.toString("utf8")}`.trimEnd(), finalReason !== undefined);
    });
    ws.on("unexpected-response", (_, response) => {
      const status = response.statusCode ?? 0;
      const hint = status === 401 ? "it requires a token (option token, or DIGD_TOKEN)" : "see digd's log";
      this.finish(`refused with ${status}: ${hint}`, status === 401 || status === 403);
      ws.terminate();
    });
  }

  send(frames: readonly string[]): void {
    if (!this.ws || this.ws.readyState !== this.ws.OPEN) return;
    this.raw.cork();
    for (const frame of frames) this.ws.send(frame);
    this.raw.uncork();
  }

  close(): void {
    this.isClosed = true;
    const { ws } = this;
    if (!ws || ws.readyState !== ws.OPEN) return void this.raw.destroy();
    ws.close(1000);
    const timer = setTimeout(() => ws.terminate(), maxCloseMs);
    ws.once("close", () => clearTimeout(timer));
  }

  private finish(reason: string, final: boolean): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.raw.destroy();
    this.events.closed(reason, final);
  }
}
