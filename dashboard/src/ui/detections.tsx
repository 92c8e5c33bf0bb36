// The detections of the run up to the position, newest first: rule, reason, healing with its text, outcome, judgement.
import {useEffect, useState} from 'preact/hooks';
import {outcomeAt} from '../model/state_at';
import type {RunModel} from '../model/run_model';
import type {Detection} from '../model/types';
import {getJudgements, postJudgement, type Judgement} from '../net/api';
import {ruleCode, ruleName, ruleNames, displayLine, displayText, stampText} from '../scene/text';

const PAGE_SIZE = 100;

interface Props {
  run: string;
  failed(error: unknown): void;
  model: RunModel;
  at: number;
  chosen: Detection | null;
  choose(detection: Detection | null): void;
  go(at: number): void;
}

// The judgements of the run's detections, read once, and a function that stores one.
function useJudgements(run: string, failed: (error: unknown) => void) {
  const [judgements, setJudgements] = useState<ReadonlyMap<string, Judgement>>(new Map());
  useEffect(() => {
    let disposed = false;
    getJudgements(run).then(
      (loaded) => !disposed && setJudgements(loaded),
      () => undefined,
    ); // a missing run has none
    return () => {
      disposed = true;
    };
  }, [run]);
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

export function Detections({run, failed, model, at, chosen, choose, go}: Props) {
  const [rule, setRule] = useState('');
  const [limit, setLimit] = useState(PAGE_SIZE);
  const {judgements, judge} = useJudgements(run, failed);
  const firstTs = model.entries.get(0)?.ts ?? 0;
  const listed: Detection[] = [];
  let matching = 0;
  for (let i = model.detections.length - 1; i >= 0; --i) {
    const detection = model.detections[i]!;
    if (detection.at > at || (rule !== '' && detection.rule !== rule)) continue;
    matching += 1;
    if (listed.length < limit) listed.push(detection);
  }
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
        {listed.map((detection) => (
          <Card
            key={detection.key}
            detection={detection}
            at={at}
            firstTs={firstTs}
            open={detection === chosen}
            judgement={judgements.get(detection.name) ?? null}
            judge={(to) => judge(detection.name, to)}
            toggle={() => choose(detection === chosen ? null : detection)}
            go={() => go(detection.at)}
          />
        ))}
      </ul>
      {matching > listed.length && (
        <button class="quiet" onClick={() => setLimit(limit + PAGE_SIZE)}>
          {matching - listed.length} more
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

interface CardProps {
  detection: Detection;
  at: number;
  firstTs: number;
  open: boolean;
  judgement: Judgement | null;
  judge(to: Judgement | null): void;
  toggle(): void;
  go(): void;
}

function Card({detection, at, firstTs, open, judgement, judge, toggle, go}: CardProps) {
  const summary = healingSummary(detection);
  const outcome = outcomeAt(detection, at);
  return (
    <li class={`card ${summary.kind} ${detection.severity}`} data-rule={detection.rule}>
      <button aria-expanded={open} onClick={toggle}>
        <span class="badge">{ruleCode(detection.rule)}</span>
        <span class="rule">{ruleName(detection.rule)}</span>
        <span class="when">{stampText(detection.ts, firstTs)}</span>
        <span class="done">
          {summary.text}
          {outcome && <em class={displayLine(outcome)}> · {displayLine(outcome)}</em>}
          {judgement && <em class="judged"> · judged {judgement}</em>}
        </span>
      </button>
      {open && (
        <div class="more">
          <p>
            <bdi>{displayText(detection.reason)}</bdi>
          </p>
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
