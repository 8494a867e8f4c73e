/** Page of all jobs: filters, table, and the window's place among all. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Choice, NamespaceField } from "../form_fields.tsx";
import { JobsTable } from "./jobs_table.tsx";
import { PickedJobs } from "./picked_jobs.tsx";
import { Hostile, Notice, Switch } from "../marks_and_signs.tsx";
import { connection, isStale, list, showList } from "../page_state.ts";
import { Unread } from "../unread.tsx";
import { plainText, shortKind } from "../readable_text.ts";
import {
  FIRST_VIEW,
  type ListView,
  STALLED,
  STATES,
  viewFragment,
  WINDOW_SIZES,
} from "../url_state.ts";
import { sessionState } from "../feed/session_key.ts";
import type { Denied } from "../../../crds/wire/row.ts";

/** Time after the last key before the server is asked, in milliseconds. */
const TYPING_MS = 250;

function SearchField({ view }: { view: ListView }) {
  const [text, setText] = useState(view.text);
  const field = useRef<HTMLInputElement>(null);
  const asked = useRef(view.text);
  useEffect(() => {
    // What was asked for here is older than what was typed since.
    if (view.text !== asked.current) setText(view.text);
    asked.current = view.text;
  }, [view.text]);
  useEffect(() => {
    if (text === view.text) return;
    const timer = setTimeout(() => {
      asked.current = text;
      showList(view, { text }, true);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, view]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof Element &&
        event.target.matches("input, select, textarea");
      if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      field.current?.focus();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <label class="field grow">
      <span>
        Search <kbd>/</kbd>
      </span>
      <input
        ref={field}
        type="search"
        maxLength={128}
        placeholder="namespace/name"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
    </label>
  );
}

function KindField({ view }: { view: ListView }) {
  const kinds = [...new Set([...view.kinds, ...list.value?.kinds ?? []])].sort();
  return (
    <Choice
      label="Kind"
      look="field"
      value={view.kinds[0] ?? ""}
      options={[["", "all"], ...kinds.map((kind) => [kind, shortKind(kind)] as const)]}
      onChange={(kind) => showList(view, { kinds: kind === "" ? [] : [kind] })}
    />
  );
}

function StateFilters({ view }: { view: ListView }) {
  const states = list.value?.states;
  // No job should be: what is not there takes no place.
  const shown = STATES.filter((it) =>
    it !== STALLED || states?.has(it) || view.states.includes(it)
  );
  return (
    <div class="row" role="group" aria-label="States">
      {shown.map((state) => (
        <Switch
          key={state}
          isOn={view.states.includes(state)}
          onChange={(isOn) => {
            const others = view.states.filter((it) => it !== state);
            showList(view, { states: isOn ? [...others, state] : others });
          }}
        >
          {plainText(state)} <span class="count">{states?.get(state) ?? 0}</span>
        </Switch>
      ))}
    </div>
  );
}

/** What to do about lists that may not be seen. */
export const ASK_FOR_RIGHTS =
  "Ask an administrator for the right to list jobs, or name namespaces above that you have access to.";

/** The kinds and namespaces that the viewer may not list; nothing if there are none. */
export function DeniedKinds({ denied }: { denied: readonly Denied[] }) {
  if (denied.length === 0) return null;
  return (
    <details class="denied">
      <summary>
        Not everything is shown: {denied.length}{" "}
        {denied.length === 1 ? "kind" : "kinds or namespaces"} you may not list
      </summary>
      <ul>
        {denied.slice(0, 40).map(({ kind, namespace }) => (
          <li key={`${kind}/${namespace}`}>
            <Hostile text={kind} />
            {namespace === undefined ? " in all namespaces" : (
              <>
                {" in "}
                <Hostile text={namespace} />
              </>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

function Pager({ view, total }: { view: ListView; total: number }) {
  const last = Math.min(view.offset + view.limit, total);
  const go = (offset: number) => showList(view, { offset: Math.max(0, offset) });
  return (
    <nav class="row pager" aria-label="Rows">
      <span role="status">
        {total === 0 ? "No jobs" : `${view.offset + 1}–${last} of ${total.toLocaleString("en")}`}
      </span>
      <button type="button" disabled={view.offset === 0} onClick={() => go(0)}>First</button>
      <button
        type="button"
        disabled={view.offset === 0}
        onClick={() => go(view.offset - view.limit)}
      >
        Previous
      </button>
      <button type="button" disabled={last >= total} onClick={() => go(view.offset + view.limit)}>
        Next
      </button>
      <Choice
        label="Rows"
        value={view.limit}
        options={WINDOW_SIZES.map((size) => [size, size])}
        onChange={(limit) => showList(view, { limit: Number(limit) })}
      />
    </nav>
  );
}

const isFiltered = (view: ListView) =>
  view.text !== "" || view.experiment !== "" ||
  view.namespaces.length + view.kinds.length + view.states.length > 0;

function NoRows({ view, total }: { view: ListView; total: number }) {
  if (total > 0 || isFiltered(view)) {
    return (
      <Notice title={total > 0 ? "No jobs on this page" : "No jobs match these filters"}>
        <p>
          {total > 0
            ? <a class="button" href={viewFragment({ ...view, offset: 0 })}>First page</a>
            : (
              <a class="button" href={viewFragment({ ...FIRST_VIEW, limit: view.limit })}>
                Show all jobs
              </a>
            )}
        </p>
      </Notice>
    );
  }
  return (
    <Notice title="No jobs yet">
      <p>Jobs appear here when they are created, for example with</p>
      <pre tabIndex={0}>kubectl apply -f trainjob.yaml</pre>
    </Notice>
  );
}

/** The namespace of the viewer, where that is a service account: its rights are there, if anywhere. */
function ownNamespace(): string | undefined {
  const state = sessionState.value;
  const user = state.phase === "open" ? state.session.user : "";
  return /^system:serviceaccount:([-a-z0-9]{1,63}):/.exec(user)?.[1];
}

function Content({ view }: { view: ListView }): ComponentChildren {
  const link = connection.value;
  const it = list.value;
  if (link.phase === "refused") {
    const isForbidden = link.status === 403;
    const own = isForbidden ? ownNamespace() : undefined;
    const isOther = own !== undefined && !view.namespaces.includes(own);
    return (
      <Unread what="these jobs" problem={{ status: link.status, message: link.reason }}>
        {isForbidden && <p>{ASK_FOR_RIGHTS}</p>}
        <p class="row">
          {isOther && (
            <a class="button" href={viewFragment({ ...FIRST_VIEW, namespaces: [own] })}>
              Show jobs of <Hostile text={own} />
            </a>
          )}
          <a class="button" href={viewFragment(FIRST_VIEW)}>Show all jobs</a>
        </p>
      </Unread>
    );
  }
  if (it === undefined) {
    return link.phase === "down" ? null : <Unread what="these jobs" problem={undefined} />;
  }
  return (
    <>
      <DeniedKinds denied={it.denied} />
      {it.rows.length === 0
        ? <NoRows view={view} total={it.total} />
        : <JobsTable view={view} rows={it.rows} />}
      <Pager view={view} total={it.total} />
    </>
  );
}

/** The page. */
export function JobsPage({ view }: { view: ListView }) {
  return (
    <div class={isStale.value ? "stale" : undefined}>
      <h1 class="hidden">Jobs</h1>
      <section class="filters" aria-label="Filters">
        <div class="row">
          <SearchField view={view} />
          <NamespaceField
            namespaces={view.namespaces}
            known={[...new Set(list.value?.rows.map(({ namespace }) => namespace))]}
            onChange={(namespaces) => showList(view, { namespaces })}
          />
          <KindField view={view} />
          <Switch
            isOn={view.hasConfiguration}
            onChange={(hasConfiguration) =>
              showList(view, { hasConfiguration, offset: view.offset })}
          >
            Configuration
          </Switch>
        </div>
        <StateFilters view={view} />
        {view.experiment !== "" && (
          <p class="row">
            Jobs of the Experiment <Hostile text={view.experiment} />
            <button type="button" onClick={() => showList(view, { experiment: "" })}>
              Show all
            </button>
          </p>
        )}
      </section>
      <PickedJobs view={view} />
      <Content view={view} />
    </div>
  );
}
