/** State of `milepost top`: what is looked at, and what a key does to it. Pure. */
import type { JobRow } from "../../page/list/job_row.ts";
import { LIST_LIMITS, type ListQuery } from "../../page/list/list_query.ts";
import type { ListWindow } from "../../page/list/list_window.ts";

/** Orders of the list, in which `s` goes round. */
const SORTS = ["created", "name", "state", "progress", "remaining", "updated"] as const;
/** Longest text to filter by. */
const LONGEST_FILTER = LIST_LIMITS.textLength;

/** What is looked at. */
export interface TopState {
  readonly sort: typeof SORTS[number];
  readonly isReversed: boolean;
  /** Text in the names of jobs. */
  readonly filter: string;
  /** The list, its filter being written, one job, or a question. */
  readonly mode: "list" | "filter" | "job" | "stop" | "help";
  /** Where a question or the help came from, and goes back to. */
  readonly from: "list" | "job";
  /** The row under the cursor, and the first one on the screen, of all rows. */
  readonly at: number;
  readonly first: number;
  /** The job that is looked at, or asked about. */
  readonly job?: JobRow;
  /** Lines of its report above the screen. */
  readonly scrolled: number;
}

export const FIRST_STATE: TopState = {
  sort: "created",
  isReversed: false,
  filter: "",
  mode: "list",
  from: "list",
  at: 0,
  first: 0,
  scrolled: 0,
};

/** What there is to do besides drawing. */
export type TopAct = { readonly kind: "quit" } | { readonly kind: "stop"; readonly job: JobRow };

/** What a key is pressed over. */
export interface TopSight {
  /** From {@link TopState.first} on. */
  readonly window: ListWindow;
  /** Rows of the screen for jobs, or for lines of a report. */
  readonly rows: number;
}

const DEFAULT_ORDER = (sort: TopState["sort"]): ListQuery["order"] =>
  sort === "name" || sort === "state" || sort === "remaining" ? "ascending" : "descending";

/** Returns the query of the rows on a screen. */
export function queryOf(
  { sort, isReversed, filter, first }: TopState,
  { namespaces, rows }: { readonly namespaces: readonly string[]; readonly rows: number },
): ListQuery {
  const order = DEFAULT_ORDER(sort);
  const reversed = order === "ascending" ? "descending" : "ascending";
  return {
    namespace: [...namespaces],
    kind: [],
    state: [],
    sort,
    order: isReversed ? reversed : order,
    offset: first,
    limit: Math.min(LIST_LIMITS.rows, Math.max(1, rows)),
    ...(filter !== "" && { text: filter }),
  };
}

/** Returns the state with its cursor among the rows that there are, and on the screen. */
export function within(state: TopState, total: number, rows: number): TopState {
  const at = Math.max(0, Math.min(state.at, total - 1));
  const last = Math.max(0, total - rows);
  const first = Math.min(last, at < state.first ? at : Math.max(state.first, at - rows + 1));
  return { ...state, at, first };
}

const steps = (key: string, rows: number): number | undefined =>
  ({
    up: -1,
    k: -1,
    down: 1,
    j: 1,
    "page up": -rows,
    "page down": rows,
    home: -Infinity,
    end: Infinity,
  })[key];

const rowAt = ({ at, first }: TopState, { window }: TopSight) => window.rows[at - first];

/** What came of a key. */
export interface Pressed {
  readonly state: TopState;
  readonly act?: TopAct;
}

function inFilter(state: TopState, key: string): Pressed {
  if (key === "enter") return { state: { ...state, mode: "list" } };
  if (key === "escape") return { state: { ...state, mode: "list", filter: "", at: 0, first: 0 } };
  const filter = key === "backspace"
    ? [...state.filter].slice(0, -1).join("")
    : [...key].length === 1 && state.filter.length < LONGEST_FILTER
    ? state.filter + key
    : state.filter;
  return { state: { ...state, filter, at: 0, first: 0 } };
}

function inJob(state: TopState, key: string, { rows }: TopSight): Pressed {
  const { job: _, ...rest } = state;
  if (["escape", "q", "backspace"].includes(key)) {
    return { state: { ...rest, mode: "list", scrolled: 0 } };
  }
  const by = steps(key, rows);
  if (by === undefined) return { state };
  return { state: { ...state, scrolled: Math.max(0, Math.min(10_000, state.scrolled + by)) } };
}

function inList(state: TopState, key: string, sight: TopSight): Pressed {
  const { rows, window: { total } } = sight;
  const by = steps(key, rows);
  if (by !== undefined) return { state: within({ ...state, at: state.at + by }, total, rows) };
  const job = rowAt(state, sight);
  switch (key) {
    case "q":
      return { state, act: { kind: "quit" } };
    case "s": {
      const sort = SORTS[(SORTS.indexOf(state.sort) + 1) % SORTS.length] ?? "created";
      return { state: { ...state, sort, isReversed: false } };
    }
    case "r":
      return { state: { ...state, isReversed: !state.isReversed } };
    case "/":
      return { state: { ...state, mode: "filter" } };
    case "escape":
      return { state: { ...state, filter: "" } };
    case "enter":
      return { state: job === undefined ? state : { ...state, mode: "job", job, scrolled: 0 } };
    default:
      return { state };
  }
}

/** The state in which a question or the help was asked for. */
function back({ job, ...state }: TopState): TopState {
  const isJob = state.from === "job" && job !== undefined;
  return { ...state, mode: state.from, ...(isJob && { job }) };
}

/** Returns what comes of a key. */
export function press(state: TopState, key: string, sight: TopSight): Pressed {
  if (key === "interrupt") return { state, act: { kind: "quit" } };
  if (state.mode === "filter") return inFilter(state, key);
  if (state.mode === "help") return { state: back(state) };
  if (state.mode === "stop") {
    const { job } = state;
    if (key !== "y" || job === undefined) return { state: back(state) };
    // Who stops a job wants to see it end.
    return { state: { ...state, mode: "job" }, act: { kind: "stop", job } };
  }
  if (key === "?") return { state: { ...state, mode: "help", from: state.mode } };
  if (key === "x") {
    const job = state.mode === "job" ? state.job : rowAt(state, sight);
    if (job === undefined) return { state };
    return { state: { ...state, mode: "stop", from: state.mode, job } };
  }
  return state.mode === "job" ? inJob(state, key, sight) : inList(state, key, sight);
}
