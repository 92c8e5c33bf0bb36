// The layers below and above the graph: lanes with their names, the current moment, and the marks of detections.
import {displayLine, fittingLine} from '../scene/text';
import {TOP, type Frame} from './frame';
import {mix, type Theme} from './theme';

export interface LaneLabel {
  name: string;
  special: boolean;
  left: boolean;
  active: boolean;
}
export interface MarkLabel {
  x: number;
  text: string;
  color: string;
  strong: boolean;
  minor?: boolean; // yields to other badges
}

const MAX_BADGES = 60;
const LANE_NAME_LEFT = 22;

export function fitCanvas(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const context = canvas.getContext('2d')!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

export function drawBackdrop(
  canvas: HTMLCanvasElement,
  frame: Frame,
  theme: Theme,
  lanes: LaneLabel[],
  marks: MarkLabel[],
  now: number,
): void {
  const {width, height} = frame.size;
  const c = fitCanvas(canvas, width, height);
  lanes.forEach((_, slot) => {
    const top = frame.laneTop(slot);
    if (top > height || top + frame.laneHeight < TOP) return;
    if (slot % 2 === 0) {
      c.fillStyle = theme.lane;
      c.fillRect(0, top, width, frame.laneHeight);
    }
  });
  drawMarkLines(c, frame, theme, marks);
  const px = frame.px(now);
  if (px < frame.left || px > width) return;
  c.fillStyle = mix(theme.quiet, theme.background, 0.08);
  c.fillRect(px, TOP - 4, width - px, height);
  c.strokeStyle = mix(theme.accent, theme.background, 0.6);
  c.setLineDash([2, 3]);
  c.beginPath();
  c.moveTo(px, TOP - 4);
  c.lineTo(px, height);
  c.stroke();
  c.setLineDash([]);
}

function drawLaneName(c: CanvasRenderingContext2D, frame: Frame, theme: Theme, lane: LaneLabel, top: number): void {
  const middle = top + frame.laneHeight / 2;
  c.font = `${lane.special ? 'italic ' : '600 '}12px system-ui, sans-serif`;
  c.textBaseline = 'middle';
  c.textAlign = 'left';
  c.lineWidth = 1;
  c.fillStyle = lane.active ? theme.openText : lane.special || lane.left ? theme.quiet : theme.text;
  const room = frame.left - 6 - LANE_NAME_LEFT - 4;
  c.fillText(
    fittingLine(lane.name, room, (line) => c.measureText(line).width),
    LANE_NAME_LEFT,
    middle,
  );
  c.beginPath();
  c.arc(12, middle, 3.5, 0, 7);
  if (lane.active) c.fill();
  else {
    c.strokeStyle = theme.line;
    c.stroke();
  }
}

const inView = (frame: Frame, marks: MarkLabel[]): MarkLabel[] =>
  marks.filter((mark) => frame.px(mark.x) >= frame.left - 4 && frame.px(mark.x) <= frame.size.width);

function drawMarkLines(c: CanvasRenderingContext2D, frame: Frame, theme: Theme, marks: MarkLabel[]): void {
  const visible = inView(frame, marks);
  if (visible.length > MAX_BADGES) drawTicks(c, frame, theme, visible);
  for (const mark of visible.length > MAX_BADGES ? visible.filter((mark) => mark.strong) : visible) {
    c.strokeStyle = mix(mark.color, theme.background, mark.strong ? 0.9 : 0.4);
    c.lineWidth = mark.strong ? 1.5 : 1;
    c.setLineDash(mark.strong ? [] : [3, 4]);
    line(c, frame.px(mark.x), TOP - 6, frame.size.height);
  }
  c.setLineDash([]);
  c.lineWidth = 1;
}

// With too many marks for lines: at most one tick for each pixel.
function drawTicks(c: CanvasRenderingContext2D, frame: Frame, theme: Theme, marks: MarkLabel[]): void {
  let last = -1;
  for (const mark of marks) {
    const px = Math.round(frame.px(mark.x));
    if (px === last) continue;
    last = px;
    c.fillStyle = mix(mark.color, theme.background, 0.6);
    c.fillRect(px, 8, 1, 12);
  }
}

// The margin with the names of the lanes. It covers the part of the graph below it.
function drawMargin(c: CanvasRenderingContext2D, frame: Frame, theme: Theme, lanes: LaneLabel[]): void {
  const {height} = frame.size;
  c.fillStyle = theme.background;
  c.fillRect(0, 0, frame.left - 6, height);
  lanes.forEach((lane, slot) => {
    const top = frame.laneTop(slot);
    if (top > height || top + frame.laneHeight < TOP) return;
    if (slot % 2 === 0) {
      c.fillStyle = theme.lane;
      c.fillRect(0, top, frame.left - 6, frame.laneHeight);
    }
    drawLaneName(c, frame, theme, lane, top);
  });
  c.fillStyle = theme.line;
  c.fillRect(frame.left - 6, TOP - 2, 1, height);
}

// Draws without clearing, after the names of nodes, so that the margin covers names that reach into it.
export function drawMarks(
  canvas: HTMLCanvasElement,
  frame: Frame,
  theme: Theme,
  lanes: LaneLabel[],
  marks: MarkLabel[],
): void {
  const c = canvas.getContext('2d')!;
  drawMargin(c, frame, theme, lanes);
  c.font = '600 10px system-ui, sans-serif';
  c.textBaseline = 'middle';
  c.textAlign = 'center';
  const visible = inView(frame, marks);
  if (visible.length > MAX_BADGES * 4) return;
  const taken: {left: number; right: number}[] = [];
  const rank = (mark: MarkLabel): number => (mark.strong ? 0 : mark.minor ? 2 : 1);
  for (const mark of [...visible].sort((a, b) => rank(a) - rank(b))) {
    const text = displayLine(mark.text, 22);
    const badgeWidth = c.measureText(text).width + 10;
    const px = Math.min(frame.px(mark.x), frame.size.width - badgeWidth / 2 - 2);
    const [left, right] = [px - badgeWidth / 2, px + badgeWidth / 2 + 2];
    if (taken.some((other) => left < other.right && other.left < right)) continue;
    taken.push({left, right});
    c.fillStyle = mark.color;
    c.beginPath();
    c.roundRect(px - badgeWidth / 2, 4, badgeWidth, 15, 4);
    c.fill();
    c.fillStyle = theme.background;
    c.fillText(text, px, 12);
  }
}

function line(c: CanvasRenderingContext2D, x: number, from: number, to: number): void {
  c.beginPath();
  c.moveTo(x, from);
  c.lineTo(x, to);
  c.stroke();
}
