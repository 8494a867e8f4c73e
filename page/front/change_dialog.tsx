/** Dialog of a change of jobs: it asks first, and says which of them refused it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { keyOf, pathOf } from "./feed/job_key.ts";
import { problemOf } from "./feed/server_calls.ts";
import type { Action } from "./job/job_details.ts";
import { Hostile } from "./marks_and_signs.tsx";
import { useClosing } from "./menu.tsx";
import { call } from "./page_state.ts";
import { plainText } from "./readable_text.ts";
import type { JobName } from "../../crds/wire/row.ts";

/** What changes are called, and what they do. */
export const CHANGE_WORDS: Readonly<Record<Action, { button: string; text: string }>> = {
  suspend: {
    button: "Suspend",
    text:
      "Its pods are deleted. When it is resumed its program starts again: from a checkpoint, if the program saves and reads one, else from the beginning.",
  },
  resume: {
    button: "Resume",
    text:
      "Its pods are created again, and its program starts again: from a checkpoint, if it reads one, else from the beginning.",
  },
  restart: {
    button: "Restart",
    text:
      "All its pods go, what they have not saved is lost, and then new ones are created. Its program starts again: from its last checkpoint, if it reads one, else from the beginning.",
  },
  stop: {
    button: "Stop",
    text:
      "Its pods are told, have the time below to save their work, and end. This cannot be undone.",
  },
  delete: {
    button: "Delete",
    text: "The job, its pods, their logs and its curves are deleted. This cannot be undone.",
  },
};
/** Reasons are one word, as the API server wants them. */
const REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";

/** A job as it was seen: another of its name is left alone. Without a UID it is whichever has the name. */
export interface SeenJob extends JobName {
  readonly uid: string;
  /** Which restart of it would be the next one, if it can be restarted. */
  readonly nextRestart?: number | undefined;
}

/** The dialog, of the jobs that it was opened for. `onDone` hears of the jobs that were changed, as keys. */
export function ChangeDialog({ action, jobs, onClose, onDone }: {
  action: Action;
  jobs: readonly SeenJob[];
  onClose: () => void;
  onDone: (keys: readonly string[]) => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [left, setLeft] = useState(jobs);
  const [problems, setProblems] = useState<readonly string[]>([]);
  const [isBusy, setBusy] = useState(false);
  const [reason, setReason] = useState(
    action === "restart" ? "RestartedByUser" : "StoppedByUser",
  );
  const isAsked = action === "stop" || action === "restart";
  const [message, setMessage] = useState("");
  const [grace, setGrace] = useState("");
  const form = useRef<HTMLFormElement>(null);
  const close = () => dialog.current?.close();
  useEffect(() => dialog.current?.showModal(), []);
  useClosing(form, close);
  const { button, text } = CHANGE_WORDS[action];
  const bodyOf = ({ uid, nextRestart }: SeenJob) => ({
    ...(uid !== "" && { uid }),
    ...(isAsked && { reason, ...(message !== "" && { message }) }),
    ...(action === "stop" && grace !== "" && { graceSeconds: Number(grace) }),
    // The one that was seen: to press twice is to ask for it once.
    ...(action === "restart" && { count: nextRestart }),
  });
  const confirm = async () => {
    setBusy(true);
    const refusals = new Map<SeenJob, string>();
    for (const job of left) {
      try {
        await call(pathOf(action, job), { method: "POST", body: bodyOf(job) });
      } catch (error) {
        refusals.set(job, problemOf(error).message);
      }
    }
    onDone(left.filter((job) => !refusals.has(job)).map(keyOf));
    setLeft([...refusals.keys()]);
    setProblems([...new Set(refusals.values())].slice(0, 5));
    setBusy(false);
    if (refusals.size === 0) close();
  };
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={onClose}>
      <form
        ref={form}
        onSubmit={(event) => {
          event.preventDefault();
          confirm();
        }}
      >
        <h2 id="dialog-title">
          {button} {left.length === 1 ? "the job" : `${left.length} jobs`}
          {action === "stop" && " early"}?
        </h2>
        <ul class="changed">
          {left.map((job) => (
            <li key={keyOf(job)}>
              <code>
                <Hostile text={keyOf(job)} />
              </code>
            </li>
          ))}
        </ul>
        <p>{text}</p>
        {isAsked && (
          <>
            <label class="field">
              <span>Reason, one word</span>
              <input
                required
                pattern={REASON}
                title="One word of letters and digits, that begins with a letter"
                maxLength={64}
                value={reason}
                onInput={({ currentTarget }) => setReason(currentTarget.value)}
              />
            </label>
            <label class="field">
              <span>Message, for people</span>
              <input
                maxLength={1024}
                value={message}
                onInput={({ currentTarget }) => setMessage(currentTarget.value)}
              />
            </label>
          </>
        )}
        {action === "stop" && (
          <label class="field">
            <span>Seconds to save its work (0: none)</span>
            <input
              type="number"
              placeholder="as its annotation says, else 30"
              min={0}
              max={3600}
              step={1}
              value={grace}
              onInput={({ currentTarget }) => setGrace(currentTarget.value)}
            />
          </label>
        )}
        {problems.map((it) => <p key={it} role="alert" class="problem">{plainText(it)}</p>)}
        <div class="row end">
          <button type="button" onClick={close}>Cancel</button>
          <button
            type="submit"
            disabled={isBusy}
            class={action === "delete" || action === "stop" ? "danger" : "main"}
          >
            {isBusy ? "Working…" : button}
          </button>
        </div>
      </form>
    </dialog>
  );
}
