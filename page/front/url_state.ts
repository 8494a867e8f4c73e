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
import type { JobName, SORT_KEYS } from "../../crds/wire/row.ts";
import { keyOf } from "./feed/job_key.ts";
import { rangeOf, type TimeRange } from "./charts/zoom_range.ts";

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
/** States of a job. */
export const STATES = [...OPEN, ...ENDED];
/** Parts of a job's page. */
export const TABS = ["curves", "conditions", "pods", "events", "logs", "object"] as const;
/** A part of a job's page. */
export type Tab = typeof TABS[number];
/** Most jobs that are compared with one. */
export const MOST_COMPARED = 7;

/** What the list shows. */
export interface ListView {
  readonly page: "jobs";
  readonly text: string;
  readonly namespaces: readonly string[];
  readonly kinds: readonly string[];
  readonly states: readonly string[];
  readonly experiment: string;
  readonly sort: Sort;
  readonly sortMetric: string;
  /** Absent: what suits the column. */
  readonly order?: "ascending" | "descending";
  readonly offset: number;
  readonly limit: number;
  /** Keys of the jobs that were picked to be compared. */
  readonly picked: readonly string[];
}

/** What is shown of a job. */
export interface JobView extends JobName {
  readonly page: "job";
  readonly tab: Tab;
  /** Absent: all. */
  readonly metrics: readonly string[];
  readonly isLog: boolean;
  /** 0 to 0.99. */
  readonly weight: number;
  readonly band: boolean;
  /** Time since each job's start, or of day. */
  readonly axis: "elapsed" | "clock";
  /** The part of that axis that is shown; absent: all. */
  readonly range?: TimeRange | undefined;
  /** Keys of other jobs. */
  readonly compared: readonly string[];
  /** The pod whose log is shown. */
  readonly pod: string;
  /** The container of it; absent: its first. */
  readonly container: string;
  /** Whether the log is that of the container's run before. */
  readonly isPrevious: boolean;
}

/** What the page shows. */
export type View = ListView | JobView | SearchesView | SearchView;

/** The list without filters. */
export const FIRST_VIEW: ListView = {
  page: "jobs",
  text: "",
  namespaces: [],
  kinds: [],
  states: [],
  experiment: "",
  sort: "created",
  sortMetric: "",
  offset: 0,
  limit: 50,
  picked: [],
};

/** Returns the view of a job as it is first opened. */
export const jobView = (job: JobName, compared: readonly string[] = []): JobView => ({
  page: "job",
  kind: job.kind,
  namespace: job.namespace,
  name: job.name,
  tab: "curves",
  metrics: [],
  isLog: false,
  weight: 0,
  band: true,
  axis: compared.length > 0 ? "elapsed" : "clock",
  compared: compared.slice(0, MOST_COMPARED),
  pod: "",
  container: "",
  isPrevious: false,
});

/** Returns the value if it is one of a list. */
function oneOf<T extends string | number>(list: readonly T[], value: string | null) {
  return list.find((it) => String(it) === value);
}

const KEY = /^[^/]+\/[^/]+\/[^/]+$/;

/** Reads `<plural>.<group>/<namespace>/<name>`. */
export function jobNameOf(key: string): JobName | undefined {
  const [kind = "", namespace = "", name = ""] = key.split("/");
  return KEY.test(key) ? { kind, namespace, name } : undefined;
}

const keysOf = (parameters: URLSearchParams, name: string) =>
  [...new Set(parameters.getAll(name))].filter((key) => KEY.test(key)).slice(0, MOST_COMPARED + 1);

function readListView(given: URLSearchParams): ListView {
  const order = oneOf(["ascending", "descending"] as const, given.get("order"));
  const sort = oneOf(SORTS, given.get("sort")) ?? FIRST_VIEW.sort;
  const sortMetric = (given.get("sortMetric") ?? "").slice(0, 64);
  const offset = given.get("offset") ?? "";
  return {
    page: "jobs",
    text: (given.get("text") ?? "").slice(0, 128),
    namespaces: [...new Set(given.getAll("namespace"))].filter((it) => it !== "").slice(0, 20),
    kinds: [...new Set(given.getAll("kind"))].filter((it) => it !== "").slice(0, 20),
    states: [...new Set(given.getAll("state"))].filter((it) => oneOf(STATES, it) !== undefined),
    experiment: (given.get("experiment") ?? "").slice(0, 253),
    sort: sort === "metric" && sortMetric === "" ? FIRST_VIEW.sort : sort,
    sortMetric,
    ...(order !== undefined && { order }),
    offset: /^\d{1,6}$/.test(offset) ? Number(offset) : 0,
    limit: oneOf(WINDOW_SIZES, given.get("limit")) ?? FIRST_VIEW.limit,
    picked: keysOf(given, "pick"),
  };
}

function readRange(given: URLSearchParams): { range?: TimeRange } {
  const [from, to] = [given.get("from"), given.get("to")];
  const isNumber = (text: string | null) => text !== null && /^-?\d{1,16}$/.test(text);
  const range = isNumber(from) && isNumber(to) ? rangeOf(Number(from), Number(to)) : undefined;
  return range === undefined ? {} : { range };
}

function readJobView(job: JobName, given: URLSearchParams): JobView {
  const first = jobView(job, keysOf(given, "with").filter((key) => key !== keyOf(job)));
  const weight = Number(given.get("smooth") ?? 0);
  return {
    ...first,
    tab: oneOf(TABS, given.get("tab")) ?? first.tab,
    metrics: given.getAll("metric").filter((it) => it !== "").slice(0, 16),
    isLog: given.get("scale") === "log",
    weight: weight > 0 && weight < 1 ? Math.min(weight, 0.99) : 0,
    band: given.get("band") !== "no",
    axis: oneOf(["elapsed", "clock"] as const, given.get("axis")) ?? first.axis,
    ...readRange(given),
    pod: (given.get("pod") ?? "").slice(0, 253),
    container: (given.get("container") ?? "").slice(0, 253),
    isPrevious: given.get("run") === "previous",
  };
}

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

type Pairs = readonly (readonly [name: string, value: string])[];
const pairsOf = (name: string, values: readonly string[]): Pairs =>
  values.map((value) => [name, value] as const);

/** The parameters that select the list's rows, as the server takes them too. */
export function listParameters(view: ListView): Pairs {
  const first = FIRST_VIEW;
  return [
    ...pairsOf("namespace", view.namespaces),
    ...pairsOf("kind", view.kinds),
    ...pairsOf("state", view.states),
    ...pairsOf("experiment", view.experiment === "" ? [] : [view.experiment]),
    ...pairsOf("text", view.text === "" ? [] : [view.text]),
    ...pairsOf("sort", view.sort === first.sort ? [] : [view.sort]),
    ...pairsOf("sortMetric", view.sort === "metric" ? [view.sortMetric] : []),
    ...pairsOf("order", view.order === undefined ? [] : [view.order]),
    ...pairsOf("offset", view.offset === 0 ? [] : [String(view.offset)]),
    ...pairsOf("limit", view.limit === first.limit ? [] : [String(view.limit)]),
  ];
}

function jobParameters(view: JobView): Pairs {
  const first = jobView(view, view.compared);
  return [
    ...pairsOf("tab", view.tab === first.tab ? [] : [view.tab]),
    ...pairsOf("metric", view.metrics),
    ...pairsOf("scale", view.isLog ? ["log"] : []),
    ...pairsOf("smooth", view.weight === 0 ? [] : [String(view.weight)]),
    ...pairsOf("band", view.band ? [] : ["no"]),
    ...pairsOf("axis", view.axis === first.axis ? [] : [view.axis]),
    ...pairsOf("from", view.range === undefined ? [] : [String(view.range.from)]),
    ...pairsOf("to", view.range === undefined ? [] : [String(view.range.to)]),
    ...pairsOf("with", view.compared),
    ...pairsOf("pod", view.pod === "" ? [] : [view.pod]),
    ...pairsOf("container", view.container === "" ? [] : [view.container]),
    ...pairsOf("run", view.isPrevious ? ["previous"] : []),
  ];
}

const queryText = (pairs: Pairs) =>
  pairs.length === 0 ? "" : `?${new URLSearchParams(pairs.map(([name, value]) => [name, value]))}`;

/** Returns the fragment of a view; {@link readView} of it is the view. */
export function viewFragment(view: View): string {
  if (view.page === "jobs") {
    return `#/jobs${queryText([...listParameters(view), ...pairsOf("pick", view.picked)])}`;
  }
  if (view.page !== "job") {
    const { path, pairs } = searchAddress(view);
    return `${path}${queryText(pairs)}`;
  }
  const path = [view.kind, view.namespace, view.name].map(encodeURIComponent).join("/");
  return `#/job/${path}${queryText(jobParameters(view))}`;
}
