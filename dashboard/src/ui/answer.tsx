// The answer of the report of an ended run: what went wrong, who, what now. digd runs no attribution method; the panel
// names the command that does.
import {useEffect, useState} from 'preact/hooks';
import {getReport, type Report} from '../net/api';
import {displayText} from '../scene/text';

const questions = ['What went wrong?', 'Who?', 'What now?'];

interface Props {
  run: string;
  ended: boolean;
}

export function Answer({run, ended}: Props) {
  const [report, setReport] = useState<Report | null>(null);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    if (!ended) return;
    let disposed = false;
    getReport(run).then(
      (loaded) => !disposed && setReport(loaded),
      (error: unknown) => !disposed && setProblem((error as Error).message),
    );
    return () => {
      disposed = true;
    };
  }, [run, ended]);
  if (!ended) return null;
  const command = report && rankingCommand(report);
  return (
    <section class="answer" aria-label="Answer">
      <h2>Answer</h2>
      {problem !== '' && <p class="hint">The report could not be read: {problem}.</p>}
      {report === null && problem === '' && <p class="hint">Reading the report…</p>}
      {report && (
        <dl>
          {report.verdict.slice(0, questions.length).map((text, i) => (
            <div key={questions[i]}>
              <dt>{questions[i]}</dt>
              <dd>
                <Words text={text} />
                {i === 1 && command && (
                  <>
                    {' '}
                    <code>{displayText(command)}</code> ranks the suspects.
                  </>
                )}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

// The command that ranks the suspects of a run that did not succeed.
function rankingCommand(report: Report): string | null {
  if (report.conclusion.kind !== 'unknown' || report.run.outcome === 'success') return null;
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
