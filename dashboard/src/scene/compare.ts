// Finds where two runs diverge. A step is an event with its sender, kind and recipients. Two steps are equal if these
// three are equal. Ids and texts do not count, because they differ between any two runs. Pure.
//
// The alignment is a longest common subsequence (Myers, "An O(ND) Difference Algorithm", 1986). Bounds: only the
// first MAX_STEPS steps of each run are compared. After MAX_EDITS differences, all further steps count as different.
import type {RunModel} from '../model/run_model';
import {NEVER, type EventNode} from '../model/types';

export const MAX_STEPS = 20_000;
export const MAX_EDITS = 1_000;

export interface Step {
  number: number; // 1, 2, 3 …
  key: string;
  sender: string; // empty: from outside
  kind: string;
  recipients: string[];
  node: EventNode;
}

// A row of the comparison: a step of both runs, or a step that only one run has.
export interface Row {
  left: Step | null;
  right: Step | null;
}

export function stepsOf(model: RunModel): Step[] {
  const steps: Step[] = [];
  for (const node of model.nodes) {
    if (node.type !== 'event' || node.announcedAt === NEVER) continue;
    if (steps.length >= MAX_STEPS) break;
    const sender = node.lane.kind === 'outside' ? '' : node.lane.name;
    const kind = node.kind ?? '';
    const recipients = [...new Set(node.deliveries.map((delivery) => delivery.lane.name))].sort();
    const key = JSON.stringify([sender, node.system, kind, recipients]);
    steps.push({number: steps.length + 1, key, sender, kind, recipients, node});
  }
  return steps;
}

export function align(left: readonly Step[], right: readonly Step[]): Row[] {
  const n = left.length;
  const m = right.length;
  const furthest = new Map<number, number>([[1, 0]]); // by diagonal: the furthest step of `left`
  const trace: Map<number, number>[] = [];
  const limit = Math.min(n + m, MAX_EDITS);
  let end: {x: number; y: number} | null = null;
  let best = {x: 0, y: 0, d: 0};
  for (let d = 0; d <= limit && end === null; ++d) {
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (furthest.get(k - 1) ?? -1) < (furthest.get(k + 1) ?? -1));
      let x = down ? (furthest.get(k + 1) ?? 0) : furthest.get(k - 1)! + 1;
      let y = x - k;
      while (x < n && y < m && left[x]!.key === right[y]!.key) {
        x += 1;
        y += 1;
      }
      furthest.set(k, x);
      if (x <= n && y <= m && x + y > best.x + best.y) best = {x, y, d};
      if (x >= n && y >= m) {
        end = {x, y};
        best = {x, y, d};
        break;
      }
    }
    trace.push(copyBand(furthest, d));
  }
  const rows = backtrack(left, right, trace, best);
  for (let x = best.x; x < n; ++x) rows.push({left: left[x]!, right: null});
  for (let y = best.y; y < m; ++y) rows.push({left: null, right: right[y]!});
  return rows;
}

// The diagonals that round `d` has set.
function copyBand(furthest: ReadonlyMap<number, number>, d: number): Map<number, number> {
  const band = new Map<number, number>();
  for (let k = -d; k <= d; k += 2) if (furthest.has(k)) band.set(k, furthest.get(k)!);
  return band;
}

function backtrack(
  left: readonly Step[],
  right: readonly Step[],
  trace: readonly Map<number, number>[],
  from: {x: number; y: number; d: number},
): Row[] {
  const rows: Row[] = [];
  let {x, y} = from;
  for (let d = from.d; d > 0; --d) {
    const before = trace[d - 1]!;
    const k = x - y;
    const down = k === -d || (k !== d && (before.get(k - 1) ?? -1) < (before.get(k + 1) ?? -1));
    const previousK = down ? k + 1 : k - 1;
    const previousX = before.get(previousK) ?? 0;
    const previousY = previousX - previousK;
    while (x > previousX && y > previousY) {
      if (x - 1 < previousX + (down ? 0 : 1) || y - 1 < previousY + (down ? 1 : 0)) break;
      x -= 1;
      y -= 1;
      rows.push({left: left[x]!, right: right[y]!});
    }
    if (down) {
      y -= 1;
      rows.push({left: null, right: right[y]!});
    } else {
      x -= 1;
      rows.push({left: left[x]!, right: null});
    }
  }
  while (x > 0 && y > 0) {
    x -= 1;
    y -= 1;
    rows.push({left: left[x]!, right: right[y]!});
  }
  return rows.reverse();
}

// The first row that is not the same in both; null: the runs take the same steps.
export function partingRow(rows: readonly Row[]): number | null {
  const at = rows.findIndex((row) => row.left === null || row.right === null);
  return at < 0 ? null : at;
}

export interface Stretch {
  from: number;
  to: number; // exclusive
  folded: boolean; // many equal rows far from a difference
}

// Folds stretches of equal rows. The `context` rows before and after each difference stay visible.
export function stretches(rows: readonly Row[], context = 3): Stretch[] {
  const near = new Array<boolean>(rows.length).fill(false);
  rows.forEach((row, i) => {
    if (row.left !== null && row.right !== null) return;
    for (let j = Math.max(0, i - context); j <= Math.min(rows.length - 1, i + context); ++j) near[j] = true;
  });
  const out: Stretch[] = [];
  for (let i = 0; i < rows.length;) {
    let end = i;
    while (end < rows.length && near[end] === near[i]) end += 1;
    out.push({from: i, to: end, folded: !near[i]! && end - i > 1});
    i = end;
  }
  return out;
}
