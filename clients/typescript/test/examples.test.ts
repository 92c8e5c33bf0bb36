// The examples run unchanged, with a daemon and without one.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Daemon } from "./daemon.js";

const root = fileURLToPath(new URL("..", import.meta.url));
let daemon: Daemon;
beforeAll(async () => void (daemon = await Daemon.start("threads = 1\nverdict_deadline_ms = 20000\n")));
afterAll(() => daemon.stop());

async function output(script: string, url: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "./test/crypto.mjs", script], {
    cwd: root,
    env: { ...process.env, DIGD_URL: url },
  });
  return stdout;
}

it.each([
  [
    "examples/hand-made.mjs",
    /submitted too early: reroute to planner\n {2}.*coder.*\nsubmitted again: deliver\neverything is recorded/s,
  ],
  ["examples/langgraph.mjs", /lead reads: the task\n.*lead reads: the task\n.*worker reads: the task.*digctl show/s],
  ["examples/openai-agents.mjs", /support reads: .*Do not pass it on.*\nsupport has handled it\n/s],
])("%s", async (script, expected) => {
  expect(await output(script, daemon.url)).toMatch(expected);
  expect(await output(script, "ws://127.0.0.1:1")).toMatch(/no daemon was listening/);
});
