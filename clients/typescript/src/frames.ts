// Reads the daemon's frames and checks the types of their fields, so that no value of a wrong type reaches the program.
import type { Frame } from "./wire.js";

type Fields = Record<string, unknown>;

/**
 * Returns the frame; null if its type is unknown, because a newer daemon may send more types. Throws a TypeError that
 * names the field if one is missing or has a wrong type. The caller then refuses the whole frame.
 */
export function readFrame(text: string): Frame | null {
  const frame: unknown = JSON.parse(text);
  if (!isObject(frame)) throw new TypeError(`expected an object, got ${kindOf(frame)}`);
  textIn(frame, "type");
  const check = checks[frame["type"] as string];
  if (check === undefined) return null;
  try {
    check(frame);
  } catch (error) {
    throw new TypeError(`${frame["type"]}: ${error instanceof Error ? error.message : String(error)}`);
  }
  return frame as unknown as Frame;
}

const checks: Readonly<Record<string, (frame: Fields) => void>> = Object.assign(Object.create(null), {
  welcome(frame: Fields) {
    for (const name of ["acked_seq", "credits", "verdict_deadline_ms"]) numberIn(frame, name);
    optional(frame, "mode", textIn);
    for (const name of ["rules", "limits", "guards"]) optional(frame, name, objectIn);
    const limits = (frame["limits"] ?? {}) as Fields;
    optional(limits, "message_bytes", numberIn);
  },
  verdicts(frame: Fields) {
    numberIn(frame, "seq");
    listIn(frame, "verdicts", "objects", isObject);
    for (const verdict of frame["verdicts"] as Fields[]) checkVerdict(verdict);
  },
  ack(frame: Fields) {
    numberIn(frame, "seq");
  },
  intervention(frame: Fields) {
    textIn(frame, "id");
    textIn(frame, "action");
    for (const name of ["event", "inject"]) optional(frame, name, textIn);
    for (const name of ["recipients", "activations"]) optional(frame, name, textsIn);
    checkDetections(frame);
  },
  error(frame: Fields) {
    textIn(frame, "code");
    optional(frame, "seq", numberIn);
    for (const name of ["field", "message", "to"]) optional(frame, name, textIn);
  },
});

const actions: readonly unknown[] = ["deliver", "inject", "reroute", "hold"];

function checkVerdict(verdict: Fields): void {
  textIn(verdict, "event");
  if (!actions.includes(verdict["action"])) fail("action", `one of ${actions.join(", ")}`, verdict["action"]);
  for (const name of ["inject", "on_timeout"]) optional(verdict, name, textIn);
  optional(verdict, "recipients", textsIn);
  if (verdict["action"] === "hold") {
    textIn(verdict, "hold");
    numberIn(verdict, "hold_ms");
  }
  checkDetections(verdict);
}

function checkDetections(frame: Fields): void {
  optional(frame, "detections", (fields, name) => listIn(fields, name, "objects", isObject));
  for (const detection of (frame["detections"] ?? []) as Fields[]) {
    for (const name of ["rule", "severity", "reason"]) optional(detection, name, textIn);
    for (const name of ["event", "agent", "healing", "cause"])
      if (detection[name] !== undefined && detection[name] !== null) textIn(detection, name);
    optional(detection, "evidence", textsIn);
  }
}

/** Checks a field unless it is missing. Null counts as missing, and is removed. */
function optional(fields: Fields, name: string, check: (fields: Fields, name: string) => void): void {
  if (fields[name] === null) delete fields[name];
  if (fields[name] !== undefined) check(fields, name);
}

function textIn(fields: Fields, name: string): void {
  if (typeof fields[name] !== "string") fail(name, "a text", fields[name]);
}

function numberIn(fields: Fields, name: string): void {
  const value = fields[name];
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) fail(name, "a number from 0", value);
}

function objectIn(fields: Fields, name: string): void {
  if (!isObject(fields[name])) fail(name, "an object", fields[name]);
}

function textsIn(fields: Fields, name: string): void {
  listIn(fields, name, "texts", (value) => typeof value === "string");
}

function listIn(fields: Fields, name: string, kind: string, fits: (value: unknown) => boolean): void {
  const list = fields[name];
  const expected = `a list of ${kind}`;
  if (!Array.isArray(list)) return fail(name, expected, list);
  const wrong = list.findIndex((value) => !fits(value));
  if (wrong >= 0) fail(name, expected, list[wrong], " in it");
}

function fail(name: string, expected: string, value: unknown, where = ""): never {
  throw new TypeError(`${name}: expected ${expected}, got ${kindOf(value)}${where}`);
}

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The type of a value in JSON's words; a number as itself. */
function kindOf(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (typeof value === "number") return String(value);
  if (typeof value === "object") return Array.isArray(value) ? "a list" : "an object";
  return typeof value === "string" ? "a text" : "a boolean";
}
