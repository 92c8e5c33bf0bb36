// The operator's switch: how far digd may go with all runs, at once and until restart.
import {useState} from 'preact/hooks';
import {modes, putMode, type Mode} from '../net/api';
import {Dialog} from './dialog';

const means: Record<Mode, string> = {
  off: 'Nothing is judged. Messages are recorded and delivered as they are.',
  observe: 'Rules judge and report. Nothing is changed.',
  shadow: 'As observe, and each report says what would have been done.',
  enforce: 'Runs are healed as far as each of them asked for.',
};

export function ModeSwitch({mode, switched, failed}: {mode: Mode | null; switched(mode: Mode): void; failed(error: unknown): void}) {
  const [asked, setAsked] = useState<Mode | null>(null);
  const go = (to: Mode): void => {
    setAsked(null);
    putMode(to).then((now) => switched(now.mode), failed);
  };
  return (
    <div class="switch" role="radiogroup" aria-label="The operator's switch, for all runs">
      {modes.map((one) => (
        <button key={one} role="radio" aria-checked={mode === one} class={one} disabled={mode === null} title={means[one]}
          onClick={() => one !== mode && setAsked(one)}>{one}</button>
      ))}
      {asked && (
        <Dialog title={`Switch all runs to ${asked}?`} close={() => setAsked(null)}>
          <p>{means[asked]}</p>
          <p class="hint">It holds at once, for all open and coming runs, until digd is restarted. A run never goes further than its own mode.</p>
          <div class="actions">
            <button onClick={() => setAsked(null)}>Leave it at {mode}</button>
            <button class="primary" onClick={() => go(asked)}>Switch to {asked}</button>
          </div>
        </Dialog>
      )}
    </div>
  );
}
