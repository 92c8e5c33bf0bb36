// Names beside nodes, as many as fit without overlap. Highlighted, flagged and live nodes come first.
import type {SceneNode} from '../scene/scene';
import {displayLine} from '../scene/text';
import type {Frame} from './frame';
import {mix, type Theme} from './theme';

export interface LabelSpot {
  node: SceneNode;
  x: number;
  y: number;
  radius: number;
}

const HEIGHT = 13;
const MAX_CHARACTERS = 24;
const MARKS = 20; // height of the row of marks at the top

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const overlap = (a: Box, b: Box): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

// A name is not drawn if the margin or the marks would cover a part of it.
const isWithin = (box: Box, frame: Frame): boolean =>
  box.left >= frame.left - 4 && box.right <= frame.size.width && box.top >= MARKS && box.bottom <= frame.size.height;

export function drawLabels(
  c: CanvasRenderingContext2D,
  spots: LabelSpot[],
  focus: ReadonlySet<string> | null,
  theme: Theme,
  frame: Frame,
): void {
  c.font = '11px system-ui, sans-serif';
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  c.lineJoin = 'round';
  c.lineWidth = 3;
  c.setLineDash([]);
  const taken: Box[] = spots.map(({x, y, radius}) => ({
    left: x - radius,
    right: x + radius,
    top: y - radius,
    bottom: y + radius,
  }));
  const rank = ({node}: LabelSpot): number =>
    (focus?.has(node.key) ? 8 : 0) +
    (node.flag === 'none' ? 0 : 4) +
    (node.live ? 2 : 0) +
    (node.shape === 'activation' ? 0 : 1);
  for (const spot of [...spots].sort((a, b) => rank(b) - rank(a))) {
    const {node, x, y, radius} = spot;
    if (node.label === '' || (focus && !focus.has(node.key))) continue;
    const text = displayLine(node.label, MAX_CHARACTERS);
    const half = c.measureText(text).width / 2 + 2;
    const reach = radius + (node.flag === 'none' ? 2 : 6);
    const above = y - reach - HEIGHT / 2;
    const below = y + reach + HEIGHT / 2;
    const at = (node.shape === 'activation' ? [above, below] : [below, above]).find((middle) => {
      const box = {left: x - half, right: x + half, top: middle - HEIGHT / 2, bottom: middle + HEIGHT / 2};
      if (!isWithin(box, frame) || taken.some((other) => overlap(box, other))) return false;
      taken.push(box);
      return true;
    });
    if (at === undefined) continue;
    c.strokeStyle = theme.background;
    c.strokeText(text, x, at);
    c.fillStyle = node.flag === 'none' ? mix(theme.text, theme.background, 0.82) : theme.text;
    c.fillText(text, x, at);
  }
  c.textAlign = 'start';
}
