import {describe, expect, it} from 'vitest';
import type {RunRow} from '../../src/net/api';
import {noPages, runsOf, withNewest, withOlder} from '../../src/net/run_pages';

const page = (from: number, to: number, next: string | null, state = 'open') => ({
  runs: Array.from({length: from - to + 1}, (_, i) => ({number: from - i, state}) as unknown as RunRow),
  next,
});
const numbers = (pages: Parameters<typeof runsOf>[0]): number[] => runsOf(pages).map((run) => run.number);

describe('the list of runs', () => {
  it('keeps a run that moves from the first page to an older one', () => {
    let pages = withOlder(withNewest(noPages, page(6, 4, 'c4')), page(3, 1, null));
    expect(numbers(pages)).toEqual([6, 5, 4, 3, 2, 1]);
    pages = withNewest(pages, page(8, 6, 'c6'));
    pages = withNewest(pages, page(9, 7, 'c7'));
    expect(numbers(pages)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
  });

  it('drops a deleted run of the first page', () => {
    const pages = withOlder(withNewest(noPages, page(6, 4, 'c4')), page(3, 1, null));
    const newest = page(6, 4, 'c4');
    newest.runs.splice(1, 1);
    expect(numbers(withNewest(pages, newest))).toEqual([6, 4, 3, 2, 1]);
    expect(numbers(withNewest(pages, page(2, 1, null)))).toEqual([2, 1]);
  });

  it('asks for older runs behind the present first page', () => {
    expect(withNewest(withNewest(noPages, page(6, 4, 'c4')), page(8, 6, 'c6')).next).toBe('c6');
    expect(withNewest(noPages, page(2, 1, null)).next).toBeNull();
  });

  it('shows the newest state of a run that two pages have', () => {
    const pages = withOlder(withNewest(noPages, page(6, 4, 'c4', 'ended')), page(4, 1, null));
    expect(runsOf(pages).find((run) => run.number === 4)?.state).toBe('ended');
  });
});
