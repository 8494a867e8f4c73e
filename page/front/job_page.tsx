/** Page of one job: what it is now, and the parts that tell more. */
import { useEffect, useState } from "preact/hooks";
import { CurvesTab } from "./curves_tab.tsx";
import { Conditions, Events, ObjectText, Pods } from "./detail_tabs.tsx";
import { JobActions } from "./job_actions.tsx";
import { actionsOf, type JobDetails, readDetails, readRights, type Rights } from "./job_details.ts";
import { LogTab } from "./log_tab.tsx";
import { Age, Hostile, Notice, Progress, Remaining, StateSign } from "./marks_and_signs.tsx";
import { call, connection, isStale, list, now } from "./page_state.ts";
import { durationText, plainText, shortKind, valueText } from "./readable_text.ts";
import { CallError } from "./server_calls.ts";
import type { Session } from "./session_key.ts";
import { FIRST_VIEW, type JobView, type Tab, TABS, viewFragment } from "./url_state.ts";
import { keyOf, type Row } from "./view_answers_read.ts";

/** Time between two readings of the object, its pods and events, in milliseconds. */
const DETAILS_MS = 5_000;
/** The same for the viewer's rights. */
const RIGHTS_MS = 60_000;

interface Reading<T> {
  readonly value?: T;
  readonly problem?: { readonly status: number; readonly message: string };
}

/** Reads a path now, again and again while the page is seen, and whenever `when` changes. */
function useReading<T>(path: string, read: (value: unknown) => T, everyMs: number, when: string) {
  const [reading, setReading] = useState<Reading<T>>({});
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    const look = async () => {
      if (document.visibilityState === "visible") {
        try {
          const response = await call(path, { signal: stop.signal });
          const value = read(await response.json());
          if (!stop.signal.aborted) setReading({ value });
        } catch (error) {
          if (stop.signal.aborted) return;
          const status = error instanceof CallError ? error.status : 0;
          const message = error instanceof Error ? error.message : String(error);
          setReading((before) => ({ ...before, problem: { status, message } }));
        }
      }
      if (!stop.signal.aborted) timer = setTimeout(look, everyMs);
    };
    look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path, when]);
  return reading;
}

/** The grace of a stop, counting down. */
function Grace({ row, details }: { row: Row | undefined; details: JobDetails | undefined }) {
  const stop = details?.stop;
  if (stop === undefined || row?.state === "EarlyStopped") return null;
  const seconds = ((stop.endMs ?? 0) - now.value) / 1000;
  return (
    <p class="grace" role="status">
      <b>Stopping</b> (<Hostile text={stop.reason} />
      {stop.message !== "" && (
        <>
          : <Hostile text={stop.message} />
        </>
      )}). {seconds > 0
        ? (
          <>
            Its pods have <span class="number">{durationText(seconds)}</span>{" "}
            left to save their work.
          </>
        )
        : "The time to save its work is over; waiting for its pods to end."}
    </p>
  );
}

function Facts({ row }: { row: Row }) {
  return (
    <dl class="facts">
      <div>
        <dt>Progress</dt>
        <dd>
          <Progress percent={row.progress} label="Progress" />
        </dd>
      </div>
      <div>
        <dt>Remaining</dt>
        <dd>
          <Remaining seconds={row.remainingSeconds} />
        </dd>
      </div>
      <div>
        <dt>{row.endedMs === undefined ? "Age" : "Ended"}</dt>
        <dd>
          <Age sinceMs={row.endedMs ?? row.createdMs} />
          {row.endedMs !== undefined && " ago"}
        </dd>
      </div>
      {row.updatedMs !== undefined && (
        <div>
          <dt>Last report</dt>
          <dd>
            <Age sinceMs={row.updatedMs} /> ago
          </dd>
        </div>
      )}
      {row.metrics.slice(0, 4).map(({ name, value }) => (
        <div key={name}>
          <dt>
            <Hostile text={name} />
          </dt>
          <dd class="number">{valueText(value)}</dd>
        </div>
      ))}
      {row.experiment !== undefined && (
        <div>
          <dt>Experiment</dt>
          <dd>
            <a href={viewFragment({ ...FIRST_VIEW, experiment: row.experiment })}>
              <Hostile text={row.experiment} />
            </a>
          </dd>
        </div>
      )}
    </dl>
  );
}

const TAB_WORDS: Readonly<Record<Tab, string>> = {
  curves: "Curves",
  conditions: "Conditions",
  pods: "Pods",
  events: "Events",
  logs: "Logs",
  object: "YAML",
};

function Tabs({ view }: { view: JobView }) {
  return (
    <nav class="tabs" aria-label="Parts of the job">
      {TABS.map((tab) => (
        <a
          key={tab}
          href={viewFragment({ ...view, tab })}
          aria-current={view.tab === tab ? "page" : undefined}
        >
          {TAB_WORDS[tab]}
        </a>
      ))}
    </nav>
  );
}

function Part(
  { view, details, problem }: {
    view: JobView;
    details: JobDetails | undefined;
    problem: Reading<JobDetails>["problem"];
  },
) {
  if (view.tab === "curves") return <CurvesTab view={view} />;
  if (view.tab === "logs") return <LogTab view={view} details={details} />;
  if (details === undefined) {
    if (problem === undefined) return <Notice title="Loading…" />;
    const title = problem.status === 403 ? "You may not see this" : "This cannot be read";
    return (
      <Notice kind="warning" title={title}>
        <p>{plainText(problem.message)}</p>
      </Notice>
    );
  }
  if (view.tab === "conditions") return <Conditions details={details} />;
  if (view.tab === "pods") return <Pods details={details} view={view} />;
  if (view.tab === "events") return <Events details={details} />;
  return <ObjectText details={details} />;
}

function Gone({ view, reason }: { view: JobView; reason: string }) {
  return (
    <Notice title="This job is gone">
      <p>
        There is no{" "}
        <code>
          <Hostile text={keyOf(view)} />
        </code>{" "}
        that you may see: it was deleted, or its name is another. {plainText(reason)}
      </p>
      <p>
        <a class="button" href={viewFragment(FIRST_VIEW)}>Show all jobs</a>
      </p>
    </Notice>
  );
}

/** The page. */
export function JobPage({ view, session }: { view: JobView; session: Session }) {
  const key = keyOf(view);
  const path = [view.kind, view.namespace, view.name].map(encodeURIComponent).join("/");
  const row = list.value?.rows.find((it) => keyOf(it) === key);
  const [changes, setChanges] = useState(0);
  const when = `${row?.uid} ${row?.state} ${changes}`;
  const { value: details, problem } = useReading(`/objects/${path}`, readDetails, DETAILS_MS, when);
  const rights: Rights = useReading(`/rights/${path}`, readRights, RIGHTS_MS, when).value ??
    new Set();
  const link = connection.value;
  if (link.phase === "refused") {
    const title = link.status === 403 ? "You may not see this job" : "The server refuses this view";
    return (
      <Notice kind="warning" title={title}>
        <p>{plainText(link.reason)}</p>
      </Notice>
    );
  }
  const isGone = list.value !== undefined && row === undefined && link.phase === "live";
  const actions = details === undefined || row === undefined || !session.canChange
    ? []
    : actionsOf(rights, row.state, details);
  return (
    <div class={isStale.value ? "stale" : undefined}>
      <header class="job">
        <p class="quiet">
          <a href={viewFragment(FIRST_VIEW)}>Jobs</a> /{" "}
          <a href={viewFragment({ ...FIRST_VIEW, namespaces: [view.namespace] })}>
            <Hostile text={view.namespace} />
          </a>{" "}
          / {shortKind(view.kind)}
        </p>
        <div class="row">
          <h1>
            <Hostile text={view.name} />
          </h1>
          {row !== undefined && <StateSign state={row.state} />}
          <span class="space" />
          <JobActions job={view} actions={actions} onDone={() => setChanges(changes + 1)} />
        </div>
        {row?.message !== undefined && (
          <p>
            <Hostile text={row.message} />
          </p>
        )}
        <Grace row={row} details={details} />
        {row !== undefined && <Facts row={row} />}
      </header>
      {isGone ? <Gone view={view} reason={problem?.status === 404 ? problem.message : ""} /> : (
        <>
          <Tabs view={view} />
          <Part view={view} details={details} problem={problem} />
        </>
      )}
    </div>
  );
}
