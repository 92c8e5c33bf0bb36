// One run: its graph, time line and detections, at a position in its time.
import {useCallback, useEffect, useMemo, useRef, useState} from 'preact/hooks';
import type {Theme} from '../graph/theme';
import type {Detection, Node} from '../model/types';
import {getFile, runPath} from '../net/api';
import {token} from '../net/session';
import type {RunSession} from '../run_session';
import {findAll, witnessNodes, type Filter} from '../scene/focus';
import type {Axis} from '../scene/scene';
import {plural, ruleName, shown} from '../scene/text';
import {Detections} from './detections';
import {Filters} from './filters';
import {GraphPanel} from './graph_panel';
import {Inspector} from './inspector';
import {Legend} from './legend';
import {Timeline} from './timeline';
import {Transport} from './transport';
import {usePlay} from './play';

const MOST_FOUND = 1_000;

export function RunView({session, version, theme, failed}: {session: RunSession; version: number; theme: Theme; failed(error: unknown): void}) {
  const {model} = session;
  const [held, setHeld] = useState<number | null>(null);  // null: live
  const [axis, setAxis] = useState<Axis>('order');
  const [hidden, setHidden] = useState<ReadonlySet<number>>(new Set());
  const [filter, setFilter] = useState<Filter>({only: 'all', search: ''});
  const [selected, setSelected] = useState<Node | null>(null);
  const [detection, setDetection] = useState<Detection | null>(null);
  const [reveal, setReveal] = useState<{nodes: readonly Node[]; asked: number}>({nodes: [], asked: 0});
  const [seen, setSeen] = useState<{from: number; to: number} | null>(null);
  const {first, last} = model.entries;
  const at = held === null ? last : Math.min(Math.max(held, first), Math.max(first, last));
  const go = useCallback((to: number) => setHeld(Math.min(Math.max(to, model.entries.first), model.entries.last)), [model]);
  const [playing, play] = usePlay(model, at, go, () => setHeld(null));
  const show = (nodes: readonly Node[]): void => setReveal({nodes, asked: reveal.asked + 1});

  const choose = (node: Node | null): void => {
    setSelected(node);
    setDetection(null);
  };
  const chooseDetection = (one: Detection | null): void => {
    setDetection(one);
    setSelected(null);
    if (one) show(witnessNodes(model, one));
  };
  const turn = useRef(0);
  const found = useMemo(() => (filter.search === '' ? null : findAll(model, filter, at, MOST_FOUND)), [model, version, filter, at]);
  const next = (): void => {
    if (!found || found.length === 0) return;
    const node = found[turn.current++ % found.length]!;
    choose(node);
    show([node]);
  };
  const pressed = useRef<(e: KeyboardEvent) => void>(() => undefined);
  pressed.current = (e) => {
    if (isTyping(e.target) || e.ctrlKey || e.metaKey || e.altKey) return;
    const act = {' ': () => (held === null ? go(last) : play(!playing)), ',': () => go(at - 1), '.': () => go(at + 1),
      l: () => setHeld(null), Home: () => go(first), Escape: () => { choose(null); }}[e.key];
    if (!act || (e.key === ' ' && e.target instanceof HTMLButtonElement)) return;
    e.preventDefault();
    act();
  };
  useEffect(() => {
    const key = (e: KeyboardEvent): void => pressed.current(e);
    document.addEventListener('keydown', key);
    return () => document.removeEventListener('keydown', key);
  }, []);
  const start = model.entries.get(first)?.ts ?? 0;
  return (
    <>
      <main class="run" aria-label={`Run ${shown(session.run)}`}>
        <Title session={session} at={at} failed={failed} />
        <Filters model={model} filter={filter} setFilter={(to) => { turn.current = 0; setFilter(to); }} hidden={hidden} setHidden={setHidden}
          axis={axis} setAxis={setAxis} found={found ? found.length : null} next={next} />
        <GraphPanel model={model} version={version} at={at} axis={axis} hidden={hidden} filter={filter} selected={selected}
          detection={detection} reveal={reveal} theme={theme} select={choose} windowIs={setSeen} />
        <Legend />
        <Timeline model={model} version={version} at={at} hidden={hidden} window={seen} theme={theme} go={go} />
        <Transport model={model} at={at} live={held === null} playing={playing} go={go} goLive={() => { play(false); setHeld(null); }} play={play} />
      </main>
      <aside class="side">
        {selected && <Inspector node={selected} at={at} first={start} choose={(node) => { choose(node); show([node]); }} close={() => choose(null)} />}
        <WouldHave session={session} />
        <Detections run={session.run} failed={failed} model={model} at={at} chosen={detection} choose={chooseDetection} go={go} />
      </aside>
    </>
  );
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLInputElement ? target.type !== 'range' : target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;

function Title({session, at, failed}: {session: RunSession; at: number; failed(error: unknown): void}) {
  const {model, details, run} = session;
  const ended = model.ended && model.ended.at <= at ? model.ended.outcome : null;
  const labels = Object.entries(details?.labels ?? {});
  const feed = {missing: 'There is no such run yet. It appears when a client says hello.', connecting: 'reading…', live: '', waiting: `feed lost (${session.why}); trying again`, closed: ''}[session.feedState];
  return (
    <header class="title">
      <h1><bdi>{shown(run, 100)}</bdi></h1>
      <span class={`pill ${ended ? 'ended' : 'open'}`}>{ended ? shown(ended) : 'open'}</span>
      {details && <span class={`mode ${details.mode}`} title="The mode that the run asked for and may have">{details.mode}</span>}
      {details && details.operator_mode !== 'enforce' && <span class="mode operator">operator: {details.operator_mode}</span>}
      <span class="tally">{plural(model.counts.events, 'event')}, {plural(model.counts.activations, 'activation')}</span>
      {labels.slice(0, 4).map(([name, value]) => <span class="label" key={name}><bdi>{shown(name, 30)}: {shown(value, 40)}</bdi></span>)}
      {feed !== '' && <span class="feed" role="status">{feed}</span>}
      <span class="links">
        <FileLink path={`${runPath(run)}/report?format=html`} name="Report" file={`report-${run}.html`} failed={failed} />
        <FileLink path={`${runPath(run)}/graph?format=dot`} name="DOT" file={`${run}.dot`} failed={failed} />
      </span>
    </header>
  );
}

// A link, where no token is needed; with one the file is fetched and saved, as a link cannot carry it.
function FileLink({path, name, file, failed}: {path: string; name: string; file: string; failed(error: unknown): void}) {
  if (token() === null) return <a href={path} target="_blank" rel="noreferrer">{name}</a>;
  const save = async (): Promise<void> => {
    try {
      const url = URL.createObjectURL(await getFile(path));
      const link = Object.assign(document.createElement('a'), {href: url, download: file.replace(/[^\w.-]/g, '_')});
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    } catch (error) {
      failed(error);
    }
  };
  return <button class="quiet" onClick={() => void save()}>{name}</button>;
}

function WouldHave({session}: {session: RunSession}) {
  const rows = session.details?.would_have ?? [];
  if (rows.length === 0) return null;
  return (
    <section class="would" aria-label="Would have done">
      <h2>Would have done</h2>
      <ul>{rows.map((one) => <li key={one.rule + one.healing}><strong>{one.count}×</strong> {one.healing} for {ruleName(one.rule)}</li>)}</ul>
    </section>
  );
}
