// A window with too many nodes to draw, as sums: one cell for each agent and stretch of the axis, and between two cells
// one edge with the number of recorded edges it stands for. Pure.
import {reactionAt} from '../model/state_at';
import type {RunModel} from '../model/run_model';
import type {EventNode, Lane, Node} from '../model/types';
import {
  flagRank,
  nodeFlag,
  rangeOf,
  singleScene,
  slotsOf,
  xOf,
  MAX_SINGLE_NODES,
  type Flag,
  type Scene,
  type SceneNode,
  type View,
} from './scene';

export const MAX_SUMMED_EDGES = 3_000;

// The smallest power of two that is at least `wanted`. Powers of two keep cells in place while the window moves.
export function cellWidthFor(wanted: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(wanted, 1))));
}

interface Cell {
  id: number;
  slot: number;
  bucket: number;
  count: number;
  flagged: number;
  flag: Flag;
  last: number;
}

class Cells {
  readonly byKey = new Map<string, Cell>();
  private readonly slotOf = new Map<Lane, number>();
  readonly list: Cell[] = [];

  constructor(
    slots: Lane[],
    private readonly view: View,
    readonly width: number,
  ) {
    slots.forEach((lane, i) => this.slotOf.set(lane, i));
  }

  cellOf(node: Node): Cell | null {
    const slot = this.slotOf.get(node.lane);
    if (slot === undefined || node.forgotten || node.createdAt > this.view.at) return null;
    const bucket = Math.floor(xOf(node, this.view.axis) / this.width);
    const key = `c:${slot}:${bucket}`;
    let cell = this.byKey.get(key);
    if (!cell) {
      cell = {id: this.list.length, slot, bucket, count: 0, flagged: 0, flag: 'none', last: 0};
      this.byKey.set(key, cell);
      this.list.push(cell);
    }
    return cell;
  }
}

function drawCell(cell: Cell, width: number, maxCount: number): SceneNode {
  const from = cell.bucket * width;
  return {
    key: `c:${cell.slot}:${cell.bucket}`,
    x: from + width / 2,
    slot: cell.slot,
    row: 0,
    rows: 1,
    shape: 'cell',
    flag: cell.flag,
    live: false,
    size: 0.35 + 0.65 * Math.sqrt(cell.count / maxCount),
    count: cell.count,
    share: cell.flagged / cell.count,
    label: cell.flagged > 0 ? `${cell.count}, ${cell.flagged} flagged` : `${cell.count}`,
    node: null,
    span: [from, from + width],
  };
}

export function summedScene(model: RunModel, view: View, slots: Lane[], first: number, end: number): Scene {
  const cells = new Cells(slots, view, cellWidthFor(view.cellWidth));
  const edgeCounts = new Map<number, number>();
  const link = (from: Node, to: Node): void => {
    const a = cells.cellOf(from);
    const b = cells.cellOf(to);
    if (!a || !b || a === b) return;
    const key = a.id * 0x4000000 + b.id;
    edgeCounts.set(key, (edgeCounts.get(key) ?? 0) + 1);
  };
  for (let i = first; i < end; ++i) {
    const node = model.nodes[i]!;
    const cell = cells.cellOf(node);
    if (!cell) continue;
    cell.count += 1;
    const flag = nodeFlag(node, view.at);
    if (flag !== 'none') cell.flagged += 1;
    if (flagRank[flag] > flagRank[cell.flag]) cell.flag = flag;
    if (node.type === 'event') linkEvent(node, view.at, link);
  }
  const counted = cells.list.filter((cell) => cell.count > 0);
  const maxCount = counted.reduce((m, cell) => Math.max(m, cell.count), 1);
  const edges = [...edgeCounts].sort((a, b) => b[1] - a[1]);
  const key = (id: number): string => `c:${cells.list[id]!.slot}:${cells.list[id]!.bucket}`;
  const eligible = edges.filter(
    ([k]) => cells.list[Math.floor(k / 0x4000000)]!.count > 0 && cells.list[k % 0x4000000]!.count > 0,
  );
  const drawn = eligible.slice(0, MAX_SUMMED_EDGES).map(([k, count]) => {
    const [from, to] = [key(Math.floor(k / 0x4000000)), key(k % 0x4000000)];
    return {from, to, kind: 'sum' as const, count};
  });
  return {
    summed: true,
    nodes: counted.map((cell) => drawCell(cell, cells.width, maxCount)),
    edges: drawn,
    inView: end - first,
    cell: cells.width,
    edgesLeftOut: eligible.length - drawn.length,
  };
}

function linkEvent(event: EventNode, at: number, link: (from: Node, to: Node) => void): void {
  if (event.source && event.announcedAt <= at) link(event.source, event);
  for (const input of event.inputs) {
    if (input.activation.createdAt <= at && reactionAt(input, at) !== 'failed') link(event, input.activation);
  }
}

export function buildScene(model: RunModel, view: View, maxSingleNodes = MAX_SINGLE_NODES): Scene {
  const slots = slotsOf(model, view.hiddenLanes);
  const [first, end] = rangeOf(model.nodes, view);
  return end - first > maxSingleNodes
    ? summedScene(model, view, slots, first, end)
    : singleScene(model, view, slots, first, end);
}
