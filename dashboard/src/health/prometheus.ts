// Reads Prometheus' text format, as digd writes it. Pure.

export interface Sample { labels: Record<string, string>; value: number }
export type Samples = Map<string, Sample[]>;

const line = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

export function parseMetrics(text: string): Samples {
  const out: Samples = new Map();
  for (const one of text.split('\n')) {
    const found = one.startsWith('#') ? null : line.exec(one);
    if (!found) continue;
    const labels: Record<string, string> = {};
    for (const [, name, value] of (found[2] ?? '').matchAll(label)) labels[name!] = value!.replace(/\\(.)/g, '$1');
    const value = found[3] === '+Inf' ? Infinity : Number(found[3]);
    const all = out.get(found[1]!);
    if (all) all.push({labels, value});
    else out.set(found[1]!, [{labels, value}]);
  }
  return out;
}

export const total = (samples: Samples, name: string): number =>
  (samples.get(name) ?? []).reduce((sum, one) => sum + one.value, 0);

export interface Bucket { upTo: number; count: number }  // seconds; Infinity is the last

// The buckets of a histogram, each with its own count (the format adds them up).
export function histogram(samples: Samples, name: string): Bucket[] {
  let below = 0;
  return (samples.get(`${name}_bucket`) ?? []).map((one) => {
    const bucket = {upTo: one.labels.le === '+Inf' ? Infinity : Number(one.labels.le), count: one.value - below};
    below = one.value;
    return bucket;
  });
}

// An upper bound of the quantile: the edge of the bucket that it falls into; null without observations.
export function quantile(buckets: Bucket[], q: number): number | null {
  const all = buckets.reduce((sum, one) => sum + one.count, 0);
  if (all === 0) return null;
  let seen = 0;
  for (const one of buckets) {
    seen += one.count;
    if (seen >= q * all) return one.upTo;
  }
  return Infinity;
}
