// Programs that use the client, each in a process of its own: whether it exits, when, and what it prints.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const source = (name: string): string => fileURLToPath(new URL(`../src/${name}`, import.meta.url));

export interface Exit {
  code: number | null;
  stderr: string;
  ms: number;
}

/** The client as one CommonJS file, for `require` in the programs. */
export class Bundle {
  private constructor(private readonly folder: string) {}

  static async build(): Promise<Bundle> {
    const bundle = new Bundle(mkdtempSync(join(tmpdir(), "digd-child-")));
    await build({
      entryPoints: [source("index.ts")],
      outfile: join(bundle.folder, "client.cjs"),
      bundle: true,
      format: "cjs",
      platform: "node",
      alias: { "#transport": source("transport-node.ts") },
      logLevel: "error",
    });
    return bundle;
  }

  /** Runs a program in which `client` is the module. Kills it after `maxMs`; its code is then null. */
  async run(program: string, environment: Record<string, string> = {}, maxMs = 10_000): Promise<Exit> {
    const script = `const client = require("./client.cjs"); (async () => { ${program} })()`;
    const started = Date.now();
    const child = spawn(process.execPath, ["-e", script], {
      cwd: this.folder,
      env: { ...process.env, ...environment },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let stderr = "";
    child.stderr.on("data", (data: Buffer) => void (stderr += data.toString()));
    const timer = setTimeout(() => child.kill("SIGKILL"), maxMs);
    const code = await new Promise<number | null>((next) => child.once("close", next));
    clearTimeout(timer);
    return { code, stderr, ms: Date.now() - started };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
