// The nodes and edges to draw in a window of the run at a position. `sums.ts` sums them where there are too many. Pure
// functions. x is in units of the axis (columns or milliseconds); slots number the shown lanes from the top.
import {detectionsAt, isOpenAt, isSubmitAt, isWaitingAt, reactionAt, stateAt} from '../model/state_at';
import type {RunModel} from '../model/run_model';
import type {ActivationNode, Detection, EventNode, Lane, Node} from '../model/types';

export const MAX_SINGLE_NODES = 10_000; // nodes drawn one by one

export type Axis = 'order' | 'time';
export type Shape = 'event' | 'root' | 'activation' | 'submit' | 'system' | 'head' | 'cell';
// The state that ring and colour show. Every flag but `none` and `failed` needs at least one detection.
export type Flag = 'none' | 'healed' | 'failure' | 'warning' | 'shadow' | 'failed';
export type EdgeKind = 'generated' | 'consume' | 'wait' | 'discard' | 'reroute' | 'failed' | 'open' | 'pending' | 'sum';

export interface View {
  axis: Axis;
  from: number;
  to: number;
  cellWidth: number; // minimum width of a cell, in units of x
  at: number;
  hiddenLanes: ReadonlySet<number>;
}

export interface SceneNode {
  key: string;
  x: number;
  slot: number;
  row: number;
  rows: number;
  shape: Shape;
  flag: Flag;
  live: boolean; // whether it is an open activation, or an event that waits
  size: number; // 1; of a cell: grows with its count
  count: number;
  share: number; // of a cell: the share of its nodes that are flagged
  label: string;
  node: Node | null;
  span: [number, number] | null; // of a cell
}

export interface SceneEdge {
  from: string;
  to: string;
  kind: EdgeKind;
  count: number;
}

export interface Scene {
  summed: boolean;
  nodes: SceneNode[];
  edges: SceneEdge[];
  inView: number; // nodes in the window, drawn or summed
  cell: number; // width of a cell, if the scene is summed
  edgesLeftOut: number; // beyond the limit, the summed edges that represent the fewest recorded ones
}

export const nodeKey = (node: Node): string => (node.type === 'event' ? 'e:' : 'a:') + node.id;
export const headKey = (lane: Lane): string => `l:${lane.index}`;

export function xOf(node: Node, axis: Axis): number {
  return axis === 'order' ? node.column : node.ts;
}

// The x of the current moment, just right of the last node.
export function headX(model: RunModel, axis: Axis, at: number): number {
  const entry = model.entries.get(at);
  if (!entry) return 1;
  return axis === 'order' ? entry.column + 1.2 : entry.ts;
}

// The shown lanes from top to bottom: outside, agents in order of appearance, the monitor.
export function slotsOf(model: RunModel, hidden: ReadonlySet<number>): Lane[] {
  const rank = {outside: 0, agent: 1, monitor: 2} as const;
  return model.lanes
    .filter((lane) => !hidden.has(lane.index))
    .sort((a, b) => rank[a.kind] - rank[b.kind] || a.index - b.index);
}

// The index range [first, end) of the nodes in the window that exist at the position.
export function rangeOf(nodes: readonly Node[], view: View): [number, number] {
  const first = lowerBound(nodes, (node) => xOf(node, view.axis) < view.from);
  const end = lowerBound(nodes, (node) => xOf(node, view.axis) <= view.to && node.createdAt <= view.at);
  return [first, Math.max(first, end)];
}

function lowerBound(nodes: readonly Node[], isBefore: (node: Node) => boolean): number {
  let low = 0;
  let high = nodes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(nodes[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Of several flags the one with the highest rank shows.
export const flagRank: Record<Flag, number> = {none: 0, healed: 1, shadow: 2, warning: 3, failed: 4, failure: 5};

export function flagOf(found: Detection[]): Flag {
  let flag: Flag = 'none';
  for (const detection of found) {
    const wouldHeal = detection.cause === 'mode' && detection.healing !== null;
    const candidate: Flag = detection.healed ? 'healed' : wouldHeal ? 'shadow' : detection.severity;
    if (flagRank[candidate] > flagRank[flag]) flag = candidate;
  }
  return flag;
}

export function nodeFlag(node: Node, at: number): Flag {
  if (node.type === 'activation') return node.failed && node.endedAt <= at ? 'failed' : 'none';
  return flagOf(detectionsAt(node, at));
}

class Singles {
  readonly nodes = new Map<string, SceneNode>();
  readonly edges: SceneEdge[] = [];
  private readonly edgeKeys = new Set<string>();
  private readonly slotOf = new Map<Lane, number>();

  constructor(
    private readonly model: RunModel,
    private readonly view: View,
    slots: Lane[],
  ) {
    slots.forEach((lane, i) => this.slotOf.set(lane, i));
  }

  add(node: Node): string | null {
    const slot = this.slotOf.get(node.lane);
    if (slot === undefined || node.forgotten || node.createdAt > this.view.at) return null;
    const key = nodeKey(node);
    if (this.nodes.has(key)) return key;
    const at = this.view.at;
    const live = node.type === 'event' ? isWaitingAt(node, at) : isOpenAt(node, at);
    this.nodes.set(key, {
      key,
      x: xOf(node, this.view.axis),
      slot,
      row: node.row,
      rows: node.rows,
      shape: shapeOf(node, at),
      flag: nodeFlag(node, at),
      live,
      size: 1,
      count: 1,
      share: 0,
      label: node.id,
      node,
      span: null,
    });
    return key;
  }

  head(lane: Lane): string | null {
    const slot = this.slotOf.get(lane);
    if (slot === undefined) return null;
    const key = headKey(lane);
    if (!this.nodes.has(key)) {
      this.nodes.set(key, {
        key,
        x: headX(this.model, this.view.axis, this.view.at),
        slot,
        row: 0,
        rows: 1,
        shape: 'head',
        flag: 'none',
        live: true,
        size: 1,
        count: 1,
        share: 0,
        label: '',
        node: null,
        span: null,
      });
    }
    return key;
  }

  edge(from: string | null, to: string | null, kind: EdgeKind): void {
    if (from === null || to === null) return;
    const key = `${from}\n${to}`;
    if (this.edgeKeys.has(key)) return;
    this.edgeKeys.add(key);
    this.edges.push({from, to, kind, count: 1});
  }

  edgesOfEvent(event: EventNode): void {
    const {at} = this.view;
    if (event.source && event.announcedAt <= at) this.edge(this.add(event.source), this.add(event), 'generated');
    for (const input of event.inputs) {
      if (input.activation.createdAt <= at)
        this.edge(this.add(event), this.add(input.activation), reactionAt(input, at));
    }
    for (const delivery of event.deliveries) {
      if (stateAt(delivery, at) !== 'pending') continue;
      const taken = event.inputs.some((i) => i.activation.lane === delivery.lane && isOpenAt(i.activation, at));
      if (!taken) this.edge(this.add(event), this.head(delivery.lane), 'pending');
    }
  }

  edgesOfActivation(activation: ActivationNode): void {
    const {at} = this.view;
    for (const input of activation.inputs)
      this.edge(this.add(input.event), this.add(activation), reactionAt(input, at));
    for (const output of activation.outputs) {
      if (output.announcedAt <= at && output.createdAt <= at)
        this.edge(this.add(activation), this.add(output), 'generated');
    }
  }
}

function shapeOf(node: Node, at: number): Shape {
  if (node.type === 'activation') return 'activation';
  if (node.system) return 'system';
  if (isSubmitAt(node, at)) return 'submit';
  return node.source ? 'event' : 'root';
}

export function singleScene(model: RunModel, view: View, slots: Lane[], first: number, end: number): Scene {
  const singles = new Singles(model, view, slots);
  for (let i = first; i < end; ++i) singles.add(model.nodes[i]!);
  for (let i = first; i < end; ++i) {
    const node = model.nodes[i]!;
    if (!singles.nodes.has(nodeKey(node))) continue;
    if (node.type === 'event') singles.edgesOfEvent(node);
    else singles.edgesOfActivation(node);
  }
  return {
    summed: false,
    nodes: [...singles.nodes.values()],
    edges: singles.edges,
    inView: end - first,
    cell: 0,
    edgesLeftOut: 0,
  };
}
