/** Changes of a job, each confirmed in a dialog. */
import { useState } from "preact/hooks";
import type { Action } from "./job_details.ts";
import { Hostile } from "../marks_and_signs.tsx";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { call } from "../page_state.ts";
import { keyOf, pathOf } from "../feed/job_key.ts";
import type { JobName } from "../../../crds/wire/row.ts";

const WORDS: Readonly<Record<Action, { button: string; title: string; text: string }>> = {
  suspend: {
    button: "Suspend",
    title: "Suspend the job?",
    text: "Its pods end. It goes on from its last checkpoint when it is resumed.",
  },
  resume: {
    button: "Resume",
    title: "Resume the job?",
    text: "Its pods are created again.",
  },
  stop: {
    button: "Stop",
    title: "Stop the job early?",
    text:
      "Its pods are told, have the time below to save their work, and end. It cannot be taken back.",
  },
  delete: {
    button: "Delete",
    title: "Delete the job?",
    text: "The job, its pods, their logs and its curves go away. It cannot be taken back.",
  },
};
/** Reasons are one word, as the API server wants them. */
const REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";

function Dialog(
  { action, job, uid, onClose, onDone }: {
    action: Action;
    job: JobName;
    uid: string;
    onClose: () => void;
    onDone: () => void;
  },
) {
  const [reason, setReason] = useState("StoppedByUser");
  const [message, setMessage] = useState("");
  const [grace, setGrace] = useState("");
  const { title, text, button } = WORDS[action];
  const confirm = async () => {
    const body = {
      ...(uid !== "" && { uid }),
      ...(action === "stop" &&
        {
          reason,
          ...(message !== "" && { message }),
          ...(grace !== "" && { graceSeconds: Number(grace) }),
        }),
    };
    await call(pathOf(action, job), { method: "POST", body });
    onDone();
  };
  return (
    <ConfirmDialog
      title={title}
      button={button}
      isDangerous={action === "delete" || action === "stop"}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>
        <code>
          <Hostile text={keyOf(job)} />
        </code>
      </p>
      <p>{text}</p>
      {action === "stop" && (
        <>
          <label class="field">
            <span>Reason, one word</span>
            <input
              required
              pattern={REASON}
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
        </>
      )}
    </ConfirmDialog>
  );
}

/** Buttons of the changes that can be made. `uid`: of the job that is shown; another of its name is left alone. */
export function JobActions(
  { job, uid, actions, onDone }: {
    job: JobName;
    uid: string;
    actions: readonly Action[];
    onDone: () => void;
  },
) {
  const [open, setOpen] = useState<{ readonly action: Action; readonly uid: string }>();
  return (
    <div class="row" role="group" aria-label="Changes">
      {actions.map((action) => (
        <button
          key={action}
          type="button"
          onClick={() => setOpen({ action, uid })}
        >
          {WORDS[action].button}…
        </button>
      ))}
      {open !== undefined && (
        <Dialog
          {...open}
          job={job}
          onClose={() => setOpen(undefined)}
          onDone={onDone}
        />
      )}
    </div>
  );
}
