// Runs over time: a bar for each section of the span counts the runs opened in it. Failed runs are at the bar's foot.
import {barsOf, durationText} from '../scene/fleet';
import type {Series} from '../net/fleet';
import {plural} from '../scene/text';

const HEIGHT = 100;

const timeText = (ms: number): string => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');

export function FleetChart({series}: {series: Series}) {
  const bars = barsOf(series);
  const most = Math.max(1, ...bars.map((bar) => bar.runs));
  const width = 1 / bars.length;
  const scale = (n: number): number => (n / most) * HEIGHT;
  // A part of bar `i` with `count` runs. `upTo`: the runs from the bar's foot to the part's top.
  const part = (i: number, kind: string, upTo: number, count: number) => (
    <rect class={kind} x={(i + 0.12) * width} y={HEIGHT - scale(upTo)} width={width * 0.76} height={scale(count)} />
  );
  return (
    <figure class="fleet-chart">
      <svg
        viewBox={`0 0 1 ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Runs opened over time: at most ${plural(most, 'run')} in ${durationText(series.width_ms)}`}
      >
        {bars.map((bar, i) => (
          <g key={i}>
            <title>
              {`${timeText(bar.startMs)} UTC: ${plural(bar.runs, 'run')}, ${bar.failure} failed or aborted`}
            </title>
            <rect class="hit" x={i * width} y={0} width={width} height={HEIGHT} />
            {part(i, 'other', bar.runs, bar.other)}
            {part(i, 'failure', bar.failure, bar.failure)}
          </g>
        ))}
      </svg>
      <figcaption>
        <span>{timeText(series.start_ms)} UTC</span>
        <span>
          <i class="key other" /> runs opened <i class="key failure" /> failed or aborted · a bar is{' '}
          {durationText(series.width_ms)}, at most {most.toLocaleString('en')}
        </span>
        <span>{timeText(series.start_ms + series.width_ms * bars.length)}</span>
      </figcaption>
    </figure>
  );
}
