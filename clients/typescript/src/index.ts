/**
 * `@digd/client`: reports to digd what agents do, and returns digd's verdicts.
 *
 * @module client
 */
export { connect, Run, type EmitOptions } from "./run.js";
export { Activation, type Output, type OutputOptions } from "./activation.js";
export type { Handled, InterventionHandler, Redact, RunOptions } from "./options.js";
export {
  Session,
  type Answer,
  type AsIsReason,
  type Blocked,
  type Counters,
  type SessionEvents,
  type SessionOptions,
} from "./session.js";
export type { EventLike, Verdict } from "./verdict.js";
export { version } from "./version.generated.js";
export type * from "./wire.js";
