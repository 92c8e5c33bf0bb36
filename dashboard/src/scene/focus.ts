// The highlighted nodes: the lineage of a node, the witness of a detection, or the matches of a filter or search. Pure.
import {detectionsAt, isOpenAt, isWaitingAt} from '../model/state_at';
import {lineageOf} from '../model/lineage';
import type {RunModel} from '../model/run_model';
import type {Detection, Node} from '../model/types';
import {headKey, nodeKey, type Scene, type SceneNode} from './scene';

export type StateFilter = 'all' | 'flagged' | 'waiting' | 'open';

export interface Filter {
  state: StateFilter;
  search: string;
  texts?: ReadonlySet<string>; // events whose texts have the searched words
}

export function matches(node: Node, filter: Filter, at: number): boolean {
  if (filter.state === 'flagged') {
    const flagged = node.type === 'event' ? detectionsAt(node, at).length > 0 : node.failed && node.endedAt <= at;
    if (!flagged) return false;
  }
  if (filter.state === 'waiting' && !(node.type === 'event' && isWaitingAt(node, at))) return false;
  if (filter.state === 'open' && !(node.type === 'activation' && isOpenAt(node, at))) return false;
  const wanted = filter.search.toLowerCase();
  if (wanted === '') return true;
  if (node.type === 'event' && filter.texts?.has(node.id)) return true;
  const kind = node.type === 'event' && node.kind !== null ? node.kind : '';
  return [node.id, node.lane.name, kind].some((text) => text.toLowerCase().includes(wanted));
}

// The matching nodes of the run up to the position, in order; at most `maxNodes`.
export function findAll(model: RunModel, filter: Filter, at: number, maxNodes: number): Node[] {
  const found: Node[] = [];
  for (const node of model.nodes) {
    if (node.createdAt > at || found.length >= maxNodes) break;
    if (matches(node, filter, at)) found.push(node);
  }
  return found;
}

export function lineageKeys(node: Node, at: number): Set<string> {
  const {ancestors, descendants} = lineageOf(node, at);
  const keys = new Set<string>();
  for (const ancestor of ancestors) keys.add(nodeKey(ancestor));
  for (const descendant of descendants) keys.add(nodeKey(descendant));
  return keys;
}

export function witnessKeys(model: RunModel, detection: Detection): Set<string> {
  const keys = new Set<string>();
  for (const node of detection.witness?.activations ?? []) keys.add(`a:${node.id}`);
  for (const node of detection.witness?.events ?? []) keys.add(`e:${node.id}`);
  for (const edge of detection.witness?.edges ?? []) {
    const lane = edge.kind === 'pending' ? model.agentLane(edge.to) : undefined;
    if (lane) keys.add(headKey(lane));
  }
  if (detection.event) keys.add(nodeKey(detection.event));
  return keys;
}

export function witnessNodes(model: RunModel, detection: Detection): Node[] {
  const events = (detection.witness?.events ?? []).map((node) => model.get('event', node.id));
  const activations = (detection.witness?.activations ?? []).map((node) => model.get('activation', node.id));
  return [...events, ...activations].filter((node): node is Node => node !== undefined);
}

function filterKeys(scene: Scene, filter: Filter, at: number): Set<string> | null {
  if (filter.state === 'all' && filter.search === '') return null;
  const keys = new Set<string>();
  for (const sceneNode of scene.nodes) {
    if (sceneNode.node ? matches(sceneNode.node, filter, at) : sceneNode.shape === 'head' && filter.state === 'waiting')
      keys.add(sceneNode.key);
    else if (sceneNode.shape === 'cell' && sceneNode.flag !== 'none' && filter.state === 'flagged')
      keys.add(sceneNode.key);
  }
  return keys;
}

export interface Attention {
  hovered: SceneNode | null;
  selected: Node | null;
  detection: Detection | null;
  filter: Filter;
}

// In order of priority: the hovered node, the selected node, the chosen detection, the filter. A summed scene has cells
// instead of nodes, so there only a hovered cell and the filter count. Null: highlight nothing.
export function focusOf(model: RunModel, scene: Scene, at: number, attention: Attention): Set<string> | null {
  if (!scene.summed) {
    if (attention.hovered?.node) return lineageKeys(attention.hovered.node, at);
    if (attention.selected && !attention.selected.forgotten) return lineageKeys(attention.selected, at);
    if (attention.detection) return witnessKeys(model, attention.detection);
  } else if (attention.hovered) {
    return new Set([
      attention.hovered.key,
      ...scene.edges
        .filter((edge) => edge.from === attention.hovered!.key || edge.to === attention.hovered!.key)
        .flatMap((edge) => [edge.from, edge.to]),
    ]);
  }
  return filterKeys(scene, attention.filter, at);
}
