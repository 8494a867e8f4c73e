/** Buttons of the changes of a job. */
import { useState } from "preact/hooks";
import { CHANGE_WORDS, ChangeDialog, type SeenJob } from "../change_dialog.tsx";
import type { Action } from "./job_details.ts";

/** Buttons of the changes that can be made. */
export function JobActions(
  { job, actions, onDone }: {
    job: SeenJob;
    actions: readonly Action[];
    onDone: () => void;
  },
) {
  const [open, setOpen] = useState<Action>();
  return (
    <div class="row" role="group" aria-label="Changes">
      {actions.map((action) => (
        <button key={action} type="button" onClick={() => setOpen(action)}>
          {CHANGE_WORDS[action].button}…
        </button>
      ))}
      {open !== undefined && (
        <ChangeDialog
          action={open}
          jobs={[job]}
          onClose={() => setOpen(undefined)}
          onDone={onDone}
        />
      )}
    </div>
  );
}
