// The text of an event, or of the outputs of an activation, read from digd when it is shown.
import {useEffect, useState} from 'preact/hooks';
import type {RunModel} from '../model/run_model';
import type {Node} from '../model/types';
import {textOfNode} from '../net/payloads';
import {displayLine, displayText} from '../scene/text';

const MAX_CHARACTERS = 20_000;
const MAX_TIP_CHARACTERS = 280;
const TIP_DELAY_MS = 120; // a pointer that only passes over a node requests no text

interface Props {
  run: string;
  model: RunModel;
  node: Node;
}

function useNodeText({run, model, node}: Props, delayMs: number): string | null {
  const [text, setText] = useState<string | null>(null);
  const key = `${node.type} ${node.id} ${node.type === 'event' ? node.announcedAt : node.endedAt}`;
  useEffect(() => {
    setText(null);
    let disposed = false;
    const show = (loaded: string): void => {
      if (!disposed) setText(loaded);
    };
    const timer = window.setTimeout(
      () => textOfNode(run, model, node).then(show, (error: unknown) => show(`(${(error as Error).message})`)),
      delayMs,
    );
    return () => {
      disposed = true;
      clearTimeout(timer);
    };
  }, [run, key]);
  return text;
}

export function NodeText(props: Props) {
  const text = useNodeText(props, 0);
  if (text === null || text === '') return null;
  return (
    <figure class="node-text">
      <figcaption>{props.node.type === 'event' ? 'Says' : 'Its outputs say'}</figcaption>
      <pre tabIndex={0}>
        <bdi>{displayText(text.slice(0, MAX_CHARACTERS))}</bdi>
      </pre>
      {text.length > MAX_CHARACTERS && (
        <p class="hint">
          The first {MAX_CHARACTERS.toLocaleString('en')} characters of {text.length.toLocaleString('en')}.
        </p>
      )}
    </figure>
  );
}

export function NodeTextInTip(props: Props) {
  const text = useNodeText(props, TIP_DELAY_MS);
  if (text === null || text === '') return null;
  return (
    <q class="node-text">
      <bdi>{displayLine(text.replace(/\s+/g, ' '), MAX_TIP_CHARACTERS)}</bdi>
    </q>
  );
}
