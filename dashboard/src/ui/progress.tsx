// How much of the run's past the page has read. Nothing once it has read all.
import type {RunSession} from '../run_session';

export function ReadingProgress({session}: {session: RunSession}) {
  const {read, total} = session.progress;
  if (session.feedState === 'missing' || read >= total) return null;
  return (
    <p class="reading" role="status">
      <progress max={total} value={read} aria-label="Reading the run" />
      <span>
        Read {read.toLocaleString('en')} of {total.toLocaleString('en')} messages
      </span>
    </p>
  );
}
