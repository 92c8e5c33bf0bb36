// The answer of the report of an ended run: what went wrong, who, what now. The report runs no attribution method;
// the panel starts it.
import {useState} from 'preact/hooks';
import {getReport, type Report} from '../net/api';
import type {Suspect} from '../net/attribution';
import {displayLine, displayText} from '../scene/text';
import {Attribution} from './attribution';
import {useLoad} from './polling';

const questions = ['What went wrong?', 'Who?', 'What now?'];

interface Props {
  run: string;
  ended: boolean;
  found(suspects: readonly Suspect[]): void;
  choose(suspect: Suspect): void;
}

export function Answer({run, ended, found, choose}: Props) {
  const [report, setReport] = useState<Report | null>(null);
  const [problem, setProblem] = useState('');
  const [ranked, setRanked] = useState(false); // the answer of an attribution replaces the report's
  useLoad(ended ? () => getReport(run) : null, setReport, (error) => setProblem(error.message), [run, ended]);
  if (!ended) return null;
  const command = report && rankingCommand(report);
  return (
    <section class={`answer ${report ? displayLine(report.run.outcome ?? '') : ''}`} aria-label="Answer">
      <h2>Answer</h2>
      {problem !== '' && <p class="hint">The report could not be read: {problem}.</p>}
      {report === null && problem === '' && <p class="hint">Reading the report…</p>}
      {report && (
        <dl>
          {report.verdict.slice(0, questions.length).map((text, i) => (
            <div key={questions[i]}>
              <dt>{questions[i]}</dt>
              <dd>
                {!(i === 1 && ranked) && <Words text={text} />}
                {i === 1 && report.run.outcome !== 'success' && (
                  <Attribution run={run} command={command} found={found} ranked={setRanked} choose={choose} />
                )}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

// The command that ranks the suspects.
function rankingCommand(report: Report): string | null {
  return report.passes['decisive-error']?.command ?? null;
}

// A sentence of the report. `Text` in backquotes is a command.
function Words({text}: {text: string}) {
  return (
    <bdi>
      {displayText(text)
        .split('`')
        .map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}
    </bdi>
  );
}
