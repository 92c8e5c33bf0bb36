import {describe, expect, it} from 'vitest';
import {zoomed, moved, Frame} from '../../src/graph/frame';
import {histogram, parseMetrics, quantile, total} from '../../src/health/prometheus';
import {RunModel} from '../../src/model/run_model';
import {findAll, focusOf, witnessKeys} from '../../src/scene/focus';
import {MOST_SINGLE, type View} from '../../src/scene/scene';
import {buildScene, cellWidthFor} from '../../src/scene/sums';
import {shown, shownWhole, stampText} from '../../src/scene/text';
import {Script} from './frames';

const all = (rest: Partial<View> = {}): View =>
  ({axis: 'order', from: -1, to: 1e9, cellWidth: 4, at: 1e9, hiddenLanes: new Set(), ...rest});

const chain = (n: number): Script => {
  const s = new Script(new RunModel());
  for (let i = 0; i < n; ++i) s.event(`e${i}`, ['a']).start(`v${i}`, i % 2 ? 'a' : 'b', [`e${i}`]).end(`v${i}`, [{id: `o${i}`, recipients: ['c']}]);
  return s;
};

describe('a scene', () => {
  it('draws recorded edges and no other', () => {
    const s = chain(1);
    const edges = buildScene(s.model, all()).edges.map(({from, to, kind}) => `${from} ${kind} ${to}`);
    const lane = (name: string): string => `l:${s.model.agentLane(name)!.index}`;
    // e0 was given to a, and b took it in all the same: a still waits for it.
    expect(edges).toEqual(['e:e0 consume a:v0', `e:e0 pending ${lane('a')}`, 'a:v0 generated e:o0', `e:o0 pending ${lane('c')}`]);
  });

  it('at a position has only what was there', () => {
    const {nodes, edges} = buildScene(chain(2).model, all({at: 1}));
    expect(nodes.filter((one) => one.node).map((one) => one.key)).toEqual(['e:e0', 'a:v0']);
    expect(edges.map((one) => one.kind)).toContain('open');
  });

  it('leaves hidden lanes and edges to them out', () => {
    const s = chain(1);
    const {nodes} = buildScene(s.model, all({hiddenLanes: new Set([s.model.agentLane('b')!.index])}));
    expect(nodes.map((one) => one.key)).not.toContain('a:v0');
    expect(nodes.map((one) => one.key)).not.toContain('e:o0');  // it lies in the lane of its author
  });

  it('beyond the limit is sums that account for every node', () => {
    const s = chain(400);
    const scene = buildScene(s.model, all(), 1_000);
    expect(scene.summed).toBe(true);
    expect(scene.nodes.reduce((sum, one) => sum + one.count, 0)).toBe(1_200);
    expect(scene.inView).toBe(1_200);
    expect(buildScene(s.model, all(), 1_200).summed).toBe(false);
    expect(MOST_SINGLE).toBe(10_000);
  });

  it('the edges of sums are the recorded ones between cells', () => {
    const scene = buildScene(chain(400).model, all({cellWidth: 1e6}), 10);
    expect(scene.edges.map((one) => one.count).sort()).toEqual([200, 200]);  // outside to a, outside to b; the rest within cells
  });

  it('cells stay where they are while the window moves', () => {
    expect(cellWidthFor(5)).toBe(8);
    const model = chain(400).model;
    const keys = new Set(buildScene(model, all({from: 0}), 10).nodes.map((one) => one.key));
    for (const one of buildScene(model, all({from: 100}), 10).nodes) expect(keys).toContain(one.key);
  });
});

describe('focus', () => {
  it('a search finds events, activations and agents', () => {
    const {model} = chain(3);
    expect(findAll(model, {only: 'all', search: 'E1'}, 1e9, 10).map((one) => one.id)).toEqual(['e1']);
    expect(findAll(model, {only: 'waiting', search: 'o'}, 1e9, 10).map((one) => one.id)).toContain('o2');
    expect(findAll(model, {only: 'all', search: ''}, 1e9, 2).length).toBe(2);
  });

  it('a witness names nodes and who waits', () => {
    const s = new Script(new RunModel()).event('e1', ['a']).detection({rule: 'deadlock', witness: {
      activations: [], events: [{id: 'e1', agent: 'x'}], edges: [{kind: 'pending', from: 'e1', to: 'a'}]}});
    expect([...witnessKeys(s.model, s.model.detections[0]!)]).toEqual(['e:e1', `l:${s.model.agentLane('a')!.index}`]);
  });

  it('nothing asked for, nothing stands out', () => {
    const {model} = chain(1);
    const on = {hovered: null, selected: null, detection: null, filter: {only: 'all' as const, search: ''}};
    expect(focusOf(model, buildScene(model, all()), 1e9, on)).toBeNull();
    const flagged = focusOf(model, buildScene(model, all()), 1e9, {...on, filter: {only: 'flagged', search: ''}});
    expect(flagged?.size).toBe(0);
  });
});

describe('the window', () => {
  const bounds = {from: 0, to: 100};
  it('stays within what there is', () => {
    expect(moved({from: 10, to: 30}, -50, bounds)).toEqual({from: 0, to: 20});
    expect(zoomed({from: 10, to: 30}, 20, 100, bounds)).toEqual(bounds);
    const close = zoomed({from: 10, to: 30}, 20, 0.001, bounds);
    expect(close.to - close.from).toBe(6);
  });
  it('pixels and back', () => {
    const frame = new Frame({width: 1000, height: 400}, 4, 0, 50);
    expect(frame.x(frame.px(17))).toBeCloseTo(17);
    expect(new Frame({width: 1000, height: 100}, 40, 0, 50).scrollMost).toBeGreaterThan(900);
  });
});

describe('text', () => {
  it('shows what is invisible and what turns text around', () => {
    expect(shown('a\u202eb\u0000c')).toBe('a\\u202eb\\u0000c');
    expect(shown('<img src=x onerror=alert(1)>')).toBe('<img src=x onerror=alert(1)>');
    expect(shown('x'.repeat(200), 10)).toBe('xxxxxxxxx…');
    expect(shown('\ud83d')).toBe('\ufffd');
    expect(shownWhole('a\nb\u2066')).toBe('a\nb\\u2066');
  });
  it('stamps are times of day on the wall clock and seconds else', () => {
    expect(stampText(1_700_000_000_123, 1_700_000_000_000)).toBe('22:13:20.123');
    expect(stampText(2_500, 500)).toBe('2.0 s');
    expect(stampText(229_000, 0)).toBe('3:49');
    expect(stampText(3_725_000, 0)).toBe('1:02:05');
  });
});

describe('metrics', () => {
  const text = '# TYPE x histogram\nx_bucket{le="0.001"} 90\nx_bucket{le="0.01"} 99\nx_bucket{le="+Inf"} 100\n' +
    'y{rule="a\\"b",healed="true"} 2\ny 3\n';
  it('are read with their labels', () => {
    const samples = parseMetrics(text);
    expect(total(samples, 'y')).toBe(5);
    expect(samples.get('y')![0]!.labels).toEqual({rule: 'a"b', healed: 'true'});
    const buckets = histogram(samples, 'x');
    expect(buckets.map((one) => one.count)).toEqual([90, 9, 1]);
    expect(quantile(buckets, 0.5)).toBe(0.001);
    expect(quantile(buckets, 0.99)).toBe(0.01);
    expect(quantile([], 0.5)).toBeNull();
  });
});
