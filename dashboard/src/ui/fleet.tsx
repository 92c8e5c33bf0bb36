// The page of a fleet: what happened in a span of time, on which hosts, by which label; its runs, and what agents said.
import {useEffect, useRef, useState} from 'preact/hooks';
import {formatAddress, wholeRun} from '../net/address';
import {getFleet, getFleetRuns, searchFleet, type Fleet, type FleetHit, type FleetRun, type Sums} from '../net/fleet';
import {fleetQuery, readFleetView, SPANS, STATES, writeFleetView, type FleetView} from '../net/fleet_address';
import {amountText, shortCount, successShare, tokensOf} from '../scene/fleet';
import {agoText, displayLine, plural, ruleName} from '../scene/text';
import {FleetChart} from './fleet_chart';
import {FleetHosts} from './fleet_hosts';
import {FleetRuns} from './fleet_runs';
import {pauseMs, usePolling} from './polling';
import {TableHead} from './table_head';

const POLL_MS = 5_000;
const SOON_MS = 1_000; // while the files are being read
const TYPING_MS = 300;
const MIN_SEARCH = 2;

interface Props {
  failed(error: unknown): void;
}

export function FleetPage({failed}: Props) {
  const [view, setView] = useState(readFleetView);
  const change = (part: Partial<FleetView>): void => setView((before) => ({...before, ...part}));
  useEffect(() => writeFleetView(view), [view]);
  const fleet = useFleet(view, failed);
  const list = useFleetRuns(view, fleet !== null && !fleet.files.complete, failed);
  const hits = useFleetSearch(view.find);
  const isSearching = view.find.trim().length >= MIN_SEARCH;
  const found = (
    <>
      {fleet && fleet.totals.runs > 0 && <FleetRuns view={view} change={change} list={list} nowMs={fleet.now_ms} />}
      {isSearching && <FleetHits words={view.find} search={hits} nowMs={fleet?.now_ms} />}
    </>
  );
  return (
    <main class="fleet">
      <FleetFilters view={view} change={change} labels={fleet?.labels ?? []} />
      {fleet && <FleetState fleet={fleet} />}
      {fleet && fleet.totals.runs === 0 && <EmptyFleet fleet={fleet} view={view} />}
      {fleet && fleet.totals.runs > 0 && (
        <>
          <FleetTotals sums={fleet.totals} />
          {fleet.series && <FleetChart series={fleet.series} />}
        </>
      )}
      {isSearching && found}
      {fleet && fleet.hosts.length > 0 && (
        <FleetHosts hosts={fleet.hosts} leftOut={fleet.hosts_left_out} nowMs={fleet.now_ms} stream={fleet.stream} />
      )}
      {fleet && fleet.totals.runs > 0 && (
        <div class="fleet-pair">
          <FleetGroups fleet={fleet} view={view} change={change} />
          <FleetRules fleet={fleet} view={view} change={change} />
        </div>
      )}
      {!isSearching && found}
    </main>
  );
}

function useFleet(view: FleetView, failed: (error: unknown) => void): Fleet | null {
  const [fleet, setFleet] = useState<Fleet | null>(null);
  const query = fleetQuery(view, Date.now(), false);
  const wanted = useRef('');
  const key = `${view.span} ${view.by}`;
  wanted.current = key;
  usePolling(async () => {
    try {
      const answer = await getFleet(query);
      if (wanted.current === key) setFleet(answer);
      return pauseMs(answer.files.complete ? POLL_MS : SOON_MS);
    } catch (error) {
      failed(error);
      return pauseMs(POLL_MS);
    }
  }, [key]);
  return fleet;
}

export interface RunPages {
  runs: FleetRun[] | null; // null: not read yet
  total: number;
  more: boolean;
  older(): void;
}

// `isPartial`: the files are still being read, so further runs will appear.
function useFleetRuns(view: FleetView, isPartial: boolean, failed: (error: unknown) => void): RunPages {
  const [delayed, setDelayed] = useState(view);
  const [pages, setPages] = useState<FleetRun[][] | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [total, setTotal] = useState(0);
  useEffect(() => {
    const timer = window.setTimeout(() => setDelayed(view), view.find === delayed.find ? 0 : TYPING_MS);
    return () => clearTimeout(timer);
  }, [view]);
  const key = JSON.stringify(delayed);
  const wanted = useRef(key);
  wanted.current = key;
  const ask = async (cursor: string | null): Promise<void> => {
    const query = fleetQuery(delayed, Date.now(), true) + '&limit=50' + (cursor === null ? '' : `&cursor=${cursor}`);
    try {
      const answer = await getFleetRuns(query);
      if (wanted.current !== key) return;
      setTotal(answer.total);
      if (cursor === null) {
        setPages((before) => [answer.runs, ...(before ?? []).slice(1)]);
        setNext((before) => (before === null || pages === null || pages.length < 2 ? answer.next : before));
      } else {
        setPages((before) => [...(before ?? []), answer.runs]);
        setNext(answer.next);
      }
    } catch (error) {
      failed(error);
    }
  };
  useEffect(() => {
    setPages(null);
    setNext(null);
  }, [key]);
  usePolling(() => ask(null).then(() => pauseMs(isPartial ? SOON_MS : POLL_MS)), [key]);
  const runs = pages && [...new Map(pages.flat().map((run) => [run.number, run])).values()];
  return {runs, total, more: next !== null, older: () => void ask(next)};
}

interface Search {
  hits: FleetHit[];
  next: string | null;
  readDownTo: string | null;
  busy: boolean;
  problem: string;
  further(): void;
}

function useFleetSearch(words: string): Search {
  const [state, setState] = useState<Omit<Search, 'further'>>({
    hits: [],
    next: null,
    readDownTo: null,
    busy: false,
    problem: '',
  });
  const wanted = useRef(words);
  wanted.current = words;
  const ask = (cursor: string): void => {
    setState((before) => ({...before, busy: true, problem: ''}));
    searchFleet(words, cursor).then(
      (answer) => {
        if (wanted.current !== words) return;
        setState((before) => ({
          hits: cursor === '' ? answer.hits : [...before.hits, ...answer.hits],
          next: answer.next,
          readDownTo: answer.read_down_to,
          busy: false,
          problem: '',
        }));
      },
      (error: unknown) =>
        wanted.current === words && setState((before) => ({...before, busy: false, problem: (error as Error).message})),
    );
  };
  useEffect(() => {
    setState({hits: [], next: null, readDownTo: null, busy: false, problem: ''});
    if (words.trim().length < MIN_SEARCH) return;
    const timer = window.setTimeout(() => ask(''), TYPING_MS);
    return () => clearTimeout(timer);
  }, [words]);
  return {...state, further: () => state.next !== null && ask(state.next)};
}

const stateNames: Record<(typeof STATES)[number], string> = {
  '': 'all states',
  open: 'open',
  success: 'success',
  failure: 'failure',
  unknown: 'without an outcome',
  aborted: 'aborted',
  detected: 'with detections',
};

interface FilterProps {
  view: FleetView;
  change(part: Partial<FleetView>): void;
}

function FleetFilters({view, change, labels}: FilterProps & {labels: readonly string[]}) {
  const label = view.by.startsWith('label:') ? view.by.slice(6) : '';
  const names = label === '' || labels.includes(label) ? labels : [label, ...labels];
  return (
    <div class="fleet-head">
      <h1>Fleet</h1>
      <input
        type="search"
        placeholder="Find runs, labels, hosts, or what agents said"
        aria-label="Find in the fleet"
        value={view.find}
        maxLength={200}
        onInput={(e) => change({find: e.currentTarget.value})}
      />
      <label>
        Time{' '}
        <select value={view.span} onChange={(e) => change({span: e.currentTarget.value as FleetView['span']})}>
          {SPANS.map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label>
        Group by{' '}
        <select value={view.by} onChange={(e) => change({by: e.currentTarget.value, value: null, none: false})}>
          <option value="tenant">tenant</option>
          <option value="host">host</option>
          {names.map((name) => (
            <option key={name} value={`label:${name}`}>
              label {displayLine(name, 40)}
            </option>
          ))}
        </select>
      </label>
      <label>
        Runs{' '}
        <select value={view.state} onChange={(e) => change({state: e.currentTarget.value as FleetView['state']})}>
          {STATES.map((state) => (
            <option key={state} value={state}>
              {stateNames[state]}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

// Problems that the reader has to know; nothing while there are none.
function FleetState({fleet}: {fleet: Fleet}) {
  const {files, stream} = fleet;
  const notes: string[] = [];
  if (!files.complete && files.problem === '')
    notes.push(`Reading the files, the newest first: ${shortCount(files.read)} of ${shortCount(files.total)}.`);
  if (files.problem !== '') notes.push(`The files cannot be read: ${displayLine(files.problem, 300)}.`);
  if (files.left_out > 0) notes.push(`${plural(files.left_out, 'older file')} left out: there are too many runs.`);
  if (stream && !stream.connected) notes.push(`The stream cannot be read: ${displayLine(stream.problem, 300)}.`);
  else if (stream && stream.problem !== '') notes.push(`The stream: ${displayLine(stream.problem, 300)}.`);
  if (stream && stream.dropped > 0)
    notes.push(`The collectors are far behind: ${plural(stream.dropped, 'entry', 'entries')} not shown yet.`);
  if (notes.length === 0) return null;
  return (
    <p class="fleet-note" role="status">
      {notes.join(' ')}
    </p>
  );
}

function EmptyFleet({fleet, view}: {fleet: Fleet; view: FleetView}) {
  if (!fleet.files.complete) return null;
  return (
    <section class="fleet-empty">
      <h2>No runs {view.span === 'all' || fleet.files.total === 0 ? 'yet' : 'in this time'}</h2>
      {fleet.files.total === 0 ? (
        <p>
          Collectors write the files of a fleet: <code>python -m digd.fleet collect ROOT --nats nats://HOST:4222</code>.
          {fleet.stream === null && ' Name the stream too, to see what happens now.'}
        </p>
      ) : (
        <p>Choose a longer time.</p>
      )}
    </section>
  );
}

function Tile({name, value, more}: {name: string; value: string; more: string}) {
  return (
    <div class="tile">
      <dt>{name}</dt>
      <dd>
        <strong>{value}</strong>
        <span>{more}</span>
      </dd>
    </div>
  );
}

function FleetTotals({sums}: {sums: Sums}) {
  const share = successShare(sums);
  const tokens = tokensOf(sums);
  return (
    <dl class="tiles" aria-label="Totals">
      <Tile name="Runs" value={shortCount(sums.runs)} more={`${shortCount(sums.open)} open`} />
      <Tile
        name="Success"
        value={share === null ? '–' : `${(share * 100).toFixed(share > 0.99 && share < 1 ? 2 : 0)} %`}
        more={`${shortCount(sums.failure)} failed, ${shortCount(sums.aborted)} aborted`}
      />
      <Tile name="Detections" value={shortCount(sums.detections)} more={`${shortCount(sums.healed)} healed`} />
      <Tile
        name="Cost"
        value={sums.cost === null ? '–' : amountText(sums.cost)}
        more={tokens === null ? 'nothing reported' : `${shortCount(tokens)} tokens`}
      />
      <Tile name="Messages" value={shortCount(sums.messages)} more="" />
    </dl>
  );
}

function FleetGroups({fleet, view, change}: FilterProps & {fleet: Fleet}) {
  const name = view.by.startsWith('label:') ? view.by.slice(6) : view.by;
  const isChosen = (value: string | null): boolean => (value === null ? view.none : view.value === value);
  const pick = (value: string | null): void =>
    change(
      isChosen(value)
        ? {value: null, none: false}
        : value === null
          ? {value: null, none: true}
          : {value: value.slice(0, 200), none: false},
    );
  return (
    <section class="fleet-table" aria-label="Groups">
      <h2>
        By <bdi>{displayLine(name, 40)}</bdi>
      </h2>
      <div class="scroll">
        <table>
          <TableHead
            columns={[
              <th scope="col">
                <bdi>{displayLine(name, 40)}</bdi>
              </th>,
              'runs',
              'open',
              'failed',
              'detections',
              'healed',
              'cost',
              'tokens',
            ]}
          />
          <tbody>
            {fleet.groups.map((group) => (
              <tr key={group.value ?? '\0'} class={isChosen(group.value) ? 'chosen' : ''}>
                <th>
                  <button class="quiet" aria-pressed={isChosen(group.value)} onClick={() => pick(group.value)}>
                    <bdi>{group.value === null ? 'without' : displayLine(group.value, 60) || '(empty)'}</bdi>
                  </button>
                </th>
                <td>{shortCount(group.runs)}</td>
                <td>{shortCount(group.open)}</td>
                <td class={group.failure + group.aborted > 0 ? 'bad' : ''}>
                  {shortCount(group.failure + group.aborted)}
                </td>
                <td>{shortCount(group.detections)}</td>
                <td>{shortCount(group.healed)}</td>
                <td>{amountText(group.cost)}</td>
                <td>{tokensOf(group) === null ? '' : shortCount(tokensOf(group)!)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {fleet.groups_left_out && (
        <p class="hint">There are more groups; these have the most runs. Search to find others.</p>
      )}
    </section>
  );
}

function FleetRules({fleet, view, change}: FilterProps & {fleet: Fleet}) {
  if (fleet.rules.length === 0) return null;
  return (
    <section class="fleet-table" aria-label="Detections by rule">
      <h2>Detections by rule</h2>
      <div class="scroll">
        <table>
          <TableHead columns={['rule', 'runs', 'detections', 'healed']} />
          <tbody>
            {fleet.rules.map(({rule, runs, detections, healed}) => (
              <tr key={rule} class={rule === view.rule ? 'chosen' : ''}>
                <th>
                  <button
                    class="quiet"
                    aria-pressed={rule === view.rule}
                    onClick={() => change({rule: rule === view.rule ? '' : rule})}
                  >
                    {ruleName(rule)}
                  </button>
                </th>
                <td>{shortCount(runs)}</td>
                <td>{shortCount(detections)}</td>
                <td>{shortCount(healed)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function FleetHits({words, search, nowMs}: {words: string; search: Search; nowMs: number | undefined}) {
  const {hits, busy, problem} = search;
  return (
    <section class="fleet-hits hits" aria-label="What agents said">
      <h2>What agents said</h2>
      {problem !== '' && (
        <p class="wrong" role="alert">
          {problem}
        </p>
      )}
      <ul>
        {hits.map((hit) => (
          <li key={`${hit.run} ${hit.seq} ${hit.event}`}>
            <a href={formatAddress({run: hit.run, view: {...wholeRun, search: words.trim()}})}>
              <span class="when">{agoText((nowMs ?? Date.now()) - hit.arrived_ms)}</span>
              <bdi class="name">{displayLine(hit.run, 60)}</bdi>
              <q>
                <bdi>{displayLine(hit.excerpt.replace(/\s+/g, ' '), 240)}</bdi>
              </q>
            </a>
          </li>
        ))}
      </ul>
      <p class="hint" role="status">
        {busy
          ? 'Searching…'
          : search.next === null
            ? hits.length === 0
              ? 'Nothing found in all files.'
              : ''
            : search.readDownTo !== null
              ? `Searched from now back to ${displayLine(search.readDownTo, 20)}.`
              : ''}
      </p>
      {!busy && search.next !== null && (
        <button class="quiet" onClick={search.further}>
          Search further back
        </button>
      )}
    </section>
  );
}
