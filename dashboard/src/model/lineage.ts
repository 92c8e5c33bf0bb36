// The ancestors and descendants of a node, along recorded edges. Pure.
import type {Node} from './types';

export const MAX_LINEAGE_NODES = 5_000;

function walk(from: Node, next: (node: Node) => Iterable<Node>, maxNodes: number): Set<Node> {
  const visited = new Set<Node>([from]);
  for (const node of visited) {
    // iteration over a Set also visits what the loop adds, in insertion order
    for (const neighbour of next(node)) {
      if (visited.size >= maxNodes) return visited;
      if (!neighbour.forgotten) visited.add(neighbour);
    }
  }
  return visited;
}

function* sourcesOf(node: Node, at: number): Generator<Node> {
  if (node.type === 'activation') {
    for (const input of node.inputs) yield input.event;
  } else if (node.source && node.announcedAt <= at) {
    yield node.source;
    yield* node.derivedFrom;
  }
}

function* resultsOf(node: Node, at: number): Generator<Node> {
  if (node.type === 'activation') {
    for (const output of node.outputs) if (output.announcedAt <= at) yield output;
    return;
  }
  for (const input of node.inputs) {
    const used = input.activation.used === null || input.activation.used.includes(node);
    if (used && input.activation.createdAt <= at) yield input.activation;
  }
}

export interface Lineage {
  ancestors: Set<Node>;
  descendants: Set<Node>;
  truncated: boolean;
}

// Both sets contain the node itself and at most `maxNodes` nodes, nearest first. The ancestors of an output are its
// source and the inputs that the source used. An input that only waited is not an ancestor.
export function lineageOf(node: Node, at: number, maxNodes = MAX_LINEAGE_NODES): Lineage {
  const towardsSources = function* (current: Node): Generator<Node> {
    if (current.type === 'event') return yield* sourcesOf(current, at);
    if (current === node) yield* sourcesOf(current, at); // elsewhere `derivedFrom` of the output has the inputs already
  };
  const ancestors = walk(node, towardsSources, maxNodes);
  const descendants = walk(node, (current) => resultsOf(current, at), maxNodes);
  return {ancestors, descendants, truncated: ancestors.size >= maxNodes || descendants.size >= maxNodes};
}
