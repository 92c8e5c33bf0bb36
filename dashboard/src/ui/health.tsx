// The state of the daemon: readiness, verdict latency, queues and archive. From /metrics and /readyz.
import {useState} from 'preact/hooks';
import {histogram, parseMetrics, quantile, total, type Bucket, type Sample, type Samples} from '../health/prometheus';
import {getMetrics, getReadiness, type Readiness} from '../net/api';
import {bytesText, plural, ruleCode, displayLine} from '../scene/text';
import {Dialog} from './dialog';
import {usePolling} from './polling';

const POLL_MS = 2_000;

function seconds(s: number): string {
  if (s === Infinity) return 'more';
  if (s >= 1) return `${+s.toPrecision(3)} s`;
  return s >= 1e-3 ? `${+(s * 1e3).toPrecision(3)} ms` : `${+(s * 1e6).toPrecision(3)} µs`;
}

export function Health({close}: {close(): void}) {
  const [samples, setSamples] = useState<Samples | null>(null);
  const [ready, setReady] = useState<Readiness | null>(null);
  const [problem, setProblem] = useState('');
  usePolling(async (isCurrent) => {
    try {
      const [text, now] = await Promise.all([getMetrics(), getReadiness()]);
      if (!isCurrent()) return POLL_MS;
      setSamples(parseMetrics(text));
      setReady(now);
      setProblem('');
    } catch (error) {
      if (!isCurrent()) return POLL_MS;
      setProblem((error as Error).message);
      setReady(null); // not known while digd does not answer
    }
    return POLL_MS;
  }, []);
  return (
    <Dialog title="Health" close={close} wide>
      {problem !== '' && (
        <p class="wrong" role="alert">
          {problem}
        </p>
      )}
      {ready && <Ready now={ready} />}
      {samples && <Latency buckets={histogram(samples, 'digd_verdict_latency_seconds')} />}
      {samples && <Numbers samples={samples} />}
    </Dialog>
  );
}

function Ready({now}: {now: Readiness}) {
  if (now.ready) return <p class="ready">Ready: digd accepts runs and the archive keeps up.</p>;
  return (
    <ul class="wrong">
      {now.reasons.map((reason) => (
        <li key={reason.code}>{displayLine(reason.message, 300)}</li>
      ))}
    </ul>
  );
}

function Latency({buckets}: {buckets: Bucket[]}) {
  const used = buckets.filter((bucket) => bucket.count > 0);
  const observations = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
  if (used.length === 0) return <p class="hint">No verdicts yet, so there is no latency to show.</p>;
  const from = buckets.indexOf(used[0]!);
  const shownBuckets = buckets.slice(Math.max(0, from - 1), buckets.indexOf(used.at(-1)!) + 2);
  const maxCount = Math.max(...shownBuckets.map((bucket) => bucket.count));
  const marks = [0.5, 0.99, 0.999].map((q) => `${q * 100}% within ${seconds(quantile(buckets, q)!)}`);
  return (
    <figure class="latency">
      <figcaption>
        <h3>Verdict latency</h3> {plural(observations, 'verdict')}: {marks.join(', ')}
      </figcaption>
      <div class="bars" role="img" aria-label={`Histogram of verdict latency: ${marks.join(', ')}`}>
        {shownBuckets.map((bucket) => (
          <div class="bar" key={bucket.upTo} title={`${bucket.count} up to ${seconds(bucket.upTo)}`}>
            <span class="n">{bucket.count > 0 ? bucket.count.toLocaleString('en') : ''}</span>
            <span class="body" style={{height: `${(bucket.count / maxCount) * 90}px`}} />
            <span class="upto">{seconds(bucket.upTo)}</span>
          </div>
        ))}
      </div>
      <p class="hint">
        From reading a frame to queueing its verdicts for the socket, since the start. A bar counts the verdicts that
        took longer than the time below the bar before it, up to the time below it.
      </p>
    </figure>
  );
}

const detectionCount = ({labels, value}: Sample): string =>
  `${ruleCode(labels.rule ?? '')} ${value} ${labels.healed === 'true' ? 'healed' : 'not healed'}`;

function Numbers({samples}: {samples: Samples}) {
  const value = (name: string): number => total(samples, name);
  const n = (name: string): string => value(name).toLocaleString('en');
  const groups: [string, [string, string][]][] = [
    [
      'Runs',
      [
        ['open', n('digd_runs_open')],
        ['sessions', n('digd_sessions')],
        ['connections', n('digd_connections')],
        ['messages', n('digd_messages_total')],
        ['refused', n('digd_refusals_total')],
      ],
    ],
    [
      'Queues',
      [
        ['archive queue', n('digd_archive_queue_entries')],
        ['kept on engine threads', n('digd_archive_backlog_entries')],
        ['congested threads', n('digd_congested_threads')],
        ['archive reads waiting', n('digd_archive_reads_waiting')],
        ['limits hit', n('digd_limits_hit_total')],
      ],
    ],
    [
      'Archive',
      [
        ['file', bytesText(value('digd_archive_file_bytes'))],
        ['write-ahead log', bytesText(value('digd_archive_log_bytes'))],
        ['durable entries', n('digd_archive_entries_total')],
        ['commits', n('digd_archive_commits_total')],
        ['failed commits', n('digd_archive_failed_commits_total')],
      ],
    ],
    [
      'Watching',
      [
        ['feed readers', n('digd_feed_readers')],
        ['frames sent', n('digd_feed_frames_total')],
        ['HTTP requests', n('digd_http_requests_total')],
        ['webhooks waiting', n('digd_webhook_waiting')],
        ['memory', bytesText(value('process_resident_memory_bytes'))],
      ],
    ],
  ];
  const rules = (samples.get('digd_detections_total') ?? []).filter((sample) => sample.value > 0);
  return (
    <div class="numbers">
      {groups.map(([title, rows]) => (
        <table key={title}>
          <caption>{title}</caption>
          <tbody>
            {rows.map(([name, text]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{text}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ))}
      {rules.length > 0 && (
        <p class="wide">Detections since the start: {rules.map((sample) => detectionCount(sample)).join(', ')}</p>
      )}
    </div>
  );
}
