// What a run spent over time, ready to draw: running totals by agent, and the limit that counts. Pure.
import type {AgentUsage, RunUsage} from '../net/api';

export type Measure = 'cost' | 'tokens';

export const MAX_BANDS = 5;
const OTHERS = 'others';

// The running total of one agent. Where the budget is for the whole run, bands are stacked.
export interface Band {
  name: string;
  bottom: number[];
  top: number[];
}

export interface SpendingChart {
  measure: Measure;
  stacked: boolean;
  bands: Band[];
  limit: number | null;
  highest: number; // of all bands and the limit; above 0
  start: number;
  end: number; // stamps of the run's clock
}

const limitsOf = (usage: RunUsage, guard: string): Record<string, unknown> => usage.guards[guard] ?? {};

export function limitOf(usage: RunUsage, guard: string, name: string): number | null {
  const limit = limitsOf(usage, guard)[`max_${name}`];
  return typeof limit === 'number' ? limit : null;
}

export const isPerAgent = (usage: RunUsage): boolean => limitsOf(usage, 'budget').per === 'agent';

export const hasSpending = (usage: RunUsage): boolean => {
  const {totals} = usage;
  const used = totals.cost + totals.input_tokens + totals.output_tokens + totals.model_calls + totals.tool_calls;
  return used > 0 || 'budget' in usage.guards || 'fan_out' in usage.guards || usage.holds.opened > 0;
};

export const tokensOf = (used: {input_tokens: number; output_tokens: number}): number =>
  used.input_tokens + used.output_tokens;

// Tokens, if the run has tokens or a limit on them, but neither cost nor a limit on cost. Otherwise cost.
export function measureOf(usage: RunUsage): Measure {
  if (usage.totals.cost > 0 || limitOf(usage, 'budget', 'cost') !== null) return 'cost';
  return tokensOf(usage.totals) > 0 || limitOf(usage, 'budget', 'tokens') !== null ? 'tokens' : 'cost';
}

function runningTotals(increments: readonly number[], length: number): number[] {
  let sum = 0;
  return Array.from({length}, (_, i) => (sum += increments[i] ?? 0));
}

const plus = (a: readonly number[], b: readonly number[]): number[] => a.map((value, i) => value + b[i]!);

// When a person releases a hold, the guard counts from 0 again. So the line rises by what was spent until then.
function limitLine(usage: RunUsage, measure: Measure, stacked: boolean): number | null {
  const limit = limitOf(usage, 'budget', measure);
  if (limit === null || !stacked || !usage.guarded) return limit;
  const used = measure === 'cost' ? usage.totals.cost : tokensOf(usage.totals);
  return limit + Math.max(0, used - usage.guarded[measure]);
}

export function spendingChart(usage: RunUsage, measure: Measure): SpendingChart {
  const {bins, series} = usage;
  const length = Math.max(1, ...Object.values(series).map((values) => values.length));
  const stacked = !isPerAgent(usage);
  const isSeen = (agent: AgentUsage): boolean => (agent.series?.[measure] ?? []).some((value) => value > 0);
  const drawn = usage.agents.filter(isSeen).slice(0, MAX_BANDS);
  let base: number[] = new Array<number>(length).fill(0);
  const bands: Band[] = drawn.map((agent) => {
    const own = runningTotals(agent.series![measure], length);
    const bottom = stacked ? base : base.map(() => 0);
    const top = plus(bottom, own);
    if (stacked) base = top;
    return {name: agent.agent, bottom, top};
  });
  const runTotals = runningTotals(series[measure], length);
  const rest = runTotals[length - 1]! - (base[length - 1] ?? 0);
  if (stacked && rest > runTotals[length - 1]! * 1e-9) bands.push({name: OTHERS, bottom: base, top: runTotals});
  const limit = limitLine(usage, measure, stacked);
  const highest = Math.max(limit ?? 0, ...bands.map((band) => band.top[length - 1]!)) || 1;
  return {measure, stacked, bands, limit, highest, start: bins.start, end: bins.start + length * bins.width_ms};
}

// The points of a line in a square of side 1, with the origin at the top left. A total is that at the end of its bin.
export const stepPath = (values: readonly number[], highest: number): [number, number][] => [
  [0, 1],
  ...values.map((value, i): [number, number] => [(i + 1) / values.length, 1 - value / highest]),
];
