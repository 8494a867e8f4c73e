/** Views of searches in the address: which are listed, and how one is shown. Pure. */

/** The id of Katib's searches, and of what is labelled as one. */
export const EXPERIMENTS = "experiments.kubeflow.org";

/** The list of searches. */
export interface SearchesView {
  readonly page: "searches";
  readonly namespaces: readonly string[];
  readonly text: string;
}

/** A part of an axis, from 0 to 1: trials outside it are faint. */
export interface Brush {
  readonly axis: string;
  readonly from: number;
  readonly to: number;
}

/** What is shown of a search. */
export interface SearchView {
  readonly page: "search";
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Empty: what the search says. */
  readonly metric: string;
  readonly direction: "" | "minimize" | "maximize";
  readonly isLog: boolean;
  /** `created`, `name`, `state`, `value`, `took`, `stop`, or `p:` and a parameter, or `m:` and a metric. */
  readonly sort: string;
  readonly isDescending: boolean;
  /** The trial that is marked in all charts. */
  readonly trial: string;
  readonly brushes: readonly Brush[];
}

/** The list without filters. */
export const FIRST_SEARCHES: SearchesView = { page: "searches", namespaces: [], text: "" };

/** Returns the view of a search as it is first opened. */
export const searchView = (
  search: { readonly kind: string; readonly namespace: string; readonly name: string },
): SearchView => ({
  page: "search",
  kind: search.kind,
  namespace: search.namespace,
  name: search.name,
  metric: "",
  direction: "",
  isLog: false,
  sort: "value",
  isDescending: false,
  trial: "",
  brushes: [],
});

const DIRECTIONS = ["minimize", "maximize"] as const;
const MOST_BRUSHES = 40;

/** Reads the view of the list. */
export function readSearchesView(given: URLSearchParams): SearchesView {
  return {
    page: "searches",
    namespaces: [...new Set(given.getAll("namespace"))].filter((it) => it !== "").slice(0, 20),
    text: (given.get("text") ?? "").slice(0, 128),
  };
}

const part = (text: string | undefined) => Math.min(1, Math.max(0, Number(text)));

/** Reads `NAME~FROM~TO`; the name may have any characters. */
function readBrush(text: string): Brush | undefined {
  const [, axis = "", from, to] = /^(.*)~(\d?\.?\d+)~(\d?\.?\d+)$/s.exec(text) ?? [];
  if (axis === "" || !(part(from) < part(to))) return undefined;
  return { axis, from: part(from), to: part(to) };
}

/** Reads the view of a search by the parts of its path. */
export function readSearchView(
  [kind = "", namespace = "", name = ""]: readonly string[],
  given: URLSearchParams,
): SearchView {
  const first = searchView({ kind, namespace, name });
  const brushes = given.getAll("brush").map(readBrush).filter((it) => it !== undefined);
  return {
    ...first,
    metric: (given.get("metric") ?? "").slice(0, 256),
    direction: DIRECTIONS.find((it) => it === given.get("direction")) ?? "",
    isLog: given.get("scale") === "log",
    sort: (given.get("sort") ?? "").slice(0, 300) || first.sort,
    isDescending: given.get("order") === "descending",
    trial: (given.get("trial") ?? "").slice(0, 253),
    brushes: [...new Map(brushes.map((it) => [it.axis, it])).values()].slice(0, MOST_BRUSHES),
  };
}

type Pairs = readonly (readonly [name: string, value: string])[];
const given = (name: string, value: string, first = ""): Pairs =>
  value === first ? [] : [[name, value]];
const short = (value: number) => String(Math.round(value * 1000) / 1000);

/** Returns path and parameters of a view of searches. */
export function searchAddress(view: SearchesView | SearchView): { path: string; pairs: Pairs } {
  if (view.page === "searches") {
    const namespaces = view.namespaces.map((it) => ["namespace", it] as const);
    return { path: "#/searches", pairs: [...namespaces, ...given("text", view.text)] };
  }
  const names = [view.kind, view.namespace, view.name].map(encodeURIComponent).join("/");
  return {
    path: `#/search/${names}`,
    pairs: [
      ...given("metric", view.metric),
      ...given("direction", view.direction),
      ...(view.isLog ? given("scale", "log") : []),
      ...given("sort", view.sort, "value"),
      ...(view.isDescending ? given("order", "descending") : []),
      ...given("trial", view.trial),
      ...view.brushes.map((it) =>
        ["brush", `${it.axis}~${short(it.from)}~${short(it.to)}`] as const
      ),
    ],
  };
}

/** Returns whether the parts of a path name a search. */
export const namesSearch = (parts: readonly string[]): boolean =>
  parts.length === 3 && parts.every((it) => it !== "");
