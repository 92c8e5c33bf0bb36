// The runs that match the filters of the fleet page, newest first.
import type {FleetRun} from '../net/fleet';
import type {FleetView} from '../net/fleet_address';
import {amountText, durationText, shortCount, tokensOf} from '../scene/fleet';
import {agoText, displayLine, ruleName} from '../scene/text';
import type {RunPages} from './fleet';
import {TableHead} from './table_head';

const MAX_LABELS = 4;

interface Props {
  view: FleetView;
  change(part: Partial<FleetView>): void;
  list: RunPages;
  nowMs: number;
}

export function FleetRuns({view, change, list, nowMs}: Props) {
  const {runs, total} = list;
  return (
    <section class="fleet-table" aria-label="Runs of the fleet">
      <h2>
        Runs <span class="count">{runs === null ? '' : total.toLocaleString('en')}</span>
        <Filter view={view} change={change} />
      </h2>
      {runs !== null && runs.length === 0 && <p class="hint">No run matches.</p>}
      {runs !== null && runs.length > 0 && (
        <div class="scroll">
          <table class="fleet-runs">
            <TableHead
              columns={[
                'run',
                <th scope="col" class="text">
                  labels
                </th>,
                <th scope="col" class="text">
                  host
                </th>,
                'opened',
                'took',
                'messages',
                'detections',
                'cost',
                'tokens',
              ]}
            />
            <tbody>
              {runs.map((run) => (
                <RunLine key={run.number} run={run} nowMs={nowMs} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {list.more && (
        <button class="quiet" onClick={list.older}>
          Older runs
        </button>
      )}
    </section>
  );
}

// The filters that were set by a press on a table above. Each has a button that removes it.
function Filter({view, change}: Pick<Props, 'view' | 'change'>) {
  const by = view.by.startsWith('label:') ? view.by.slice(6) : view.by;
  return (
    <>
      {(view.value !== null || view.none) && (
        <button class="chip" onClick={() => change({value: null, none: false})}>
          <bdi>{displayLine(by, 40)}</bdi> {view.none ? 'missing' : <bdi>{displayLine(view.value ?? '', 60)}</bdi>} ✕
        </button>
      )}
      {view.rule !== '' && (
        <button class="chip" onClick={() => change({rule: ''})}>
          {ruleName(view.rule)} ✕
        </button>
      )}
    </>
  );
}

function RunLine({run, nowMs}: {run: FleetRun; nowMs: number}) {
  const {detections, healed, messages} = run.counts;
  const labels = Object.entries(run.labels);
  const endMs = run.ended_ms ?? (run.state === 'open' ? nowMs : (run.heard_ms ?? run.opened_ms));
  const tokens = run.usage ? tokensOf(run.usage) : null;
  return (
    <tr data-run={run.run}>
      <th>
        <a class="run-name" href={`#/run/${encodeURIComponent(run.run)}`}>
          <span class={`state ${run.state} ${run.ended ?? ''}`} role="img" aria-label={run.ended ?? run.state} />
          <bdi>{displayLine(run.id, 60)}</bdi>
        </a>
      </th>
      <td class="text labels">
        {labels.slice(0, MAX_LABELS).map(([name, value]) => (
          <span key={name} class="label">
            <bdi>{displayLine(`${name} ${value}`, 40)}</bdi>
          </span>
        ))}
        {labels.length > MAX_LABELS && <span class="hint">+{labels.length - MAX_LABELS}</span>}
      </td>
      <td class="text">
        <bdi>{displayLine(run.host, 40)}</bdi>
      </td>
      <td>{agoText(nowMs - run.opened_ms)}</td>
      <td>{durationText(Math.max(0, endMs - run.opened_ms))}</td>
      <td>{shortCount(messages)}</td>
      <td class={detections > healed ? 'bad' : ''}>
        {detections === 0 ? '' : healed === detections ? `${detections} healed` : `${healed} of ${detections} healed`}
      </td>
      <td>{amountText(run.usage?.cost ?? null)}</td>
      <td>{tokens === null ? '' : shortCount(tokens)}</td>
    </tr>
  );
}
