// All runs, newest first, with state and mode.
import {useState} from 'preact/hooks';
import type {RunRow} from '../net/api';
import {agoText, plural, displayLine} from '../scene/text';
import {TextHits} from './text_hits';

interface Props {
  runs: RunRow[];
  held: ReadonlyMap<string, number>; // by run: events that wait for a person
  more: boolean;
  chosen: string | null;
  choose(run: string): void;
  older(): void;
}

export function RunList({runs, held, more, chosen, choose, older}: Props) {
  const [search, setSearch] = useState('');
  const [state, setState] = useState<'all' | 'open' | 'ended'>('all');
  const wanted = search.toLowerCase();
  const listed = runs.filter(
    (run) => (state === 'all' || run.state === state) && run.run.toLowerCase().includes(wanted),
  );
  return (
    <nav class="runs" aria-label="Runs">
      <div class="runs-head">
        <h2>Runs</h2>
        <select aria-label="Which runs" value={state} onChange={(e) => setState(e.currentTarget.value as typeof state)}>
          <option value="all">all</option>
          <option value="open">open</option>
          <option value="ended">ended</option>
        </select>
      </div>
      <input
        type="search"
        placeholder="Find a run or a text"
        aria-label="Find a run"
        value={search}
        onInput={(e) => setSearch(e.currentTarget.value)}
      />
      <ul>
        {listed.map((run) => (
          <RunItem
            key={run.number}
            run={run}
            held={run.state === 'open' ? (held.get(run.run) ?? 0) : 0}
            chosen={run.run === chosen}
            choose={choose}
          />
        ))}
      </ul>
      {listed.length === 0 && <p class="hint">{runs.length === 0 ? 'None so far.' : 'No matching run.'}</p>}
      <TextHits words={search} />
      {more && (
        <button class="quiet" onClick={older}>
          Older runs
        </button>
      )}
    </nav>
  );
}

interface ItemProps {
  run: RunRow;
  held: number;
  chosen: boolean;
  choose(run: string): void;
}

function RunItem({run, held, chosen, choose}: ItemProps) {
  const {messages, detections, healed} = run.counts;
  const mode =
    run.operator_mode !== 'enforce' && run.operator_mode !== run.mode
      ? `${run.mode} (operator: ${run.operator_mode})`
      : run.mode;
  return (
    <li>
      <a
        href={`#/run/${encodeURIComponent(run.run)}`}
        aria-current={chosen ? 'true' : undefined}
        data-run={run.run}
        onClick={() => choose(run.run)}
      >
        <span class={`state ${run.state} ${run.ended ?? ''}`} role="img" aria-label={run.ended ?? run.state} />
        <bdi class="name">{displayLine(run.run, 60)}</bdi>
        <span class="when">{agoText(Date.now() - (run.heard_ms ?? run.opened_ms))}</span>
        <span class="facts">
          <span class={`mode ${run.mode}`}>{mode}</span>
          {plural(messages, 'message')}
          {held > 0 && <span class="found part">{plural(held, 'event')} held</span>}
          {held === 0 && detections > 0 && (
            <span class={healed === detections ? 'found' : 'found part'}>
              {healed === detections ? `${healed} healed` : `${healed} of ${detections} healed`}
            </span>
          )}
        </span>
      </a>
    </li>
  );
}
