// Reads the Prometheus text format as digd writes it. Pure.

export interface Sample {
  labels: Record<string, string>;
  value: number;
}
export type Samples = Map<string, Sample[]>;

const samplePattern = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const labelPattern = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

export function parseMetrics(text: string): Samples {
  const samples: Samples = new Map();
  for (const line of text.split('\n')) {
    const found = line.startsWith('#') ? null : samplePattern.exec(line);
    if (!found) continue;
    const labels: Record<string, string> = {};
    for (const [, name, value] of (found[2] ?? '').matchAll(labelPattern))
      labels[name!] = value!.replace(/\\(.)/g, '$1');
    const value = found[3] === '+Inf' ? Infinity : Number(found[3]);
    const existing = samples.get(found[1]!);
    if (existing) existing.push({labels, value});
    else samples.set(found[1]!, [{labels, value}]);
  }
  return samples;
}

export const total = (samples: Samples, name: string): number =>
  (samples.get(name) ?? []).reduce((sum, sample) => sum + sample.value, 0);

export interface Bucket {
  upTo: number;
  count: number;
} // `upTo` in seconds; Infinity for the last bucket

// The buckets of a histogram, each with its own count. The format itself has cumulative counts.
export function histogram(samples: Samples, name: string): Bucket[] {
  let below = 0;
  return (samples.get(`${name}_bucket`) ?? []).map((sample) => {
    const bucket = {
      upTo: sample.labels.le === '+Inf' ? Infinity : Number(sample.labels.le),
      count: sample.value - below,
    };
    below = sample.value;
    return bucket;
  });
}

// The upper edge of the bucket that holds the quantile; null without observations.
export function quantile(buckets: Bucket[], q: number): number | null {
  const observations = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
  if (observations === 0) return null;
  let cumulative = 0;
  for (const bucket of buckets) {
    cumulative += bucket.count;
    if (cumulative >= q * observations) return bucket.upTo;
  }
  return Infinity;
}
