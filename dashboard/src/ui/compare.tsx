// Two runs side by side, and where they diverge: for example, a failed run and a good run of the same task.
import {useEffect, useMemo, useState} from 'preact/hooks';
import {formatAddress, wholeRun} from '../net/address';
import type {RunRow} from '../net/api';
import {RunSession} from '../run_session';
import {align, MAX_STEPS, partingRow, stepsOf, stretches, type Row, type Step} from '../scene/compare';
import {displayLine, plural, ruleName} from '../scene/text';
import {NodeText} from './node_text';

const MAX_ROWS = 400;
const POLL_MS = 2_000;

interface Props {
  left: string;
  right: string;
  failed(error: unknown): void;
}

function useRun(run: string, failed: (error: unknown) => void): RunSession | null {
  const [, redraw] = useState(0);
  const [session, setSession] = useState<RunSession | null>(null);
  useEffect(() => {
    const opened = new RunSession(run, () => redraw((count) => count + 1), failed);
    setSession(opened);
    const timer = setInterval(() => !opened.details && void opened.refresh(), POLL_MS); // it may appear later
    return () => {
      clearInterval(timer);
      opened.stop();
    };
  }, [run]);
  return session?.run === run ? session : null;
}

export function Compare({left, right, failed}: Props) {
  const a = useRun(left, failed);
  const b = useRun(right, failed);
  const ready = a !== null && b !== null && a.isRead && b.isRead;
  const missing = [a, b].filter((session) => session?.feedState === 'missing');
  const rows = useMemo(() => (ready ? align(stepsOf(a.model), stepsOf(b.model)) : []), [ready, a, b]);
  return (
    <main class="compare" aria-label="Two runs side by side">
      {missing.length > 0 ? (
        <p class="wrong" role="alert">
          digd does not know {missing.map((session) => `the run ${displayLine(session!.run)}`).join(', nor ')}.
        </p>
      ) : ready ? (
        <Comparison a={a} b={b} rows={rows} />
      ) : (
        <p class="hint" role="status">
          Reading: {readText(a)}, {readText(b)}
        </p>
      )}
    </main>
  );
}

const readText = (session: RunSession | null): string =>
  session ? `${session.progress.read.toLocaleString('en')} of ${plural(session.progress.total, 'message')}` : '…';

const senderText = (step: Step): string => (step.sender === '' ? 'outside' : displayLine(step.sender, 40));

function sentence(step: Step | null): string {
  if (step === null) return 'takes no further step';
  const to = step.recipients.map((name) => displayLine(name, 40)).join(', ') || 'nobody';
  const kind = step.kind === '' ? '' : ` (${displayLine(step.kind, 40)})`;
  return `step ${step.number}: ${senderText(step)} to ${to}${kind}`;
}

// The first step of each run that is in this row or a later one.
function nextSteps(rows: readonly Row[], at: number): {left: Step | null; right: Step | null} {
  const rest = rows.slice(at);
  return {
    left: rest.find((row) => row.left !== null)?.left ?? null,
    right: rest.find((row) => row.right !== null)?.right ?? null,
  };
}

function Comparison({a, b, rows}: {a: RunSession; b: RunSession; rows: readonly Row[]}) {
  const at = partingRow(rows);
  const next = at === null ? null : nextSteps(rows, at);
  return (
    <>
      <h1>{at === null ? 'The runs take the same steps' : `The runs part after ${plural(at, 'equal step')}`}</h1>
      <p class="hint">
        A step is an event: its sender, its kind and its recipients. Texts are not compared.
        {rows.length >= MAX_STEPS && ` Only the first ${MAX_STEPS.toLocaleString('en')} steps of each run count.`}
      </p>
      <div class="sides">
        <Side session={a} step={next?.left ?? null} parts={at !== null} />
        <Side session={b} step={next?.right ?? null} parts={at !== null} />
      </div>
      <Rows a={a} b={b} rows={rows} parting={at} />
    </>
  );
}

function Side({session, step, parts}: {session: RunSession; step: Step | null; parts: boolean}) {
  const {model, run} = session;
  const first = model.detections[0];
  return (
    <section aria-label={`Run ${displayLine(run)}`}>
      <h2>
        <a href={formatAddress({run, view: wholeRun})}>
          <bdi>{displayLine(run, 60)}</bdi>
        </a>{' '}
        <span class={`pill ${model.ended ? 'ended' : 'open'}`}>{displayLine(model.ended?.outcome ?? 'open')}</span>
      </h2>
      <p class="hint">
        {plural(model.counts.events, 'event')}, {plural(model.counts.activations, 'activation')},{' '}
        {plural(model.counts.detections, 'detection')}
        {first &&
          ` (first: ${ruleName(first.rule)}${first.agent === null ? '' : ` at ${displayLine(first.agent, 40)}`})`}
      </p>
      {parts && (
        <p class="parting">
          <bdi>{sentence(step)}</bdi>
        </p>
      )}
      {parts && step && <NodeText run={run} model={model} node={step.node} />}
    </section>
  );
}

function Rows({a, b, rows, parting}: {a: RunSession; b: RunSession; rows: readonly Row[]; parting: number | null}) {
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set());
  const parts = useMemo(() => stretches(rows), [rows]);
  const lines = [];
  for (const part of parts) {
    if (lines.length >= MAX_ROWS) break;
    if (part.folded && !unfolded.has(part.from)) {
      lines.push(
        <tr key={`f${part.from}`} class="folded">
          <td colSpan={2}>
            <button class="quiet" onClick={() => setUnfolded(new Set([...unfolded, part.from]))}>
              {plural(part.to - part.from, 'equal step')}
            </button>
          </td>
        </tr>,
      );
      continue;
    }
    for (let i = part.from; i < part.to && lines.length < MAX_ROWS; ++i) {
      const row = rows[i]!;
      const same = row.left !== null && row.right !== null;
      lines.push(
        <tr key={i} class={same ? 'same' : 'differs'} aria-current={i === parting ? 'true' : undefined}>
          <StepCell session={a} step={row.left} />
          <StepCell session={b} step={row.right} />
        </tr>,
      );
    }
  }
  return (
    <>
      <table>
        <thead>
          <tr>
            <th scope="col">
              <bdi>{displayLine(a.run, 60)}</bdi>
            </th>
            <th scope="col">
              <bdi>{displayLine(b.run, 60)}</bdi>
            </th>
          </tr>
        </thead>
        <tbody>{lines}</tbody>
      </table>
      {lines.length >= MAX_ROWS && <p class="hint">The first {MAX_ROWS} rows.</p>}
    </>
  );
}

function StepCell({session, step}: {session: RunSession; step: Step | null}) {
  if (step === null) return <td class="none">–</td>;
  const href = formatAddress({run: session.run, view: {...wholeRun, search: step.node.id, at: step.node.announcedAt}});
  return (
    <td>
      <span class="number">{step.number}</span> <bdi>{senderText(step)}</bdi> →{' '}
      <bdi>{step.recipients.map((name) => displayLine(name, 40)).join(', ') || 'nobody'}</bdi>
      {step.kind !== '' && <em> {displayLine(step.kind, 40)}</em>}{' '}
      <a href={href}>
        <bdi>{displayLine(step.node.id, 40)}</bdi>
      </a>
    </td>
  );
}

// Newest first, as in the list of runs.
export function CompareWith({run, runs}: {run: string; runs: readonly RunRow[]}) {
  const others = runs.filter((row) => row.run !== run).slice(0, 100);
  if (others.length === 0) return null;
  return (
    <select
      class="compare-with"
      aria-label="Compare with another run"
      value=""
      onChange={(e) => {
        location.hash = compareAddress(run, e.currentTarget.value);
      }}
    >
      <option value="" disabled>
        Compare…
      </option>
      {others.map((row) => (
        <option key={row.number} value={row.run}>
          {displayLine(row.run, 50)} ({row.ended ?? 'open'})
        </option>
      ))}
    </select>
  );
}

export const compareAddress = (left: string, right: string): string =>
  `#/compare/${encodeURIComponent(left)}/${encodeURIComponent(right)}`;
