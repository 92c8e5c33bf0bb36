// The timeline: activations of each agent as bars over the run's clock, detections as ticks, the window of the graph
// shaded, the position as a line. Press or drag to go to a time.
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {fitCanvas} from '../graph/layers';
import {mix, type Theme} from '../graph/theme';
import type {RunModel} from '../model/run_model';
import {NEVER, type Lane} from '../model/types';
import {flagOf, slotsOf} from '../scene/scene';
import {displayLine, plural, stampText} from '../scene/text';

interface Props {
  model: RunModel;
  version: number;
  at: number;
  hidden: ReadonlySet<number>;
  window: {from: number; to: number} | null; // positions
  theme: Theme;
  go(at: number): void;
}

const TOP = 14;
const BOTTOM = 16;
const MIN_ROW_HEIGHT = 3;

export function Timeline(props: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const {model, version, at, hidden, window: graphWindow, theme, go} = props;
  const [width, setWidth] = useState(0);
  const slots = useMemo(() => slotsOf(model, hidden).filter((lane) => lane.kind === 'agent'), [model, version, hidden]);
  const height = Math.min(150, Math.max(64, TOP + BOTTOM + 2 + slots.length * 16));
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width));
    watch.observe(canvas.current!);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (width > 0) draw(canvas.current!, model, at, theme, slots, width, height);
  }, [model, version, at, hidden, theme, width, height]);
  const scale = new Scale(model, width);
  const press = (e: PointerEvent): void => {
    if (e.type === 'pointermove' && e.buttons === 0) return;
    go(model.entries.atTime(scale.ts(e.clientX - canvas.current!.getBoundingClientRect().left)));
  };
  const tsOf = (position: number): number => model.entries.get(position)?.ts ?? scale.first;
  const from = graphWindow ? scale.px(tsOf(graphWindow.from)) : 0;
  const counts = `${plural(slots.length, 'agent')}, ${plural(model.detections.length, 'detection')}`;
  return (
    <div class="timeline" style={{height: `${height}px`}}>
      {graphWindow && (
        <div
          class="window"
          style={{left: `${from}px`, width: `${Math.max(2, scale.px(tsOf(graphWindow.to)) - from)}px`}}
        />
      )}
      <canvas
        ref={canvas}
        role="img"
        onPointerDown={press}
        onPointerMove={press}
        aria-label={`Timeline: ${counts}. The slider below moves through it.`}
      />
      <div class="playhead" style={{left: `${scale.px(tsOf(at))}px`}} />
    </div>
  );
}

class Scale {
  readonly start: number; // of the run's clock
  readonly first: number; // of the kept entries
  readonly last: number;
  readonly left: number;
  constructor(
    model: RunModel,
    private readonly width: number,
  ) {
    this.left = width < 520 ? 64 : 112;
    this.start = model.entries.startTs;
    this.first = model.entries.get(model.entries.first)?.ts ?? 0;
    this.last = Math.max(model.entries.get(model.entries.last)?.ts ?? 1, this.first + 1);
  }
  px(ts: number): number {
    return (
      this.left + ((Math.min(ts, this.last) - this.first) / (this.last - this.first)) * (this.width - this.left - 26)
    );
  }
  ts(px: number): number {
    return this.first + ((px - this.left) / (this.width - this.left - 26)) * (this.last - this.first);
  }
}

function draw(
  canvas: HTMLCanvasElement,
  model: RunModel,
  at: number,
  theme: Theme,
  slots: Lane[],
  width: number,
  height: number,
): void {
  const c = fitCanvas(canvas, width, height);
  const scale = new Scale(model, width);
  const row = Math.max(MIN_ROW_HEIGHT, (height - TOP - BOTTOM - 2) / Math.max(1, slots.length));
  drawNames(c, slots, row, scale.left, theme);
  drawBars(c, model, slots, row, scale, model.entries.get(at)?.ts ?? 0, theme);
  drawTicks(c, model, scale, at, theme);
  drawStamps(c, scale, width, height, theme);
}

function drawNames(c: CanvasRenderingContext2D, slots: Lane[], row: number, left: number, theme: Theme): void {
  if (row < 9) return;
  c.font = `${Math.min(11, row)}px system-ui, sans-serif`;
  c.textBaseline = 'middle';
  c.fillStyle = theme.quiet;
  slots.forEach((lane, i) =>
    c.fillText(displayLine(lane.name, Math.floor((left - 12) / 6)), 12, TOP + (i + 0.5) * row),
  );
}

// Skips a bar that ends on a pixel which the last bar of its lane covers, unless it failed. So a row has at most as
// many bars as pixels, for a run of any length.
function drawBars(
  c: CanvasRenderingContext2D,
  model: RunModel,
  slots: Lane[],
  row: number,
  scale: Scale,
  now: number,
  theme: Theme,
): void {
  const slotOf = new Map(slots.map((lane, i) => [lane, i]));
  const covered = new Float64Array(slots.length);
  const futureColor = mix(theme.activation, theme.background, 0.28);
  const barHeight = Math.max(1.5, row * 0.62);
  for (const node of model.nodes) {
    if (node.type !== 'activation') continue;
    const slot = slotOf.get(node.lane);
    if (slot === undefined) continue;
    const from = scale.px(node.ts);
    const to = Math.max(from + 1, scale.px(node.endedTs === NEVER ? scale.last : node.endedTs));
    if (to <= covered[slot]! + 0.5 && !node.failed) continue;
    covered[slot] = Math.max(covered[slot]!, to);
    c.fillStyle =
      node.ts > now
        ? futureColor
        : node.endedTs > now
          ? theme.open
          : node.failed
            ? theme.flags.failed
            : theme.activation;
    c.fillRect(from, TOP + slot * row + (row - barHeight) / 2, to - from, barHeight);
  }
}

function drawTicks(c: CanvasRenderingContext2D, model: RunModel, scale: Scale, at: number, theme: Theme): void {
  let last = -9;
  for (const detection of model.detections) {
    const x = scale.px(detection.ts);
    if (x - last < 1.5) continue;
    last = x;
    const color = theme.flags[flagOf([detection])];
    c.fillStyle = detection.at <= at ? color : mix(color, theme.background, 0.35);
    c.beginPath();
    c.moveTo(x - 3.5, 3);
    c.lineTo(x + 3.5, 3);
    c.lineTo(x, 10);
    c.fill();
  }
}

function drawStamps(c: CanvasRenderingContext2D, scale: Scale, width: number, height: number, theme: Theme): void {
  c.font = '10px system-ui, sans-serif';
  c.textBaseline = 'alphabetic';
  c.fillStyle = theme.quiet;
  const n = Math.max(2, Math.floor(width / 160));
  for (let i = 0; i <= n; ++i) {
    const ts = scale.first + ((scale.last - scale.first) * i) / n;
    c.textAlign = i === 0 ? 'left' : i === n ? 'right' : 'center';
    c.fillText(stampText(ts, scale.start), scale.px(ts), height - 4);
  }
  c.textAlign = 'left';
}
