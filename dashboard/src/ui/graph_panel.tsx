// The run's graph with its window: follows what happens, or holds where it was moved to. Pointer: drag to move, wheel or pinch
// to zoom, hover for lineage, press to select. Keys: arrows, + and -, F to see all.
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {Frame, moved, zoomed, type Window} from '../graph/frame';
import {GraphView} from '../graph/graph_view';
import type {Theme} from '../graph/theme';
import {isOpenAt} from '../model/at';
import type {RunModel} from '../model/run_model';
import type {Detection, Node} from '../model/types';
import {focusOf, type Filter} from '../scene/focus';
import {flagOf, headX, slotsOf, xOf, type Axis, type Scene, type SceneNode} from '../scene/scene';
import {buildScene} from '../scene/sums';
import {plural, ruleCode, shown} from '../scene/text';
import {useDrag, type DragTarget} from './drag';

const FOLLOWED = 46;         // columns in the window while following
const CELL_PIXELS = 9;

export interface GraphProps {
  model: RunModel;
  version: number;
  at: number;
  axis: Axis;
  hidden: ReadonlySet<number>;
  filter: Filter;
  selected: Node | null;
  detection: Detection | null;
  reveal: {nodes: readonly Node[]; asked: number};  // nodes to bring into the window, when `asked` changes
  theme: Theme;
  select(node: Node | null): void;
  windowIs(positions: {from: number; to: number}): void;
}

// All there is of a run on the axis, up to the position.
export function boundsOf(model: RunModel, axis: Axis, at: number): Window {
  const first = model.nodes[0];
  const end = headX(model, axis, at);
  const start = first ? xOf(first, axis) : 0;
  const margin = Math.max((end - start) * 0.01, axis === 'order' ? 0.8 : 1);
  return {from: start - margin, to: Math.max(end, start + 1) + margin};
}

function followed(bounds: Window, axis: Axis, columns: number): Window {
  const width = axis === 'order' ? FOLLOWED : Math.max(1, ((bounds.to - bounds.from) * FOLLOWED) / Math.max(FOLLOWED, columns));
  return {from: Math.max(bounds.from, bounds.to - width), to: Math.max(bounds.to, bounds.from + Math.min(width, 12))};
}

function revealed(nodes: readonly Node[], axis: Axis, w: Window, bounds: Window): Window {
  const xs = nodes.map((node) => xOf(node, axis));
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  if (low >= w.from && high <= w.to && w.to - w.from <= 30 * FOLLOWED) return w;
  const width = Math.max((high - low) * 1.3, axis === 'order' ? FOLLOWED / 2 : (w.to - w.from) / 4);
  return zoomed({from: (low + high - width) / 2, to: (low + high + width) / 2}, (low + high) / 2, 1, bounds);
}

export function GraphPanel(props: GraphProps) {
  const {model, version, at, axis, hidden, filter, selected, detection, theme} = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<GraphView | null>(null);
  const [size, setSize] = useState({width: 0, height: 0});
  const [held, setHeld] = useState<Window | null>(null);  // null: following
  const [scroll, setScroll] = useState(0);
  const [hovered, setHovered] = useState<SceneNode | null>(null);
  const [noGraphics, setNoGraphics] = useState('');

  useEffect(() => {
    try {
      view.current = new GraphView(host.current!, theme);
    } catch (error) {
      setNoGraphics((error as Error).message);
    }
    const watch = new ResizeObserver(([entry]) => setSize({width: entry!.contentRect.width, height: entry!.contentRect.height}));
    watch.observe(host.current!);
    return () => {
      watch.disconnect();
      view.current?.destroy();
    };
  }, []);
  useEffect(() => view.current?.retheme(theme), [theme]);
  useEffect(() => setHeld(null), [axis]);

  const bounds = boundsOf(model, axis, at);
  const window = held ?? followed(bounds, axis, model.columns);
  useEffect(() => {
    if (props.reveal.nodes.length > 0) setHeld(revealed(props.reveal.nodes, axis, window, bounds));
  }, [props.reveal.asked]);

  const slots = useMemo(() => slotsOf(model, hidden), [model, version, hidden]);
  const frame = new Frame(size, slots.length, window.from, window.to, scroll);
  const scene = useScene(props, window, frame);
  const focus = useMemo(() => focusOf(model, scene, at, {hovered, selected, detection, filter}),
    [scene, at, hovered, selected, detection, filter]);

  useEffect(() => {
    if (!view.current || size.width === 0) return;
    const active = activeLanes(model, at);
    view.current.show({
      scene, frame, focus, now: headX(model, axis, at), marks: marksOf(props),
      lanes: slots.map((lane) => ({
        name: lane.name, special: lane.kind !== 'agent', left: lane.left <= at, active: active.has(lane.index),
      })),
    });
  }, [scene, focus, size, window.from, window.to, scroll, theme, at, slots]);
  useEffect(() => props.windowIs({from: positionAt(model, axis, window.from), to: positionAt(model, axis, window.to)}),
    [window.from, window.to, model, version]);

  const target: DragTarget = {
    move: (dx, dy) => {
      setHeld(moved(window, -dx * frame.perPixel, bounds));
      setScroll(Math.min(frame.scrollMost, Math.max(0, scroll - dy)));
    },
    zoom: (px, factor) => setHeld(zoomed(window, frame.x(px), factor, bounds)),
    hover: (px, py) => {
      const found = px === null ? null : view.current?.at(px, py) ?? null;
      if (found?.key !== hovered?.key) setHovered(found);
    },
    press: (px, py) => {
      const found = view.current?.at(px, py) ?? null;
      if (found?.span) setHeld(zoomed({from: found.span[0], to: found.span[1]}, found.x, 1.5, bounds));
      else props.select(found?.node ?? null);
    },
  };
  useDrag(host, target);
  const key = (e: KeyboardEvent): void => {
    const step = (window.to - window.from) / 8;
    const middle = (window.from + window.to) / 2;
    const act = {
      ArrowLeft: () => setHeld(moved(window, -step, bounds)), ArrowRight: () => setHeld(moved(window, step, bounds)),
      '+': () => setHeld(zoomed(window, middle, 0.7, bounds)), '-': () => setHeld(zoomed(window, middle, 1.4, bounds)),
      f: () => setHeld(bounds),
    }[e.key];
    if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    act();
  };
  const middle = (window.from + window.to) / 2;
  return (
    <>
      <Banner scene={scene} model={model} axis={axis} />
      <div class="graph">
        <div class="stage" ref={host} tabIndex={0} role="application" onKeyDown={key} aria-label={describe(scene, at, model)} />
        {noGraphics !== '' && <p class="banner wrong" role="alert">The graph needs WebGL, which this browser does not give: {noGraphics}. The time line and the lists work without it.</p>}
        <div class="zoom" role="group" aria-label="Window">
          <button title="Closer (+)" aria-label="Closer" onClick={() => setHeld(zoomed(window, middle, 0.6, bounds))}>+</button>
          <button title="Wider (-)" aria-label="Wider" onClick={() => setHeld(zoomed(window, middle, 1.6, bounds))}>−</button>
          <button title="All of it (F)" aria-label="All of it" onClick={() => setHeld(bounds)}>⤢</button>
          <button title="Follow the newest" aria-pressed={held === null} class={held === null ? 'on' : ''} onClick={() => setHeld(null)}>Follow</button>
        </div>
        {hovered && <Tip node={hovered} at={view.current?.pointOf(hovered)} width={size.width} />}
      </div>
    </>
  );
}

// Built anew when something has changed that it depends on; while the window only moves a little it is kept: it has a margin.
function useScene(props: GraphProps, window: Window, frame: Frame): Scene {
  const built = useRef<{scene: Scene; from: number; to: number; width: number; key: unknown[]} | null>(null);
  const {model, version, at, axis, hidden} = props;
  const key = [model, version, at, axis, hidden];
  const width = window.to - window.from;
  const was = built.current;
  const same = was !== null && key.every((one, i) => one === was.key[i]) && window.from >= was.from && window.to <= was.to &&
    width > was.width * 0.6 && width < was.width * 1.7;
  if (same) return was.scene;
  const margin = width * 0.3;
  const cellWidth = CELL_PIXELS * frame.perPixel;
  const view = {axis, at, hiddenLanes: hidden, cellWidth, from: window.from - margin, to: window.to + margin};
  const scene = buildScene(model, view);
  built.current = {scene, from: view.from, to: view.to, width, key};
  return scene;
}

const positionAt = (model: RunModel, axis: Axis, x: number): number =>
  axis === 'order' ? model.entries.atColumn(Math.round(x)) : model.entries.atTime(x);

function activeLanes(model: RunModel, at: number): Set<number> {
  const out = new Set<number>();
  for (let i = model.nodes.length - 1, looked = 0; i >= 0 && looked < 2_000; --i, ++looked) {
    const node = model.nodes[i]!;
    if (node.what === 'activation' && isOpenAt(node, at)) out.add(node.lane.index);
  }
  return out;
}

function marksOf({model, at, axis, theme, detection}: GraphProps) {
  const x = (column: number, position: number): number => axis === 'order' ? column : model.entries.get(position)?.ts ?? 0;
  const marks = model.detections.filter((one) => one.at <= at).map((one) => ({
    x: x(one.column, one.at), text: ruleCode(one.rule), color: theme.flags[flagOf([one])], strong: one === detection,
  }));
  const others = model.marks.filter((one) => one.at <= at)
    .map((one) => ({x: x(one.column, one.at), text: one.text, color: theme.quiet, strong: false}));
  return [...marks, ...others];
}

function describe(scene: Scene, at: number, model: RunModel): string {
  const found = model.detections.filter((one) => one.at <= at).length;
  return `Graph of the run, ${plural(scene.inView, 'node')} in view${scene.summed ? ', summed by agent and time' : ''}, ` +
    `${plural(found, 'detection')}. Arrow keys move, plus and minus zoom, F shows all.`;
}

function Banner({scene, model, axis}: {scene: Scene; model: RunModel; axis: Axis}) {
  const unit = axis === 'order' ? 'columns' : 'ms';
  return (
    <div class="banners" role="status">
      {scene.summed && <p class="banner summed">{plural(scene.inView, 'node')} in view: summed by agent and time, a cell is {scene.cell.toLocaleString('en')} {unit}.
        Zoom in, or press a cell, for single ones.{scene.edgesLeftOut > 0 && ` The ${scene.edges.length.toLocaleString('en')} heaviest edges are drawn, ${scene.edgesLeftOut.toLocaleString('en')} are not.`}</p>}
      {model.forgotten > 0 && <p class="banner">This page has let go of the {plural(model.forgotten, 'oldest node')}; the archive has them.</p>}
    </div>
  );
}

function Tip({node, at, width}: {node: SceneNode; at: {x: number; y: number} | undefined; width: number}) {
  if (!at) return null;
  const of = node.node;
  const what = of === null ? `${plural(node.count, 'node')}${node.flag === 'none' ? '' : `, ${shown(node.label)}`}`
    : of.what === 'activation' ? `activation of ${shown(of.lane.name, 40)}`
      : of.source ? `event by ${shown(of.lane.name, 40)}` : of.system ? 'event by digd' : 'event from outside';
  return (
    <div class="tip" style={{left: `${Math.min(at.x + 14, Math.max(0, width - 230))}px`, top: `${at.y + 14}px`}}>
      {of && <strong><bdi>{shown(of.id, 60)}</bdi></strong>}
      <span>{what}</span>
    </div>
  );
}
