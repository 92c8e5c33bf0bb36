// A modal dialog: the browser's own, so that focus, Escape and screen readers are taken care of.
import type {ComponentChildren} from 'preact';
import {useEffect, useRef} from 'preact/hooks';

export function Dialog({title, close, children, wide}: {title: string; close(): void; children: ComponentChildren; wide?: boolean}) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    box.current?.showModal();
  }, []);
  return (
    <dialog ref={box} class={wide ? 'wide' : ''} aria-label={title} onClose={close}
      onClick={(e) => e.target === box.current && close()}>
      <div class="dialog-head">
        <h2>{title}</h2>
        <button class="quiet" aria-label="Close" onClick={close}>✕</button>
      </div>
      {children}
    </dialog>
  );
}
