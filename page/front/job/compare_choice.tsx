/** Choice of the jobs that are compared with one: found by text, wherever the viewer may list. */
import { useState } from "preact/hooks";
import { Hostile } from "../marks_and_signs.tsx";
import { Menu } from "../menu.tsx";
import { call, showJob, shownJobs } from "../page_state.ts";
import { plainText } from "../readable_text.ts";
import { problemOf } from "../feed/server_calls.ts";
import { jobNameOf, type JobView, MOST_COMPARED } from "../url_state.ts";
import { type ListNews, readList } from "../feed/view_answers_read.ts";
import { keyOf } from "../feed/job_key.ts";

/**
 * Finds jobs by a text in `namespace/name`: everywhere, or, for who may not list everywhere, in the namespaces that
 * this page and the text name.
 */
async function findJobs(text: string, view: JobView): Promise<ListNews> {
  const ask = async (namespaces: readonly string[]) => {
    const query = new URLSearchParams({ text, limit: "25" });
    for (const namespace of namespaces) query.append("namespace", namespace);
    return readList(await (await call(`/view/v1/jobs?${query}`)).json());
  };
  try {
    return await ask([]);
  } catch (error) {
    if (problemOf(error).status !== 403) throw error;
    const named = [
      view.namespace,
      ...view.compared.map((key) => jobNameOf(key)?.namespace ?? ""),
      text.split("/")[0] ?? "",
    ];
    return await ask([...new Set(named)].filter((it) => NAMESPACE.test(it)).slice(0, 20));
  }
}
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Finds jobs by text, and adds them to the charts. */
export function CompareChoice({ view }: { view: JobView }) {
  const [text, setText] = useState("");
  const [{ rows, denied = [] }, setFound] = useState<Partial<ListNews>>({});
  const [problem, setProblem] = useState("");
  const search = async () => {
    try {
      setFound(await findJobs(text, view));
      setProblem("");
    } catch (error) {
      setProblem(problemOf(error).message);
    }
  };
  const shown = shownJobs(view);
  const isFull = view.compared.length >= MOST_COMPARED;
  return (
    <Menu label="Compare">
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          search();
        }}
      >
        <label class="field grow">
          <span>Find jobs by namespace/name</span>
          <input
            value={text}
            maxLength={128}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <button type="submit">Find</button>
      </form>
      {problem !== "" && <p role="alert">{plainText(problem)}</p>}
      {isFull && <p class="quiet">At most {MOST_COMPARED + 1} jobs are shown at once.</p>}
      <ul class="found">
        {rows?.filter((row) => !shown.includes(keyOf(row))).map((row) => (
          <li key={row.uid}>
            <button
              type="button"
              disabled={isFull}
              onClick={() => showJob(view, { compared: [...view.compared, keyOf(row)] })}
            >
              Add <Hostile text={`${row.namespace}/${row.name}`} />
            </button>
          </li>
        ))}
        {rows?.length === 0 && <li class="quiet">No jobs match.</li>}
      </ul>
      {denied.length > 0 && (
        <p class="quiet">
          Not searched where you may not list:{" "}
          <Hostile
            text={denied.slice(0, 5).map(({ kind, namespace = "all namespaces" }) =>
              `${kind} in ${namespace}`
            ).join(", ")}
          />
          {denied.length > 5 && ` and ${denied.length - 5} more`}
        </p>
      )}
    </Menu>
  );
}
