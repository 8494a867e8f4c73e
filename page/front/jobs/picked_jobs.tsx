/** Bar of the jobs that are selected in the list: they are compared, and those that have ended are deleted. */
import { useState } from "preact/hooks";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { fieldsOf } from "../feed/answer_fields.ts";
import { keyOf, pathOf } from "../feed/job_key.ts";
import { useRepeated } from "../feed/repeated_reading.ts";
import { sessionState } from "../feed/session_key.ts";
import type { Row } from "../feed/view_answers_read.ts";
import { Hostile, StateSign } from "../marks_and_signs.tsx";
import { call, list, showList } from "../page_state.ts";
import {
  ENDED,
  jobNameOf,
  jobView,
  type ListView,
  MOST_COMPARED,
  viewFragment,
} from "../url_state.ts";

/** Time between two questions for rights, in milliseconds. */
const RIGHTS_MS = 60_000;
/** Most kinds and namespaces that rights are asked for. */
const MOST_PLACES = 20;

const placeOf = ({ kind, namespace }: Row) => `${kind}/${namespace}`;

/** Returns those of the rows that the viewer may delete: asked for one job of each kind and namespace. */
function useDeletable(rows: readonly Row[]): readonly Row[] {
  const firsts = [...new Map(rows.map((row) => [placeOf(row), row])).values()]
    .slice(0, MOST_PLACES);
  const begin = () => async (signal: AbortSignal) => {
    const asked = await Promise.all(firsts.map(async (row) => {
      const answer = await call(pathOf("rights", row), { signal });
      return fieldsOf(await answer.json()).delete === true ? [placeOf(row)] : [];
    }));
    return new Set(asked.flat());
  };
  const { value } = useRepeated(firsts.map(placeOf).sort().join(" "), begin, RIGHTS_MS, "");
  return rows.filter((row) => value?.has(placeOf(row)));
}

/** Asks, and deletes one job after the other; those that could not be deleted stay selected. */
function DeleteDialog(
  { view, rows, onClose }: { view: ListView; rows: readonly Row[]; onClose: () => void },
) {
  const [done, setDone] = useState(0);
  const [failures, setFailures] = useState<ReadonlyMap<string, string>>(new Map());
  const confirm = async () => {
    const failed = new Map<string, string>();
    for (const [index, row] of rows.entries()) {
      try {
        await call(pathOf("delete", row), { method: "POST", body: { uid: row.uid } });
      } catch (error) {
        failed.set(row.uid, error instanceof Error ? error.message : String(error));
      }
      setDone(index + 1);
    }
    setFailures(failed);
    const gone = rows.filter(({ uid }) => !failed.has(uid)).map(keyOf);
    const picked = view.picked.filter((key) => !gone.includes(key));
    showList(view, { picked, offset: view.offset }, true);
    if (failed.size > 0) throw new Error(`${failed.size} of ${rows.length} were not deleted.`);
  };
  return (
    <ConfirmDialog
      title={rows.length === 1 ? "Delete 1 job?" : `Delete ${rows.length} jobs?`}
      button="Delete"
      isDangerous
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>The jobs, their pods and their logs are deleted. This cannot be undone.</p>
      <ul class="deleted">
        {rows.map((row) => (
          <li key={row.uid}>
            <StateSign state={row.state} />
            <Hostile text={`${row.namespace}/${row.name}`} />
            {failures.has(row.uid) && (
              <span class="problem">
                <Hostile text={failures.get(row.uid) ?? ""} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {done > 0 && <p role="status">{done} of {rows.length} done</p>}
    </ConfirmDialog>
  );
}

/** The bar; nothing if no job is selected. */
export function PickedJobs({ view }: { view: ListView }) {
  const state = sessionState.value;
  const mayChange = state.phase === "open" && state.session.canChange;
  const picked = new Set(view.picked);
  const ended = mayChange
    ? list.value?.rows.filter((row) => picked.has(keyOf(row)) && ENDED.includes(row.state)) ?? []
    : [];
  const deletable = useDeletable(ended);
  /** The jobs of the question: those of its moment, whatever the list shows by now. */
  const [deleting, setDeleting] = useState<readonly Row[]>();
  const [first] = view.picked.map(jobNameOf).filter((it) => it !== undefined);
  const isMany = view.picked.length > MOST_COMPARED + 1;
  return (
    <>
      {first !== undefined && (
        <p class="row picked">
          <span>{view.picked.length} selected</span>
          {isMany
            ? <span class="quiet">At most {MOST_COMPARED + 1} are compared.</span>
            : (
              <a class="button main" href={viewFragment(jobView(first, view.picked.slice(1)))}>
                {view.picked.length === 1 ? "Open" : "Compare"}
              </a>
            )}
          {deletable.length > 0 && (
            <button type="button" onClick={() => setDeleting(deletable)}>
              Delete {deletable.length} ended…
            </button>
          )}
          <button
            type="button"
            onClick={() => showList(view, { picked: [], offset: view.offset }, true)}
          >
            Clear
          </button>
        </p>
      )}
      {deleting !== undefined && (
        <DeleteDialog
          view={view}
          rows={deleting}
          onClose={() => setDeleting(undefined)}
        />
      )}
    </>
  );
}
