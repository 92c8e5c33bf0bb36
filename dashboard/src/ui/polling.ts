// Asking the daemon again and again, and once.
import {useEffect, useRef} from 'preact/hooks';

const HIDDEN_FACTOR = 5; // a page that nobody sees asks more rarely

export const pauseMs = (ms: number): number => (document.hidden ? ms * HIDDEN_FACTOR : ms);

// Calls the latest `ask` at once, and again after the pause that it returns, until the component is removed or `inputs`
// change. `isCurrent` is false from then on, so that a late answer is not shown. Null: does not ask.
export function usePolling(
  ask: ((isCurrent: () => boolean) => Promise<number>) | null,
  inputs: readonly unknown[],
): void {
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => {
    let timer = 0;
    let disposed = false;
    const isCurrent = (): boolean => !disposed;
    const poll = async (): Promise<void> => {
      const ms = await latest.current?.(isCurrent);
      if (ms !== undefined && !disposed) timer = window.setTimeout(() => void poll(), ms);
    };
    void poll();
    return () => {
      disposed = true;
      clearTimeout(timer);
    };
  }, inputs);
}

// Loads something once, and again when `inputs` change. An answer that comes later than that is dropped. Null: does not
// load.
export function useLoad<T>(
  load: (() => Promise<T>) | null,
  loaded: (answer: T) => void,
  failed: (error: Error) => void,
  inputs: readonly unknown[],
): void {
  useEffect(() => {
    let disposed = false;
    load?.().then(
      (answer) => !disposed && loaded(answer),
      (error: unknown) => !disposed && failed(error as Error),
    );
    return () => {
      disposed = true;
    };
  }, inputs);
}
