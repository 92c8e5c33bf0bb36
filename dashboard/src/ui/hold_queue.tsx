// The queue of the events of all runs that wait for a person: a button while there are any, and a dialog with both
// decisions for each.
import {useCallback, useEffect, useState} from 'preact/hooks';
import {ApiError, getHoldQueue, postDecision, type Decision, type QueuedHold} from '../net/api';
import {displayLine, plural} from '../scene/text';
import {Dialog} from './dialog';
import {HoldCard} from './holds';
import {pauseMs, usePolling} from './polling';

const POLL_MS = 4_000;

const keyOf = (hold: QueuedHold): string => JSON.stringify([hold.run, hold.hold]);

interface Props {
  failed(error: unknown): void;
  // Called with the number of events that wait in each run, when it changes.
  counted(holds: ReadonlyMap<string, number>): void;
}

export function HoldQueue({failed, counted}: Props) {
  const [holds, setHolds] = useState<QueuedHold[]>([]);
  const [leftOut, setLeftOut] = useState(0);
  const [decided, setDecided] = useState<ReadonlySet<string>>(new Set());
  const [now, setNow] = useState(Date.now());
  const [shown, setShown] = useState(false);
  usePolling(async (isCurrent) => {
    try {
      const answer = await getHoldQueue();
      if (!isCurrent()) return POLL_MS;
      setHolds(answer.holds);
      setLeftOut(answer.left_out);
      setNow(Date.now());
      const open = new Set(answer.holds.map(keyOf));
      setDecided((before) => new Set([...before].filter((key) => open.has(key))));
    } catch {
      // The list of runs asks the same daemon and reports what is wrong.
    }
    return pauseMs(POLL_MS);
  }, []);
  const decide = useCallback((hold: QueuedHold, decision: Decision, text: string): void => {
    postDecision(hold.run, hold.hold, decision, text).then(
      () => setDecided((before) => new Set([...before, keyOf(hold)])),
      (error: unknown) => {
        const hasEnded = error instanceof ApiError && (error.code === 'hold_closed' || error.status === 404);
        if (hasEnded) setDecided((before) => new Set([...before, keyOf(hold)]));
        failed(hasEnded ? new Error(`${hold.hold} has ended already; this decision was not needed`) : error);
      },
    );
  }, []);
  const waiting = holds.filter((hold) => !decided.has(keyOf(hold)));
  useEffect(() => {
    const byRun = new Map<string, number>();
    for (const {run} of waiting) byRun.set(run, (byRun.get(run) ?? 0) + 1);
    counted(byRun);
  }, [holds, decided]);
  const count = waiting.length + leftOut;
  return (
    <>
      {count > 0 && (
        <button class="queue-button" onClick={() => setShown(true)}>
          {plural(count, 'event')} held
        </button>
      )}
      {shown && (
        <Dialog title="Events that wait for a person" close={() => setShown(false)} wide>
          {waiting.length === 0 && <p>No event waits.</p>}
          {leftOut > 0 && <p class="hint">{plural(leftOut, 'more event')} not listed.</p>}
          {waiting.map((hold) => (
            <section key={keyOf(hold)} class="holds" aria-label={`${hold.hold} of run ${hold.run}`}>
              <a href={`#/run/${encodeURIComponent(hold.run)}`} onClick={() => setShown(false)}>
                Run {displayLine(hold.run, 60)}
              </a>
              <ul>
                <HoldCard hold={hold} now={now} decide={(_, decision, text) => decide(hold, decision, text)} />
              </ul>
            </section>
          ))}
        </Dialog>
      )}
    </>
  );
}
