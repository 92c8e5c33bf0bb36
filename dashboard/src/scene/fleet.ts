// What the fleet page says about hosts, spans of time and sums. Pure.
import type {Host, Series, Sums} from '../net/fleet';

export const LAG_WARNING = 10_000; // entries, as in digd's /readyz
const SILENT_AFTER = 3; // records in a row that are missing

export type HostState = 'well' | 'silent' | 'lagging' | 'stopped' | 'unknown';

// `unknown`: only files were read, or the daemon publishes no records.
export function hostState(host: Host, nowMs: number): HostState {
  const record = host.record;
  if (record?.sent_ms === undefined) return 'unknown';
  if (record.stopping) return 'stopped';
  if (nowMs - record.sent_ms > SILENT_AFTER * (record.every_ms ?? 10_000)) return 'silent';
  return (record.lag ?? 0) > LAG_WARNING ? 'lagging' : 'well';
}

export const heardMs = (host: Host): number | null =>
  host.heard_ms === null && host.record?.sent_ms === undefined
    ? null
    : Math.max(host.heard_ms ?? 0, host.record?.sent_ms ?? 0);

const stateOrder: HostState[] = ['silent', 'lagging', 'well', 'unknown', 'stopped'];

// Sorted: hosts that need attention come first.
export function sortedHosts(hosts: readonly Host[], nowMs: number): Host[] {
  const rank = (host: Host): number => stateOrder.indexOf(hostState(host, nowMs));
  return [...hosts].sort(
    (a, b) =>
      rank(a) - rank(b) || a.tenant.localeCompare(b.tenant) || a.host.localeCompare(b.host, 'en', {numeric: true}),
  );
}

// The versions of running hosts, the most frequent first.
export function versionsOf(hosts: readonly Host[]): {version: string; hosts: number}[] {
  const counts = new Map<string, number>();
  for (const {record} of hosts)
    if (record?.version !== undefined && !record.stopping)
      counts.set(record.version, (counts.get(record.version) ?? 0) + 1);
  return [...counts]
    .map(([version, n]) => ({version, hosts: n}))
    .sort((a, b) => b.hosts - a.hosts || a.version.localeCompare(b.version));
}

export const tokensOf = (sums: Pick<Sums, 'input_tokens' | 'output_tokens'>): number | null =>
  sums.input_tokens === null && sums.output_tokens === null
    ? null
    : (sums.input_tokens ?? 0) + (sums.output_tokens ?? 0);

export function amountText(n: number | null): string {
  if (n === null) return '';
  if (n === 0) return '0';
  return n.toLocaleString('en', n < 1 ? {maximumSignificantDigits: 3} : {maximumFractionDigits: n < 1000 ? 2 : 0});
}

// Large counts in few characters: 12,345,678 as 12.3M.
export const shortCount = (n: number): string =>
  n < 10_000 ? n.toLocaleString('en') : n.toLocaleString('en', {notation: 'compact', maximumFractionDigits: 1});

// The share of successes among the runs that ended with an outcome; null: no run did.
export function successShare(sums: Sums): number | null {
  const judged = sums.success + sums.failure + sums.aborted;
  return judged === 0 ? null : sums.success / judged;
}

export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`;
  if (ms < 86_400_000) return `${(ms / 3_600_000).toFixed(1)} h`;
  return `${(ms / 86_400_000).toFixed(1)} d`;
}

export interface Bar {
  startMs: number;
  runs: number;
  failure: number; // failed or aborted
  other: number;
}

export const barsOf = (series: Series): Bar[] =>
  series.runs.map((runs, i) => {
    const failure = series.failure[i] ?? 0;
    return {startMs: series.start_ms + i * series.width_ms, runs, failure, other: runs - failure};
  });
