// Written by scripts/generate-rules. Do not edit.

export const rules: readonly {name: string; code: string}[] = [
  {name: 'early_termination', code: 'ET'},
  {name: 'orphaned_event', code: 'OE'},
  {name: 'excessive_rerouting', code: 'ER'},
  {name: 'cross_lineage_aggregation', code: 'CLA'},
  {name: 'repeated_subproblem', code: 'RSP'},
  {name: 'deadlock', code: 'DL'},
  {name: 'missing_termination', code: 'MC'},
  {name: 'budget', code: 'BU'},
  {name: 'fan_out', code: 'FO'},
  {name: 'repetition', code: 'RE'},
  {name: 'stall', code: 'ST'},
];
