// The TypeScript samples of the docs compile against the built package, and those of the client's page run. The samples
// of a page are one program.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Daemon } from "./daemon.js";

const root = fileURLToPath(new URL("..", import.meta.url));
// Inside the package, so that it can import itself by its name.
let folder = "";
beforeAll(() => {
  mkdirSync(join(root, "dist"), { recursive: true });
  folder = mkdtempSync(join(root, "dist/samples-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// The names that a page's samples use without declaring them.
const pages: Record<string, string> = {
  "docs/clients-typescript.md": `
    import type { Verdict } from "@digd/client";
    const send = (recipients: readonly string[], text: string) => console.log("send", recipients.join(), text);
    const work: Verdict[] = [];`,
  "docs/integrations/langgraph-js.md": `
    import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
    const builder = new StateGraph(MessagesAnnotation);`,
  "docs/integrations/openai-agents-js.md": `
    import { Agent, Runner } from "@openai/agents";
    const agent = new Agent({ name: "support" });`,
  "clients/typescript/README.md": "",
};

function program(page: string): string {
  const text = readFileSync(join(root, "../..", page), "utf8");
  const samples = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1]);
  expect(samples.length, page).toBeGreaterThan(0);
  return [pages[page], ...samples].join("\n");
}

it("covers every page with a TypeScript sample", () => {
  const listed = execFileSync("git", ["grep", "-lE", "^ *```(ts|typescript|js|javascript)$", "--", "*.md"], {
    cwd: join(root, "../.."),
    encoding: "utf8",
  });
  expect(listed.trim().split("\n").sort()).toEqual(Object.keys(pages).sort());
});

it("compiles the samples of every page", () => {
  const files = Object.keys(pages).map((page, number) => {
    const file = join(folder, `page${number}.mts`);
    writeFileSync(file, program(page));
    return file;
  });
  const options = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext"];
  const done = spawnSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...options, ...files], {
    cwd: root,
    encoding: "utf8",
  });
  expect(done.stdout).toBe("");
  expect(done.status).toBe(0);
}, 120_000);

it("runs the samples of the client's page", async () => {
  const file = join(folder, "client.mjs");
  writeFileSync(file, transformSync(program("docs/clients-typescript.md"), { loader: "ts", format: "esm" }).code);
  const daemon = await Daemon.start("threads = 1\nverdict_deadline_ms = 20000\n");
  try {
    const done = spawnSync(process.execPath, ["--import", "./test/crypto.mjs", file], {
      cwd: root,
      env: { ...process.env, DIGD_URL: daemon.url, DIGD_MODE: "enforce" },
      encoding: "utf8",
    });
    expect(done.stderr).toBe("");
    expect(done.status).toBe(0);
    expect((await daemon.get("/v1/runs")).runs).toHaveLength(1);
  } finally {
    await daemon.stop();
  }
});
