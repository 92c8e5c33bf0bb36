// What the rules found in the run up to the position, newest first: what, why, what was done about it, in which words, and
// what came of it.
import {useEffect, useState} from 'preact/hooks';
import {outcomeAt} from '../model/at';
import type {RunModel} from '../model/run_model';
import type {Detection} from '../model/types';
import {getJudgements, postJudgement, type Judgement} from '../net/api';
import {ruleCode, ruleName, ruleNames, shown, shownWhole, stampText} from '../scene/text';

const MOST_SHOWN = 100;

interface Props {
  run: string;
  failed(error: unknown): void;
  model: RunModel;
  at: number;
  chosen: Detection | null;
  choose(one: Detection | null): void;
  go(at: number): void;
}

// What people think of the run's detections, asked for once; and how to say what one thinks.
function useJudgements(run: string, failed: (error: unknown) => void) {
  const [judgements, setJudgements] = useState<ReadonlyMap<string, Judgement>>(new Map());
  useEffect(() => {
    let gone = false;
    getJudgements(run).then((all) => !gone && setJudgements(all), () => undefined);  // a run that is not there yet has none
    return () => {
      gone = true;
    };
  }, [run]);
  const judge = (name: string, judgement: Judgement | null): void => {
    postJudgement(run, name, judgement).then((stored) => setJudgements((before) => {
      const next = new Map(before);
      if (stored.judgement === null) next.delete(name);
      else next.set(name, stored.judgement);
      return next;
    }), failed);
  };
  return {judgements, judge};
}

export function Detections({run, failed, model, at, chosen, choose, go}: Props) {
  const [rule, setRule] = useState('');
  const [most, setMost] = useState(MOST_SHOWN);
  const {judgements, judge} = useJudgements(run, failed);
  const first = model.entries.get(0)?.ts ?? 0;
  const found: Detection[] = [];
  let all = 0;
  for (let i = model.detections.length - 1; i >= 0; --i) {
    const one = model.detections[i]!;
    if (one.at > at || (rule !== '' && one.rule !== rule)) continue;
    all += 1;
    if (found.length < most) found.push(one);
  }
  return (
    <section class="detections" aria-label="Detections">
      <div class="panel-head">
        <h2>Detections <span class="count">{all}</span></h2>
        <select aria-label="Which rule" value={rule} onChange={(e) => setRule(e.currentTarget.value)}>
          <option value="">all rules</option>
          {ruleNames.map((name) => <option key={name} value={name}>{ruleName(name)}</option>)}
        </select>
      </div>
      {all === 0 && <p class="hint">Nothing was found {at < model.entries.last ? 'up to here.' : 'so far.'}</p>}
      <ul aria-live="polite" aria-relevant="additions">
        {found.map((one) => (
          <Card key={one.key} one={one} at={at} first={first} open={one === chosen} judgement={judgements.get(one.name) ?? null} judge={(to) => judge(one.name, to)}
            toggle={() => choose(one === chosen ? null : one)} go={() => go(one.at)} />
        ))}
      </ul>
      {all > found.length && <button class="quiet" onClick={() => setMost(most + MOST_SHOWN)}>{all - found.length} more</button>}
    </section>
  );
}

// In words and as a class: healed, shadow (would have been), unhealed.
export function whatWasDone(one: Detection): {kind: string; text: string} {
  const how = {inject: 'injected a text', reroute: 'gave it back', create: 'sent a message'}[one.healing ?? ''] ?? one.healing ?? '';
  if (one.healed) return {kind: 'healed', text: `healed: ${how}`};
  if (one.cause === 'mode' && one.healing) {
    const would = {inject: 'inject a text', reroute: 'give it back', create: 'send a message'}[one.healing] ?? one.healing;
    return {kind: 'shadow', text: `not healed (mode); would ${would}`};
  }
  return {kind: 'unhealed', text: `not healed${one.cause ? ` (${one.cause})` : ''}`};
}

interface CardProps {
  one: Detection;
  at: number;
  first: number;
  open: boolean;
  judgement: Judgement | null;
  judge(to: Judgement | null): void;
  toggle(): void;
  go(): void;
}

function Card({one, at, first, open, judgement, judge, toggle, go}: CardProps) {
  const done = whatWasDone(one);
  const outcome = outcomeAt(one, at);
  return (
    <li class={`card ${done.kind} ${one.severity}`} data-rule={one.rule}>
      <button aria-expanded={open} onClick={toggle}>
        <span class="badge">{ruleCode(one.rule)}</span>
        <span class="rule">{ruleName(one.rule)}</span>
        <span class="when">{stampText(one.ts, first)}</span>
        <span class="done">{done.text}{outcome && <em class={shown(outcome)}> · {shown(outcome)}</em>}{judgement && <em class="judged"> · judged {judgement}</em>}</span>
      </button>
      {open && (
        <div class="more">
          <p><bdi>{shownWhole(one.reason)}</bdi></p>
          {one.said.map((said, i) => said.inject !== null && (
            <figure key={i}>
              <figcaption>Said to {said.recipients.length > 0 ? said.recipients.map((r) => shown(r)).join(', ') : 'its recipients'}</figcaption>
              <blockquote><bdi>{shownWhole(said.inject)}</bdi></blockquote>
            </figure>
          ))}
          {one.evidence.length > 0 && <p class="evidence">Evidence: {one.evidence.slice(0, 12).map((id) => <code key={id}>{shown(id, 40)}</code>)}
            {one.evidenceTotal > 12 && ` and ${one.evidenceTotal - 12} more`}</p>}
          <div class="judge" role="group" aria-label="Was this right?">
            <span>Was this right?</span>
            {(['right', 'wrong'] as const).map((name) => (
              <button key={name} class={name} aria-pressed={judgement === name} onClick={() => judge(judgement === name ? null : name)}>{name}</button>
            ))}
          </div>
          {one.at !== at && <button class="quiet then" onClick={go}>See the run as it was then</button>}
          {one.witness?.truncated && <p class="hint">The witness was cut at 64 nodes.</p>}
        </div>
      )}
    </li>
  );
}
