/** Views of searches in the address: which are listed, and how one is shown. Pure. */
import type { JobName } from "../../../crds/wire/row.ts";
import { pathOf } from "../feed/job_key.ts";
import type { Direction } from "../../../crds/wire/searches.ts";
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
} from "../view_fields.ts";

/** The id of Katib's searches, and of what is labelled as one. */
export const EXPERIMENTS = "experiments.kubeflow.org";
/** The id of the searches that Milepost runs itself. */
const OPTIMIZATION_JOBS = "optimizationjobs.trainer.kubeflow.org";

/** Returns the search that a job belongs to, in which word, if any. */
export function searchOfJob(
  { namespace, experiment, optimizationJob }: {
    readonly namespace: string;
    readonly experiment: string | undefined;
    readonly optimizationJob: string | undefined;
  },
): { readonly word: string; readonly search: JobName } | undefined {
  if (optimizationJob !== undefined) {
    const search = { kind: OPTIMIZATION_JOBS, namespace, name: optimizationJob };
    return { word: "OptimizationJob", search };
  }
  if (experiment === undefined) return undefined;
  return { word: "Experiment", search: { kind: EXPERIMENTS, namespace, name: experiment } };
}

/** What may be better of a metric. */
export const DIRECTIONS = ["minimize", "maximize"] as const satisfies readonly Direction[];

const LIST_FIELDS = { namespaces: textsField("namespace", 20), text: textField("text", 128) };
/** The list of searches. */
export type SearchesView = { readonly page: "searches" } & ViewOf<typeof LIST_FIELDS>;

/** A part of an axis, from 0 to 1: trials outside it are faint. */
export interface Brush {
  readonly axis: string;
  readonly from: number;
  readonly to: number;
}

const MOST_BRUSHES = 40;

const part = (text: string | undefined) => Math.min(1, Math.max(0, Number(text)));

/** Reads `NAME~FROM~TO`; the name may have any characters. */
function readBrush(text: string): Brush | undefined {
  const [, axis = "", from, to] = /^(.*)~(\d?\.?\d+)~(\d?\.?\d+)$/s.exec(text) ?? [];
  if (axis === "" || !(part(from) < part(to))) return undefined;
  return { axis, from: part(from), to: part(to) };
}

const short = (value: number) => String(Math.round(value * 1000) / 1000);

const SEARCH_FIELDS = {
  /** Empty: what the search says. */
  metric: textField("metric", 256),
  direction: choiceField("direction", DIRECTIONS, ""),
  isLog: switchField("scale", "log"),
  /** Whether curves are drawn over time although trials push steps. */
  isByTime: switchField("axis", "time"),
  /** `created`, `name`, `state`, `value`, `took`, `stop`, or `p:` and a parameter, or `m:` and a metric. */
  sort: textField("sort", 300, "value"),
  isDescending: switchField("order", "descending"),
  /** The trial that is marked in all charts. */
  trial: textField("trial", 253),
  brushes: fieldOf<readonly Brush[]>("brush", [], (texts) => {
    const brushes = texts.map(readBrush).filter((it) => it !== undefined);
    return [...new Map(brushes.map((it) => [it.axis, it])).values()].slice(0, MOST_BRUSHES);
  }, (all) => all.map(({ axis, from, to }) => `${axis}~${short(from)}~${short(to)}`)),
};
/** What is shown of a search. */
export type SearchView = JobName & { readonly page: "search" } & ViewOf<typeof SEARCH_FIELDS>;

/** The list without filters. */
export const FIRST_SEARCHES: SearchesView = { page: "searches", ...firstOf(LIST_FIELDS) };

/** Returns the view of a search as it is first opened. */
export const searchView = ({ kind, namespace, name }: JobName): SearchView => ({
  page: "search",
  kind,
  namespace,
  name,
  ...firstOf(SEARCH_FIELDS),
});

/** Reads the view of the list. */
export const readSearchesView = (given: URLSearchParams): SearchesView => ({
  page: "searches",
  ...readFields(LIST_FIELDS, given),
});

/** Reads the view of a search by the parts of its path. */
export const readSearchView = (
  [kind = "", namespace = "", name = ""]: readonly string[],
  given: URLSearchParams,
): SearchView => ({
  ...searchView({ kind, namespace, name }),
  ...readFields(SEARCH_FIELDS, given),
});

/** Returns path and parameters of a view of searches. */
export function searchAddress(view: SearchesView | SearchView): { path: string; pairs: Pairs } {
  if (view.page === "searches") return { path: "#/searches", pairs: pairsOf(LIST_FIELDS, view) };
  return { path: `#${pathOf("search", view)}`, pairs: pairsOf(SEARCH_FIELDS, view) };
}

/** Returns whether the parts of a path name a search. */
export const namesSearch = (parts: readonly string[]): boolean =>
  parts.length === 3 && parts.every((it) => it !== "");
