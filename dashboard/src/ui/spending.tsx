// What the run used, over time and by agent, against its limits, and where it fanned out.
import {useRef, useState} from 'preact/hooks';
import {getUsage, type AgentUsage, type RunUsage} from '../net/api';
import {hasSpending, isPerAgent, limitOf, measureOf, spendingChart, stepPath, tokensOf} from '../scene/spending';
import type {SpendingChart} from '../scene/spending';
import {displayLine, plural} from '../scene/text';
import {usePolling} from './polling';
import {TableHead} from './table_head';

// digd replays the run for each answer. So the page asks rarely, and rarer the longer digd takes.
const MIN_GAP_MS = 3_000;
const GAP_PER_ANSWER_TIME = 20;
const MAX_AGENTS = 10;
const MAX_ACTIVATIONS = 5;

interface Props {
  run: string;
  changes: number; // grows with the run
  at: number | null; // stamp of the position on display; null: the newest
  choose(activation: string): void;
}

// Asks at once, and again while the run grows. A failed request keeps the last answer; the next one may succeed.
function useUsage(run: string, changes: number): RunUsage | null {
  const [usage, setUsage] = useState<RunUsage | null>(null);
  const read = useRef('');
  const asked = `${changes} ${run}`;
  usePolling(
    async (isCurrent) => {
      if (asked === read.current || document.hidden) return MIN_GAP_MS;
      const startedMs = performance.now();
      try {
        const answer = await getUsage(run);
        if (isCurrent()) {
          setUsage(answer);
          read.current = asked;
        }
      } catch {
        // The next request may succeed.
      }
      return Math.max(MIN_GAP_MS, (performance.now() - startedMs) * GAP_PER_ANSWER_TIME);
    },
    [run],
  );
  return usage;
}

const numberText = (n: number): string => n.toLocaleString('en', {maximumFractionDigits: 4});

const durationText = (ms: number): string => (ms < 10_000 ? `${numberText(ms)} ms` : `${numberText(ms / 1000)} s`);

export function Spending({run, changes, at, choose}: Props) {
  const usage = useUsage(run, changes);
  if (usage === null || !hasSpending(usage)) return null;
  const isLimited = 'budget' in usage.guards || 'fan_out' in usage.guards;
  const costLimit = isPerAgent(usage) ? null : limitOf(usage, 'budget', 'cost');
  const chart = spendingChart(usage, measureOf(usage));
  return (
    <section aria-label="Spending">
      <details class="spending" open={isLimited}>
        <summary>
          <h2>Spending</h2> cost {numberText(usage.totals.cost)}
          {costLimit !== null && ` (limit ${numberText(costLimit)})`}, {plural(tokensOf(usage.totals), 'token')}
        </summary>
        <Chart chart={chart} at={at} />
        <Agents usage={usage} chart={chart} />
        <Totals usage={usage} />
        <FanOut usage={usage} choose={choose} />
      </details>
    </section>
  );
}

const pointsText = (points: readonly [number, number][]): string =>
  points.map(([x, y]) => `${+(x * 100).toFixed(3)},${+(y * 100).toFixed(3)}`).join(' ');

// Stacked areas of the agents, or a line for each agent where the limits are for each agent.
function Chart({chart, at}: {chart: SpendingChart; at: number | null}) {
  const {bands, limit, highest, measure, stacked, start, end} = chart;
  if (bands.length === 0) return null;
  // The topmost line keeps a distance from the frame.
  const scale = highest * 1.05;
  const description =
    `${measure === 'cost' ? 'Cost' : 'Tokens'} over time${stacked ? '' : ' of each agent'}: ` +
    bands
      .map((band) => `${displayLine(band.name, 40)} ${numberText(band.top.at(-1)! - band.bottom.at(-1)!)}`)
      .join(', ') +
    (limit === null ? '' : `; limit ${numberText(limit)}`);
  const atX = at === null ? null : Math.min(1, Math.max(0, (at - start) / (end - start))) * 100;
  const limitY = limit === null ? 0 : (1 - limit / scale) * 100;
  return (
    <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={description}>
      <title>{description}</title>
      {bands.map((band, i) => {
        const top = stepPath(band.top, scale);
        return stacked ? (
          <polygon
            key={band.name}
            class={`band-${i}`}
            points={pointsText([...top, ...stepPath(band.bottom, scale).reverse()])}
          />
        ) : (
          <polyline key={band.name} class={`band-${i}`} points={pointsText(top)} />
        );
      })}
      {limit !== null && <line class="limit" x1="0" x2="100" y1={limitY} y2={limitY} />}
      {atX !== null && <line class="at" x1={atX} x2={atX} y1="0" y2="100" />}
    </svg>
  );
}

// The amount, and the limit if there is one.
function Amount({used, limit}: {used: number; limit: number | null}) {
  const isOver = limit !== null && used > limit;
  return (
    <td class={isOver ? 'over' : ''}>
      {numberText(used)}
      {limit !== null && ` / ${numberText(limit)}`}
    </td>
  );
}

function Agents({usage, chart}: {usage: RunUsage; chart: SpendingChart}) {
  if (usage.agents.length === 0) return null;
  const listed = usage.agents.slice(0, MAX_AGENTS);
  const leftOut = usage.agents.length - listed.length + usage.agents_left_out;
  const limit = (name: string): number | null => (isPerAgent(usage) ? limitOf(usage, 'budget', name) : null);
  const calls = (agent: AgentUsage): number => agent.model_calls + agent.tool_calls;
  return (
    <table>
      <caption>
        By agent{isPerAgent(usage) && ', against the limit of each'}
        {leftOut > 0 && `; ${plural(leftOut, 'agent')} left out`}
      </caption>
      <TableHead columns={['agent', 'cost', 'tokens', 'calls']} />
      <tbody>
        {listed.map((agent) => {
          const band = chart.bands.findIndex(({name}) => name === agent.agent);
          return (
            <tr key={agent.agent}>
              <th scope="row">
                <span class={`key ${band < 0 ? '' : `band-${band}`}`} aria-hidden="true" />
                {displayLine(agent.agent, 60)}
              </th>
              <Amount used={agent.cost} limit={limit('cost')} />
              <Amount used={tokensOf(agent)} limit={limit('tokens')} />
              <td>{numberText(calls(agent))}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

// The totals of the run. `guarded` is what the guard compares: it starts at 0 when a person releases a hold.
function Totals({usage}: {usage: RunUsage}) {
  const {totals, guarded} = usage;
  const rows: [string, string, number, number | undefined][] = [
    ['cost', 'cost', totals.cost, guarded?.cost],
    ['tokens', 'tokens', tokensOf(totals), guarded?.tokens],
    ['model calls', 'model_calls', totals.model_calls, guarded?.model_calls],
    ['tool calls', 'tool_calls', totals.tool_calls, guarded?.tool_calls],
    ['activations', 'activations', totals.activations, guarded?.activations],
    ['time', 'ms', totals.ms, guarded?.ms],
  ];
  const limit = (name: string): number | null => (isPerAgent(usage) ? null : limitOf(usage, 'budget', name));
  const text = (name: string, n: number): string => (name === 'ms' ? durationText(n) : numberText(n));
  return (
    <table>
      <caption>The whole run</caption>
      <TableHead columns={['total', 'used', 'for the guard', 'limit']} />
      <tbody>
        {rows.map(([label, name, used, counted]) => {
          const most = limit(name);
          return (
            <tr key={name} class={most !== null && (counted ?? used) > most ? 'over' : ''}>
              <th scope="row">{label}</th>
              <td>{text(name, used)}</td>
              <td>{most === null || counted === undefined ? '' : text(name, counted)}</td>
              <td>{most === null ? '' : text(name, most)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function FanOut({usage, choose}: {usage: RunUsage; choose(activation: string): void}) {
  const {max_depth, max_live, activations} = usage.fan_out;
  const withLimit = (value: number, name: string): string => {
    const limit = limitOf(usage, 'fan_out', name);
    return numberText(value) + (limit === null ? '' : ` (limit ${numberText(limit)})`);
  };
  const outputLimit = limitOf(usage, 'fan_out', 'outputs');
  return (
    <>
      <p>
        Greatest depth {withLimit(max_depth, 'depth')}, at most {withLimit(max_live, 'live')} work events in flight.
      </p>
      {activations.length > 0 && (
        <table>
          <caption>Where it fanned out most</caption>
          <TableHead columns={['agent', 'activation', 'outputs', 'depth']} />
          <tbody>
            {activations.slice(0, MAX_ACTIVATIONS).map(({activation, agent, outputs, depth}) => (
              <tr key={activation}>
                <th scope="row">{displayLine(agent, 60)}</th>
                <td>
                  <button class="quiet" onClick={() => choose(activation)}>
                    {displayLine(activation, 40)}
                  </button>
                </td>
                <Amount used={outputs} limit={outputLimit} />
                <td>{depth}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
