/**
 * State of the view in the address. Pure.
 *
 * It stands in the fragment, such as `#/jobs?state=Running`: no server needs to know these paths,
 * and names of jobs come into no log and no `Referer`. A link carries no rights.
 */
import {
  namesSearch,
  readSearchesView,
  readSearchView,
  searchAddress,
  type SearchesView,
  type SearchView,
} from "./searches/search_view.ts";
import type { ENDED_STATES, OPEN_STATES } from "../../crds/names.ts";
import type { STALLED as KnownStalled } from "../../crds/wire/row.ts";
import type { JobName, SORT_KEYS } from "../../crds/wire/row.ts";
import { keyOf, pathOf } from "./feed/job_key.ts";
import { rangeOf, type TimeRange } from "./charts/zoom_range.ts";
import {
  choiceField,
  fieldOf,
  firstOf,
  type Pairs,
  pairsOf,
  readFields,
  switchField,
  textField,
  textsField,
  type ViewOf,
} from "./view_fields.ts";

/** Columns by which the list is sorted. */
export const SORTS = [
  "name",
  "namespace",
  "kind",
  "state",
  "progress",
  "remaining",
  "created",
  "updated",
  "metric",
] as const satisfies typeof SORT_KEYS;
/** A column. */
export type Sort = typeof SORTS[number];
/** Rows of a window. */
export const WINDOW_SIZES = [25, 50, 100, 200] as const;
/** States of a job, or a trial, that has not ended. */
export const OPEN: readonly string[] = [
  "Created",
  "Running",
  "Suspended",
] satisfies typeof OPEN_STATES;
/** Those of one that has. */
export const ENDED: readonly string[] = [
  "Complete",
  "Failed",
  "EarlyStopped",
] satisfies typeof ENDED_STATES;
/** Jobs that run and make no progress, which is no state. */
export const STALLED = "Stalled" satisfies typeof KnownStalled;
/** What the list is filtered by. */
export const STATES = [...OPEN, STALLED, ...ENDED];
/** Parts of a job's page. */
export const TABS = [
  "curves",
  "configuration",
  "conditions",
  "pods",
  "events",
  "logs",
  "object",
] as const;
/** A part of a job's page. */
export type Tab = typeof TABS[number];
/** What stands for all pods of a job: no pod has such a name. */
export const ALL_PODS = "*";
/** What the charts of a job are drawn over: its steps, the time since its start, or of day. */
export const AXES = ["step", "elapsed", "clock"] as const;
/** An axis. */
export type AxisKind = typeof AXES[number];
/** Most jobs that are compared with one. */
export const MOST_COMPARED = 7;

const KEY = /^[^/]+\/[^/]+\/[^/]+$/;
const isKey = (text: string) => KEY.test(text);

/** What the list shows, as the server takes it, too. */
const LIST_FIELDS = {
  namespaces: textsField("namespace", 20),
  kinds: textsField("kind", 20),
  states: textsField("state", STATES.length, (it) => STATES.includes(it)),
  experiment: textField("experiment", 253),
  text: textField("text", 128),
  sort: choiceField("sort", SORTS, "created"),
  sortMetric: textField("sortMetric", 64),
  hasConfiguration: switchField("configuration", "true"),
  /** Absent: what suits the column. */
  order: choiceField("order", ["ascending", "descending"], undefined),
  offset: fieldOf("offset", 0, ([rows = ""]) => /^\d{1,6}$/.test(rows) ? Number(rows) : undefined),
  limit: choiceField<number, number>("limit", WINDOW_SIZES, 50),
};
/** Most jobs that are selected: those of the largest window. */
export const MOST_PICKED = 200;
/** The same, and keys of the jobs that are selected, to be compared or deleted. */
const ALL_LIST_FIELDS = { ...LIST_FIELDS, picked: textsField("pick", MOST_PICKED, isKey) };
/** What the list shows. */
export type ListView = { readonly page: "jobs" } & ViewOf<typeof ALL_LIST_FIELDS>;

/** What is shown of a job. */
const JOB_FIELDS = {
  tab: choiceField("tab", TABS, "curves"),
  /** None: all. */
  metrics: fieldOf<readonly string[]>(
    "metric",
    [],
    (names) => names.filter((it) => it !== "").slice(0, 16),
    (names) => names,
  ),
  isLog: switchField("scale", "log"),
  /** 0 to 0.99. */
  weight: fieldOf("smooth", 0, ([weight]) => {
    return Number(weight) > 0 && Number(weight) < 1 ? Math.min(Number(weight), 0.99) : 0;
  }),
  band: switchField("band", "no", true),
  /** Absent: what suits the jobs, see {@link axisFor}. */
  axis: choiceField("axis", AXES, undefined),
  /** Keys of other jobs. */
  compared: textsField("with", MOST_COMPARED + 1, isKey),
  /** The pod whose log is shown; {@link ALL_PODS}: all of them together. */
  pod: textField("pod", 253),
  /** The container of it; empty: its first. */
  container: textField("container", 253),
  /** Whether the log is that of the container's run before. */
  isPrevious: switchField("run", "previous"),
  /** What the lines of the log that are shown have. */
  find: textField("find", 128),
  isWrapped: switchField("wrap", "no", true),
};
/** What is shown of a job. */
export type JobView = JobName & { readonly page: "job" } & ViewOf<typeof JOB_FIELDS> & {
  /** The part of the axis that is shown; absent: all. */
  readonly range?: TimeRange | undefined;
};

/** What the page shows. */
export type View = ListView | JobView | SearchesView | SearchView;

/** The list without filters. */
export const FIRST_VIEW: ListView = { page: "jobs", ...firstOf(ALL_LIST_FIELDS) };

/** Returns the view of a job as it is first opened. */
export const jobView = (
  { kind, namespace, name }: JobName,
  compared: readonly string[] = [],
): JobView => ({
  page: "job",
  kind,
  namespace,
  name,
  ...firstOf(JOB_FIELDS),
  compared: compared.slice(0, MOST_COMPARED),
});

/** Reads `<plural>.<group>/<namespace>/<name>`. */
export function jobNameOf(key: string): JobName | undefined {
  const [kind = "", namespace = "", name = ""] = key.split("/");
  return isKey(key) ? { kind, namespace, name } : undefined;
}

function readListView(given: URLSearchParams): ListView {
  const view: ListView = { page: "jobs", ...readFields(ALL_LIST_FIELDS, given) };
  const isNamed = view.sort !== "metric" || view.sortMetric !== "";
  return isNamed ? view : { ...view, sort: FIRST_VIEW.sort };
}

function readRange(given: URLSearchParams): { range?: TimeRange } {
  const [from, to] = [given.get("from"), given.get("to")];
  const isNumber = (text: string | null) => text !== null && /^-?\d{1,16}$/.test(text);
  const range = isNumber(from) && isNumber(to) ? rangeOf(Number(from), Number(to)) : undefined;
  return range === undefined ? {} : { range };
}

function readJobView(job: JobName, given: URLSearchParams): JobView {
  const fields = readFields(JOB_FIELDS, given);
  const { compared } = jobView(job, fields.compared.filter((key) => key !== keyOf(job)));
  return { ...jobView(job), ...fields, compared, ...readRange(given) };
}

/** Returns the axis of a view: that of steps if the job pushes them, and nobody chose another, or a time. */
export const axisFor = (
  { axis, compared, range }: Pick<JobView, "axis" | "compared" | "range">,
  hasSteps: boolean,
): AxisKind =>
  axis ?? (hasSteps && range === undefined ? "step" : compared.length > 0 ? "elapsed" : "clock");

/** Returns the text behind the percent signs, or the text itself if they make none. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Reads the fragment of an address; what it does not say, or says wrongly, is as at first. */
export function readView(fragment: string): View {
  const [path = "", query = ""] = fragment.replace(/^#/, "").split(/\?(.*)/s);
  const given = new URLSearchParams(query);
  const [, page, ...parts] = path.split("/").map(decoded);
  if (page === "searches") return readSearchesView(given);
  if (page === "search" && namesSearch(parts)) return readSearchView(parts, given);
  const job = page === "job" && parts.length === 3 ? jobNameOf(parts.join("/")) : undefined;
  return job === undefined ? readListView(given) : readJobView(job, given);
}

/** The metric of an order by another column is none. */
const withoutOthers = (view: ListView): ListView =>
  view.sort === "metric" ? view : { ...view, sortMetric: "" };

/** The parameters that select the list's rows, as the server takes them too. */
export const listParameters = (view: ListView): Pairs => pairsOf(LIST_FIELDS, withoutOthers(view));

const jobParameters = ({ range, ...view }: JobView): Pairs => [
  ...pairsOf(JOB_FIELDS, view),
  ...(["from", "to"] as const).flatMap((end) => range ? [[end, String(range[end])] as const] : []),
];

const queryText = (pairs: Pairs) =>
  pairs.length === 0 ? "" : `?${new URLSearchParams(pairs.map(([name, value]) => [name, value]))}`;

/** Returns the fragment of a view; {@link readView} of it is the view. */
export function viewFragment(view: View): string {
  if (view.page === "jobs") {
    return `#/jobs${queryText(pairsOf(ALL_LIST_FIELDS, withoutOthers(view)))}`;
  }
  if (view.page === "job") return `#${pathOf("job", view)}${queryText(jobParameters(view))}`;
  const { path, pairs } = searchAddress(view);
  return `${path}${queryText(pairs)}`;
}
