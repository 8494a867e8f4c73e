/** Page of all searches that the viewer may list. */
import { answeredDirection, DirectionQuestion } from "./asked_direction.tsx";
import { ASK_FOR_RIGHTS, DeniedKinds } from "../jobs/jobs_page.tsx";
import { NamespaceField } from "../form_fields.tsx";
import { namedHeaders, Table } from "../tables.tsx";
import { keyOf } from "../feed/job_key.ts";
import { Age, Hostile, Notice, StateSign } from "../marks_and_signs.tsx";
import { isStale, show } from "../page_state.ts";
import { plainText, valueText } from "../readable_text.ts";
import { type Reading, useReading } from "../feed/repeated_reading.ts";
import { readSearches, type SearchList, type SearchRow } from "./search_answer.ts";
import { SearchLine } from "./search_line.tsx";
import { FIRST_SEARCHES, type SearchesView, searchView } from "./search_view.ts";
import { Unread } from "../unread.tsx";
import { viewFragment } from "../url_state.ts";

/** Time between two readings, in milliseconds. */
const EVERY_MS = 10_000;

function Filters({ view }: { view: SearchesView }) {
  return (
    <section class="filters" aria-label="Filters">
      <div class="row">
        <label class="field grow">
          <span>Search</span>
          <input
            type="search"
            maxLength={128}
            placeholder="namespace/name"
            value={view.text}
            onInput={({ currentTarget }) => show({ ...view, text: currentTarget.value }, true)}
          />
        </label>
        <NamespaceField
          namespaces={view.namespaces}
          onChange={(namespaces) => show({ ...view, namespaces })}
        />
      </div>
    </section>
  );
}

function Best({ row }: { row: SearchRow }) {
  const { objective, best, bestBy } = row;
  const direction = objective === undefined ? "" : answeredDirection(objective.metric);
  const shown = best ?? (direction === "" ? undefined : bestBy?.[direction]);
  if (shown !== undefined) {
    return (
      <>
        <span class="number">{valueText(shown.value)}</span>{" "}
        <span class="quiet">
          <Hostile text={shown.trial} />
        </span>
      </>
    );
  }
  return objective === undefined || bestBy === undefined
    ? <span class="quiet">–</span>
    : <DirectionQuestion metric={objective.metric} />;
}

function Row({ row }: { row: SearchRow }) {
  const { objective } = row;
  return (
    <tr>
      <td>{row.state === "" ? <span class="quiet">–</span> : <StateSign state={row.state} />}</td>
      <td class="name">
        <a href={viewFragment(searchView(row))}>
          <Hostile text={row.name} />
        </a>
        <span class="quiet">
          <Hostile text={row.namespace} />
        </span>
      </td>
      <td class="number" data-label="Trials">{row.counts.total}</td>
      <td>
        {row.counts.states.map(([state, count]) => `${count} ${plainText(state)}`).join(", ") ||
          "–"}
      </td>
      <td data-label="Objective">
        {objective === undefined ? <span class="quiet">–</span> : (
          <>
            {objective.direction || answeredDirection(objective.metric)}{" "}
            <Hostile text={objective.metric} />
          </>
        )}
      </td>
      <td data-label="Best">
        <Best row={row} />
      </td>
      <td class="number" data-label="Age">
        <Age sinceMs={row.createdMs} />
      </td>
    </tr>
  );
}

function NoSearches({ view, list }: { view: SearchesView; list: SearchList }) {
  if (list.denied.length > 0 && view.namespaces.length === 0) {
    return <Unread what="these searches" problem={{ status: 403, message: ASK_FOR_RIGHTS }} />;
  }
  if (view.text !== "" || view.namespaces.length > 0) {
    return (
      <Notice title="No searches match these filters">
        <p>
          <a class="button" href={viewFragment(FIRST_SEARCHES)}>Show all searches</a>
        </p>
      </Notice>
    );
  }
  return (
    <Notice title="No searches yet">
      <p>
        OptimizationJobs and Katib's Experiments appear here, and Trials or jobs that share a value
        of the label <code>katib.kubeflow.org/experiment</code>.
      </p>
      <SearchLine />
      {list.absent.length > 0 && (
        <p class="quiet">
          Not installed in this cluster: <Hostile text={list.absent.join(", ")} />.
        </p>
      )}
    </Notice>
  );
}

const HEADERS = namedHeaders([
  "State",
  "Search",
  "Trials",
  "Trial states",
  "Objective",
  "Best",
  "Age",
]);

function Content({ view, reading }: { view: SearchesView; reading: Reading<SearchList> }) {
  const { value: list, problem } = reading;
  if (list === undefined) {
    return (
      <Unread what="these searches" problem={problem}>
        {problem?.status === 403 && <p>{ASK_FOR_RIGHTS}</p>}
      </Unread>
    );
  }
  const rows = list.rows.filter(({ namespace, name }) =>
    `${namespace}/${name}`.toLowerCase().includes(view.text.toLowerCase())
  );
  return (
    <>
      {problem && (
        <p class="down-bar" role="alert">
          Not up to date: {plainText(problem.message)}
        </p>
      )}
      <DeniedKinds denied={list.denied} />
      {rows.length === 0
        ? <NoSearches view={view} list={list} />
        : (
          <Table label="Searches" kind="jobs" headers={HEADERS}>
            {rows.map((row) => <Row key={keyOf(row)} row={row} />)}
          </Table>
        )}
      {list.isCut && (
        <p class="quiet">There are more searches: name namespaces above to see them.</p>
      )}
    </>
  );
}

/** The page. */
export function SearchesPage({ view }: { view: SearchesView }) {
  const query = new URLSearchParams(view.namespaces.map((it) => ["namespace", it]));
  const reading = useReading(`/searches?${query}`, readSearches, EVERY_MS, "");
  return (
    <div class={isStale.value ? "stale" : undefined}>
      <h1 class="hidden">Searches and their trials</h1>
      <Filters view={view} />
      <Content view={view} reading={reading} />
    </div>
  );
}
