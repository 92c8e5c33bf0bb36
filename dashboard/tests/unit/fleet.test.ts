import {expect, it} from 'vitest';
import type {Host, Sums} from '../../src/net/fleet';
import {fleetQuery, formatFleetView, parseFleetView, wholeFleet} from '../../src/net/fleet_address';
import {
  amountText,
  barsOf,
  durationText,
  heardMs,
  hostState,
  shortCount,
  sortedHosts,
  successShare,
  tokensOf,
  versionsOf,
} from '../../src/scene/fleet';

const NOW = 1_700_000_000_000;
const host = (name: string, record: Host['record'], heard: number | null = null): Host => ({
  tenant: 'default',
  host: name,
  heard_ms: heard,
  messages: 0,
  runs: 0,
  open: 0,
  record,
});

it('A view survives its address, and wrong parts of an address are ignored', () => {
  const view = {...wholeFleet, span: '24h', by: 'label:team/a b', value: 'x&y', state: 'failure', find: 'ä ?'} as const;
  expect(parseFleetView(formatFleetView(view))).toEqual(view);
  expect(formatFleetView(wholeFleet)).toBe('#/fleet');
  expect(parseFleetView('#/fleet?span=99y&by=label:&state=odd&rule=deadlock')).toEqual({
    ...wholeFleet,
    rule: 'deadlock',
  });
  expect(parseFleetView('#/run/r1')).toEqual(wholeFleet);
  expect(parseFleetView(`#/fleet?find=${'x'.repeat(500)}`).find).toHaveLength(200);
});

it('The empty value of a label differs from no choice, and from runs without the label', () => {
  expect(parseFleetView('#/fleet?value=').value).toBe('');
  expect(fleetQuery({...wholeFleet, value: ''}, NOW, true)).toContain('value=');
  expect(fleetQuery({...wholeFleet, none: true}, NOW, true)).toContain('none=1');
  expect(fleetQuery({...wholeFleet, value: 'x', find: 'y'}, NOW, false)).not.toMatch(/value|find/);
});

it('A list keeps its first page within a minute', () => {
  const minute = Math.floor(NOW / 60_000) * 60_000;
  const query = (nowMs: number): string => fleetQuery({...wholeFleet, span: '1h'}, nowMs, true);
  expect(query(minute)).toBe(query(minute + 59_999));
  expect(query(minute)).not.toBe(query(minute + 60_000));
  expect(fleetQuery({...wholeFleet, span: 'all'}, NOW, true)).not.toContain('since');
});

it('A host is silent after three missing records, and behind from 10,001 entries', () => {
  const record = {sent_ms: NOW, every_ms: 10_000, lag: 0, stopping: false};
  expect(hostState(host('a', record), NOW + 30_000)).toBe('well');
  expect(hostState(host('a', record), NOW + 30_001)).toBe('silent');
  expect(hostState(host('a', {...record, lag: 10_000}), NOW)).toBe('well');
  expect(hostState(host('a', {...record, lag: 10_001}), NOW)).toBe('lagging');
  expect(hostState(host('a', {...record, stopping: true}), NOW + 86_400_000)).toBe('stopped');
  expect(hostState(host('a', null, NOW), NOW)).toBe('unknown');
});

it('Hosts that need attention come first, then by name as people count', () => {
  const well = {sent_ms: NOW, every_ms: 10_000, version: '1'};
  const hosts = [
    host('h10', well),
    host('h2', well),
    host('gone', {...well, stopping: true}),
    host('slow', {...well, lag: 99_999}),
    host('dead', {...well, sent_ms: NOW - 60_000, version: '0.9'}),
  ];
  expect(sortedHosts(hosts, NOW).map(({host: name}) => name)).toEqual(['dead', 'slow', 'h2', 'h10', 'gone']);
  expect(versionsOf(hosts)).toEqual([
    {version: '1', hosts: 3},
    {version: '0.9', hosts: 1},
  ]);
  expect(heardMs(host('a', {sent_ms: 5}, 7))).toBe(7);
  expect(heardMs(host('a', null))).toBeNull();
});

it('Sums that nobody reported stay empty, and success is a share of the outcomes', () => {
  const sums: Sums = {
    ...{runs: 10, open: 2, success: 3, failure: 1, unknown: 4, aborted: 0, messages: 0, detections: 0, healed: 0},
    input_tokens: null,
    output_tokens: null,
    cost: null,
  };
  expect(successShare(sums)).toBe(0.75);
  expect(successShare({...sums, success: 0, failure: 0})).toBeNull();
  expect(tokensOf(sums)).toBeNull();
  expect(tokensOf({input_tokens: 5, output_tokens: null})).toBe(5);
  expect([null, 0, 0.0325, 12.346, 12_345.6].map(amountText)).toEqual(['', '0', '0.0325', '12.35', '12,346']);
  expect([9_999, 12_345, 3_400_000].map(shortCount)).toEqual(['9,999', '12.3K', '3.4M']);
  expect([5, 1_500, 45_000, 90_000, 7_200_000, 172_800_000].map(durationText)).toEqual(
    ['5 ms', '1.5 s', '45 s', '1 min', '2.0 h', '2.0 d'], //
  );
});

it('A bar has its failed runs at the foot', () => {
  const bars = barsOf({start_ms: 100, width_ms: 10, runs: [3, 0], failure: [1, 0], detected: [2, 0]});
  expect(bars).toEqual([
    {startMs: 100, runs: 3, failure: 1, other: 2},
    {startMs: 110, runs: 0, failure: 0, other: 0},
  ]);
});
