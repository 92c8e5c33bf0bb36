// One run at a position: graph, timeline, detections and the selected node.
import {useCallback, useContext, useEffect, useMemo, useRef, useState} from 'preact/hooks';
import type {Theme} from '../graph/theme';
import type {RunModel} from '../model/run_model';
import type {Detection, Node} from '../model/types';
import {laneKey, readAddress, wholeRun, writeAddress, type View} from '../net/address';
import {getFile, runPath, type RunRow} from '../net/api';
import {token} from '../net/session';
import type {RunSession} from '../run_session';
import {findAll, witnessNodes, type Filter} from '../scene/focus';
import {firstFailure} from '../scene/detection_groups';
import type {Axis} from '../scene/scene';
import {dateText, plural, ruleName, displayLine} from '../scene/text';
import {Answer} from './answer';
import {CompareWith} from './compare';
import {suspectNodes} from '../scene/suspects';
import type {Suspect} from '../net/attribution';
import {Detections} from './detections';
import {Filters} from './filters';
import {GraphPanel} from './graph_panel';
import {Holds} from './holds';
import {Inspector} from './inspector';
import {Legend} from './legend';
import {useNarrow} from './narrow';
import {ReadingProgress} from './progress';
import {Spending} from './spending';
import {Timeline} from './timeline';
import {Transport} from './transport';
import {usePlay} from './play';
import {useTextSearch} from './text_search';
import {Viewing} from './viewing';

const MAX_FOUND = 1_000;
const MAX_TEXT_PAGES = 10; // of 100 texts
const ADDRESS_DELAY_MS = 300;

// Space presses these.
const hasOwnSpace = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('button, summary, a, [role="radio"]') !== null;

// Runs the action of a pressed key, unless the user types into a field. The listener stays; the actions may change.
function useKeys(actions: Record<string, () => void>): void {
  const current = useRef(actions);
  current.current = actions;
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      if (isTyping(e.target) || e.ctrlKey || e.metaKey || e.altKey) return;
      if (document.querySelector('dialog[open]')) return; // its keys, Escape first, are the browser's
      const act = Object.hasOwn(current.current, e.key) ? current.current[e.key] : undefined;
      if (!act || (e.key === ' ' && hasOwnSpace(e.target))) return;
      e.preventDefault();
      act();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

interface Props {
  session: RunSession;
  version: number;
  theme: Theme;
  runs: readonly RunRow[];
  failed(error: unknown): void;
}

// The view in the address. If the address names another run, the view of the whole run.
function viewInAddress(run: string): View {
  const address = readAddress();
  return address.run === run ? address.view : wholeRun;
}

// Keeps the address at the view. The delay spares the browser while the run plays.
function useAddress(run: string, view: View): void {
  useEffect(() => {
    const timer = window.setTimeout(() => writeAddress(run, view), ADDRESS_DELAY_MS);
    return () => clearTimeout(timer);
  }, [run, JSON.stringify(view)]);
}

// The position on display: live, held, or playing. `at` is always within the kept entries.
function usePosition(model: RunModel, first: number | null) {
  const [held, setHeld] = useState<number | null>(first); // null: live
  const {entries} = model;
  const newest = Math.max(entries.first, entries.last);
  const at = held === null ? entries.last : Math.min(Math.max(held, entries.first), newest);
  const go = useCallback(
    (to: number) => setHeld(Math.min(Math.max(to, model.entries.first), model.entries.last)),
    [model],
  );
  const [playing, play] = usePlay(model, at, go, () => setHeld(null));
  const goLive = (): void => {
    play(false);
    setHeld(null);
  };
  return {at, held, live: held === null, playing, go, goLive, play};
}

// The selected node or the chosen detection, never both, and the nodes to bring into the window.
function useSelection(model: RunModel) {
  const [selected, setSelected] = useState<Node | null>(null);
  const [detection, setDetection] = useState<Detection | null>(null);
  const [reveal, setReveal] = useState<{nodes: readonly Node[]; requests: number}>({nodes: [], requests: 0});
  const show = (nodes: readonly Node[]): void => setReveal({nodes, requests: reveal.requests + 1});

  const choose = (node: Node | null): void => {
    setSelected(node);
    setDetection(null);
  };
  const chooseAndShow = (node: Node): void => {
    choose(node);
    show([node]);
  };
  const chooseDetection = (picked: Detection | null): void => {
    setDetection(picked);
    setSelected(null);
    if (picked) show(witnessNodes(model, picked));
  };
  return {selected, detection, reveal, choose, chooseAndShow, chooseDetection};
}

export function RunView({session, version, theme, runs, failed}: Props) {
  const {model} = session;
  const viewing = useContext(Viewing);
  const [opening] = useState(() => viewInAddress(session.run));
  const {at, held, live, playing, go, goLive, play} = usePosition(model, opening.at);
  const [axis, setAxis] = useState<Axis>(opening.axis);
  const [hiddenNames, setHiddenNames] = useState<readonly string[]>(opening.hidden);
  const hidden: ReadonlySet<number> = useMemo(
    () => new Set(model.lanes.filter((lane) => hiddenNames.includes(laneKey(lane))).map((lane) => lane.index)),
    [model, model.lanes.length, hiddenNames],
  );
  const setHidden = (to: ReadonlySet<number>): void =>
    setHiddenNames(model.lanes.filter((lane) => to.has(lane.index)).map(laneKey));
  const [chosenFilter, setFilter] = useState<Filter>({state: opening.state, search: opening.search});
  const texts = useTextSearch(chosenFilter.search, session.run, MAX_TEXT_PAGES);
  const filter = useMemo(
    () => ({...chosenFilter, texts: new Set(texts.hits.map((hit) => hit.event))}),
    [chosenFilter, texts],
  );
  useAddress(session.run, {search: filter.search, state: filter.state, axis, hidden: hiddenNames, at: held});
  const [graphWindow, setGraphWindow] = useState<{from: number; to: number} | null>(null);
  const {selected, detection, reveal, choose, chooseAndShow, chooseDetection} = useSelection(model);
  const isOpened = useRef(false); // whether the first failure was selected
  useEffect(() => {
    if (isOpened.current || !session.endedBefore || !session.isRead) return;
    isOpened.current = true;
    if (JSON.stringify(opening) !== JSON.stringify(wholeRun)) return; // a shared view
    const failure = firstFailure(model);
    if (failure && 'detection' in failure) chooseDetection(failure.detection);
    else if (failure) chooseAndShow(failure.node);
  }, [version]);
  const [suspects, setSuspects] = useState<readonly Suspect[]>([]);
  const nextFound = useRef(0);
  const found = useMemo(
    () => (filter.search === '' ? null : findAll(model, filter, at, MAX_FOUND)),
    [model, version, filter, at],
  );
  const next = (): void => {
    if (found && found.length > 0) chooseAndShow(found[nextFound.current++ % found.length]!);
  };
  const {first, last} = model.entries;
  useKeys({
    ' ': () => (live ? go(last) : play(!playing)),
    ',': () => go(at - 1),
    '.': () => go(at + 1),
    l: goLive,
    Home: () => go(first),
    Escape: () => choose(null),
  });
  const isNarrow = useNarrow();
  const answer = (
    <Answer
      run={session.run}
      ended={model.ended !== null && session.isRead}
      found={(to) => {
        setSuspects(to);
        const first = suspectNodes(model, to)[0];
        if (first) chooseAndShow(first);
      }}
      choose={(suspect) => {
        const node = suspectNodes(model, [suspect])[0];
        if (node) chooseAndShow(node);
      }}
    />
  );
  return (
    <>
      <main class="run" aria-label={`Run ${displayLine(session.run)}`}>
        <Title session={session} at={at} runs={runs} failed={failed} />
        <ReadingProgress session={session} />
        {isNarrow && answer}
        <Filters
          model={model}
          filter={filter}
          setFilter={(to) => {
            nextFound.current = 0;
            setFilter(to);
          }}
          hidden={hidden}
          setHidden={setHidden}
          axis={axis}
          setAxis={setAxis}
          found={found ? found.length : null}
          next={next}
          textsOff={texts.off}
        />
        <GraphPanel
          model={model}
          version={version}
          at={at}
          axis={axis}
          hidden={hidden}
          filter={filter}
          selected={selected}
          detection={detection}
          reveal={reveal}
          suspects={suspectNodes(model, suspects)}
          run={session.run}
          theme={theme}
          select={choose}
          onWindow={setGraphWindow}
        />
        <Legend />
        <Timeline model={model} version={version} at={at} hidden={hidden} window={graphWindow} theme={theme} go={go} />
        <Transport model={model} at={at} live={live} playing={playing} go={go} goLive={goLive} play={play} />
      </main>
      <aside class="side">
        {!isNarrow && answer}
        {selected && (
          <Inspector
            run={session.run}
            model={model}
            node={selected}
            at={at}
            firstTs={model.entries.startTs}
            choose={chooseAndShow}
            close={() => choose(null)}
          />
        )}
        {!viewing && (
          <Holds run={session.run} open={session.feedState === 'live' && model.ended === null} failed={failed} />
        )}
        <WouldHave session={session} />
        {session.details && (
          <Spending
            run={session.run}
            changes={model.entries.count}
            at={live ? null : (model.entries.get(at)?.ts ?? null)}
            choose={(activation) => {
              const node = model.get('activation', activation);
              if (node) chooseAndShow(node);
            }}
          />
        )}
        <Detections
          run={session.run}
          failed={failed}
          model={model}
          at={at}
          order={session.endedBefore ? 'oldest' : 'newest'}
          chosen={detection}
          choose={chooseDetection}
          go={go}
        />
      </aside>
    </>
  );
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLInputElement
    ? target.type !== 'range'
    : target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;

const pillOf = (outcome: string): string => (['success', 'failure'].includes(outcome) ? outcome : 'ended');

interface TitleProps {
  session: RunSession;
  at: number;
  runs: readonly RunRow[];
  failed(error: unknown): void;
}

function Title({session, at, runs, failed}: TitleProps) {
  const {model, details, run} = session;
  const ended = model.ended && model.ended.at <= at ? model.ended.outcome : null;
  const labels = Object.entries(details?.labels ?? {});
  const startDate = dateText(model.entries.startTs);
  const feed = {
    missing: '',
    connecting: 'connecting…',
    live: '',
    waiting: `feed lost (${session.feedError}); reconnecting`,
    closed: '',
  }[session.feedState];
  return (
    <header class="title">
      <h1>
        <bdi>{displayLine(run, 100)}</bdi>
      </h1>
      <span class={`pill ${ended === null ? 'open' : pillOf(ended)}`}>{ended ? displayLine(ended) : 'open'}</span>
      {details && (
        <span class={`mode ${details.mode}`} title="The mode of the run">
          {details.mode}
        </span>
      )}
      {details && details.operator_mode !== 'enforce' && (
        <span class="mode operator">operator: {details.operator_mode}</span>
      )}
      <span class="tally">
        {plural(model.counts.events, 'event')}, {plural(model.counts.activations, 'activation')}
        {model.counts.detections > 0 && `, ${plural(model.counts.detections, 'detection')}`}
        {model.counts.lost > 0 && `, ${plural(model.counts.lost, 'message')} lost`}
      </span>
      {startDate !== null && (
        <span class="started" title={startDate}>
          from {startDate.slice(0, 19)} UTC
        </span>
      )}
      {labels.slice(0, 4).map(([name, value]) => (
        <span class="label" key={name}>
          <bdi>
            {displayLine(name, 30)}: {displayLine(value, 40)}
          </bdi>
        </span>
      ))}
      {feed !== '' && (
        <span class="feed" role="status">
          {feed}
        </span>
      )}
      <span class="links">
        <CompareWith run={run} runs={runs} />
        <FileLink
          path={`${runPath(run)}/report?format=html`}
          name="Report"
          file={`report-${run}.html`}
          failed={failed}
        />
        <FileLink path={`${runPath(run)}/graph?format=dot`} name="DOT" file={`${run}.dot`} failed={failed} />
      </span>
    </header>
  );
}

// A plain link. Where a token is required, a button that fetches and saves the file, because a link cannot carry the
// token.
function FileLink({
  path,
  name,
  file,
  failed,
}: {
  path: string;
  name: string;
  file: string;
  failed(error: unknown): void;
}) {
  if (token() === null)
    return (
      <a href={path} target="_blank" rel="noreferrer">
        {name}
      </a>
    );
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
  return (
    <button class="quiet" onClick={() => void save()}>
      {name}
    </button>
  );
}

function WouldHave({session}: {session: RunSession}) {
  const rows = session.details?.would_have ?? [];
  if (rows.length === 0) return null;
  return (
    <section class="would" aria-label="Would have done">
      <h2>Would have done</h2>
      <ul>
        {rows.map((row) => (
          <li key={row.rule + row.healing}>
            <strong>{row.count}×</strong> {row.healing} for {ruleName(row.rule)}
          </li>
        ))}
      </ul>
    </section>
  );
}
