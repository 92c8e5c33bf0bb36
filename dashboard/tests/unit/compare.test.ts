import {expect, it} from 'vitest';
import {align, partingRow, stepsOf, stretches, type Step} from '../../src/scene/compare';
import {RunModel} from '../../src/model/run_model';

const steps = (keys: string): Step[] =>
  [...keys].map((key, i) => ({number: i + 1, key, sender: key, kind: '', recipients: [], node: null as never}));
const text = (left: string, right: string): string =>
  align(steps(left), steps(right))
    .map((row) => `${row.left?.key ?? '-'}${row.right?.key ?? '-'}`)
    .join(' ');

it('Equal runs do not part', () => {
  const rows = align(steps('abc'), steps('abc'));
  expect(rows).toHaveLength(3);
  expect(partingRow(rows)).toBeNull();
});

it('Runs part at their first different step, and meet again', () => {
  expect(text('abcd', 'abxcd')).toBe('aa bb -x cc dd');
  expect(partingRow(align(steps('abcd'), steps('abxcd')))).toBe(2);
  expect(partingRow(align(steps('xa'), steps('ya')))).toBe(0);
});

it('A run that stops early parts where it ends', () => {
  expect(text('ab', 'abcd')).toBe('aa bb -c -d');
  expect(text('', 'ab')).toBe('-a -b');
  expect(text('ab', '')).toBe('a- b-');
});

it('Each step of both runs is in one row, in order', () => {
  let seed = 7;
  const letters = (n: number): string =>
    Array.from({length: n}, () => 'abcd'[(seed = (seed * 1103515245 + 12345) % 2147483648) % 4]).join('');
  for (let i = 0; i < 200; ++i) {
    const [left, right] = [letters(i % 13), letters((i * 7) % 17)];
    const rows = align(steps(left), steps(right));
    expect(rows.flatMap((row) => row.left?.number ?? [])).toEqual([...left].map((_, at) => at + 1));
    expect(rows.flatMap((row) => row.right?.number ?? [])).toEqual([...right].map((_, at) => at + 1));
    for (const row of rows) if (row.left && row.right) expect(row.left.key).toBe(row.right.key);
  }
});

it('Runs that share nothing are compared within the bound', () => {
  const rows = align(steps('a'.repeat(3_000)), steps('b'.repeat(3_000)));
  expect(rows).toHaveLength(6_000);
  expect(partingRow(rows)).toBe(0);
});

it('Long equal stretches are folded, but for the rows beside a difference', () => {
  const rows = align(steps('aaaaaaaaaax'), steps('aaaaaaaaaay'));
  const parts = stretches(rows);
  expect(parts.map((part) => [part.to - part.from, part.folded])).toEqual([
    [7, true],
    [5, false],
  ]);
});

it('A run without events has no steps', () => {
  expect(stepsOf(new RunModel())).toEqual([]);
});
