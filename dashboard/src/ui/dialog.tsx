// A modal dialog. The browser's own element handles focus, Escape and screen readers.
import type {ComponentChildren} from 'preact';
import {useEffect, useRef} from 'preact/hooks';

export function Dialog({
  title,
  close,
  children,
  wide,
}: {
  title: string;
  close(): void;
  children: ComponentChildren;
  wide?: boolean;
}) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    box.current?.showModal();
  }, []);
  return (
    <dialog
      ref={box}
      class={wide ? 'wide' : ''}
      aria-label={title}
      onClose={close}
      onClick={(e) => e.target === box.current && close()}
    >
      <div class="dialog-head">
        <h2>{title}</h2>
        <button class="quiet" aria-label="Close" onClick={close}>
          ✕
        </button>
      </div>
      {children}
    </dialog>
  );
}
