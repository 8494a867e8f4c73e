/** Page of one job: what it is now, and the parts that tell more. */
import { useState } from "preact/hooks";
import { ComparedConfiguration } from "./compared_configuration.tsx";
import { CurvesTab } from "./curves_tab.tsx";
import { Conditions, Events, JobConfiguration, ObjectText, Pods } from "./detail_tabs.tsx";
import { JobActions } from "./job_actions.tsx";
import {
  ACTIONS,
  actionsOf,
  detailsKey,
  type JobDetails,
  readDetails,
  type Rights,
} from "./job_details.ts";
import { LogTab } from "./log_tab.tsx";
import { Age, Fact, Hostile, Progress, Remaining, StateSign } from "../marks_and_signs.tsx";
import { connection, curves, isStale, list } from "../page_state.ts";
import { durationText, plainText, shortKind, valueText } from "../readable_text.ts";
import { type Reading, useReading } from "../feed/repeated_reading.ts";
import { jobTimeText } from "../../../platform/base/job_change_text.ts";
import { Unread } from "../unread.tsx";
import { StopNotice } from "./stop_notice.tsx";
import { useRights } from "./viewer_rights.ts";
import { searchOfJob, searchView } from "../searches/search_view.ts";
import { FIRST_VIEW, type JobView, type Tab, TABS, viewFragment } from "../url_state.ts";
import type { Row } from "../feed/view_answers_read.ts";
import { keyOf, pathOf } from "../feed/job_key.ts";

/** Time between two readings of the object, its pods and events, in milliseconds; and before the job runs. */
const [DETAILS_MS, DETAILS_BEFORE_MS] = [5_000, 2_000];

function Facts({ row, details }: { row: Row; details: JobDetails | undefined }) {
  const { endedMs } = row;
  const of = searchOfJob(row);
  const time = jobTimeText(details?.timeSpent, durationText);
  return (
    <dl class="facts">
      <Fact name="Progress">
        <Progress percent={row.progress} label="Progress" />
      </Fact>
      {endedMs === undefined && (
        <Fact name="Estimated time left">
          <Remaining seconds={row.remainingSeconds} />
        </Fact>
      )}
      <Fact name={endedMs === undefined ? "Age" : "Ended"}>
        <Age sinceMs={endedMs ?? row.createdMs} />
        {endedMs !== undefined && " ago"}
      </Fact>
      {endedMs !== undefined && (
        <Fact name="Took">
          <span class="number">{durationText((endedMs - (details?.startedMs ?? NaN)) / 1000)}</span>
        </Fact>
      )}
      {row.updatedMs !== undefined && (
        <Fact name="Last report">
          <Age sinceMs={row.updatedMs} /> ago
        </Fact>
      )}
      {time !== "" && <Fact name="Time">{time}</Fact>}
      {!!details?.restarts && <Fact name="Restarts">{details.restarts}</Fact>}
      {row.metrics.slice(0, 4).map(({ name, value }) => (
        <Fact key={name} name={name}>
          <span class="number">{valueText(value)}</span>
        </Fact>
      ))}
      {of !== undefined && (
        <Fact name={of.word}>
          <a href={viewFragment(searchView(of.search))}>
            <Hostile text={of.search.name} />
          </a>
        </Fact>
      )}
    </dl>
  );
}

/** Says of a job that is quiet since when; its pods may be evaluating, or hang. */
function QuietNotice({ jobKey, row }: { jobKey: string; row: Row | undefined }) {
  const mark = curves.value?.byJob.get(jobKey)?.marks.find(({ kind }) => kind === "quiet");
  if (mark === undefined || row?.state !== "Running" || row.stalledSinceMs !== undefined) {
    return null;
  }
  return (
    <p role="status">
      Quiet for <Age sinceMs={mark.timeMs} />: <Hostile text={mark.text} />
    </p>
  );
}

const TAB_WORDS: Readonly<Record<Tab, string>> = {
  curves: "Curves",
  configuration: "Configuration",
  conditions: "Status",
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
  { view, details, problem, row }: {
    view: JobView;
    details: JobDetails | undefined;
    problem: Reading<JobDetails>["problem"];
    row: Row | undefined;
  },
) {
  if (view.tab === "curves") {
    return <CurvesTab view={view} row={row} />;
  }
  if (view.tab === "logs") return <LogTab view={view} details={details} row={row} />;
  if (details === undefined) {
    return <Unread what="this job" problem={problem} />;
  }
  if (view.tab === "conditions") return <Conditions details={details} row={row} />;
  if (view.tab === "configuration") {
    return (
      <>
        <ComparedConfiguration view={view} />
        <JobConfiguration details={details} />
      </>
    );
  }
  if (view.tab === "pods") return <Pods details={details} view={view} row={row} />;
  if (view.tab === "events") return <Events details={details} />;
  return <ObjectText details={details} />;
}

/** Says what cannot be known or done now, or not by this viewer. */
function Refusals(
  { details, rights }: { details: Reading<JobDetails>; rights: Reading<Rights> },
) {
  const link = connection.value;
  const isOld = details.value !== undefined && details.problem !== undefined;
  return (
    <>
      {link.phase === "refused" && (
        <Unread what="this job" problem={{ status: link.status, message: link.reason }} />
      )}
      {isOld && (
        <p class="down-bar" role="alert">
          Cannot read pods, events, status and YAML now:{" "}
          {plainText(details.problem?.message ?? "")}. Retrying.
        </p>
      )}
      {rights.problem !== undefined && (
        <p class="quiet" role="status">
          Cannot check what you may change: {plainText(rights.problem.message)}
        </p>
      )}
    </>
  );
}

/** The page. */
export function JobPage({ view }: { view: JobView }) {
  const key = keyOf(view);
  const row = list.value?.rows.find((it) => keyOf(it) === key);
  const [changes, setChanges] = useState(0);
  const when = `${detailsKey(row)} ${changes}`;
  const detailsMs = row?.state === "Created" ? DETAILS_BEFORE_MS : DETAILS_MS;
  const read = useReading(pathOf("objects", view), readDetails, detailsMs, when);
  const { value: details, problem } = read;
  const rights = useRights(view, when);
  const link = connection.value;
  const isListed = list.value !== undefined && link.phase === "live";
  const isGone = problem?.status === 404 ||
    (isListed && row === undefined && details === undefined);
  const state = row?.state ?? "";
  const actions = details === undefined || isGone
    ? []
    : actionsOf(rights.value ?? new Set(), state, details);
  const mayNothing = rights.value !== undefined && details !== undefined &&
    ACTIONS.every((action) => !rights.value?.has(action));
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
          {row !== undefined && <StateSign {...row} />}
          <span class="space" />
          <JobActions
            job={{ ...view, uid: details?.uid ?? "", nextRestart: details?.nextRestart }}
            actions={actions}
            onDone={() => setChanges(changes + 1)}
          />
          {mayNothing && <span class="quiet">View only: you may not change this job.</span>}
        </div>
        {row?.message !== undefined && (
          <p>
            <Hostile text={row.message} />
          </p>
        )}
        {details !== undefined && details.lastWords !== "" && (
          <details>
            <summary>What it said last</summary>
            <pre>{plainText(details.lastWords)}</pre>
          </details>
        )}
        {!isGone && details !== undefined && details.wait !== "" && (
          <p>
            <Hostile text={details.wait} />
          </p>
        )}
        {!isGone && <QuietNotice jobKey={key} row={row} />}
        {!isGone && <StopNotice row={row} details={details} />}
        {row !== undefined && <Facts row={row} details={details} />}
      </header>
      {isGone
        ? (
          <Unread what="this job" problem={{ status: 404, message: problem?.message ?? "" }}>
            <p>
              <a class="button" href={viewFragment(FIRST_VIEW)}>Show all jobs</a>
            </p>
          </Unread>
        )
        : (
          <>
            <Refusals details={read} rights={rights} />
            <Tabs view={view} />
            <Part
              view={view}
              details={details}
              problem={problem}
              row={row}
            />
          </>
        )}
    </div>
  );
}
