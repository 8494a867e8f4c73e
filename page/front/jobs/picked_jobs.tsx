/** Bar of the jobs that are selected in the list: they are compared, and those that have ended are deleted. */
import { useState } from "preact/hooks";
import { ChangeDialog } from "../change_dialog.tsx";
import { keyOf, pathOf } from "../feed/job_key.ts";
import { readRights } from "../job/job_details.ts";
import { useRepeated } from "../feed/repeated_reading.ts";
import { sessionState } from "../feed/session_key.ts";
import type { Row } from "../feed/view_answers_read.ts";
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
      return readRights(await answer.json()).has("delete") ? [placeOf(row)] : [];
    }));
    return new Set(asked.flat());
  };
  const { value } = useRepeated(firsts.map(placeOf).sort().join(" "), begin, RIGHTS_MS, "");
  return rows.filter((row) => value?.has(placeOf(row)));
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
  const showPicked = (picked: readonly string[]) =>
    showList(view, { picked, offset: view.offset }, true);
  return (
    <>
      {first !== undefined && (
        <p class="row picked">
          <span>{view.picked.length} selected</span>
          <a class="button main" href={viewFragment(jobView(first, view.picked.slice(1)))}>
            {view.picked.length === 1
              ? "Open"
              : view.picked.length <= MOST_COMPARED + 1
              ? "Compare"
              : `Compare the first ${MOST_COMPARED + 1}`}
          </a>
          {deletable.length > 0 && (
            <button type="button" onClick={() => setDeleting(deletable)}>
              Delete {deletable.length} ended…
            </button>
          )}
          <button type="button" onClick={() => showPicked([])}>Clear</button>
        </p>
      )}
      {deleting !== undefined && (
        <ChangeDialog
          action="delete"
          jobs={deleting}
          onClose={() => setDeleting(undefined)}
          onDone={(keys) => showPicked(view.picked.filter((it) => !keys.includes(it)))}
        />
      )}
    </>
  );
}
