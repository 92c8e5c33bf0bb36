// "Who caused this?": starts the attribution of a run, and shows its progress and its answer. The graph marks the
// suspects.
import {useEffect, useState} from 'preact/hooks';
import {ApiError} from '../net/api';
import {getAttribution, isRunning, startAttribution, type Attribution as State, type Suspect} from '../net/attribution';
import {displayLine, displayText} from '../scene/text';

const POLL_MS = 400;
export const MAX_SUSPECTS = 5;

interface Props {
  run: string;
  command: string | null; // the command line that does the same
  found(suspects: readonly Suspect[]): void;
  ranked(isDone: boolean): void;
  choose(suspect: Suspect): void;
}

// Only a verdict that names a suspect is shown in the graph.
const suspectsOf = (state: State): readonly Suspect[] =>
  state.answer?.verdict.kind === 'suspect' ? state.answer.ranking.slice(0, MAX_SUSPECTS) : [];

function problemOf(error: unknown): string {
  if (error instanceof ApiError && error.status === 403)
    return 'This token may not start it: it needs the right operate';
  return (error as Error).message;
}

export function Attribution({run, command, found, ranked, choose}: Props) {
  const [state, setState] = useState<State | null>(null);
  const [problem, setProblem] = useState('');
  const running = isRunning(state);
  const take = (to: State): void => {
    setState(to);
    ranked(to.state === 'done');
    if (to.state === 'done') found(suspectsOf(to));
  };
  useEffect(() => {
    let disposed = false;
    const ask = (): void =>
      void getAttribution(run).then(
        (to) => !disposed && take(to),
        (error: unknown) => !disposed && setProblem(problemOf(error)),
      );
    if (state === null) ask(); // digd may still have an answer
    const timer = running ? window.setInterval(ask, POLL_MS) : 0;
    return () => {
      disposed = true;
      clearInterval(timer);
    };
  }, [run, running]);
  const start = (): void => {
    setProblem('');
    found([]);
    startAttribution(run).then(take, (error: unknown) => setProblem(problemOf(error)));
  };
  return (
    <div class="attribution">
      {!running && state?.state !== 'done' && (
        <button class="primary" onClick={start}>
          Who caused this?
        </button>
      )}
      {running && <Progress state={state!} />}
      {state?.state === 'done' && <Verdict state={state} choose={choose} />}
      {state?.state === 'failed' && (
        <p class="wrong" role="alert">
          The attribution failed: {displayLine(state.problem ?? '', 200)}.
        </p>
      )}
      {problem !== '' && (
        <p class="wrong" role="alert">
          {problem}.
        </p>
      )}
      {command !== null && (state?.state === 'failed' || problem !== '') && (
        <p class="hint">
          Without these limits: <code>{displayText(command)}</code>
        </p>
      )}
    </div>
  );
}

function Progress({state}: {state: State}) {
  const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;
  const count = (n = 0): string => n.toLocaleString('en');
  const reading = state.state === 'reading';
  return (
    <div class="progress" role="status">
      <span>
        {reading
          ? `Reading: ${count(state.read)} of ${count(state.messages)} messages`
          : `Ranking the steps: ${seconds(state.ms ?? 0)} of at most ${seconds(state.max_ms ?? 0)}`}
      </span>
      {reading ? (
        <progress value={state.read ?? 0} max={Math.max(1, state.messages ?? 1)} aria-label="Reading the run" />
      ) : (
        <progress aria-label="Ranking the steps" />
      )}
    </div>
  );
}

const evidenceAgainst = (suspect: Suspect): string =>
  suspect.chain.find((evidence) => evidence.accuses)?.says ?? 'no evidence against it';

function Verdict({state, choose}: {state: State; choose(suspect: Suspect): void}) {
  const suspects = suspectsOf(state);
  return (
    <>
      <p class="words">
        <bdi>{displayText(state.answer?.verdict.words ?? '')}</bdi>
      </p>
      {suspects.length > 0 && (
        <ol>
          {suspects.map((suspect) => (
            <li key={suspect.step}>
              <button class="quiet" onClick={() => choose(suspect)}>
                <bdi>{displayLine(suspect.agent, 40)}</bdi>, step {suspect.step}
              </button>{' '}
              <span class="sure">{suspect.proven ? 'proven' : `${Math.round(suspect.probability * 100)} %`}</span>
              <p class="hint">{displayLine(evidenceAgainst(suspect), 160)}</p>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}
