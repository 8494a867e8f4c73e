/** State of `milepost top`: what is shown, and what a key does to it. Pure. */
import { beginsWithMost, type JobRow } from "../crds/wire/row.ts";
import { LIST_LIMITS, type ListQuery } from "../crds/wire/list_query.ts";

/** Orders of the list, in which `s` goes round. */
const SORTS = ["created", "name", "state", "progress", "remaining", "updated"] as const;
/** Longest text to filter by. */
const LONGEST_FILTER = LIST_LIMITS.textLength;

/** What is shown. */
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
  /** UID of the job under the cursor, which stays on it wherever its row goes; undefined: on the row. */
  readonly uid?: string | undefined;
  /** The job that is shown, or asked about. */
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
export interface TopWindow {
  /** All that there are, in their order. */
  readonly jobs: readonly JobRow[];
  /** Rows of the screen for jobs. A report has one more, which titles of columns would take. */
  readonly rows: number;
  /** Lines of the report of the job that is shown. */
  readonly lines: number;
}

/** Most jobs that are read. */
const MAX_JOBS = 1_000_000;

/** Returns the query of all rows. */
export function queryOf(
  { sort, isReversed, filter }: TopState,
  namespaces: readonly string[],
): ListQuery {
  return {
    namespace: [...namespaces],
    kind: [],
    state: [],
    sort,
    order: beginsWithMost(sort) === isReversed ? "ascending" : "descending",
    offset: 0,
    limit: MAX_JOBS,
    ...(filter !== "" && { text: filter }),
  };
}

/** Returns the state with its cursor on the job that it is on, or where that was, and all of it within what there is. */
function within(state: TopState, { jobs, rows, lines }: TopWindow): TopState {
  const isThere = state.uid === undefined || jobs[state.at]?.uid === state.uid;
  const found = isThere ? -1 : jobs.findIndex(({ uid }) => uid === state.uid);
  const at = Math.max(0, Math.min(found < 0 ? state.at : found, jobs.length - 1));
  const last = Math.max(0, jobs.length - rows);
  const first = Math.min(last, at < state.first ? at : Math.max(state.first, at - rows + 1));
  const scrolled = Math.max(0, Math.min(state.scrolled, lines - rows - 1));
  return { ...state, at, first, uid: jobs[at]?.uid, scrolled };
}

/** The same for the next drawing: in the list a cursor on the first row stays there until a key comes, so that jobs that are new are seen. */
export const settled = (state: TopState, window: TopWindow): TopState =>
  within(state.at === 0 && state.job === undefined ? { ...state, uid: undefined } : state, window);

/** The cursor on the first row, whichever that will be. */
const TOP = { at: 0, first: 0, uid: undefined } as const;

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

/** What came of a key. */
export interface Pressed {
  readonly state: TopState;
  readonly act?: TopAct;
}

function inFilter(state: TopState, key: string): Pressed {
  if (key === "enter") return { state: { ...state, mode: "list" } };
  if (key === "escape") return { state: { ...state, mode: "list", filter: "", ...TOP } };
  const filter = key === "backspace"
    ? [...state.filter].slice(0, -1).join("")
    : [...key].length === 1 && state.filter.length < LONGEST_FILTER
    ? state.filter + key
    : state.filter;
  return { state: { ...state, filter, ...TOP } };
}

function inJob(state: TopState, key: string, window: TopWindow): Pressed {
  const { job: _, ...rest } = state;
  if (["escape", "q", "backspace"].includes(key)) {
    return { state: { ...rest, mode: "list", scrolled: 0 } };
  }
  const by = steps(key, window.rows);
  if (by === undefined) return { state };
  return { state: within({ ...state, scrolled: state.scrolled + by }, window) };
}

function inList(state: TopState, key: string, window: TopWindow): Pressed {
  const by = steps(key, window.rows);
  if (by !== undefined) {
    return { state: within({ ...state, at: state.at + by, uid: undefined }, window) };
  }
  const job = window.jobs[state.at];
  switch (key) {
    case "q":
      return { state, act: { kind: "quit" } };
    case "s": {
      const sort = SORTS[(SORTS.indexOf(state.sort) + 1) % SORTS.length] ?? "created";
      return { state: { ...state, sort, isReversed: false, ...TOP } };
    }
    case "r":
      return { state: { ...state, isReversed: !state.isReversed, ...TOP } };
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
export function press(before: TopState, key: string, window: TopWindow): Pressed {
  const state = within(before, window);
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
    const job = state.mode === "job" ? state.job : window.jobs[state.at];
    if (job === undefined) return { state };
    return { state: { ...state, mode: "stop", from: state.mode, job } };
  }
  return state.mode === "job" ? inJob(state, key, window) : inList(state, key, window);
}
