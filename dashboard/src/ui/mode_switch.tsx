// The operator's switch: the most that digd may do in any run, from now until restart.
import {useState} from 'preact/hooks';
import {modes, putMode, type Mode} from '../net/api';
import {Dialog} from './dialog';

const meanings: Record<Mode, string> = {
  off: 'No rules run. Messages are recorded and delivered unchanged.',
  observe: 'Rules run and report. Nothing is changed.',
  shadow: 'As observe; each report also says what digd would have done.',
  enforce: 'Runs are healed as far as their own mode allows.',
};

export function ModeSwitch({
  mode,
  switched,
  failed,
}: {
  mode: Mode | null;
  switched(mode: Mode): void;
  failed(error: unknown): void;
}) {
  const [requested, setRequested] = useState<Mode | null>(null);
  const confirm = (to: Mode): void => {
    setRequested(null);
    putMode(to).then((now) => switched(now.mode), failed);
  };
  return (
    <div class="switch" role="radiogroup" aria-label="The operator's switch, for all runs">
      {modes.map((option) => (
        <button
          key={option}
          role="radio"
          aria-checked={mode === option}
          class={option}
          disabled={mode === null}
          title={meanings[option]}
          onClick={() => option !== mode && setRequested(option)}
        >
          {option}
        </button>
      ))}
      {requested && (
        <Dialog title={`Switch all runs to ${requested}?`} close={() => setRequested(null)}>
          <p>{meanings[requested]}</p>
          <p class="hint">
            This applies at once to all open and future runs, until digd restarts. A run never goes further than its own
            mode.
          </p>
          <div class="actions">
            <button onClick={() => setRequested(null)}>Leave it at {mode}</button>
            <button class="primary" onClick={() => confirm(requested)}>
              Switch to {requested}
            </button>
          </div>
        </Dialog>
      )}
    </div>
  );
}
