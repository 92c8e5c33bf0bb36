// A running digd for live tests, with its own data directory and a free port. Every wait has a deadline.
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(fileURLToPath(new URL(".", import.meta.url)), "../../..");
export const digd = process.env["DIGD_BIN"] ?? join(root, "build/release/bin/digd");
export const traces = join(root, "tests/traces");
const timeoutMs = 20_000; // generous, for sanitizers and busy machines

export async function until<T>(condition: () => T | Promise<T>, description: string): Promise<NonNullable<T>> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value) return value as NonNullable<T>;
    if (Date.now() > deadline) throw new Error(`timed out waiting for ${description}`);
    await new Promise((next) => setTimeout(next, 2));
  }
}

export class Daemon {
  readonly folder = mkdtempSync(join(tmpdir(), "digd-ts-"));
  address = "";
  private process: ChildProcess | null = null;

  constructor(
    config = "threads = 2\n",
    private listen = "127.0.0.1:0",
  ) {
    writeFileSync(join(this.folder, "digd.toml"), config);
  }

  static async start(config?: string, listen?: string): Promise<Daemon> {
    const daemon = new Daemon(config, listen);
    await daemon.start();
    return daemon;
  }

  get url(): string {
    return this.address.startsWith("unix:") ? this.address : `ws://${this.address}`;
  }

  async start(): Promise<void> {
    const addressFile = join(this.folder, "data", "digd.address");
    rmSync(addressFile, { force: true });
    if (!existsSync(digd)) throw new Error(`${digd}: there is no daemon; build it, or set DIGD_BIN to its path`);
    const log = openSync(join(this.folder, "log"), "a");
    this.process = spawn(
      digd,
      ["--config", join(this.folder, "digd.toml"), "--listen", this.listen, "--data-dir", join(this.folder, "data")],
      {
        stdio: ["ignore", log, log],
      },
    );
    const started = this.process;
    this.address = await until(() => {
      if (started.exitCode !== null) throw new Error(`digd ended: ${readFileSync(join(this.folder, "log"), "utf8")}`);
      return existsSync(addressFile) ? readFileSync(addressFile, "utf8").trim() : "";
    }, "the daemon's address");
  }

  /** Kills the daemon with SIGKILL. A later `start` listens at the same address. */
  async kill(): Promise<void> {
    await this.end("SIGKILL");
    if (!this.address.startsWith("unix:")) this.listen = this.address;
  }

  async stop(): Promise<void> {
    if (this.process) await this.end("SIGTERM");
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** GET of a JSON document; null if it does not exist, or not yet. */
  async get(path: string, token?: string): Promise<any> {
    const answer = await fetch(
      `http://${this.address}${path}`,
      token ? { headers: { authorization: `Bearer ${token}` } } : {},
    );
    if (answer.status === 404) return null; // not durable yet
    const busy = answer.status === 503 && (await answer.clone().json()).error?.code === "busy";
    if (busy) return null; // the run is being opened
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  /** The detections of a run, in order. */
  async detections(
    run: string,
  ): Promise<{ rule: string; healed: boolean; cause: string | null; event: string | null }[]> {
    const page = await this.get(`/v1/runs/${encodeURIComponent(run)}/detections`);
    return (page?.detections ?? []).map((row: { detection: unknown }) => row.detection);
  }

  /** The archived messages of a run. */
  async trace(run: string): Promise<any[]> {
    const answer = await fetch(`http://${this.address}/v1/runs/${encodeURIComponent(run)}/trace`);
    if (answer.status === 404) return [];
    if (!answer.ok) throw new Error(`trace: ${answer.status}`);
    return (await answer.text())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const ending = this.process as ChildProcess;
    this.process = null;
    if (ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = new Promise((done) => ending.once("exit", done));
    ending.kill(signal);
    await ended;
  }
}
