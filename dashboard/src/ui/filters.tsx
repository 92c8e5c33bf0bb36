// Controls for highlighting, search, the shown agents and the axis.
import type {JSX} from 'preact';
import type {RunModel} from '../model/run_model';
import type {Filter, StateFilter} from '../scene/focus';
import type {Axis} from '../scene/scene';
import {displayLine} from '../scene/text';

const stateFilters: [StateFilter, string][] = [
  ['all', 'All'],
  ['flagged', 'Flagged'],
  ['waiting', 'Waiting'],
  ['open', 'At work'],
];

interface Props {
  model: RunModel;
  filter: Filter;
  setFilter(to: Filter): void;
  hidden: ReadonlySet<number>;
  setHidden(to: ReadonlySet<number>): void;
  axis: Axis;
  setAxis(to: Axis): void;
  found: number | null;
  next(): void;
  textsOff: boolean; // digd indexes no texts
}

function closeByEscape(e: JSX.TargetedKeyboardEvent<HTMLDetailsElement>): void {
  if (e.key !== 'Escape' || !e.currentTarget.open) return;
  e.stopPropagation();
  e.currentTarget.open = false;
  e.currentTarget.querySelector('summary')?.focus();
}

export function Filters({model, filter, setFilter, hidden, setHidden, axis, setAxis, found, next, textsOff}: Props) {
  const toggle = (index: number): void => {
    const to = new Set(hidden);
    if (!to.delete(index)) to.add(index);
    setHidden(to);
  };
  return (
    <div class="filters" role="search">
      <input
        type="search"
        placeholder="Find an event, agent or text"
        aria-label="Find in the run"
        value={filter.search}
        onInput={(e) => setFilter({...filter, search: e.currentTarget.value})}
        onKeyDown={(e) => e.key === 'Enter' && next()}
      />
      {found !== null && (
        <button
          class="quiet"
          onClick={next}
          aria-label="Next match"
          title={
            textsOff ? 'Names and kinds only: digd indexes no texts (payloads.search_bytes)' : 'Next match (Enter)'
          }
        >
          {found === 0 ? 'none' : `${found >= 1000 ? '1,000+' : found} found`}
        </button>
      )}
      <div class="choices" role="radiogroup" aria-label="Highlight">
        {stateFilters.map(([state, name]) => (
          <button
            key={state}
            role="radio"
            aria-checked={filter.state === state}
            onClick={() => setFilter({...filter, state})}
          >
            {name}
          </button>
        ))}
      </div>
      <details class="agents" onKeyDown={closeByEscape}>
        <summary>Agents{hidden.size > 0 && ` (${hidden.size} hidden)`}</summary>
        <div class="menu">
          {model.lanes.slice(0, 200).map((lane) => (
            <label key={lane.index}>
              <input type="checkbox" checked={!hidden.has(lane.index)} onChange={() => toggle(lane.index)} />
              <bdi class={lane.kind}>{displayLine(lane.name, 40)}</bdi>
            </label>
          ))}
          {model.lanes.length > 200 && <p class="hint">The first 200 of {model.lanes.length}.</p>}
        </div>
      </details>
      <div class="choices" role="radiogroup" aria-label="Axis">
        <button
          role="radio"
          aria-checked={axis === 'order'}
          title="In order of arrival, evenly spaced"
          onClick={() => setAxis('order')}
        >
          Order
        </button>
        <button role="radio" aria-checked={axis === 'time'} title="By the run's clock" onClick={() => setAxis('time')}>
          Time
        </button>
      </div>
    </div>
  );
}
