/** Bar of the jobs that are selected in the list: they are compared, and those that have ended are deleted. */
import { useState } from "preact/hooks";
import { ChangeDialog } from "../change_dialog.tsx";
import { keyOf } from "../feed/job_key.ts";
import { useRights } from "../job/viewer_rights.ts";
import { list, showList } from "../page_state.ts";
import { SearchMenu } from "../searches/search_line.tsx";
import {
  ENDED,
  jobNameOf,
  jobView,
  type ListView,
  MOST_COMPARED,
  viewFragment,
} from "../url_state.ts";

/** The bar; nothing if no job is selected. */
export function PickedJobs({ view }: { view: ListView }) {
  const picked = new Set(view.picked);
  const ended = list.value?.rows
    .filter((row) => picked.has(keyOf(row)) && ENDED.includes(row.state)) ?? [];
  // Of jobs of other namespaces the API server says it when it is asked.
  const [one] = ended;
  const rights = useRights(one);
  const [isDeleting, setDeleting] = useState(false);
  const [first] = view.picked.map(jobNameOf).filter((it) => it !== undefined);
  const showPicked = (picked: readonly string[]) =>
    showList(view, { picked, offset: view.offset }, true);
  return (
    <>
      {first !== undefined && (
        <div class="row picked">
          <span>{view.picked.length} selected</span>
          <a class="button main" href={viewFragment(jobView(first, view.picked.slice(1)))}>
            {view.picked.length === 1
              ? "Open"
              : view.picked.length <= MOST_COMPARED + 1
              ? "Compare"
              : `Compare the first ${MOST_COMPARED + 1}`}
          </a>
          {one !== undefined && rights.value?.has("delete") && (
            <button
              type="button"
              onClick={() => setDeleting(true)}
            >
              Delete {ended.length} ended…
            </button>
          )}
          <SearchMenu keys={view.picked} />
          <button type="button" onClick={() => showPicked([])}>Clear</button>
        </div>
      )}
      {isDeleting && (
        <ChangeDialog
          action="delete"
          jobs={ended}
          onClose={() => setDeleting(false)}
          onDone={(keys) => showPicked(view.picked.filter((it) => !keys.includes(it)))}
        />
      )}
    </>
  );
}
