// The search over what agents said, while the reader types. `off`: digd indexes no texts.
import {useEffect, useState} from 'preact/hooks';
import {searchTexts, type Hit} from '../net/payloads';

const TYPING_MS = 300;
const MIN_CHARACTERS = 2;

export interface TextSearch {
  hits: readonly Hit[];
  off: boolean;
}

const none: TextSearch = {hits: [], off: false};

// `run`: only in this run; null: over all runs. Failures count as nothing found: the ids still match.
export function useTextSearch(words: string, run: string | null, maxPages: number): TextSearch {
  const [result, setResult] = useState(none);
  useEffect(() => {
    setResult(none);
    if (words.trim().length < MIN_CHARACTERS || !/[\p{L}\p{N}]/u.test(words)) return;
    let disposed = false;
    const timer = window.setTimeout(
      () =>
        void searchTexts(words, run, maxPages).then(
          (hits) => !disposed && setResult({hits: hits ?? [], off: hits === null}),
          () => undefined,
        ),
      TYPING_MS,
    );
    return () => {
      disposed = true;
      clearTimeout(timer);
    };
  }, [words, run]);
  return result;
}
