// The time line: each agent's activations as bars over the run's clock, detections as ticks, the graph's window shaded, now as a
// line. Press or drag to go to a time.
import {useEffect, useRef} from 'preact/hooks';
import {fitCanvas} from '../graph/layers';
import {mix, type Theme} from '../graph/theme';
import type {RunModel} from '../model/run_model';
import {NEVER, type Lane} from '../model/types';
import {flagOf, slotsOf} from '../scene/scene';
import {shown, stampText} from '../scene/text';

interface Props {
  model: RunModel;
  version: number;
  at: number;
  hidden: ReadonlySet<number>;
  window: {from: number; to: number} | null;  // positions
  theme: Theme;
  go(at: number): void;
}

const TOP = 14;
const LEAST_ROW = 3;
const MOST_BARS = 60_000;  // beyond, only every so-many-th is looked at for the overview

export function Timeline(props: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const {model, at, version, hidden, window: shownWindow, theme, go} = props;
  const slots = slotsOf(model, hidden).filter((lane) => lane.kind === 'agent');
  const height = Math.min(150, Math.max(64, TOP + 18 + slots.length * 16));
  useEffect(() => {
    const element = canvas.current;
    if (element) draw(element, props, slots, element.clientWidth, height);
  }, [model, version, at, hidden, shownWindow, theme, height]);
  const press = (e: PointerEvent): void => {
    if (e.type === 'pointermove' && e.buttons === 0) return;
    const element = canvas.current!;
    const scale = new Scale(model, element.clientWidth);
    go(model.entries.atTime(scale.ts(e.clientX - element.getBoundingClientRect().left)));
  };
  return <canvas ref={canvas} class="timeline" style={{height: `${height}px`}} role="img"
    aria-label={`Time line: ${slots.length} agents, ${model.detections.length} detections. The slider below moves through it.`}
    onPointerDown={press} onPointerMove={press} />;
}

class Scale {
  readonly first: number;
  readonly last: number;
  readonly left: number;
  constructor(model: RunModel, private readonly width: number) {
    this.left = width < 520 ? 64 : 112;
    this.first = model.entries.get(model.entries.first)?.ts ?? 0;
    this.last = Math.max(model.entries.get(model.entries.last)?.ts ?? 1, this.first + 1);
  }
  px(ts: number): number {
    return this.left + ((Math.min(ts, this.last) - this.first) / (this.last - this.first)) * (this.width - this.left - 26);
  }
  ts(px: number): number { return this.first + ((px - this.left) / (this.width - this.left - 26)) * (this.last - this.first); }
}

function draw(canvas: HTMLCanvasElement, {model, at, window: seen, theme}: Props, slots: Lane[], width: number, height: number): void {
  const c = fitCanvas(canvas, width, height);
  const scale = new Scale(model, width);
  const row = Math.max(LEAST_ROW, (height - TOP - 18) / Math.max(1, slots.length));
  const now = model.entries.get(at)?.ts ?? 0;
  if (seen) {
    const [from, to] = [scale.px(model.entries.get(seen.from)?.ts ?? 0), scale.px(model.entries.get(seen.to)?.ts ?? 0)];
    c.fillStyle = mix(theme.accent, theme.background, 0.09);
    c.fillRect(from, TOP - 2, Math.max(2, to - from), height - TOP - 16);
  }
  names(c, slots, row, theme);
  bars(c, model, slots, row, scale, now, theme);
  ticks(c, model, scale, at, theme);
  c.fillStyle = theme.accent;
  c.fillRect(scale.px(now) - 0.75, 4, 1.5, height - 20);
  stamps(c, scale, width, height, theme);
}

function names(c: CanvasRenderingContext2D, slots: Lane[], row: number, theme: Theme): void {
  if (row < 9) return;
  c.font = `${Math.min(11, row)}px system-ui, sans-serif`;
  c.textBaseline = 'middle';
  c.fillStyle = theme.quiet;
  slots.forEach((lane, i) => c.fillText(shown(lane.name, 15), 12, TOP + (i + 0.5) * row));
}

function bars(c: CanvasRenderingContext2D, model: RunModel, slots: Lane[], row: number, scale: Scale, now: number, theme: Theme): void {
  const slotOf = new Map(slots.map((lane, i) => [lane, i]));
  const every = Math.max(1, Math.ceil(model.counts.activations / MOST_BARS));
  const later = mix(theme.activation, theme.background, 0.28);
  const tall = Math.max(1.5, row * 0.62);
  let n = 0;
  for (const node of model.nodes) {
    if (node.what !== 'activation' || n++ % every !== 0) continue;
    const slot = slotOf.get(node.lane);
    if (slot === undefined) continue;
    const from = scale.px(node.ts);
    const to = scale.px(node.endedTs === NEVER ? scale.last : node.endedTs);
    c.fillStyle = node.ts > now ? later : node.endedTs > now ? theme.open : node.failed ? theme.flags.failed : theme.activation;
    c.fillRect(from, TOP + slot * row + (row - tall) / 2, Math.max(1, to - from), tall);
  }
}

function ticks(c: CanvasRenderingContext2D, model: RunModel, scale: Scale, at: number, theme: Theme): void {
  for (const one of model.detections) {
    const color = theme.flags[flagOf([one])];
    c.fillStyle = one.at <= at ? color : mix(color, theme.background, 0.35);
    const x = scale.px(one.ts);
    c.beginPath();
    c.moveTo(x - 3.5, 3);
    c.lineTo(x + 3.5, 3);
    c.lineTo(x, 10);
    c.fill();
  }
}

function stamps(c: CanvasRenderingContext2D, scale: Scale, width: number, height: number, theme: Theme): void {
  c.font = '10px system-ui, sans-serif';
  c.textBaseline = 'alphabetic';
  c.fillStyle = theme.quiet;
  const n = Math.max(2, Math.floor(width / 160));
  for (let i = 0; i <= n; ++i) {
    const ts = scale.first + ((scale.last - scale.first) * i) / n;
    c.textAlign = i === 0 ? 'left' : i === n ? 'right' : 'center';
    c.fillText(stampText(Math.round(ts), scale.first), scale.px(ts), height - 4);
  }
  c.textAlign = 'left';
}
