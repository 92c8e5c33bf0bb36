// Written by scripts/generate-rules. Do not edit.

export const version = "0.1.0";
