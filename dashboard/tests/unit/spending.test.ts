import {describe, expect, it} from 'vitest';
import type {AgentUsage, RunUsage} from '../../src/net/api';
import {MAX_BANDS, hasSpending, measureOf, spendingChart, stepPath} from '../../src/scene/spending';

const noneUsed = {input_tokens: 0, output_tokens: 0, cost: 0, model_calls: 0, tool_calls: 0, activations: 0};
const guarded = {tokens: 0, cost: 0, model_calls: 0, tool_calls: 0, activations: 0, ms: 0};

const agent = (name: string, cost: number[]): AgentUsage => ({
  ...noneUsed,
  agent: name,
  cost: cost.reduce((a, b) => a + b, 0),
  series: {tokens: [], cost},
});

const sums = (agents: AgentUsage[], bins: number): number[] =>
  Array.from({length: bins}, (_, i) => agents.reduce((sum, {series}) => sum + (series!.cost[i] ?? 0), 0));

function usage(agents: AgentUsage[], rest: Partial<RunUsage> = {}): RunUsage {
  const none: number[] = [];
  const cost = sums(agents, Math.max(0, ...agents.map(({series}) => series!.cost.length)));
  return {
    guards: {},
    totals: {...noneUsed, cost: cost.reduce((a, b) => a + b, 0), ms: 0},
    agents,
    agents_left_out: 0,
    bins: {start: 100, width_ms: 10, count: 120},
    series: {tokens: none, cost, model_calls: none, tool_calls: none, activations: none, depth: none, live: none},
    fan_out: {max_depth: 0, max_live: 0, depths: none, activations: []},
    holds: {opened: 0, open: 0, released: 0, returned: 0, decisions: 0},
    ...rest,
  };
}

describe('a chart of what a run spent', () => {
  it('stacks the running totals of the agents under the limit of the run', () => {
    const chart = spendingChart(
      usage([agent('a', [2, 0, 1]), agent('b', [0, 1])], {guards: {budget: {max_cost: 8}}}),
      'cost',
    );
    expect(chart.bands).toEqual([
      {name: 'a', bottom: [0, 0, 0], top: [2, 2, 3]},
      {name: 'b', bottom: [2, 2, 3], top: [2, 3, 4]},
    ]);
    expect([chart.stacked, chart.limit, chart.highest, chart.start, chart.end]).toEqual([true, 8, 8, 100, 130]);
  });

  it('draws agents beside each other where the limit is for each agent', () => {
    const guards = {budget: {max_cost: 2.5, per: 'agent'}};
    const chart = spendingChart(usage([agent('a', [2, 1]), agent('b', [0, 1])], {guards}), 'cost');
    expect(chart.bands.map(({bottom, top}) => [bottom, top])).toEqual([
      [
        [0, 0],
        [2, 3],
      ],
      [
        [0, 0],
        [0, 1],
      ],
    ]);
    expect([chart.stacked, chart.limit, chart.highest]).toEqual([false, 2.5, 3]);
  });

  it('sums the agents beyond the first in one band', () => {
    const agents = Array.from({length: MAX_BANDS + 3}, (_, i) => agent(`a${i}`, [1]));
    const {bands, highest} = spendingChart(usage(agents), 'cost');
    expect(bands.map(({name}) => name)).toEqual(['a0', 'a1', 'a2', 'a3', 'a4', 'others']);
    expect([bands.at(-1)!.bottom, bands.at(-1)!.top, highest]).toEqual([[5], [8], 8]);
  });

  it('raises the limit by what a released hold forgave', () => {
    const guards = {budget: {max_cost: 3, per: 'run'}};
    const chart = spendingChart(usage([agent('a', [4, 1])], {guards, guarded: {...guarded, cost: 1}}), 'cost');
    expect(chart.limit).toBe(7);
  });

  it('has a height above 0 where nothing is spent', () => {
    expect(spendingChart(usage([]), 'cost')).toMatchObject({bands: [], limit: null, highest: 1, start: 100, end: 110});
  });

  it('reaches the end of each bin with the total of that bin', () => {
    expect(stepPath([1, 4], 4)).toEqual([
      [0, 1],
      [0.5, 0.75],
      [1, 0],
    ]);
  });
});

describe('what is shown', () => {
  it('is cost, or tokens where nothing has a cost', () => {
    const tokens = {totals: {...noneUsed, input_tokens: 5, ms: 0}};
    expect(measureOf(usage([agent('a', [1])]))).toBe('cost');
    expect(measureOf(usage([], tokens))).toBe('tokens');
    expect(measureOf(usage([], {...tokens, guards: {budget: {max_cost: 1}}}))).toBe('cost');
  });

  it('is nothing for a run without usage, limits and holds', () => {
    expect(hasSpending(usage([]))).toBe(false);
    expect(hasSpending(usage([agent('a', [1])]))).toBe(true);
    expect(hasSpending(usage([], {guards: {fan_out: {max_depth: 2}}}))).toBe(true);
  });
});
