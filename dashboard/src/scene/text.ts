// Text that agents chose, made fit to be shown: as data, on one line, with nothing invisible that moves other text about.

const unseen = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

const escaped = (c: string): string => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;

// `most`: in UTF-16 units; what is longer ends in an ellipsis.
export function shown(text: string, most = 80): string {
  const cut = text.length > most ? text.slice(0, most - 1) + '…' : text;
  return cut.replace(unseen, escaped).replace(/[\ud800-\udbff](?![\udc00-\udfff])/g, '\ufffd');
}

// Lines stay lines.
export function shownWhole(text: string): string {
  return text.replace(unseen, (c) => (c === '\n' || c === '\t' ? c : escaped(c)));
}

const short: Record<string, string> = {
  early_termination: 'ET', orphaned_event: 'OE', excessive_rerouting: 'ER', cross_lineage_aggregation: 'CLA',
  repeated_subproblem: 'RSP', missing_termination: 'MC', deadlock: 'DL',
};

export const ruleCode = (rule: string): string => (Object.hasOwn(short, rule) ? short[rule]! : shown(rule, 8));
export const ruleName = (rule: string): string => shown(rule).replaceAll('_', ' ');
export const ruleNames = Object.keys(short);

export const plural = (n: number, one: string, many = one + 's'): string =>
  `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

// A stamp of the run's clock: as a time of day if it is one, else in seconds since the run's first.
export function stampText(ts: number, first: number): string {
  if (first > 1e12) return new Date(ts).toISOString().slice(11, 23);
  const ms = ts - first;
  if (Math.abs(ms) < 1000) return `${ms} ms`;
  if (Math.abs(ms) < 100_000) return `${(ms / 1000).toFixed(1)} s`;
  const two = (n: number): string => String(Math.floor(n)).padStart(2, '0');
  const minutes = ms / 60_000;
  const seconds = two((ms % 60_000) / 1000);
  return minutes < 60 ? `${Math.floor(minutes)}:${seconds}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${seconds}`;
}

export function agoText(ms: number): string {
  if (ms < 1500) return 'now';
  if (ms < 60_000) return `${Math.round(ms / 1000)} s ago`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min ago`;
  if (ms < 86_400_000) return `${Math.round(ms / 3_600_000)} h ago`;
  return `${Math.round(ms / 86_400_000)} d ago`;
}

export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let n = bytes;
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i += 1;
  }
  return `${n < 10 && i > 0 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}
