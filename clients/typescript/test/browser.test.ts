// The built bundle in a real browser against the real daemon. The page is on another port, so its origin and token
// matter.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Daemon } from "./daemon.js";

const bundle = fileURLToPath(new URL("../dist/digd.browser.js", import.meta.url));
const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const token = "fedcba9876543210".repeat(4);

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

let pages: Server;
let origin: string;
let daemon: Daemon;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  for (const [file, remedy] of [
    [bundle, "npm run build"],
    [executablePath, "apt-get install chromium, or name one with CHROMIUM"],
  ] as const) {
    if (!existsSync(file)) throw new Error(`${file} is missing: ${remedy}`);
  }
  pages = createServer((request, response) => {
    const script = request.url === "/digd.js";
    response.setHeader("content-type", script ? "text/javascript" : "text/html");
    response.end(
      script
        ? readFileSync(bundle)
        : `<!doctype html><title>digd</title>` +
            `<script type="module">import * as digd from "/digd.js"; globalThis.digd = digd;</script>`,
    );
  });
  await new Promise<void>((listening) => pages.listen(0, "127.0.0.1", listening));
  origin = `http://127.0.0.1:${(pages.address() as { port: number }).port}`;
  const files = new Daemon();
  const tokens = join(files.folder, "tokens.toml");
  writeFileSync(tokens, `[[token]]\nname = "page"\nsha256 = "${sha256(token)}"\nrights = ["ingest", "read"]\n`, {
    mode: 0o600,
  });
  daemon = await Daemon.start(
    `threads = 1\nverdict_deadline_ms = 20000\norigins = ["${origin}"]\ntokens = "${tokens}"\n`,
  );
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  page = await browser.newPage();
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await daemon?.stop();
  pages?.close();
});

/** Runs a small system in the page and returns its verdicts. */
async function inPage(
  url: string,
  run: string,
  withToken: string,
): Promise<{ connected: boolean; log: string[]; early: any; plan: string; durable: boolean }> {
  return page.evaluate(
    async ([url, run, token]) => {
      const { connect } = (globalThis as any).digd; // module scripts have run once the page is loaded
      const log: string[] = [];
      const instance = await connect({
        url,
        run,
        token,
        agents: ["planner", "coder"],
        deadlineMs: 20_000,
        log: (line: string) => log.push(line),
      });
      await instance.ready(20_000);
      const connected = instance.connected;
      const task = await instance.emit(["planner"], { payload: { text: "from a page" } });
      const answers = await instance.activation("planner", [task], async (a: any) => {
        const plan = await a.emit(["coder"]);
        return { plan: plan.event, early: await a.submit("done") };
      });
      return { connected, log, ...answers, durable: await instance.end() };
    },
    [url, run, withToken] as const,
  );
}

it("the daemon judges and records a trusted page, which sends its token as a subprotocol", async () => {
  await page.goto(`${origin}/`);
  const answers = await inPage(daemon.url, "page-1", token);
  expect(answers.log).toEqual([]);
  expect(answers).toMatchObject({
    connected: true,
    durable: true,
    early: { action: "reroute", recipients: ["planner"], givenBack: true },
  });
  expect(answers.early.inject).toContain(answers.plan);
  const { detections } = await daemon.get("/v1/runs/page-1/detections", token);
  expect(detections.map((row: any) => [row.detection.rule, row.detection.cause])).toEqual([
    ["early_termination", null],
    ["deadlock", "ended"],
  ]); // no answer was accepted
});

it("an untrusted page and a page with a wrong token are refused, and continue as is", async () => {
  await page.goto(`${origin}/`);
  const wrong = await inPage(daemon.url, "page-2", "no-such-token");
  expect(wrong).toMatchObject({ connected: false, durable: false, early: { action: "deliver", asIs: "disconnected" } });
  await page.goto(origin.replace("127.0.0.1", "localhost"));
  const untrusted = await inPage(daemon.url, "page-3", token);
  expect(untrusted).toMatchObject({ connected: false, early: { action: "deliver", asIs: "disconnected" } });
  expect(untrusted.log).toHaveLength(1);
});
