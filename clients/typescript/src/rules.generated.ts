// Written by scripts/generate-rules. Do not edit.

/** The names of the rules. */
export type RuleName =
  | "early_termination"
  | "orphaned_event"
  | "excessive_rerouting"
  | "cross_lineage_aggregation"
  | "repeated_subproblem"
  | "deadlock"
  | "missing_termination"
  | "budget"
  | "fan_out"
  | "repetition"
  | "stall";

/** The rules that judge a run at rest: their window belongs to the run. */
export const runWindowRules: readonly RuleName[] = ["deadlock", "missing_termination"];
