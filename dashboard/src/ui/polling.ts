// Hooks that ask the daemon repeatedly, or once.
import {useEffect, useRef} from 'preact/hooks';

const HIDDEN_FACTOR = 5; // a hidden page asks more rarely

export const pauseMs = (ms: number): number => (document.hidden ? ms * HIDDEN_FACTOR : ms);

// Calls the latest `ask` at once, and again after the milliseconds that it returns. Starts again when `inputs` change.
// After such a change, or when the component is removed, the `isCurrent` of the earlier call returns false, so that its
// late answer is not shown. If `ask` is null, nothing happens.
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

// Loads an answer once, and again when `inputs` change. Drops an answer that arrives after such a change. If
// `load` is null, nothing happens.
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
