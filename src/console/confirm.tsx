/** A question that has to be answered before something is written. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface ConfirmProps {
  readonly title: string;
  /** The text of the button that does it. */
  readonly action: string;
  readonly onYes: () => void;
  readonly onNo: () => void;
  readonly children: ComponentChildren;
}

export function Confirm({ title, action, onYes, onNo, children }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="question" onClose={onNo}>
      <h2 id="question">{title}</h2>
      <div>{children}</div>
      <p class="buttons">
        <button type="button" onClick={onNo} autofocus>
          Cancel
        </button>
        <button type="button" class="danger" onClick={onYes}>
          {action}
        </button>
      </p>
    </dialog>
  );
}
