// Where things are on the screen: from x and lane to pixels and back. Pure.

export const TOP = 26;        // for the marks
const BOTTOM = 6;
const RIGHT = 26;
const LEAST_LANE = 26;

export interface Size { width: number; height: number }

export class Frame {
  readonly left: number;
  readonly laneHeight: number;
  readonly scrollMost: number;

  constructor(readonly size: Size, readonly slots: number, readonly from: number, readonly to: number, readonly scroll = 0) {
    this.left = size.width < 520 ? 64 : 112;
    const room = Math.max(1, size.height - TOP - BOTTOM);
    this.laneHeight = Math.max(LEAST_LANE, room / Math.max(1, slots));
    this.scrollMost = Math.max(0, this.laneHeight * slots - room);
  }

  get plotWidth(): number { return Math.max(1, this.size.width - this.left - RIGHT); }
  get perPixel(): number { return (this.to - this.from) / this.plotWidth; }

  px(x: number): number { return this.left + ((x - this.from) / (this.to - this.from)) * this.plotWidth; }
  x(px: number): number { return this.from + (px - this.left) * this.perPixel; }

  laneTop(slot: number): number { return TOP + slot * this.laneHeight - this.scroll; }

  // Activations above the middle of their lane, events below it, those of one entry beside each other.
  py(slot: number, isActivation: boolean, row: number, rows: number): number {
    const middle = this.laneTop(slot) + this.laneHeight * (isActivation ? 0.3 : 0.6);
    if (rows <= 1) return middle;
    const step = Math.min(22, (this.laneHeight * 0.74) / rows);
    return middle + (row - (rows - 1) / 2) * step;
  }
}

// The window moved by a share of its width, or made narrower around a point, within what there is.
export interface Window { from: number; to: number }

export const LEAST_WINDOW = 6;

export function zoomed(w: Window, around: number, factor: number, bounds: Window): Window {
  const width = Math.min(Math.max((w.to - w.from) * factor, LEAST_WINDOW), Math.max(LEAST_WINDOW, bounds.to - bounds.from));
  const share = (around - w.from) / (w.to - w.from);
  return kept({from: around - share * width, to: around + (1 - share) * width}, bounds);
}

export function moved(w: Window, by: number, bounds: Window): Window {
  return kept({from: w.from + by, to: w.to + by}, bounds);
}

function kept(w: Window, bounds: Window): Window {
  const width = w.to - w.from;
  if (width >= bounds.to - bounds.from) {
    const middle = (bounds.from + bounds.to) / 2;
    return {from: middle - width / 2, to: middle + width / 2};
  }
  const from = Math.min(Math.max(w.from, bounds.from), bounds.to - width);
  return {from, to: from + width};
}
