// One event or activation, as it was at the position: where from, to whom, what became of it, what was said about it.
import {detectionsAt, isOpenAt, reactionAt, stateAt} from '../model/at';
import type {ActivationNode, EventNode, Node} from '../model/types';
import {ruleName, shown, shownWhole, stampText} from '../scene/text';

const MOST_ROWS = 50;

interface Props {
  node: Node;
  at: number;
  first: number;
  choose(node: Node): void;
  close(): void;
}

export function Inspector(props: Props) {
  const {node, close} = props;
  return (
    <section class="inspector" aria-label="Selected">
      <div class="panel-head">
        <h2>{node.what === 'event' ? 'Event' : 'Activation'} <bdi>{shown(node.id, 60)}</bdi></h2>
        <button class="quiet" onClick={close} aria-label="Close">✕</button>
      </div>
      {node.what === 'event' ? <EventFacts {...props} node={node} /> : <ActivationFacts {...props} node={node} />}
    </section>
  );
}

const Name = ({node, choose}: {node: Node; choose(node: Node): void}) =>
  node.forgotten ? <code>{shown(node.id, 40)}</code>
    : <button class="name" onClick={() => choose(node)}><bdi>{shown(node.id, 40)}</bdi></button>;

function EventFacts({node, at, first, choose}: Props & {node: EventNode}) {
  const kinds = [node.kind && shown(node.kind), node.root && 'from outside', node.system && 'by digd', node.submit && 'submit', node.fyi && 'fyi',
    node.givenBack <= at && 'given back', node.announced > at && 'not announced yet'].filter(Boolean);
  return (
    <>
      <dl>
        <dt>When</dt><dd>{stampText(node.ts, first)}</dd>
        {kinds.length > 0 && <><dt>What</dt><dd>{kinds.join(', ')}</dd></>}
        {node.source && <><dt>Source</dt><dd><Name node={node.source} choose={choose} /> of <bdi>{shown(node.source.lane.name)}</bdi></dd></>}
      </dl>
      <table>
        <caption>Deliveries</caption>
        <tbody>
          {node.deliveries.filter((one) => stateAt(one, at) !== null).slice(0, MOST_ROWS).map((one, i) => (
            <tr key={i}><td><bdi>{shown(one.lane.name, 40)}</bdi></td><td class={`delivery ${stateAt(one, at)}`}>{stateAt(one, at)}</td></tr>
          ))}
          {node.inputs.filter((one) => one.activation.born <= at).slice(0, MOST_ROWS).map((one, i) => (
            <tr key={`i${i}`}><td><Name node={one.activation} choose={choose} /></td><td class={`reaction ${reactionAt(one, at)}`}>{reactionAt(one, at)}</td></tr>
          ))}
        </tbody>
      </table>
      {node.deliveries.length + node.inputs.length > 2 * MOST_ROWS && <p class="hint">Only the first {MOST_ROWS} of each are listed.</p>}
      {node.said.filter((one) => one.at <= at && one.action !== 'deliver').map((one, i) => (
        <figure key={i}>
          <figcaption>{one.action}{one.recipients.length > 0 && ` to ${one.recipients.map((r) => shown(r)).join(', ')}`}</figcaption>
          {one.inject !== null && <blockquote><bdi>{shownWhole(one.inject)}</bdi></blockquote>}
        </figure>
      ))}
      {node.reports.filter((one) => one.at <= at).map((one, i) => (
        <p key={i}>The client says: {shown(one.applied)}{one.reason !== null && <>, <bdi>{shown(one.reason, 200)}</bdi></>}</p>
      ))}
      {detectionsAt(node, at).length > 0 && <p>Found: {detectionsAt(node, at).map((one) => ruleName(one.rule)).join(', ')}</p>}
    </>
  );
}

function ActivationFacts({node, at, first, choose}: Props & {node: ActivationNode}) {
  const open = isOpenAt(node, at);
  return (
    <>
      <dl>
        <dt>Agent</dt><dd><bdi>{shown(node.lane.name)}</bdi></dd>
        <dt>When</dt><dd>{stampText(node.ts, first)}{open ? ', still open' : ` to ${stampText(node.endedTs, first)}`}</dd>
        {!open && node.failed && <><dt>Failed</dt><dd><bdi>{shown(node.error ?? 'without a word', 200)}</bdi></dd></>}
      </dl>
      <table>
        <caption>Inputs</caption>
        <tbody>
          {node.inputs.slice(0, MOST_ROWS).map((one, i) => (
            <tr key={i}><td><Name node={one.event} choose={choose} /></td><td class={`reaction ${reactionAt(one, at)}`}>{reactionAt(one, at)}</td></tr>
          ))}
        </tbody>
      </table>
      <table>
        <caption>Outputs</caption>
        <tbody>
          {node.outputs.filter((one) => one.announced <= at).slice(0, MOST_ROWS).map((one, i) => (
            <tr key={i}><td><Name node={one} choose={choose} /></td><td>to {one.deliveries.slice(0, 5).map((d) => shown(d.lane.name, 24)).join(', ') || 'nobody'}</td></tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
