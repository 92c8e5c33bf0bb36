// The window of the graph on the axis: the extent of the run, the newest events, and given nodes. Pure.
import {zoomed, type Window} from '../graph/frame';
import type {RunModel} from '../model/run_model';
import type {Node} from '../model/types';
import {headX, xOf, type Axis} from './scene';

export const FOLLOWED_COLUMNS = 46; // columns in the window while following
const MARGIN_COLUMNS = 0.8;

// The width of the window that follows the newest events.
function followedWidth(from: number, to: number, axis: Axis, columns: number): number {
  if (axis === 'order') return FOLLOWED_COLUMNS;
  return Math.max(1, ((to - from) * FOLLOWED_COLUMNS) / Math.max(FOLLOWED_COLUMNS, columns));
}

// The extent of the run on the axis, up to the position. The margin is a share of the followed window and not of the
// run: a share of a long run is wider than that window, which then shows only the margin.
export function boundsOf(model: RunModel, axis: Axis, at: number): Window {
  const first = model.nodes[0];
  const end = headX(model, axis, at);
  const start = first ? xOf(first, axis) : 0;
  const width = followedWidth(start, end, axis, model.columns);
  const margin = (width * MARGIN_COLUMNS) / FOLLOWED_COLUMNS;
  return {from: start - margin, to: Math.max(end, start + 1) + margin};
}

export function followed(bounds: Window, axis: Axis, columns: number): Window {
  const width = followedWidth(bounds.from, bounds.to, axis, columns);
  return {from: Math.max(bounds.from, bounds.to - width), to: Math.max(bounds.to, bounds.from + Math.min(width, 12))};
}

// The window that shows these nodes: `w` itself if it does.
export function revealed(nodes: readonly Node[], axis: Axis, w: Window, bounds: Window): Window {
  let [low, high] = [Infinity, -Infinity];
  for (const node of nodes) [low, high] = [Math.min(low, xOf(node, axis)), Math.max(high, xOf(node, axis))];
  if (low >= w.from && high <= w.to && w.to - w.from <= 30 * FOLLOWED_COLUMNS) return w;
  const width = Math.max((high - low) * 1.3, axis === 'order' ? FOLLOWED_COLUMNS / 2 : (w.to - w.from) / 4);
  return zoomed({from: (low + high - width) / 2, to: (low + high + width) / 2}, (low + high) / 2, 1, bounds);
}
