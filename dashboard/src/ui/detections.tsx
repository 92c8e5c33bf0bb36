// The detections of the run up to the position, equal ones together: rule, reason, agent, event, time, healing with its
// text, outcome, judgement. The newest comes first; if the run had ended before the page opened it, the oldest.
import {useContext, useMemo, useState} from 'preact/hooks';
import {outcomeAt} from '../model/state_at';
import type {RunModel} from '../model/run_model';
import type {Detection} from '../model/types';
import {getJudgements, postJudgement, type Judgement} from '../net/api';
import {agentOf, groupDetections, type Order} from '../scene/detection_groups';
import {ruleCode, ruleName, ruleNames, displayLine, displayText, stampText} from '../scene/text';
import {useLoad} from './polling';
import {Viewing} from './viewing';

const PAGE_SIZE = 100;

interface Props {
  run: string;
  failed(error: unknown): void;
  model: RunModel;
  at: number;
  order: Order;
  chosen: Detection | null;
  choose(detection: Detection | null): void;
  go(at: number): void;
}

// The judgements of the run's detections, which are read once, and a function that stores a judgement.
function useJudgements(run: string, failed: (error: unknown) => void) {
  const [judgements, setJudgements] = useState<ReadonlyMap<string, Judgement>>(new Map());
  const ignore = (): void => undefined; // a missing run has no judgements
  useLoad(() => getJudgements(run), setJudgements, ignore, [run]);
  const judge = (name: string, judgement: Judgement | null): void => {
    postJudgement(run, name, judgement).then(
      (stored) =>
        setJudgements((before) => {
          const next = new Map(before);
          if (stored.judgement === null) next.delete(name);
          else next.set(name, stored.judgement);
          return next;
        }),
      failed,
    );
  };
  return {judgements, judge};
}

export function Detections({run, failed, model, at, order, chosen, choose, go}: Props) {
  const [rule, setRule] = useState('');
  const [limit, setLimit] = useState(PAGE_SIZE);
  const {judgements, judge} = useJudgements(run, failed);
  const firstTs = model.entries.startTs;
  const groups = useMemo(
    () => groupDetections(model.detections, at, rule, order),
    [model, model.detections.length, at, rule, order],
  );
  const matching = groups.reduce((sum, group) => sum + group.members.length, 0);
  const listed = groups.slice(0, limit);
  return (
    <section class="detections" aria-label="Detections">
      <div class="panel-head">
        <h2>
          Detections <span class="count">{matching}</span>
        </h2>
        <select aria-label="Which rule" value={rule} onChange={(e) => setRule(e.currentTarget.value)}>
          <option value="">all rules</option>
          {ruleNames.map((name) => (
            <option key={name} value={name}>
              {ruleName(name)}
            </option>
          ))}
        </select>
      </div>
      {matching === 0 && <p class="hint">No detections {at < model.entries.last ? 'up to here.' : 'so far.'}</p>}
      <ul aria-live="polite" aria-relevant="additions">
        {listed.map((group) => {
          const shown = group.members.find((member) => member === chosen) ?? group.members[0]!;
          return (
            <Card
              key={group.key}
              detection={shown}
              members={group.members}
              at={at}
              firstTs={firstTs}
              open={shown === chosen}
              judgement={judgements.get(shown.name) ?? null}
              judge={(to) => judge(shown.name, to)}
              toggle={() => choose(shown === chosen ? null : shown)}
              choose={choose}
              go={() => go(shown.at)}
            />
          );
        })}
      </ul>
      {groups.length > listed.length && (
        <button class="quiet" onClick={() => setLimit(limit + PAGE_SIZE)}>
          {groups.length - listed.length} more
        </button>
      )}
    </section>
  );
}

// The healing of a detection as text and as CSS class: healed, shadow (would have been healed), or unhealed.
export function healingSummary(detection: Detection): {kind: string; text: string} {
  const performed =
    {inject: 'injected a text', reroute: 'gave it back', create: 'sent a message'}[detection.healing ?? ''] ??
    detection.healing ??
    '';
  if (detection.healed) return {kind: 'healed', text: `healed: ${performed}`};
  if (detection.cause === 'mode' && detection.healing) {
    const proposed =
      {inject: 'inject a text', reroute: 'give it back', create: 'send a message'}[detection.healing] ??
      detection.healing;
    return {kind: 'shadow', text: `not healed (mode); would ${proposed}`};
  }
  return {kind: 'unhealed', text: `not healed${detection.cause ? ` (${detection.cause})` : ''}`};
}

function factsOf(detection: Detection): string {
  const name = agentOf(detection);
  const agent = name === null ? [] : [`agent ${displayLine(name, 40)}`];
  const event = detection.event === null ? [] : [`event ${displayLine(detection.event.id, 40)}`];
  return [...agent, ...event].join(' · ') || 'the whole run';
}

const MAX_EQUAL = 50;

function EqualOnes({
  members,
  shown,
  firstTs,
  choose,
}: {
  members: Detection[];
  shown: Detection;
  firstTs: number;
  choose(detection: Detection): void;
}) {
  return (
    <div class="equal" role="group" aria-label="Equal detections">
      {members.slice(0, MAX_EQUAL).map((member) => (
        <button key={member.key} class="name" aria-pressed={member === shown} onClick={() => choose(member)}>
          <bdi>{displayLine(member.event?.id ?? 'run', 30)}</bdi> at {stampText(member.ts, firstTs)}
        </button>
      ))}
      {members.length > MAX_EQUAL && <span class="hint">and {members.length - MAX_EQUAL} more</span>}
    </div>
  );
}

interface CardProps {
  detection: Detection;
  members: Detection[]; // the equal detections, including `detection`
  at: number;
  firstTs: number;
  open: boolean;
  judgement: Judgement | null;
  judge(to: Judgement | null): void;
  toggle(): void;
  choose(detection: Detection): void;
  go(): void;
}

function Card({detection, members, at, firstTs, open, judgement, judge, toggle, choose, go}: CardProps) {
  const viewing = useContext(Viewing);
  const summary = healingSummary(detection);
  const outcome = outcomeAt(detection, at);
  return (
    <li class={`card ${summary.kind} ${detection.severity}`} data-rule={detection.rule}>
      <button aria-expanded={open} onClick={toggle}>
        <span class="badge">{ruleCode(detection.rule)}</span>
        <span class="rule">{ruleName(detection.rule)}</span>
        <span class="when">
          {members.length > 1 && <b class="times">{members.length.toLocaleString('en')}× </b>}
          {stampText(detection.ts, firstTs)}
        </span>
        <bdi class="sentence">{displayText(detection.reason)}</bdi>
        <span class="facts">{factsOf(detection)}</span>
        <span class="done">
          {summary.text}
          {outcome && <em class={displayLine(outcome)}> · {displayLine(outcome)}</em>}
          {judgement && <em class="judged"> · judged {judgement}</em>}
        </span>
      </button>
      {open && (
        <div class="more">
          {members.length > 1 && <EqualOnes members={members} shown={detection} firstTs={firstTs} choose={choose} />}
          {detection.actions.map(
            (action, i) =>
              action.inject !== null && (
                <figure key={i}>
                  <figcaption>
                    Sent to{' '}
                    {action.recipients.length > 0
                      ? action.recipients.map((r) => displayLine(r)).join(', ')
                      : 'its recipients'}
                  </figcaption>
                  <blockquote>
                    <bdi>{displayText(action.inject)}</bdi>
                  </blockquote>
                </figure>
              ),
          )}
          {detection.evidence.length > 0 && (
            <p class="evidence">
              Evidence:{' '}
              {detection.evidence.slice(0, 12).map((id) => (
                <code key={id}>{displayLine(id, 40)}</code>
              ))}
              {detection.evidenceTotal > 12 && ` and ${detection.evidenceTotal - 12} more`}
            </p>
          )}
          {!viewing && (
            <div class="judge" role="group" aria-label="Was this right?">
              <span>Was this right?</span>
              {(['right', 'wrong'] as const).map((name) => (
                <button
                  key={name}
                  class={name}
                  aria-pressed={judgement === name}
                  onClick={() => judge(judgement === name ? null : name)}
                >
                  {name}
                </button>
              ))}
            </div>
          )}
          {detection.at !== at && (
            <button class="quiet then" onClick={go}>
              Show the run at that moment
            </button>
          )}
          {detection.witness?.truncated && <p class="hint">The witness is limited to 64 nodes.</p>}
        </div>
      )}
    </li>
  );
}
