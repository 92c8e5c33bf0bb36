import {describe, expect, it} from 'vitest';
import {zoomed, panned, Frame} from '../../src/graph/frame';
import {histogram, parseMetrics, quantile, total} from '../../src/health/prometheus';
import {RunModel} from '../../src/model/run_model';
import {findAll, focusOf, witnessKeys} from '../../src/scene/focus';
import {flagOf, MAX_SINGLE_NODES, type View} from '../../src/scene/scene';
import {buildScene, cellWidthFor} from '../../src/scene/sums';
import {dateText, displayLine, displayText, fittingLine, stampText} from '../../src/scene/text';
import {Script} from './frames';

const viewOf = (rest: Partial<View> = {}): View => ({
  axis: 'order',
  from: -1,
  to: 1e9,
  cellWidth: 4,
  at: 1e9,
  hiddenLanes: new Set(),
  ...rest,
});

const chain = (n: number): Script => {
  const s = new Script(new RunModel());
  for (let i = 0; i < n; ++i)
    s.event(`e${i}`, ['a'])
      .start(`v${i}`, i % 2 ? 'a' : 'b', [`e${i}`])
      .end(`v${i}`, [{id: `o${i}`, recipients: ['c']}]);
  return s;
};

describe('the ring of a detection', () => {
  const ringOf = (detection: object): string => {
    const s = new Script(new RunModel()).event('e1', ['a']).detection({rule: 'orphaned_event', ...detection});
    return flagOf(s.model.detections);
  };
  it('is dashed only where digd would have healed', () => {
    expect(ringOf({healed: false, healing: 'inject', cause: 'mode'})).toBe('shadow');
    expect(ringOf({healed: false, healing: null, cause: 'mode', severity: 'failure'})).toBe('failure');
    expect(ringOf({healed: true, healing: 'inject', cause: null})).toBe('healed');
  });
});

describe('a scene', () => {
  it('draws only recorded edges', () => {
    const s = chain(1);
    const edges = buildScene(s.model, viewOf()).edges.map(({from, to, kind}) => `${from} ${kind} ${to}`);
    const lane = (name: string): string => `l:${s.model.agentLane(name)!.index}`;
    // e0 went to a, but b consumed it: it is still pending with a.
    expect(edges).toEqual([
      'e:e0 consume a:v0',
      `e:e0 pending ${lane('a')}`,
      'a:v0 generated e:o0',
      `e:o0 pending ${lane('c')}`,
    ]);
  });

  it('at a position has only the nodes that existed there', () => {
    const {nodes, edges} = buildScene(chain(2).model, viewOf({at: 1}));
    expect(nodes.filter((node) => node.node).map((node) => node.key)).toEqual(['e:e0', 'a:v0']);
    expect(edges.map((edge) => edge.kind)).toContain('open');
  });

  it('leaves out hidden lanes and their edges', () => {
    const s = chain(1);
    const {nodes} = buildScene(s.model, viewOf({hiddenLanes: new Set([s.model.agentLane('b')!.index])}));
    expect(nodes.map((node) => node.key)).not.toContain('a:v0');
    expect(nodes.map((node) => node.key)).not.toContain('e:o0'); // an event lies in the lane of its author
  });

  it('beyond the limit is summed, and the sums count every node', () => {
    const s = chain(400);
    const scene = buildScene(s.model, viewOf(), 1_000);
    expect(scene.summed).toBe(true);
    expect(scene.nodes.reduce((sum, node) => sum + node.count, 0)).toBe(1_200);
    expect(scene.inView).toBe(1_200);
    expect(buildScene(s.model, viewOf(), 1_200).summed).toBe(false);
    expect(MAX_SINGLE_NODES).toBe(10_000);
  });

  it('an edge to a cell outside the window does not count as left out', () => {
    const {model} = chain(400);
    const leftOut = Array.from({length: 20}, (_, i) => buildScene(model, viewOf({to: 500 + i}), 10).edgesLeftOut);
    expect(Math.max(...leftOut)).toBe(0);
  });

  it('summed edges count the recorded edges between cells', () => {
    const scene = buildScene(chain(400).model, viewOf({cellWidth: 1e6}), 10);
    // From outside to a and from outside to b; all other edges lie within a cell.
    expect(scene.edges.map((edge) => edge.count).sort()).toEqual([200, 200]);
  });

  it('cells keep their place while the window moves', () => {
    expect(cellWidthFor(5)).toBe(8);
    const model = chain(400).model;
    const keys = new Set(buildScene(model, viewOf({from: 0}), 10).nodes.map((node) => node.key));
    for (const node of buildScene(model, viewOf({from: 100}), 10).nodes) expect(keys).toContain(node.key);
  });
});

describe('focus', () => {
  it('a search finds events, activations and agents', () => {
    const {model} = chain(3);
    expect(findAll(model, {state: 'all', search: 'E1'}, 1e9, 10).map((node) => node.id)).toEqual(['e1']);
    expect(findAll(model, {state: 'waiting', search: 'o'}, 1e9, 10).map((node) => node.id)).toContain('o2');
    expect(findAll(model, {state: 'all', search: ''}, 1e9, 2).length).toBe(2);
  });

  it('a witness highlights its nodes and the waiting agents', () => {
    const s = new Script(new RunModel())
      .event('e1', ['a'])
      .detection({
        rule: 'deadlock',
        witness: {activations: [], events: [{id: 'e1', agent: 'x'}], edges: [{kind: 'pending', from: 'e1', to: 'a'}]},
      });
    expect([...witnessKeys(s.model, s.model.detections[0]!)]).toEqual(['e:e1', `l:${s.model.agentLane('a')!.index}`]);
  });

  it('without a filter nothing is highlighted', () => {
    const {model} = chain(1);
    const attention = {hovered: null, selected: null, detection: null, filter: {state: 'all' as const, search: ''}};
    expect(focusOf(model, buildScene(model, viewOf()), 1e9, attention)).toBeNull();
    const flagged = focusOf(model, buildScene(model, viewOf()), 1e9, {
      ...attention,
      filter: {state: 'flagged', search: ''},
    });
    expect(flagged?.size).toBe(0);
  });
});

describe('the window', () => {
  const bounds = {from: 0, to: 100};
  it('stays within bounds', () => {
    expect(panned({from: 10, to: 30}, -50, bounds)).toEqual({from: 0, to: 20});
    expect(zoomed({from: 10, to: 30}, 20, 100, bounds)).toEqual(bounds);
    const close = zoomed({from: 10, to: 30}, 20, 0.001, bounds);
    expect(close.to - close.from).toBe(6);
  });
  it('maps pixels to x and back', () => {
    const frame = new Frame({width: 1000, height: 400}, 4, 0, 50);
    expect(frame.x(frame.px(17))).toBeCloseTo(17);
    expect(new Frame({width: 1000, height: 100}, 40, 0, 50).maxScroll).toBeGreaterThan(900);
  });
});

describe('text', () => {
  it('escapes invisible and bidirectional characters', () => {
    expect(displayLine('a\u202eb\u0000c')).toBe('a\\u202eb\\u0000c');
    expect(displayLine('a\u200bb\ufeffc\u{e0041}d')).toBe('a\\u200bb\\ufeffc\\udb40\\udc41d');
    expect(displayLine('<img src=x onerror=alert(1)>')).toBe('<img src=x onerror=alert(1)>');
    expect(displayLine('x'.repeat(200), 10)).toBe('xxxxxxxxx…');
    expect(displayLine('\ud83d')).toBe('\ufffd');
    expect(displayText('a\nb\u2066')).toBe('a\nb\\u2066');
  });
  it('cuts a name to the width that it has', () => {
    const measure = (line: string): number => line.length * 7;
    expect(fittingLine('coder', 35, measure)).toBe('coder');
    expect(fittingLine('coder', 34, measure)).toBe('cod…');
    expect(fittingLine('researcher-with-a-long-name', 60, measure)).toBe('researc…');
    expect(measure(fittingLine('a\u202eb\u202ec', 60, measure))).toBeLessThanOrEqual(60);
    expect(fittingLine('coder', 1, measure)).toBe('…');
  });
  it('shows every stamp as the time since the first message, as reports do', () => {
    expect(stampText(1_700_000_000_123, 1_700_000_000_000)).toBe('123 ms');
    expect(stampText(2_500, 500)).toBe('2.0 s');
    expect(stampText(1_250, 0)).toBe('1.3 s');
    expect(stampText(1_450, 0)).toBe('1.5 s');
    expect(stampText(229_000, 0)).toBe('3:49');
    expect(stampText(3_725_000, 0)).toBe('1:02:05');
  });
  it('gives the date of a wall clock alone', () => {
    expect(dateText(1_700_000_000_123)).toBe('2023-11-14 22:13:20.123 UTC');
    expect(dateText(1_400)).toBeNull();
  });
});

describe('metrics', () => {
  const text =
    '# TYPE x histogram\nx_bucket{le="0.001"} 90\nx_bucket{le="0.01"} 99\nx_bucket{le="+Inf"} 100\n' +
    'y{rule="a\\"b",healed="true"} 2\ny 3\n';
  it('are parsed with their labels', () => {
    const samples = parseMetrics(text);
    expect(total(samples, 'y')).toBe(5);
    expect(samples.get('y')![0]!.labels).toEqual({rule: 'a"b', healed: 'true'});
    const buckets = histogram(samples, 'x');
    expect(buckets.map((bucket) => bucket.count)).toEqual([90, 9, 1]);
    expect(quantile(buckets, 0.5)).toBe(0.001);
    expect(quantile(buckets, 0.99)).toBe(0.01);
    expect(quantile([], 0.5)).toBeNull();
  });
});
