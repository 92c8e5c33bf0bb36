// Runs a Session on a socket and a clock: connects, reconnects with backoff, batches the writes of one tick, and
// watches deadlines. It logs one line when an outage begins, one when it ends, and one for a final refusal; never a
// payload.
//
// Timers that only wait for the daemon do not keep a Node process alive. The deadline of a held event does.
import { now as clock, openSocket } from "#transport";
import type { Session } from "./session.js";
import type { Socket, Target } from "./transport.js";

export interface Backoff {
  firstMs: number;
  maxMs: number;
}

const maxWelcomeMs = 5000;
const maxTimerMs = 2 ** 31 - 1; // a longer timer would fire at once

type Timer = ReturnType<typeof setTimeout>;

/** Lets a Node process end although the timer is running. */
export function background(timer: Timer): Timer {
  (timer as { unref?: () => void }).unref?.();
  return timer;
}

export class Link {
  private socket: Socket | null = null;
  private address: string; // where the next attempt connects: the target, or the daemon to which the run moved
  private generation = 0; // increases with each socket; events of older sockets are ignored
  private failures = 0; // connections in a row that failed or did not last
  private welcomedAt: number | null = null; // the time of this connection's welcome
  private retryTimer: Timer | null = null;
  private welcomeTimer: Timer | null = null;
  private deadlineTimer: Timer | null = null;
  private deadlineAt = Infinity; // the time of `deadlineTimer`
  private flushScheduled = false;
  private stopped = false;
  private outageLogged = false;
  private readonly waiters = new Set<() => void>();

  constructor(
    private readonly session: Session,
    private readonly target: Target,
    private readonly backoff: Backoff,
    private readonly log: (line: string) => void,
  ) {
    this.address = target.url;
  }

  /** Begins to connect. Never throws: a failure is logged and retried. */
  start(): void {
    const generation = ++this.generation;
    this.welcomedAt = null;
    const current = (): boolean => generation === this.generation && !this.stopped;
    try {
      this.socket = openSocket(
        { ...this.target, url: this.address },
        {
          open: () => {
            if (!current()) return;
            this.session.connected();
            this.welcomeTimer = background(
              setTimeout(() => current() && this.onLost("no welcome", false), maxWelcomeMs),
            );
            this.flush();
          },
          frame: (text) => {
            if (!current()) return;
            try {
              this.session.receive(text, clock());
            } catch {
              this.session.counters.unreadable += 1; // a frame without the fields of its type
            }
            if (this.session.isOpen) this.onWelcome();
            this.update();
          },
          closed: (reason, final) => current() && this.onLost(reason, final),
        },
      );
    } catch (error) {
      this.onLost(error instanceof Error ? error.message : String(error), true);
    }
  }

  /** Call after every change of the session: writes soon, sets the deadline timer, and wakes the waiters of `until`. */
  update(): void {
    if (!this.flushScheduled) {
      this.flushScheduled = true;
      queueMicrotask(() => {
        this.flushScheduled = false;
        this.flush();
      });
    }
    this.watchDeadline();
    for (const wake of [...this.waiters]) wake();
  }

  /** Reconnects, so that the new hello has the current options. */
  reconnect(): void {
    if (this.stopped || !this.session.isOpen) return;
    this.socket?.close();
    this.session.disconnected(clock());
    this.start();
    this.update();
  }

  /**
   * Connects to the daemon that has the run. It sends the token there, so it never leaves TLS. If that daemon
   * cannot be reached, the next attempt is at the first address again, which may have the run then.
   */
  moveTo(url: string): void {
    if (this.stopped) return;
    this.generation += 1; // ignores further events of this socket
    this.socket?.close();
    this.socket = null;
    if (this.welcomeTimer !== null) clearTimeout(this.welcomeTimer);
    this.welcomeTimer = null;
    if (this.target.url.startsWith("wss://") && !url.startsWith("wss://")) {
      return this.onLost(`the run has moved to ${url}, which is without TLS`, true);
    }
    if (this.session.isOpen) this.session.disconnected(clock());
    this.address = url.replace(/\/$/, "");
    this.start();
    this.update();
  }

  stop(): void {
    this.stopped = true;
    for (const timer of [this.retryTimer, this.welcomeTimer, this.deadlineTimer])
      if (timer !== null) clearTimeout(timer);
    this.socket?.close();
    this.socket = null;
    for (const wake of [...this.waiters]) wake();
  }

  /** Resolves true once `condition` holds, false after `withinMs` or when the link is stopped. */
  until(condition: () => boolean, withinMs: number): Promise<boolean> {
    if (condition()) return Promise.resolve(true);
    if (this.stopped || withinMs <= 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      const finish = (): void => {
        this.waiters.delete(wake);
        clearTimeout(timer);
        resolve(condition());
      };
      const wake = (): void => {
        if (condition() || this.stopped) finish();
      };
      const timer = setTimeout(finish, Math.min(withinMs, maxTimerMs));
      this.waiters.add(wake);
    });
  }

  private onWelcome(): void {
    this.welcomedAt ??= clock();
    if (this.welcomeTimer !== null) clearTimeout(this.welcomeTimer);
    this.welcomeTimer = null;
    if (this.outageLogged) this.log("digd: connected again");
    this.outageLogged = false;
  }

  private onLost(reason: string, final: boolean): void {
    this.generation += 1; // ignores further events of this socket
    this.socket?.close();
    this.socket = null;
    if (this.welcomeTimer !== null) clearTimeout(this.welcomeTimer);
    this.welcomeTimer = null;
    this.address = this.target.url;
    if (this.welcomedAt !== null && clock() - this.welcomedAt >= this.backoff.maxMs) this.failures = 0;
    this.welcomedAt = null;
    if (final) this.session.finish();
    else this.session.disconnected(clock());
    if ((final || !this.outageLogged) && !this.stopped) this.logOutage(reason);
    if (final) this.stop();
    else this.scheduleRetry();
    this.update();
  }

  private logOutage(reason: string): void {
    this.outageLogged = true;
    const next = this.session.isOver
      ? "this run continues unwatched"
      : "the run continues unwatched, and the client retries";
    this.log(`digd: not connected to ${this.target.url} (${reason}); ${next}`);
  }

  private scheduleRetry(): void {
    const maxDelayMs = Math.min(this.backoff.maxMs, this.backoff.firstMs * 2 ** Math.min(this.failures, 20));
    this.failures += 1;
    this.retryTimer = background(
      setTimeout(() => !this.stopped && this.start(), Math.min(maxDelayMs * (0.5 + Math.random() / 2), maxTimerMs)),
    );
  }

  private flush(): void {
    if (this.stopped || !this.socket) return;
    const frames = this.session.drain();
    if (frames.length > 0) this.socket.send(frames);
  }

  private watchDeadline(): void {
    const next = this.stopped ? Infinity : this.session.nextDeadline;
    if (next === this.deadlineAt) return;
    if (this.deadlineTimer !== null) clearTimeout(this.deadlineTimer);
    this.deadlineTimer = null;
    this.deadlineAt = next;
    if (next === Infinity) return;
    this.deadlineTimer = setTimeout(
      () => {
        this.deadlineAt = Infinity;
        this.session.tick(clock());
        this.update();
      },
      Math.min(Math.max(0, Math.ceil(next - clock())), maxTimerMs),
    );
  }
}
