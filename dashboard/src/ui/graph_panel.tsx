// The graph of the run with its window. The window follows the newest events until the user moves it. Pointer: drag
// pans, wheel or pinch zooms, hover shows the lineage, press selects. Keys: arrows, + and -, F for the whole run.
import type {RefObject} from 'preact';
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {Frame, panned, zoomed, type Window} from '../graph/frame';
import {GraphView} from '../graph/graph_view';
import type {LaneLabel} from '../graph/layers';
import type {Theme} from '../graph/theme';
import {isOpenAt} from '../model/state_at';
import type {RunModel} from '../model/run_model';
import type {Detection, Lane, Node} from '../model/types';
import {focusOf, type Filter} from '../scene/focus';
import {flagOf, headX, slotsOf, type Axis, type Scene, type SceneNode} from '../scene/scene';
import {buildScene} from '../scene/sums';
import {plural, ruleCode, displayLine} from '../scene/text';
import {boundsOf, followed, revealed} from '../scene/window';
import {useDrag, type DragTarget} from './drag';
import {NodeTextInTip} from './node_text';

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
  reveal: {nodes: readonly Node[]; requests: number}; // a change of `requests` brings the nodes into the window
  suspects: readonly Node[]; // the most suspect first
  run: string;
  theme: Theme;
  select(node: Node | null): void;
  onWindow(positions: {from: number; to: number}): void;
}

// Creates the view in `host` and tracks its size and theme. `error` is not empty if the browser has no WebGL.
function useGraphView(host: RefObject<HTMLDivElement>, theme: Theme) {
  const view = useRef<GraphView | null>(null);
  const [size, setSize] = useState({width: 0, height: 0});
  const [error, setError] = useState('');
  useEffect(() => {
    try {
      view.current = new GraphView(host.current!, theme);
    } catch (failure) {
      setError((failure as Error).message);
    }
    const watch = new ResizeObserver(([entry]) =>
      setSize({width: entry!.contentRect.width, height: entry!.contentRect.height}),
    );
    watch.observe(host.current!);
    return () => {
      watch.disconnect();
      view.current?.destroy();
    };
  }, []);
  useEffect(() => view.current?.retheme(theme), [theme]);
  return {view, size, error};
}

export function GraphPanel(props: GraphProps) {
  const {model, version, at, axis, hidden, filter, selected, detection, theme} = props;
  const host = useRef<HTMLDivElement>(null);
  const {view, size, error} = useGraphView(host, theme);
  const [pinned, setPinned] = useState<Window | null>(null); // null: following
  const [scroll, setScroll] = useState(0);
  const [hovered, setHovered] = useState<SceneNode | null>(null);
  useEffect(() => setPinned(null), [axis]);

  const bounds = boundsOf(model, axis, at);
  const window = pinned ?? followed(bounds, axis, model.columns);
  useEffect(() => {
    if (props.reveal.nodes.length > 0) setPinned(revealed(props.reveal.nodes, axis, window, bounds));
  }, [props.reveal.requests]);

  const slots = useMemo(() => slotsOf(model, hidden), [model, version, hidden]);
  const frame = new Frame(size, slots.length, window.from, window.to, scroll);
  const scene = useScene(props, window, frame);
  const focus = useMemo(
    () => focusOf(model, scene, at, {hovered, selected, detection, filter}),
    [scene, at, hovered, selected, detection, filter],
  );
  useEffect(() => {
    if (!view.current || size.width === 0) return;
    view.current.show({
      scene,
      frame,
      focus,
      now: headX(model, axis, at),
      marks: marksOf(props),
      lanes: laneLabels(model, slots, at),
    });
  }, [scene, focus, size, window.from, window.to, scroll, theme, at, slots, props.suspects.length]);
  useEffect(
    () => props.onWindow({from: positionAt(model, axis, window.from), to: positionAt(model, axis, window.to)}),
    [window.from, window.to, model, version],
  );

  const target: DragTarget = {
    move: (dx, dy) => {
      setPinned(panned(window, -dx * frame.perPixel, bounds));
      setScroll(Math.min(frame.maxScroll, Math.max(0, scroll - dy)));
    },
    zoom: (px, factor) => setPinned(zoomed(window, frame.x(px), factor, bounds)),
    hover: (px, py) => {
      const found = px === null ? null : (view.current?.at(px, py) ?? null);
      if (found?.key !== hovered?.key) setHovered(found);
    },
    press: (px, py) => {
      const found = view.current?.at(px, py) ?? null;
      if (found?.span) setPinned(zoomed({from: found.span[0], to: found.span[1]}, found.x, 1.5, bounds));
      else props.select(found?.node ?? null);
    },
  };
  useDrag(host, target);
  return (
    <>
      <Banner scene={scene} model={model} axis={axis} />
      <div class="graph">
        <div
          class="stage"
          ref={host}
          tabIndex={0}
          role="application"
          aria-label={describe(scene, at, model)}
          onKeyDown={(e) => moveByKey(e, window, bounds, setPinned)}
        />
        {error !== '' && (
          <p class="banner wrong" role="alert">
            The graph needs WebGL, which this browser does not provide: {error}. The timeline and the lists work without
            it.
          </p>
        )}
        <WindowButtons window={window} bounds={bounds} following={pinned === null} setPinned={setPinned} />
        {hovered && (
          <Tip node={hovered} at={view.current?.pointOf(hovered)} width={size.width} run={props.run} model={model} />
        )}
      </div>
    </>
  );
}

function moveByKey(e: KeyboardEvent, window: Window, bounds: Window, setPinned: (to: Window) => void): void {
  const step = (window.to - window.from) / 8;
  const middle = (window.from + window.to) / 2;
  const moved = {
    ArrowLeft: () => panned(window, -step, bounds),
    ArrowRight: () => panned(window, step, bounds),
    '+': () => zoomed(window, middle, 0.7, bounds),
    '-': () => zoomed(window, middle, 1.4, bounds),
    f: () => bounds,
  }[e.key];
  if (!moved || e.ctrlKey || e.metaKey || e.altKey) return;
  e.preventDefault();
  setPinned(moved());
}

interface WindowButtonsProps {
  window: Window;
  bounds: Window;
  following: boolean;
  setPinned(to: Window | null): void;
}

function WindowButtons({window, bounds, following, setPinned}: WindowButtonsProps) {
  const zoom = (factor: number): void => setPinned(zoomed(window, (window.from + window.to) / 2, factor, bounds));
  return (
    <div class="zoom" role="group" aria-label="Window">
      <button title="Zoom in (+)" aria-label="Zoom in" onClick={() => zoom(0.6)}>
        +
      </button>
      <button title="Zoom out (-)" aria-label="Zoom out" onClick={() => zoom(1.6)}>
        −
      </button>
      <button title="Whole run (F)" aria-label="Whole run" onClick={() => setPinned(bounds)}>
        ⤢
      </button>
      <button
        title="Follow the newest"
        aria-pressed={following}
        class={following ? 'on' : ''}
        onClick={() => setPinned(null)}
      >
        Follow
      </button>
    </div>
  );
}

function laneLabels(model: RunModel, slots: Lane[], at: number): LaneLabel[] {
  const active = activeLanes(model, at);
  return slots.map((lane) => ({
    name: lane.name,
    special: lane.kind !== 'agent',
    left: lane.leftAt <= at,
    active: active.has(lane.index),
  }));
}

// Rebuilds the scene when its inputs change. The scene has a margin, so it is reused while the window moves only a
// little.
function useScene(props: GraphProps, window: Window, frame: Frame): Scene {
  const built = useRef<{scene: Scene; from: number; to: number; width: number; key: unknown[]} | null>(null);
  const {model, version, at, axis, hidden} = props;
  const key = [model, version, at, axis, hidden];
  const width = window.to - window.from;
  const previous = built.current;
  const same =
    previous !== null &&
    key.every((part, i) => part === previous.key[i]) &&
    window.from >= previous.from &&
    window.to <= previous.to &&
    width > previous.width * 0.6 &&
    width < previous.width * 1.7;
  if (same) return previous.scene;
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
  const active = new Set<number>();
  for (let i = model.nodes.length - 1, visited = 0; i >= 0 && visited < 2_000; --i, ++visited) {
    const node = model.nodes[i]!;
    if (node.type === 'activation' && isOpenAt(node, at)) active.add(node.lane.index);
  }
  return active;
}

function marksOf({model, at, axis, theme, detection: chosen, suspects}: GraphProps) {
  const x = (column: number, position: number): number =>
    axis === 'order' ? column : (model.entries.get(position)?.ts ?? 0);
  const marks = model.detections
    .filter((detection) => detection.at <= at)
    .map((detection) => ({
      x: x(detection.column, detection.at),
      text: ruleCode(detection.rule),
      color: theme.flags[flagOf([detection])],
      strong: detection === chosen,
    }));
  const runMarks = model.marks
    .filter((mark) => mark.at <= at)
    .map((mark) => ({x: x(mark.column, mark.at), text: mark.text, color: theme.quiet, strong: false, minor: true}));
  const suspectMarks = suspects
    .map((node, i) => ({
      x: x(node.column, node.createdAt),
      text: `suspect ${i + 1}`,
      color: theme.flags.failed,
      strong: i === 0,
      at: node.createdAt,
    }))
    .filter((mark) => mark.at <= at);
  return [...marks, ...runMarks, ...suspectMarks];
}

function describe(scene: Scene, at: number, model: RunModel): string {
  const found = model.detections.filter((detection) => detection.at <= at).length;
  return (
    `Graph of the run, ${plural(scene.inView, 'node')} in view${scene.summed ? ', summed by agent and time' : ''}, ` +
    `${plural(found, 'detection')}. Arrow keys move, plus and minus zoom, F shows all.`
  );
}

function Banner({scene, model, axis}: {scene: Scene; model: RunModel; axis: Axis}) {
  const unit = axis === 'order' ? 'columns' : 'ms';
  const count = (n: number): string => n.toLocaleString('en');
  return (
    <div class="banners" role="status">
      {scene.summed && (
        <p class="banner summed">
          {plural(scene.inView, 'node')} in view: summed by agent and time; a cell is {count(scene.cell)} {unit}. Zoom
          in or press a cell for single nodes.
          {scene.edgesLeftOut > 0 &&
            ` The ${count(scene.edges.length)} heaviest edges are drawn, ${count(scene.edgesLeftOut)} are not.`}
        </p>
      )}
      {model.forgotten > 0 && (
        <p class="banner">
          This page has dropped the {plural(model.forgotten, 'oldest node')}; the archive still has them.
        </p>
      )}
    </div>
  );
}

interface TipProps {
  node: SceneNode;
  at: {x: number; y: number} | undefined;
  width: number;
  run: string;
  model: RunModel;
}

function Tip({node, at, width, run, model}: TipProps) {
  if (!at) return null;
  const modelNode = node.node;
  const description =
    modelNode === null
      ? `${plural(node.count, 'node')}${node.flag === 'none' ? '' : `, ${displayLine(node.label)}`}`
      : modelNode.type === 'activation'
        ? `activation of ${displayLine(modelNode.lane.name, 40)}`
        : modelNode.source
          ? `event by ${displayLine(modelNode.lane.name, 40)}`
          : modelNode.system
            ? 'event by digd'
            : 'event from outside';
  return (
    <div class="tip" style={{left: `${Math.min(at.x + 14, Math.max(0, width - 230))}px`, top: `${at.y + 14}px`}}>
      {modelNode && (
        <strong>
          <bdi>{displayLine(modelNode.id, 60)}</bdi>
        </strong>
      )}
      <span>{description}</span>
      {modelNode && <NodeTextInTip run={run} model={model} node={modelNode} />}
    </div>
  );
}
