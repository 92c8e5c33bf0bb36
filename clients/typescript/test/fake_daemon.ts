// A WebSocket server that speaks as much of the protocol as a test needs, also wrongly.
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach } from "vitest";
import { WebSocketServer, type WebSocket } from "ws";

export type Received = Record<string, any>;
export type Answer = (message: Received, socket: WebSocket, request: IncomingMessage) => void;

export const welcome = {
  type: "welcome",
  acked_seq: 0,
  mode: "enforce",
  rules: {},
  guards: {},
  limits: {},
  verdict_deadline_ms: 5000,
  credits: 64,
};

export const send = (socket: WebSocket, frame: object): void => socket.send(JSON.stringify(frame));

/** Welcomes each session, delivers each event and acknowledges each message. */
export const obedient: Answer = (message, socket) => {
  if (message["type"] === "hello") return send(socket, { ...welcome, mode: message["mode"] ?? "enforce" });
  const { seq } = message as { seq: number };
  const events = message["type"] === "event" ? [message["event"]] : (message["outputs"] ?? []);
  const verdicts = events.map(({ id }: { id: string }) => ({ event: id, action: "deliver" }));
  if (verdicts.length > 0) send(socket, { type: "verdicts", seq, verdicts });
  send(socket, { type: "ack", seq });
};

export class FakeDaemon {
  readonly received: Received[] = [];
  connections = 0;
  private constructor(
    private readonly server: WebSocketServer,
    readonly url: string,
  ) {}

  static async start(answer: Answer = obedient): Promise<FakeDaemon> {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await new Promise((next) => server.once("listening", next));
    const daemon = new FakeDaemon(server, `ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on("connection", (socket, request) => {
      daemon.connections += 1;
      socket.on("message", (data) => {
        const message = JSON.parse(String(data)) as Received;
        daemon.received.push(message);
        answer(message, socket, request);
      });
    });
    return daemon;
  }

  /** The number of open connections. */
  get open(): number {
    return this.server.clients.size;
  }

  stop(): void {
    for (const socket of this.server.clients) socket.terminate();
    this.server.close();
  }
}

/** Returns a function that starts daemons. Each ends after the test that started it. Call this at the top of a file. */
export function fakeDaemons(): typeof FakeDaemon.start {
  const daemons: FakeDaemon[] = [];
  afterEach(() => daemons.splice(0).forEach((daemon) => daemon.stop()));
  return async (...options) => {
    const daemon = await FakeDaemon.start(...options);
    daemons.push(daemon);
    return daemon;
  };
}
