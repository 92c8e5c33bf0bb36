// Which nodes stand out: those under the pointer's lineage, a detection's witness, or what a filter or a search asks for. Pure.
import {detectionsAt, isOpenAt, isWaitingAt} from '../model/at';
import {lineageOf} from '../model/lineage';
import type {RunModel} from '../model/run_model';
import type {Detection, Node} from '../model/types';
import {headKey, nodeKey, type Scene, type SceneNode} from './scene';

export type Only = 'all' | 'flagged' | 'waiting' | 'open';

export interface Filter { only: Only; search: string }

export function matches(node: Node, filter: Filter, at: number): boolean {
  if (filter.only === 'flagged') {
    const flagged = node.what === 'event' ? detectionsAt(node, at).length > 0 : node.failed && node.ended <= at;
    if (!flagged) return false;
  }
  if (filter.only === 'waiting' && !(node.what === 'event' && isWaitingAt(node, at))) return false;
  if (filter.only === 'open' && !(node.what === 'activation' && isOpenAt(node, at))) return false;
  const wanted = filter.search.toLowerCase();
  if (wanted === '') return true;
  const kind = node.what === 'event' && node.kind !== null ? node.kind : '';
  return [node.id, node.lane.name, kind].some((text) => text.toLowerCase().includes(wanted));
}

// All of the run that match up to the position, in order; at most `most`.
export function findAll(model: RunModel, filter: Filter, at: number, most: number): Node[] {
  const out: Node[] = [];
  for (const node of model.nodes) {
    if (node.born > at || out.length >= most) break;
    if (matches(node, filter, at)) out.push(node);
  }
  return out;
}

export function lineageKeys(node: Node, at: number): Set<string> {
  const {ancestors, descendants} = lineageOf(node, at);
  const keys = new Set<string>();
  for (const one of ancestors) keys.add(nodeKey(one));
  for (const one of descendants) keys.add(nodeKey(one));
  return keys;
}

export function witnessKeys(model: RunModel, one: Detection): Set<string> {
  const keys = new Set<string>();
  for (const node of one.witness?.activations ?? []) keys.add(`a:${node.id}`);
  for (const node of one.witness?.events ?? []) keys.add(`e:${node.id}`);
  for (const edge of one.witness?.edges ?? []) {
    const lane = edge.kind === 'pending' ? model.agentLane(edge.to) : undefined;
    if (lane) keys.add(headKey(lane));
  }
  if (one.event) keys.add(nodeKey(one.event));
  return keys;
}

export function witnessNodes(model: RunModel, one: Detection): Node[] {
  const events = (one.witness?.events ?? []).map((node) => model.get('event', node.id));
  const activations = (one.witness?.activations ?? []).map((node) => model.get('activation', node.id));
  return [...events, ...activations].filter((node): node is Node => node !== undefined);
}

function filterKeys(scene: Scene, filter: Filter, at: number): Set<string> | null {
  if (filter.only === 'all' && filter.search === '') return null;
  const keys = new Set<string>();
  for (const one of scene.nodes) {
    if (one.node ? matches(one.node, filter, at) : one.shape === 'head' && filter.only === 'waiting') keys.add(one.key);
    else if (one.shape === 'cell' && one.flag !== 'none' && filter.only === 'flagged') keys.add(one.key);
  }
  return keys;
}

export interface Attention {
  hovered: SceneNode | null;
  selected: Node | null;
  detection: Detection | null;
  filter: Filter;
}

// The first of: what the pointer is on, what is selected, the chosen detection, the filter. In sums only filters hold.
export function focusOf(model: RunModel, scene: Scene, at: number, on: Attention): Set<string> | null {
  if (!scene.summed) {
    if (on.hovered?.node) return lineageKeys(on.hovered.node, at);
    if (on.selected && !on.selected.forgotten) return lineageKeys(on.selected, at);
    if (on.detection) return witnessKeys(model, on.detection);
  } else if (on.hovered) {
    return new Set([on.hovered.key, ...scene.edges.filter((edge) => edge.from === on.hovered!.key || edge.to === on.hovered!.key)
      .flatMap((edge) => [edge.from, edge.to])]);
  }
  return filterKeys(scene, on.filter, at);
}
