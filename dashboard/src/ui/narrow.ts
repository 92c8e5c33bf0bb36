// Whether the page is narrow: the side panel is then below the run, not beside it (style/small_screens.css).
import {useEffect, useState} from 'preact/hooks';

const NARROW = '(max-width: 1180px)';

export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const narrow = matchMedia(NARROW);
    const change = (): void => setNarrow(narrow.matches);
    narrow.addEventListener('change', change);
    return () => narrow.removeEventListener('change', change);
  }, []);
  return isNarrow;
}
