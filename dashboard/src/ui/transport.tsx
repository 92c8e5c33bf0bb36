// The position in the run: live or held at an entry, with step, play and a slider.
import type {RunModel} from '../model/run_model';
import {displayLine, stampText} from '../scene/text';

interface Props {
  model: RunModel;
  at: number;
  live: boolean;
  playing: boolean;
  go(at: number): void;
  goLive(): void;
  play(on: boolean): void;
}

const Icon = ({d}: {d: string}) => (
  <svg viewBox="0 0 14 14" width="13" height="13" aria-hidden="true">
    <path d={d} />
  </svg>
);

export function Transport({model, at, live, playing, go, goLive, play}: Props) {
  const {first, last} = model.entries;
  const entry = model.entries.get(at);
  const start = model.entries.startTs;
  const empty = last < first;
  const isEnded = model.ended !== null;
  const position = entry ? `${at + 1} of ${last + 1}` : 'nothing yet';
  return (
    <div class="transport" role="group" aria-label="Time">
      <button aria-label="To the beginning" title="To the beginning (Home)" disabled={empty} onClick={() => go(first)}>
        <Icon d="M3 2v10M12 2 5 7l7 5Z" />
      </button>
      <button aria-label="Step back" title="Step back (,)" disabled={empty || at <= first} onClick={() => go(at - 1)}>
        <Icon d="M11 2 4 7l7 5Z" />
      </button>
      <button
        aria-label={live ? 'Pause' : playing ? 'Pause' : 'Play'}
        title="Pause, play (Space)"
        disabled={empty}
        class="play"
        onClick={() => (live ? go(last) : play(!playing))}
      >
        <Icon d={live || playing ? 'M4 2v10M10 2v10' : 'M3 1 12 7 3 13Z'} />
      </button>
      <button
        aria-label="Step forward"
        title="Step forward (.)"
        disabled={empty || at >= last}
        onClick={() => go(at + 1)}
      >
        <Icon d="M3 2 10 7 3 12ZM12 2v10" />
      </button>
      <input
        type="range"
        aria-label="Position in the run"
        min={first}
        max={Math.max(first, last)}
        value={at}
        disabled={empty}
        aria-valuetext={`${position}: ${entry ? displayLine(entry.note, 80) : ''}`}
        onInput={(e) => go(Number(e.currentTarget.value))}
      />
      <button
        class={live ? `live on ${isEnded ? 'ended' : ''}` : 'live'}
        aria-pressed={live}
        disabled={empty}
        title={isEnded ? 'Go to the end (L)' : 'Follow the newest entry (L)'}
        onClick={goLive}
      >
        <span class="dot" aria-hidden="true" />
        {isEnded ? 'End' : 'Live'}
      </button>
      <output>
        <span class="position">{position}</span>
        {entry && <span class="stamp">{stampText(entry.ts, start)}</span>}
        <bdi class="note">{entry ? displayLine(entry.note, 100) : ''}</bdi>
      </output>
    </div>
  );
}
