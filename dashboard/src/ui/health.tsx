// How the daemon is: ready or why not, how fast verdicts are, what waits, what the archive does. From /metrics and /readyz.
import {useEffect, useState} from 'preact/hooks';
import {histogram, parseMetrics, quantile, total, type Bucket, type Samples} from '../health/prometheus';
import {getMetrics, getReadiness, type Readiness} from '../net/api';
import {bytesText, plural, ruleCode, shown} from '../scene/text';
import {Dialog} from './dialog';

const EVERY_MS = 2_000;

export function seconds(s: number): string {
  if (s === Infinity) return 'more';
  if (s >= 1) return `${+s.toPrecision(3)} s`;
  return s >= 1e-3 ? `${+(s * 1e3).toPrecision(3)} ms` : `${+(s * 1e6).toPrecision(3)} µs`;
}

export function Health({close}: {close(): void}) {
  const [samples, setSamples] = useState<Samples | null>(null);
  const [ready, setReady] = useState<Readiness | null>(null);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    let timer = 0;
    let gone = false;
    const ask = async (): Promise<void> => {
      try {
        const [text, now] = await Promise.all([getMetrics(), getReadiness()]);
        if (gone) return;
        setSamples(parseMetrics(text));
        setReady(now);
        setProblem('');
      } catch (error) {
        if (!gone) setProblem((error as Error).message);
      }
      if (!gone) timer = window.setTimeout(() => void ask(), EVERY_MS);
    };
    void ask();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, []);
  return (
    <Dialog title="Health" close={close} wide>
      {problem !== '' && <p class="wrong" role="alert">{problem}</p>}
      {ready && <Ready now={ready} />}
      {samples && <Latency buckets={histogram(samples, 'digd_verdict_latency_seconds')} />}
      {samples && <Numbers samples={samples} />}
    </Dialog>
  );
}

function Ready({now}: {now: Readiness}) {
  if (now.ready) return <p class="ready">Ready: digd takes runs and the archive keeps up.</p>;
  return <ul class="wrong">{now.reasons.map((one) => <li key={one.code}>{shown(one.message, 300)}</li>)}</ul>;
}

function Latency({buckets}: {buckets: Bucket[]}) {
  const used = buckets.filter((one) => one.count > 0);
  const all = buckets.reduce((sum, one) => sum + one.count, 0);
  if (used.length === 0) return <p class="hint">No verdict was given yet, so there is no latency to show.</p>;
  const from = buckets.indexOf(used[0]!);
  const shownBuckets = buckets.slice(Math.max(0, from - 1), buckets.indexOf(used.at(-1)!) + 2);
  const most = Math.max(...shownBuckets.map((one) => one.count));
  const marks = [0.5, 0.99, 0.999].map((q) => `${q * 100}% within ${seconds(quantile(buckets, q)!)}`);
  return (
    <figure class="latency">
      <figcaption><h3>Verdict latency</h3> {plural(all, 'verdict')}: {marks.join(', ')}</figcaption>
      <div class="bars" role="img" aria-label={`Histogram of verdict latency: ${marks.join(', ')}`}>
        {shownBuckets.map((one) => (
          <div class="bar" key={one.upTo} title={`${one.count} up to ${seconds(one.upTo)}`}>
            <span class="n">{one.count > 0 ? one.count.toLocaleString('en') : ''}</span>
            <span class="body" style={{height: `${(one.count / most) * 90}px`}} />
            <span class="upto">{seconds(one.upTo)}</span>
          </div>
        ))}
      </div>
      <p class="hint">From a frame read to its verdicts queued for the socket, since the start; each bar up to the time below it.</p>
    </figure>
  );
}

function Numbers({samples}: {samples: Samples}) {
  const value = (name: string): number => total(samples, name);
  const n = (name: string): string => value(name).toLocaleString('en');
  const groups: [string, [string, string][]][] = [
    ['Runs', [['open', n('digd_runs_open')], ['sessions', n('digd_sessions')], ['connections', n('digd_connections')],
      ['messages', n('digd_messages_total')], ['refused', n('digd_refusals_total')]]],
    ['Queues', [['archive queue', n('digd_archive_queue_entries')], ['kept on engine threads', n('digd_archive_backlog_entries')],
      ['congested threads', n('digd_congested_threads')], ['archive reads waiting', n('digd_archive_reads_waiting')],
      ['limits hit', n('digd_limits_hit_total')]]],
    ['Archive', [['file', bytesText(value('digd_archive_file_bytes'))], ['write-ahead log', bytesText(value('digd_archive_log_bytes'))],
      ['durable entries', n('digd_archive_entries_total')], ['commits', n('digd_archive_commits_total')],
      ['failed commits', n('digd_archive_failed_commits_total')]]],
    ['Watching', [['feed readers', n('digd_feed_readers')], ['frames sent', n('digd_feed_frames_total')],
      ['HTTP requests', n('digd_http_requests_total')], ['webhooks waiting', n('digd_webhook_waiting')],
      ['memory', bytesText(value('process_resident_memory_bytes'))]]],
  ];
  const rules = (samples.get('digd_detections_total') ?? []).filter((one) => one.value > 0);
  return (
    <div class="numbers">
      {groups.map(([title, rows]) => (
        <table key={title}><caption>{title}</caption><tbody>
          {rows.map(([name, text]) => <tr key={name}><th scope="row">{name}</th><td>{text}</td></tr>)}
        </tbody></table>
      ))}
      {rules.length > 0 && <p class="wide">Detections since the start: {rules.map((one) =>
        `${ruleCode(one.labels.rule ?? '')} ${one.value} ${one.labels.healed === 'true' ? 'healed' : 'not healed'}`).join(', ')}</p>}
    </div>
  );
}
