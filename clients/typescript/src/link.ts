// Runs a Session on a real socket and clock: connects, comes back with backoff, writes what is said in one tick together,
// and watches the deadlines. One log line an outage; never a payload in it.
//
// Timers that only wait for the daemon to come back do not keep a Node process alive; a held event's deadline does.
import { now as clock, openSocket } from "#transport";
import type { Session } from "./session.js";
import type { Socket, Target } from "./transport.js";

export interface Backoff {
  firstMs: number;
  mostMs: number;
}

const welcomeWithinMs = 5000;

type Timer = ReturnType<typeof setTimeout>;

function background(timer: Timer): Timer {
  (timer as { unref?: () => void }).unref?.();
  return timer;
}

export class Link {
  private socket: Socket | null = null;
  private generation = 0; // events of older sockets do not count
  private failures = 0;
  private retry: Timer | null = null;
  private greeting: Timer | null = null;
  private deadline: Timer | null = null;
  private watched = Infinity; // what `deadline` is set to
  private flushing = false;
  private stopped = false;
  private complained = false;
  private readonly waiters = new Set<() => void>();

  constructor(
    private readonly session: Session,
    private readonly target: Target,
    private readonly backoff: Backoff,
    private readonly log: (line: string) => void,
  ) {}

  /** Begins to connect. Throws nothing; a failure is a log line and another try. */
  start(): void {
    const mine = ++this.generation;
    const current = (): boolean => mine === this.generation && !this.stopped;
    try {
      this.socket = openSocket(this.target, {
        open: () => {
          if (!current()) return;
          this.session.connected();
          this.greeting = background(setTimeout(() => current() && this.lost("no welcome", false), welcomeWithinMs));
          this.flush();
        },
        frame: (text) => {
          if (!current()) return;
          this.session.receive(text, clock());
          if (this.session.isOpen) this.welcomed();
          this.touch();
        },
        closed: (why, final) => current() && this.lost(why, final),
      });
    } catch (error) {
      this.lost(error instanceof Error ? error.message : String(error), true);
    }
  }

  /** Something was said or heard: writes it soon, watches deadlines, wakes who waits. */
  touch(): void {
    if (!this.flushing) {
      this.flushing = true;
      queueMicrotask(() => {
        this.flushing = false;
        this.flush();
      });
    }
    this.watch();
    for (const wake of [...this.waiters]) wake();
  }

  /** Says hello again, with what has changed. */
  reconnect(): void {
    if (this.stopped || !this.session.isOpen) return;
    this.socket?.close();
    this.session.disconnected(clock());
    this.start();
    this.touch();
  }

  stop(): void {
    this.stopped = true;
    for (const timer of [this.retry, this.greeting, this.deadline]) if (timer !== null) clearTimeout(timer);
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
      const timer = setTimeout(finish, withinMs);
      this.waiters.add(wake);
    });
  }

  private welcomed(): void {
    this.failures = 0;
    if (this.greeting !== null) clearTimeout(this.greeting);
    this.greeting = null;
    if (this.complained) this.log("digd: connected again");
    this.complained = false;
  }

  private lost(why: string, final: boolean): void {
    this.generation += 1; // what this socket still says does not count
    this.socket?.close();
    this.socket = null;
    if (this.greeting !== null) clearTimeout(this.greeting);
    this.greeting = null;
    if (final) this.session.finish();
    else this.session.disconnected(clock());
    if (!this.complained && !this.stopped) this.complain(why);
    if (final) this.stop();
    else this.retryLater();
    this.touch();
  }

  private complain(why: string): void {
    this.complained = true;
    const next = this.session.isOver ? "this run goes on without it" : "going on without it, and trying again";
    this.log(`digd: not connected to ${this.target.url} (${why}); ${next}`);
  }

  private retryLater(): void {
    const most = Math.min(this.backoff.mostMs, this.backoff.firstMs * 2 ** Math.min(this.failures, 20));
    this.failures += 1;
    this.retry = background(setTimeout(() => !this.stopped && this.start(), most * (0.5 + Math.random() / 2)));
  }

  private flush(): void {
    if (this.stopped || !this.socket) return;
    const frames = this.session.drain();
    if (frames.length > 0) this.socket.send(frames);
  }

  private watch(): void {
    const next = this.stopped ? Infinity : this.session.nextDeadline;
    if (next === this.watched) return;
    if (this.deadline !== null) clearTimeout(this.deadline);
    this.deadline = null;
    this.watched = next;
    if (next === Infinity) return;
    this.deadline = setTimeout(() => {
      this.watched = Infinity;
      this.session.tick(clock());
      this.touch();
    }, Math.max(0, Math.ceil(next - clock())));
  }
}
