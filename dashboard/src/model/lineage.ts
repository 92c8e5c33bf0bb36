// What an event descends from and what descends from it, along recorded edges. Pure; at most `most` nodes, nearest first.
import type {Node} from './types';

export const MOST_LINEAGE = 5_000;

function walk(from: Node, next: (node: Node) => Iterable<Node>, most: number): Set<Node> {
  const seen = new Set<Node>([from]);
  for (const node of seen) {  // a Set is walked in the order of insertion, what is added on the way too
    for (const other of next(node)) {
      if (seen.size >= most) return seen;
      if (!other.forgotten) seen.add(other);
    }
  }
  return seen;
}

function* before(node: Node, at: number): Generator<Node> {
  if (node.what === 'activation') {
    for (const input of node.inputs) yield input.event;
  } else if (node.source && node.announced <= at) {
    yield node.source;
    yield* node.derivedFrom;
  }
}

function* after(node: Node, at: number): Generator<Node> {
  if (node.what === 'activation') {
    for (const output of node.outputs) if (output.announced <= at) yield output;
    return;
  }
  for (const input of node.inputs) {
    const used = input.activation.used === null || input.activation.used.includes(node);
    if (used && input.activation.born <= at) yield input.activation;
  }
}

export interface Lineage {
  ancestors: Set<Node>;
  descendants: Set<Node>;
  truncated: boolean;
}

// Both sets contain the node itself. An output's ancestors are its source and what that used: an input that it only waited
// with is no ancestor.
export function lineageOf(node: Node, at: number, most = MOST_LINEAGE): Lineage {
  const through = function* (one: Node): Generator<Node> {
    if (one.what === 'event') return yield* before(one, at);
    if (one === node) yield* before(one, at);  // an activation reached from its output adds nothing by itself
  };
  const ancestors = walk(node, through, most);
  const descendants = walk(node, (one) => after(one, at), most);
  return {ancestors, descendants, truncated: ancestors.size >= most || descendants.size >= most};
}
