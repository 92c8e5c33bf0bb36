// Plays a run from the held position, fast enough that a run of any length takes at most a minute.
import {useEffect, useState} from 'preact/hooks';
import type {RunModel} from '../model/run_model';

const STEP_MS = 200;
const WHOLE_RUN_MS = 60_000;

export function usePlay(
  model: RunModel,
  at: number,
  go: (at: number) => void,
  onEnd: () => void,
): [boolean, (on: boolean) => void] {
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return;
    const timer = window.setTimeout(() => {
      const {last, first} = model.entries;
      if (at >= last) {
        setPlaying(false);
        onEnd();
      } else {
        go(Math.min(last, at + Math.max(1, Math.round(((last - first) * STEP_MS) / WHOLE_RUN_MS))));
      }
    }, STEP_MS);
    return () => clearTimeout(timer);
  }, [playing, at, model]);
  return [playing, setPlaying];
}
