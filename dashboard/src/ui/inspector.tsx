// One event or activation at the position: source, deliveries, reactions, verdicts and detections.
import {detectionsAt, isOpenAt, reactionAt, stateAt} from '../model/state_at';
import type {RunModel} from '../model/run_model';
import type {ActivationNode, EventNode, Node} from '../model/types';
import {ruleName, displayLine, displayText, stampText} from '../scene/text';
import {NodeText} from './node_text';

const MAX_ROWS = 50;

interface Props {
  run: string;
  model: RunModel;
  node: Node;
  at: number;
  firstTs: number;
  choose(node: Node): void;
  close(): void;
}

export function Inspector(props: Props) {
  const {node, close} = props;
  return (
    <section class="inspector" aria-label="Selected">
      <div class="panel-head">
        <h2>
          {node.type === 'event' ? 'Event' : 'Activation'} <bdi>{displayLine(node.id, 60)}</bdi>
        </h2>
        <button class="quiet" onClick={close} aria-label="Close">
          ✕
        </button>
      </div>
      <NodeText run={props.run} model={props.model} node={node} />
      {node.type === 'event' ? <EventFacts {...props} node={node} /> : <ActivationFacts {...props} node={node} />}
    </section>
  );
}

const Name = ({node, choose}: {node: Node; choose(node: Node): void}) =>
  node.forgotten ? (
    <code>{displayLine(node.id, 40)}</code>
  ) : (
    <button class="name" onClick={() => choose(node)}>
      <bdi>{displayLine(node.id, 40)}</bdi>
    </button>
  );

function EventFacts({node, at, firstTs, choose}: Props & {node: EventNode}) {
  const kinds = [
    node.kind && displayLine(node.kind),
    node.root && 'from outside',
    node.system && 'by digd',
    node.submit && 'submit',
    node.fyi && 'fyi',
    node.givenBackAt <= at && 'given back',
    node.announcedAt > at && 'not yet announced',
  ].filter(Boolean);
  return (
    <>
      <dl>
        <dt>When</dt>
        <dd>{stampText(node.ts, firstTs)}</dd>
        {kinds.length > 0 && (
          <>
            <dt>What</dt>
            <dd>{kinds.join(', ')}</dd>
          </>
        )}
        {node.source && (
          <>
            <dt>Source</dt>
            <dd>
              <Name node={node.source} choose={choose} /> of <bdi>{displayLine(node.source.lane.name)}</bdi>
            </dd>
          </>
        )}
      </dl>
      <Deliveries node={node} at={at} choose={choose} />
      {isListCut(node, at) && <p class="hint">Only the first {MAX_ROWS} of each are listed.</p>}
      <Actions node={node} at={at} />
      {detectionsAt(node, at).length > 0 && (
        <p>
          Detections:{' '}
          {detectionsAt(node, at)
            .map((detection) => ruleName(detection.rule))
            .join(', ')}
        </p>
      )}
    </>
  );
}

export const isListCut = (node: EventNode, at: number): boolean =>
  node.deliveries.filter((delivery) => stateAt(delivery, at) !== null).length > MAX_ROWS ||
  node.inputs.filter((input) => input.activation.createdAt <= at).length > MAX_ROWS;

function Deliveries({node, at, choose}: {node: EventNode; at: number; choose(node: Node): void}) {
  return (
    <table>
      <caption>Deliveries</caption>
      <tbody>
        {node.deliveries
          .filter((delivery) => stateAt(delivery, at) !== null)
          .slice(0, MAX_ROWS)
          .map((delivery, i) => (
            <tr key={i}>
              <td>
                <bdi>{displayLine(delivery.lane.name, 40)}</bdi>
              </td>
              <td class={`delivery ${stateAt(delivery, at)}`}>{stateAt(delivery, at)}</td>
            </tr>
          ))}
        {node.inputs
          .filter((input) => input.activation.createdAt <= at)
          .slice(0, MAX_ROWS)
          .map((input, i) => (
            <tr key={`i${i}`}>
              <td>
                <Name node={input.activation} choose={choose} />
              </td>
              <td class={`reaction ${reactionAt(input, at)}`}>{reactionAt(input, at)}</td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}

// Verdicts and interventions on an event, and the client's reports of them.
function Actions({node, at}: {node: EventNode; at: number}) {
  return (
    <>
      {node.actions
        .filter((action) => action.at <= at && action.action !== 'deliver')
        .map((action, i) => (
          <figure key={i}>
            <figcaption>
              {action.action}
              {action.recipients.length > 0 && ` to ${action.recipients.map((r) => displayLine(r)).join(', ')}`}
            </figcaption>
            {action.inject !== null && (
              <blockquote>
                <bdi>{displayText(action.inject)}</bdi>
              </blockquote>
            )}
          </figure>
        ))}
      {node.reports
        .filter((report) => report.at <= at)
        .map((report, i) => (
          <p key={i}>
            The client reports: {displayLine(report.applied)}
            {report.reason !== null && (
              <>
                , <bdi>{displayLine(report.reason, 200)}</bdi>
              </>
            )}
          </p>
        ))}
    </>
  );
}

function ActivationFacts({node, at, firstTs, choose}: Props & {node: ActivationNode}) {
  const open = isOpenAt(node, at);
  return (
    <>
      <dl>
        <dt>Agent</dt>
        <dd>
          <bdi>{displayLine(node.lane.name)}</bdi>
        </dd>
        <dt>When</dt>
        <dd>
          {stampText(node.ts, firstTs)}
          {open ? ', still open' : ` to ${stampText(node.endedTs, firstTs)}`}
        </dd>
        {!open && node.failed && (
          <>
            <dt>Failed</dt>
            <dd>
              <bdi>{displayLine(node.error ?? 'without a message', 200)}</bdi>
            </dd>
          </>
        )}
      </dl>
      <table>
        <caption>Inputs</caption>
        <tbody>
          {node.inputs.slice(0, MAX_ROWS).map((input, i) => (
            <tr key={i}>
              <td>
                <Name node={input.event} choose={choose} />
              </td>
              <td class={`reaction ${reactionAt(input, at)}`}>{reactionAt(input, at)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <table>
        <caption>Outputs</caption>
        <tbody>
          {node.outputs
            .filter((output) => output.announcedAt <= at)
            .slice(0, MAX_ROWS)
            .map((output, i) => (
              <tr key={i}>
                <td>
                  <Name node={output} choose={choose} />
                </td>
                <td>
                  to{' '}
                  {output.deliveries
                    .slice(0, 5)
                    .map((d) => displayLine(d.lane.name, 24))
                    .join(', ') || 'nobody'}
                </td>
              </tr>
            ))}
        </tbody>
      </table>
    </>
  );
}
