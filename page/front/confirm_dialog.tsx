/** Dialog that asks before something is changed, and says what went wrong. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { plainText } from "./readable_text.ts";

/** The dialog; it closes when `onConfirm` resolves, and shows why that rejects. */
export function ConfirmDialog({ title, button, isDangerous, onConfirm, onClose, children }: {
  title: string;
  /** What the button says that confirms. */
  button: string;
  /** Whether it cannot be undone. */
  isDangerous: boolean;
  onConfirm: () => Promise<void>;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const confirm = async () => {
    setBusy(true);
    setProblem("");
    try {
      await onConfirm();
      dialog.current?.close();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          confirm();
        }}
      >
        <h2 id="dialog-title">{title}</h2>
        {children}
        {problem !== "" && <p role="alert" class="problem">{plainText(problem)}</p>}
        <div class="row end">
          <button type="button" onClick={() => dialog.current?.close()}>Cancel</button>
          <button type="submit" disabled={isBusy} class={isDangerous ? "danger" : "main"}>
            {isBusy ? "Working…" : button}
          </button>
        </div>
      </form>
    </dialog>
  );
}
