// Playing a run from where it is held: some entries a second, so that a run of any length takes a minute at most.
import {useEffect, useState} from 'preact/hooks';
import type {RunModel} from '../model/run_model';

const EVERY_MS = 200;
const WHOLE_MS = 60_000;

export function usePlay(model: RunModel, at: number, go: (at: number) => void, arrived: () => void): [boolean, (on: boolean) => void] {
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return;
    const timer = window.setTimeout(() => {
      const {last, first} = model.entries;
      if (at >= last) {
        setPlaying(false);
        arrived();
      } else {
        go(Math.min(last, at + Math.max(1, Math.round(((last - first) * EVERY_MS) / WHOLE_MS))));
      }
    }, EVERY_MS);
    return () => clearTimeout(timer);
  }, [playing, at, model]);
  return [playing, setPlaying];
}
