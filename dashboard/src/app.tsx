// The page: header, list of runs, and the chosen run. The run and its view are in the address (net/address.ts).
import {useCallback, useEffect, useRef, useState} from 'preact/hooks';
import {readTheme, type Theme} from './graph/theme';
import {ApiError, getMode, getReadiness, getRuns, type Mode} from './net/api';
import {parseComparison, readAddress} from './net/address';
import {noPages, runsOf, withNewest, withOlder} from './net/run_pages';
import {clearToken, token} from './net/session';
import {RunSession} from './run_session';
import {displayLine} from './scene/text';
import {Compare} from './ui/compare';
import {FleetPage} from './ui/fleet';
import {Health} from './ui/health';
import {HoldQueue} from './ui/hold_queue';
import {ModeSwitch} from './ui/mode_switch';
import {Pilot} from './ui/pilot';
import {pauseMs, usePolling} from './ui/polling';
import {RunList} from './ui/run_list';
import {RunView} from './ui/run_view';
import {AttachPage, ChoosePage, MissingRunPage} from './ui/start_page';
import {TokenDialog} from './ui/token_dialog';
import {Viewing} from './ui/viewing';

const POLL_MS = 2_000;

function useTheme(): Theme {
  const [theme, setTheme] = useState(readTheme);
  useEffect(() => {
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const change = (): void => setTheme(readTheme());
    dark.addEventListener('change', change);
    return () => dark.removeEventListener('change', change);
  }, []);
  return theme;
}

export function App() {
  const theme = useTheme();
  const [tokenReason, setTokenReason] = useState<string | null>(null); // null: no token needed
  const [problem, setProblem] = useState('');
  const [run, setRun] = useState(() => readAddress().run);
  const [visits, setVisits] = useState(0); // increases when the reader follows a link or edits the address
  const [sessionCount, setSessionCount] = useState(0);
  const failed = useCallback((error: unknown): void => {
    if (error instanceof ApiError && error.status === 401) {
      setTokenReason(token() === null ? '' : 'digd does not accept this token.');
      clearToken();
    } else {
      setProblem((error as Error).message);
    }
  }, []);
  useEffect(() => {
    const change = (): void => {
      setRun(readAddress().run);
      setVisits((count) => count + 1);
    };
    addEventListener('hashchange', change);
    setRun(readAddress().run); // the address may have changed since the first drawing
    return () => removeEventListener('hashchange', change);
  }, []);
  if (tokenReason !== null) {
    return (
      <TokenDialog
        key={tokenReason}
        reason={tokenReason}
        given={() => {
          setTokenReason(null);
          setProblem('');
          setSessionCount(sessionCount + 1);
        }}
      />
    );
  }
  return (
    <Page
      key={sessionCount}
      theme={theme}
      run={run}
      visits={visits}
      choose={setRun}
      problem={problem}
      setProblem={setProblem}
      failed={failed}
    />
  );
}

interface PageProps {
  theme: Theme;
  run: string | null;
  visits: number;
  choose(run: string): void;
  problem: string;
  setProblem(text: string): void;
  failed(error: unknown): void;
}

function Page({theme, run, visits, choose, problem, setProblem, failed}: PageProps) {
  const [mode, setMode] = useState<Mode | null>(null);
  const [viewing, setViewing] = useState<boolean | null>(null); // null: not known yet
  const [ready, setReady] = useState<boolean | null>(null);
  const [health, setHealth] = useState(false);
  const [pilot, setPilot] = useState(false);
  const [held, setHeld] = useState<ReadonlyMap<string, number>>(new Map());
  const setServer = (answer: {mode: Mode; fleet?: boolean}): void => {
    setMode(answer.mode);
    setViewing(answer.fleet === true);
  };
  const list = useRuns(failed, (answered) => answered && setProblem(''), setServer, setReady);
  const session = useSession(run, failed);
  const compared = parseComparison(location.hash);
  return (
    <Viewing.Provider value={viewing === true}>
      <div class="page">
        <header class="top">
          <a class="brand" href="#/" onClick={() => choose('')}>
            <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
              <path d="M6 6 18 12 6 18" />
              <circle cx="6" cy="6" r="3" />
              <circle cx="18" cy="12" r="3" />
              <circle cx="6" cy="18" r="3" />
            </svg>
            digd
          </a>
          {viewing === true && (
            <a class="fleet-link" href="#/fleet" onClick={() => choose('')}>
              Fleet
            </a>
          )}
          {viewing === false && (
            <>
              <ModeSwitch mode={mode} switched={setMode} failed={failed} />
              <HoldQueue failed={failed} counted={setHeld} />
              <button class="pilot-button" onClick={() => setPilot(true)}>
                Pilot
              </button>
            </>
          )}
          <button class="health-button" onClick={() => setHealth(true)}>
            <span
              class={`state ${ready === null ? '' : ready ? 'well' : 'unwell'}`}
              role="img"
              aria-label={ready ? 'ready' : 'not ready'}
            />
            Health
          </button>
        </header>
        {problem !== '' && (
          <p class="problem" role="alert">
            {problem}{' '}
            <button class="quiet" aria-label="Dismiss" onClick={() => setProblem('')}>
              ✕
            </button>
          </p>
        )}
        <RunList runs={list.runs} held={held} more={list.more} chosen={run} choose={choose} older={list.older} />
        {compared ? (
          <Compare key={location.hash} {...compared} failed={failed} />
        ) : session?.session.feedState === 'missing' ? (
          <MissingRunPage run={session.session.run} />
        ) : session ? (
          <RunView
            key={`${visits} ${session.session.run}`}
            session={session.session}
            version={session.version}
            runs={list.runs}
            theme={theme}
            failed={failed}
          />
        ) : viewing === null ? (
          <main class="empty" />
        ) : viewing ? (
          <FleetPage key={visits} failed={failed} />
        ) : list.loaded && list.runs.length === 0 ? (
          <AttachPage />
        ) : (
          <ChoosePage />
        )}
        {health && <Health close={() => setHealth(false)} />}
        {pilot && <Pilot close={() => setPilot(false)} />}
      </div>
    </Viewing.Provider>
  );
}

function useRuns(
  failed: (error: unknown) => void,
  answered: (ok: boolean) => void,
  setServer: (answer: {mode: Mode; fleet?: boolean}) => void,
  setReady: (ready: boolean) => void,
) {
  const [pages, setPages] = useState(noPages);
  const [loaded, setLoaded] = useState(false);
  const failing = useRef(false);
  usePolling(async (isCurrent) => {
    try {
      const [newest, mode, ready] = await Promise.all([getRuns(null), getMode(), getReadiness()]);
      if (!isCurrent()) return POLL_MS;
      setPages((current) => withNewest(current, newest));
      setLoaded(true);
      setServer(mode);
      setReady(ready.ready);
      answered(failing.current);
      failing.current = false;
    } catch (error) {
      if (!isCurrent()) return POLL_MS;
      failed(error);
      setReady(false);
      failing.current = true;
    }
    return pauseMs(POLL_MS);
  }, []);
  const older = (): void => {
    getRuns(pages.next).then((page) => setPages((current) => withOlder(current, page)), failed);
  };
  return {runs: runsOf(pages), loaded, more: pages.next !== null, older};
}

function useSession(
  run: string | null,
  failed: (error: unknown) => void,
): {session: RunSession; version: number} | null {
  const [state, setState] = useState<{session: RunSession; version: number} | null>(null);
  useEffect(() => {
    document.title = run ? `${displayLine(run, 60)} · digd` : 'digd';
    if (!run) return setState(null);
    const session = new RunSession(run, () => setState({session, version: session.version}), failed);
    setState({session, version: 0});
    const timer = setInterval(() => !session.model.ended && void session.refresh(), POLL_MS);
    return () => {
      clearInterval(timer);
      session.stop();
    };
  }, [run]);
  return state;
}
