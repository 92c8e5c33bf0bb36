// The mapping between positions in the scene (x, slot) and pixels. Pure.

export const TOP = 26; // room for the marks
const BOTTOM = 6;
const RIGHT = 26;
const MIN_LANE_HEIGHT = 26;

export interface Size {
  width: number;
  height: number;
}

export class Frame {
  readonly left: number;
  readonly laneHeight: number;
  readonly maxScroll: number;

  constructor(
    readonly size: Size,
    readonly slots: number,
    readonly from: number,
    readonly to: number,
    readonly scroll = 0,
  ) {
    this.left = size.width < 520 ? 92 : 112;
    const room = Math.max(1, size.height - TOP - BOTTOM);
    this.laneHeight = Math.max(MIN_LANE_HEIGHT, room / Math.max(1, slots));
    this.maxScroll = Math.max(0, this.laneHeight * slots - room);
  }

  get plotWidth(): number {
    return Math.max(1, this.size.width - this.left - RIGHT);
  }
  get perPixel(): number {
    return (this.to - this.from) / this.plotWidth;
  }

  px(x: number): number {
    return this.left + ((x - this.from) / (this.to - this.from)) * this.plotWidth;
  }
  x(px: number): number {
    return this.from + (px - this.left) * this.perPixel;
  }

  laneTop(slot: number): number {
    return TOP + slot * this.laneHeight - this.scroll;
  }

  // Activations lie above the middle of their lane, events below it. The nodes of an entry lie in separate rows.
  py(slot: number, isActivation: boolean, row: number, rows: number): number {
    const middle = this.laneTop(slot) + this.laneHeight * (isActivation ? 0.3 : 0.6);
    if (rows <= 1) return middle;
    const step = Math.min(22, (this.laneHeight * 0.74) / rows);
    return middle + (row - (rows - 1) / 2) * step;
  }
}

// The stretch of the axis that is in view. `zoomed` and `panned` keep it within bounds.
export interface Window {
  from: number;
  to: number;
}

export const MIN_WINDOW = 6;

export function zoomed(w: Window, around: number, factor: number, bounds: Window): Window {
  const width = Math.min(Math.max((w.to - w.from) * factor, MIN_WINDOW), Math.max(MIN_WINDOW, bounds.to - bounds.from));
  const share = (around - w.from) / (w.to - w.from);
  return clamped({from: around - share * width, to: around + (1 - share) * width}, bounds);
}

export function panned(w: Window, delta: number, bounds: Window): Window {
  return clamped({from: w.from + delta, to: w.to + delta}, bounds);
}

function clamped(w: Window, bounds: Window): Window {
  const width = w.to - w.from;
  if (width >= bounds.to - bounds.from) {
    const middle = (bounds.from + bounds.to) / 2;
    return {from: middle - width / 2, to: middle + width / 2};
  }
  const from = Math.min(Math.max(w.from, bounds.from), bounds.to - width);
  return {from, to: from + width};
}
