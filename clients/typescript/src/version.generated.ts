// Written by scripts/generate-rules. Do not edit.

/** The version of this client. */
export const version = "0.1.0";
