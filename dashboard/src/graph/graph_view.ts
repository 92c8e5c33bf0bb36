// Draws a scene: sigma draws nodes and edges, a canvas below it the lanes, a canvas above it the marks. It owns no
// data; it draws the picture it is given and finds the node at a point.
import {MultiDirectedGraph} from 'graphology';
import Sigma from 'sigma';
import {EdgeArrowProgram, EdgeLineProgram, EdgeRectangleProgram, NodePointProgram} from 'sigma/rendering';
import type {EdgeDisplayData, NodeDisplayData} from 'sigma/types';
import type {Flag, Scene, SceneEdge, SceneNode, Shape} from '../scene/scene';
import type {Frame} from './frame';
import {ShapeProgram, forms, rings, type ShapeData} from './shape_program';
import {drawLabels} from './labels';
import {drawBackdrop, drawMarks, fitCanvas, type LaneLabel, type MarkLabel} from './layers';
import {mix, type Theme} from './theme';

const MAX_LABELLED_NODES = 160; // beyond, no names
const MAX_ARROWS = 1_500; // beyond, edges have no heads
const MAX_SHAPED_NODES = 3_000; // beyond, nodes without a ring are dots: too small to show their form
const MAX_THICK_EDGES = 4_000; // beyond, an edge is one pixel wide: cheap without graphics hardware

const formByShape: Record<Shape, number> = {
  event: forms.disc,
  root: forms.hollow,
  activation: forms.square,
  submit: forms.diamond,
  system: forms.triangle,
  head: forms.arrow,
  cell: forms.cell,
};
const ringByFlag: Record<Flag, number> = {
  none: rings.none,
  healed: rings.thin,
  failure: rings.thick,
  failed: rings.thick,
  warning: rings.dotted,
  shadow: rings.dashed,
};

export interface Picture {
  scene: Scene;
  frame: Frame;
  lanes: LaneLabel[];
  marks: MarkLabel[];
  now: number; // x
  focus: ReadonlySet<string> | null; // keys of the highlighted nodes; null: no highlight
}

export class GraphView {
  private readonly graph = new MultiDirectedGraph();
  private readonly sigma: Sigma;
  private readonly backdrop: HTMLCanvasElement;
  private readonly marks: HTMLCanvasElement;
  private readonly sigmaBox: HTMLDivElement;
  private picture: Picture | null = null;
  private drawnScene: Scene | null = null;
  private width = 0;
  private height = 0;

  constructor(
    private readonly host: HTMLElement,
    private theme: Theme,
  ) {
    this.backdrop = layer(host, 'canvas');
    this.sigmaBox = layer(host, 'div');
    this.sigma = new Sigma(this.graph, this.sigmaBox, {
      allowInvalidContainer: true,
      stagePadding: 0,
      defaultNodeType: 'shape',
      defaultEdgeType: 'line',
      nodeProgramClasses: {shape: ShapeProgram, dot: NodePointProgram},
      edgeProgramClasses: {thin: EdgeLineProgram, line: EdgeRectangleProgram, arrow: EdgeArrowProgram},
      enableCameraPanning: false,
      enableCameraZooming: false,
      enableCameraRotation: false,
      itemSizesReference: 'screen',
      zoomToSizeRatioFunction: () => 1,
      minEdgeThickness: 1.1,
      renderLabels: false,
      zIndex: true,
      defaultDrawNodeHover: () => undefined,
      nodeReducer: (key, data) => this.nodeLook(key, data as unknown as ShapeData),
      edgeReducer: (_, data) => this.edgeLook(data as unknown as EdgeDisplayData & {from: string; to: string}),
    });
    this.sigma.getCamera().disable();
    this.marks = layer(host, 'canvas');
    this.marks.style.pointerEvents = 'none';
  }

  retheme(theme: Theme): void {
    this.theme = theme;
    this.drawnScene = null;
    if (this.picture) this.show(this.picture);
  }

  // Cheap if only the frame or the focus has changed since the last call.
  show(picture: Picture): void {
    this.picture = picture;
    const {frame, scene} = picture;
    const {width, height} = frame.size;
    if (width !== this.width || height !== this.height) {
      [this.width, this.height] = [width, height];
      this.sigma.resize();
      this.sigma.setCustomBBox({x: [0, width], y: [0, height]});
    }
    if (scene !== this.drawnScene) this.fill(scene);
    else this.place(scene);
    this.drawnScene = scene;
    drawBackdrop(this.backdrop, frame, this.theme, picture.lanes, picture.marks, picture.now);
    fitCanvas(this.marks, width, height);
    this.label(picture);
    drawMarks(this.marks, frame, this.theme, picture.lanes, picture.marks);
    this.sigma.refresh();
  }

  // The node nearest to a point of the host, in pixels; null if none is within 15 pixels.
  at(px: number, py: number): SceneNode | null {
    if (!this.picture) return null;
    const {frame, scene} = this.picture;
    let nearest: SceneNode | null = null;
    let bestDistance = 15 * 15;
    for (const node of scene.nodes) {
      const dx = frame.px(node.x) - px;
      if (dx * dx > bestDistance) continue;
      const dy = this.py(node) - py;
      const distance = dx * dx + dy * dy;
      if (distance < bestDistance && node.shape !== 'head') [nearest, bestDistance] = [node, distance];
    }
    return nearest;
  }

  pointOf(node: SceneNode): {x: number; y: number} {
    return {x: this.picture!.frame.px(node.x), y: this.py(node)};
  }

  destroy(): void {
    this.sigma.kill();
    this.host.replaceChildren();
  }

  private py(node: SceneNode): number {
    if (node.shape === 'cell' || node.shape === 'head') {
      return this.picture!.frame.laneTop(node.slot) + this.picture!.frame.laneHeight / 2;
    }
    return this.picture!.frame.py(node.slot, node.shape === 'activation', node.row, node.rows);
  }

  private radius(node: SceneNode): number {
    const {frame, scene} = this.picture!;
    if (scene.summed)
      return Math.max(1.5, node.size * Math.min((scene.cell / frame.perPixel) * 0.55, frame.laneHeight * 0.42));
    const area = (frame.plotWidth * frame.laneHeight * frame.slots) / Math.max(1, scene.inView);
    return Math.min(Math.max(0.12 * Math.sqrt(area), 1.8), node.shape === 'activation' ? 7.5 : 6.5);
  }

  private fill(scene: Scene): void {
    const {graph} = this;
    graph.clear();
    const edgeCount = scene.edges.length;
    const type = edgeCount > MAX_THICK_EDGES ? 'thin' : scene.summed || edgeCount > MAX_ARROWS ? 'line' : 'arrow';
    const height = this.picture!.frame.size.height;
    for (const node of scene.nodes) {
      graph.addNode(node.key, {
        x: this.picture!.frame.px(node.x),
        y: height - this.py(node),
        size: this.radius(node),
        color: this.fillOf(node),
        form: formByShape[node.shape],
        ring: node.shape === 'cell' ? rings.none : ringByFlag[node.flag],
        ringColor: this.theme.flags[node.flag],
        type: scene.nodes.length > MAX_SHAPED_NODES && node.flag === 'none' ? 'dot' : 'shape',
        zIndex: 0,
      });
    }
    const maxCount = scene.edges.reduce((m, edge) => Math.max(m, edge.count), 1);
    for (const edge of scene.edges) {
      const size = edge.kind === 'sum' ? 1.4 + 2 * (edge.count / maxCount) : emphasizedKinds.has(edge.kind) ? 2 : 1.5;
      graph.addDirectedEdge(edge.from, edge.to, {
        size,
        color: this.colourOf(edge, edge.count / maxCount, edgeCount),
        type,
        from: edge.from,
        to: edge.to,
        zIndex: emphasizedKinds.has(edge.kind) ? 1 : 0,
      });
    }
  }

  // With many edges, the ordinary ones are drawn paler so that they do not fill the picture.
  private colourOf(edge: SceneEdge, weight: number, edgeCount: number): string {
    const {edges, background} = this.theme;
    if (edge.kind === 'sum') return mix(edges.sum, background, 0.35 + 0.65 * weight);
    return edgeCount > MAX_THICK_EDGES && !emphasizedKinds.has(edge.kind)
      ? mix(edges[edge.kind], background, 0.35)
      : edges[edge.kind];
  }

  private place(scene: Scene): void {
    const height = this.picture!.frame.size.height;
    let i = 0;
    this.graph.updateEachNodeAttributes(
      (_, attributes) => {
        const node = scene.nodes[i++]!;
        attributes.x = this.picture!.frame.px(node.x);
        attributes.y = height - this.py(node);
        attributes.size = this.radius(node);
        return attributes;
      },
      {attributes: ['x', 'y', 'size']},
    );
  }

  private fillOf(node: SceneNode): string {
    const {theme} = this;
    if (node.shape === 'cell')
      return node.flag === 'none'
        ? theme.cell
        : mix(theme.flags[node.flag], theme.cell, Math.min(1, 0.08 + 4 * node.share));
    if (node.shape === 'head') return theme.quiet;
    if (node.flag === 'failed') return theme.flags.failed;
    if (node.shape === 'activation') return node.live ? theme.open : theme.activation;
    if (node.shape === 'submit') return theme.submit;
    if (node.shape === 'system') return theme.system;
    return node.live ? theme.waiting : theme.event;
  }

  private nodeLook(key: string, data: ShapeData): Partial<NodeDisplayData> {
    const focus = this.picture?.focus;
    if (!focus || focus.has(key)) return focus ? {...data, zIndex: 1} : data;
    const ground = this.theme.background;
    return {
      ...data,
      color: mix(data.color, ground, 0.35),
      ringColor: mix(data.ringColor, ground, 0.4),
    } as Partial<ShapeData>;
  }

  private edgeLook(data: EdgeDisplayData & {from: string; to: string}): Partial<EdgeDisplayData> {
    const focus = this.picture?.focus;
    if (!focus) return data;
    if (focus.has(data.from) && focus.has(data.to)) return {...data, zIndex: 2, size: data.size + 1};
    return {...data, color: mix(data.color, this.theme.background, 0.25)};
  }

  private label({scene, frame, focus}: Picture): void {
    const visible = scene.nodes.filter(
      (node) => node.node !== null && frame.px(node.x) > frame.left - 20 && frame.px(node.x) < frame.size.width,
    );
    if (scene.summed || (visible.length > MAX_LABELLED_NODES && !(focus && focus.size < MAX_LABELLED_NODES))) return;
    const spots = visible.map((node) => ({node, x: frame.px(node.x), y: this.py(node), radius: this.radius(node)}));
    drawLabels(this.marks.getContext('2d')!, spots, focus, this.theme, frame);
  }
}

const emphasizedKinds: ReadonlySet<string> = new Set(['wait', 'reroute', 'pending', 'open', 'discard', 'failed']);

function layer<K extends 'canvas' | 'div'>(host: HTMLElement, tag: K): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  element.className = 'layer';
  element.setAttribute('aria-hidden', 'true');
  host.append(element);
  return element;
}
