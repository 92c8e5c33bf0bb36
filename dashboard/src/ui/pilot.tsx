// The pilot's numbers over many runs: interventions by place, the groups of the canary, and the precision of each rule
// by people's judgements. From /v1/pilot; docs/pilot.md describes its members.
import {useState} from 'preact/hooks';
import {getPilot, type CanaryGroup, type Interval, type Pilot as Answer, type PilotPlace} from '../net/api';
import {plural, ruleCode, ruleName, displayLine, displayText} from '../scene/text';
import {Dialog} from './dialog';
import {useLoad} from './polling';
import {TableHead} from './table_head';

const SPANS = [
  ['24h', 'the last day'],
  ['7d', 'the last 7 days'],
  ['4w', 'the last 4 weeks'],
] as const;
const MAX_PLACES = 50;
const MAX_METRICS = 16;

const percent = (x: number): string => `${(x * 100).toFixed(1)} %`;
const short = (x: number): string => String(+x.toPrecision(3));

export function Pilot({close}: {close(): void}) {
  const [since, setSince] = useState<string>('7d');
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [problem, setProblem] = useState('');
  const ask = (): Promise<Answer> => {
    setAnswer(null);
    return getPilot(since);
  };
  const loaded = (to: Answer): void => {
    setAnswer(to);
    setProblem('');
  };
  useLoad(ask, loaded, (error) => setProblem(error.message), [since]);
  return (
    <Dialog title="Pilot" close={close} wide>
      <p class="span">
        Runs opened in{' '}
        <select aria-label="Which runs" value={since} onChange={(e) => setSince(e.currentTarget.value)}>
          {SPANS.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </p>
      {problem !== '' && (
        <p class="wrong" role="alert">
          {problem}
        </p>
      )}
      {answer && <Sums answer={answer} />}
      {answer && answer.places.length > 0 && <Places places={answer.places} close={close} />}
      {answer?.canary && (
        <Canary groups={answer.canary.groups} difference={answer.canary.difference} method={answer.canary.method} />
      )}
      {answer && answer.precision.length > 0 && <Precision weeks={answer.precision} />}
      {answer?.left_out && <p class="hint">There is more than fits here; choose a shorter time.</p>}
    </Dialog>
  );
}

function Sums({answer}: {answer: Answer}) {
  const {runs, intervened} = answer;
  if (runs.total === 0) return <p>No run was opened in this time.</p>;
  if (intervened.runs === 0)
    return <p>digd intervened in none of {plural(runs.total, 'run')}, nor would it have in shadow.</p>;
  return (
    <p>
      digd would have intervened in <strong>{intervened.would}</strong> of {plural(runs.total, 'run')} and did intervene
      in <strong>{intervened.did}</strong>. Of these {plural(intervened.runs, 'run')},{' '}
      <strong>{intervened.ended_badly}</strong> ended badly anyway.
    </p>
  );
}

function Places({places, close}: {places: PilotPlace[]; close(): void}) {
  return (
    <ul class="cards places">
      {places.slice(0, MAX_PLACES).map((item, i) => (
        <Place key={i} place={item} close={close} />
      ))}
      {places.length > MAX_PLACES && (
        <li class="hint">
          {places.length - MAX_PLACES} more places; <code>digctl pilot</code> lists them.
        </li>
      )}
    </ul>
  );
}

function endings(ended: PilotPlace['ended']): string {
  const labels = [
    ['success', 'success'],
    ['failure', 'failure'],
    ['unknown', 'without an outcome'],
    ['aborted', 'aborted'],
    ['open', 'still open'],
  ] as const;
  return labels
    .filter(([key]) => ended[key] > 0)
    .map(([key, word]) => `${ended[key]} ${word}`)
    .join(', ');
}

function Place({place, close}: {place: PilotPlace; close(): void}) {
  const {right, wrong} = place.judged;
  return (
    <li class={`card ${place.did > 0 ? 'healed' : 'shadow'}`} data-rule={place.rule}>
      <div class="place">
        <span class="badge">{ruleCode(place.rule)}</span>
        <span class="rule">{ruleName(place.rule)}</span>
        <bdi class="where">{displayLine(place.place ?? 'the run as a whole', 120)}</bdi>
        <span class="done">
          {plural(place.runs, 'run')}: would have {place.would}, did {place.did} · ended: {endings(place.ended)}
          {right + wrong > 0 && ` · judged ${right} right, ${wrong} wrong`}
        </span>
      </div>
      <div class="more">
        {place.examples.map((item) => (
          <p key={item.run + item.detection}>
            <a href={`#/run/${encodeURIComponent(item.run)}`} onClick={close}>
              <bdi>{displayLine(item.run, 60)}</bdi>
            </a>{' '}
            <bdi>{displayText(item.reason)}</bdi>
          </p>
        ))}
        <p class="hint">
          To silence this place: <code>{silencing(place)}</code>
        </p>
      </div>
    </li>
  );
}

// The setting that silences a place, on one line; `digctl pilot --fine` prints the same.
function silencing(place: PilotPlace): string {
  const table = place.silence_in ?? 'rules';
  return Object.entries(place.silence)
    .map(([rule, setting]) =>
      Object.entries(setting)
        .map(([key, value]) => `${table}.${rule}.${key} = ${displayLine(JSON.stringify(value), 200)}`)
        .join(' '),
    )
    .join(' ');
}

function cell(interval: Interval | null | undefined, format: (x: number) => string): string {
  return interval ? `${format(interval.value)} [${format(interval.low)}, ${format(interval.high)}]` : 'too few';
}

function Canary({groups, difference, method}: NonNullable<Answer['canary']>) {
  const row = (
    title: string,
    valueOf: (group: CanaryGroup) => Interval | null | undefined,
    delta: Interval | null | undefined,
    format: (x: number) => string,
  ) => (
    <tr key={title}>
      <th>{title}</th>
      <td>{cell(valueOf(groups.enforce), format)}</td>
      <td>{cell(valueOf(groups.shadow), format)}</td>
      <td>{cell(delta, format)}</td>
    </tr>
  );
  return (
    <section class="canary" aria-label="Canary">
      <h2>Canary: enforced against shadow</h2>
      <table>
        <TableHead
          columns={[
            <td />,
            `enforce, ${plural(groups.enforce.runs, 'run')}`,
            `shadow, ${plural(groups.shadow.runs, 'run')}`,
            'difference',
          ]}
        />
        <tbody>
          {row('success', (group) => group.success, difference.success, percent)}
          {row('calls', (group) => group.calls, difference.calls, short)}
          {row('time, ms', (group) => group.time_ms, difference.time_ms, short)}
          {Object.entries(difference.metrics)
            .slice(0, MAX_METRICS)
            .map(([name, apart]) => row(displayLine(name, 40), (group) => group.metrics[name]?.mean, apart, short))}
        </tbody>
      </table>
      <p class="hint">Success is a share of the runs that ended and were not aborted. {displayLine(method, 200)}.</p>
    </section>
  );
}

function Precision({weeks}: {weeks: Answer['precision']}) {
  return (
    <section class="canary" aria-label="Precision">
      <h2>Judged by people</h2>
      <table>
        <TableHead columns={['rule', 'week of', 'right', 'wrong', 'precision']} />
        <tbody>
          {weeks.map((item) => (
            <tr key={item.rule + item.week}>
              <th>{ruleName(item.rule)}</th>
              <td>{displayLine(item.week)}</td>
              <td>{item.right}</td>
              <td>{item.wrong}</td>
              <td>{cell(item.precision, percent)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
