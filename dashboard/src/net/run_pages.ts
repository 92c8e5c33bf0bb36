// The loaded pages of the list of runs, newest first. Only the first page is read again, so runs move from it to the
// older pages as new runs begin.
import type {RunRow} from './api';

export interface RunPages {
  pages: readonly (readonly RunRow[])[];
  next: string | null; // the cursor behind the last page; null: there are no more runs
}

export const noPages: RunPages = {pages: [[]], next: null};

export function withNewest({pages, next}: RunPages, newest: {runs: RunRow[]; next: string | null}): RunPages {
  const [first = [], ...older] = pages;
  if (older.length === 0 || newest.next === null) return {pages: [newest.runs], next: newest.next};
  const oldest = newest.runs.reduce((least, run) => Math.min(least, run.number), Infinity);
  const moved = first.filter((run) => run.number < oldest);
  return {pages: [newest.runs, ...(moved.length > 0 ? [moved] : []), ...older], next};
}

export const withOlder = ({pages}: RunPages, page: {runs: RunRow[]; next: string | null}): RunPages => ({
  pages: [...pages, page.runs],
  next: page.next,
});

export const runsOf = ({pages}: RunPages): RunRow[] =>
  [...new Map([...pages].reverse().flatMap((page) => page.map((run) => [run.number, run] as const))).values()].sort(
    (a, b) => b.number - a.number,
  );
