// A window with too many nodes to draw: cells by agent and stretch of the axis, and between two cells one edge with the
// number of recorded edges it stands for. Pure.
import {reactionAt} from '../model/at';
import type {RunModel} from '../model/run_model';
import type {EventNode, Lane, Node} from '../model/types';
import {flagRank, nodeFlag, rangeOf, singleScene, slotsOf, xOf, MOST_SINGLE, type Flag, type Scene, type SceneNode, type View} from './scene';

export const MOST_SUMMED_EDGES = 3_000;

// A power of two, so that cells stay where they are while the window moves; at least what was wanted.
export function cellWidthFor(wanted: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(wanted, 1))));
}

interface Cell { id: number; slot: number; bucket: number; count: number; flagged: number; flag: Flag; last: number }

class Cells {
  readonly all = new Map<string, Cell>();
  private readonly slotOf = new Map<Lane, number>();
  readonly list: Cell[] = [];

  constructor(slots: Lane[], private readonly view: View, readonly width: number) {
    slots.forEach((lane, i) => this.slotOf.set(lane, i));
  }

  of(node: Node): Cell | null {
    const slot = this.slotOf.get(node.lane);
    if (slot === undefined || node.forgotten || node.born > this.view.at) return null;
    const bucket = Math.floor(xOf(node, this.view.axis) / this.width);
    const key = `c:${slot}:${bucket}`;
    let cell = this.all.get(key);
    if (!cell) {
      cell = {id: this.list.length, slot, bucket, count: 0, flagged: 0, flag: 'none', last: 0};
      this.all.set(key, cell);
      this.list.push(cell);
    }
    return cell;
  }
}

function drawCell(cell: Cell, width: number, most: number): SceneNode {
  const from = cell.bucket * width;
  return {
    key: `c:${cell.slot}:${cell.bucket}`, x: from + width / 2, slot: cell.slot, row: 0, rows: 1, shape: 'cell', flag: cell.flag,
    live: false, size: 0.35 + 0.65 * Math.sqrt(cell.count / most), count: cell.count,
    share: cell.flagged / cell.count, label: cell.flagged > 0 ? `${cell.count}, ${cell.flagged} flagged` : `${cell.count}`, node: null, span: [from, from + width],
  };
}

export function summedScene(model: RunModel, view: View, slots: Lane[], first: number, end: number): Scene {
  const cells = new Cells(slots, view, cellWidthFor(view.cellWidth));
  const between = new Map<number, number>();
  const link = (from: Node, to: Node): void => {
    const a = cells.of(from);
    const b = cells.of(to);
    if (!a || !b || a === b) return;
    const key = a.id * 0x4000000 + b.id;
    between.set(key, (between.get(key) ?? 0) + 1);
  };
  for (let i = first; i < end; ++i) {
    const node = model.nodes[i]!;
    const cell = cells.of(node);
    if (!cell) continue;
    cell.count += 1;
    const flag = nodeFlag(node, view.at);
    if (flag !== 'none') cell.flagged += 1;
    if (flagRank[flag] > flagRank[cell.flag]) cell.flag = flag;
    if (node.what === 'event') linkEvent(node, view.at, link);
  }
  const counted = cells.list.filter((cell) => cell.count > 0);
  const most = counted.reduce((m, cell) => Math.max(m, cell.count), 1);
  const edges = [...between].sort((a, b) => b[1] - a[1]);
  const key = (id: number): string => `c:${cells.list[id]!.slot}:${cells.list[id]!.bucket}`;
  const drawn = edges
    .filter(([k]) => cells.list[Math.floor(k / 0x4000000)]!.count > 0 && cells.list[k % 0x4000000]!.count > 0)
    .slice(0, MOST_SUMMED_EDGES)
    .map(([k, count]) => {
      const [from, to] = [key(Math.floor(k / 0x4000000)), key(k % 0x4000000)];
      return {key: `${from}\n${to}`, from, to, kind: 'sum' as const, count};
    });
  return {
    summed: true, nodes: counted.map((cell) => drawCell(cell, cells.width, most)), edges: drawn, inView: end - first,
    cell: cells.width, edgesLeftOut: Math.max(0, edges.length - drawn.length),
  };
}

function linkEvent(event: EventNode, at: number, link: (from: Node, to: Node) => void): void {
  if (event.source && event.announced <= at) link(event.source, event);
  for (const input of event.inputs) {
    if (input.activation.born <= at && reactionAt(input, at) !== 'failed') link(event, input.activation);
  }
}

export function buildScene(model: RunModel, view: View, mostSingle = MOST_SINGLE): Scene {
  const slots = slotsOf(model, view.hiddenLanes);
  const [first, end] = rangeOf(model.nodes, view);
  return end - first > mostSingle
    ? summedScene(model, view, slots, first, end)
    : singleScene(model, view, slots, first, end);
}
