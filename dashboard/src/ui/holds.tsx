// The events of a run that wait for a person: who sent what to whom, why it waits, and the two decisions.
import {useCallback, useEffect, useState} from 'preact/hooks';
import {ApiError, getHolds, postDecision, type Decision, type Hold} from '../net/api';
import {displayLine, displayText, plural} from '../scene/text';
import {pauseMs, usePolling} from './polling';

const POLL_MS = 2_000;
const MIN_UNIX_MS = 1e12; // smaller times come from the clock of a trace
const MAX_PAYLOAD_CHARACTERS = 2_000;

// The payload for the person who decides, and how much of it is not shown.
export function payloadText(payload: unknown): string {
  if (payload == null) return '';
  const text = JSON.stringify(payload, null, 1);
  const omitted = text.length - MAX_PAYLOAD_CHARACTERS;
  const shown = displayText(text.slice(0, MAX_PAYLOAD_CHARACTERS));
  return omitted > 0 ? `${shown}…\n(${plural(omitted, 'more character')} not shown)` : shown;
}

function waitText(hold: Hold, now: number): string {
  if (hold.since < MIN_UNIX_MS) return '';
  const seconds = (ms: number): string => `${Math.max(0, Math.round(ms / 1000))} s`;
  return `Waits for ${seconds(now - hold.since)}; ${seconds(hold.due - now)} left.`;
}

function spentText(hold: Hold): string {
  const tokens = hold.spent ? hold.spent.run.input_tokens + hold.spent.run.output_tokens : 0;
  const cost = hold.spent?.run.cost ?? hold.cost ?? 0;
  return `Cost so far ${+cost.toFixed(4)}${tokens > 0 ? `, ${plural(tokens, 'token')}` : ''}.`;
}

export function Holds({run, open, failed}: {run: string; open: boolean; failed(error: unknown): void}) {
  const [holds, setHolds] = useState<Hold[]>([]);
  const [decided, setDecided] = useState<ReadonlySet<string>>(new Set());
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!open) setHolds([]);
  }, [run, open]);
  const ask = async (isCurrent: () => boolean): Promise<number> => {
    try {
      const answer = await getHolds(run);
      if (!isCurrent()) return POLL_MS;
      setHolds(answer.holds);
      setNow(Date.now());
    } catch (error) {
      if (!isCurrent()) return POLL_MS;
      if (error instanceof ApiError && error.status === 404)
        setHolds([]); // the run is not open any more
      else failed(error);
    }
    return pauseMs(POLL_MS);
  };
  usePolling(open ? ask : null, [run, open]);
  const decide = useCallback(
    (hold: string, decision: Decision, text: string): void => {
      postDecision(run, hold, decision, text).then(
        () => setDecided((before) => new Set([...before, hold])),
        (error: unknown) => {
          const hasEnded = error instanceof ApiError && error.code === 'hold_closed';
          if (hasEnded) setDecided((before) => new Set([...before, hold]));
          failed(hasEnded ? new Error(`${hold} has ended already; this decision was not needed`) : error);
        },
      );
    },
    [run],
  );
  const waiting = holds.filter((hold) => !decided.has(hold.hold));
  if (waiting.length === 0) return null;
  return (
    <section class="holds" aria-label="Waits for a person">
      <h2>
        Waits for a person <span class="n">{waiting.length}</span>
      </h2>
      <ul>
        {waiting.map((hold) => (
          <HoldCard key={hold.hold} hold={hold} now={now} decide={decide} />
        ))}
      </ul>
    </section>
  );
}

interface CardProps {
  hold: Hold;
  now: number;
  decide(hold: string, decision: Decision, text: string): void;
}

export function HoldCard({hold, now, decide}: CardProps) {
  const [text, setText] = useState('');
  const to = hold.recipients.map((name) => displayLine(name, 60)).join(', ');
  const payload = payloadText(hold.payload);
  return (
    <li>
      <p class="route">
        <b>{hold.sender === null ? 'From outside' : displayLine(hold.sender, 60)}</b> → <b>{to || 'nobody'}</b>{' '}
        <code>{displayLine(hold.event, 60)}</code>
      </p>
      <p>{displayLine(hold.reason, 400)}</p>
      {payload !== '' && <pre>{payload}</pre>}
      <p class="hint">
        {waitText(hold, now)} {spentText(hold)}
      </p>
      <label>
        Text for the sender
        <input value={text} maxLength={16384} onInput={(e) => setText(e.currentTarget.value)} />
      </label>
      <div class="decisions">
        <button class="primary" onClick={() => decide(hold.hold, 'release', text)}>
          Release
        </button>
        <button onClick={() => decide(hold.hold, 'return', text)}>Return</button>
      </div>
    </li>
  );
}
