/** State of `milepost top`: what is shown, and what a key does to it. Pure. */
import { beginsWithMost, type JobRow } from "../crds/wire/row.ts";
import { LIST_LIMITS, type ListQuery } from "../crds/wire/list_query.ts";
import { isOpenState } from "../crds/names.ts";
import type { JobChange } from "../views/job_changes.ts";

/** Orders of the list, in which `o` goes round. */
export const SORTS = ["created", "name", "state", "progress", "remaining", "updated"] as const;
/** Longest text to filter by. */
const LONGEST_FILTER = LIST_LIMITS.textLength;

/** What of one job fills the screen: its report, why it is as it is, its object, or its log. */
const VIEWS = ["job", "reasons", "yaml", "logs"] as const;
type View = typeof VIEWS[number];

/** What may be done to a job, after a question. */
export type Change = "stop" | "restart" | JobChange;

/** What is shown. */
export interface TopState {
  readonly sort: typeof SORTS[number];
  readonly isReversed: boolean;
  /** Text in the names of jobs. */
  readonly filter: string;
  /** The list, its filter being written, or a view of one job. */
  readonly mode: "list" | "filter" | View;
  /** What stands over it until the next key: the help, or a question about a job. */
  readonly over?: "help" | { readonly change: Change; readonly job: JobRow } | undefined;
  /** Where a job's reasons or its log came from, and go back to. */
  readonly under: "list" | "job";
  /** The row under the cursor, and the first one on the screen, of all rows. */
  readonly at: number;
  readonly first: number;
  /** UID of the job under the cursor, which stays on it wherever its row goes; undefined: on the row. */
  readonly uid?: string | undefined;
  /** The job that is shown. */
  readonly job?: JobRow;
  /** Lines of its report above the screen. */
  readonly scrolled: number;
  /** Whether the end stays on the screen as lines are added. */
  readonly isAtEnd: boolean;
  /** Whether the log is that of before the last restart. */
  readonly isPrevious: boolean;
}

export const FIRST_STATE: TopState = {
  sort: "created",
  isReversed: false,
  filter: "",
  mode: "list",
  under: "list",
  at: 0,
  first: 0,
  scrolled: 0,
  isAtEnd: false,
  isPrevious: false,
};

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

/** The view of one job; undefined: the list. */
export const viewOf = ({ mode }: TopState): View | undefined => VIEWS.find((it) => it === mode);

/** What may be done to a job now, what is wanted most first. */
export function changesOf(
  { state, stopsBy, restartingSince, stalledSince }: JobRow,
): readonly Change[] {
  if (!isOpenState(state)) return ["delete"];
  const canRestart = state === "Running" && (stopsBy ?? restartingSince) === undefined;
  const pause = state === "Suspended" ? "resume" : "suspend";
  if (!canRestart) return [pause, "stop", "delete"];
  // The first ones are shown with their keys: what a job that hangs needs most.
  return stalledSince === undefined
    ? [pause, "stop", "restart", "delete"]
    : ["restart", "stop", pause, "delete"];
}

/** Returns the state with its cursor on the job that it is on, or where that was, and all of it within what there is. */
export function settled(state: TopState, { jobs, rows, lines }: TopWindow): TopState {
  const isThere = state.uid === undefined || jobs[state.at]?.uid === state.uid;
  const found = isThere ? -1 : jobs.findIndex(({ uid }) => uid === state.uid);
  const at = Math.max(0, Math.min(found < 0 ? state.at : found, jobs.length - 1));
  const last = Math.max(0, jobs.length - rows);
  const first = Math.min(last, at < state.first ? at : Math.max(state.first, at - rows + 1));
  const end = Math.max(0, lines - rows - 1);
  const scrolled = state.isAtEnd ? end : Math.max(0, Math.min(state.scrolled, end));
  const job = state.job && (jobs.find(({ uid }) => uid === state.job?.uid) ?? state.job);
  return { ...state, at, first, uid: jobs[at]?.uid, scrolled, ...(job && { job }) };
}

const steps = (key: string, rows: number): number | undefined =>
  ({
    up: -1,
    k: -1,
    down: 1,
    j: 1,
    "page up": -rows,
    "page down": rows,
    "ctrl-b": -rows,
    "ctrl-f": rows,
    home: -Infinity,
    end: Infinity,
    g: -Infinity,
    G: Infinity,
  })[key];

/** What came of a key. */
export interface Pressed {
  readonly state: TopState;
  /** What there is to do besides drawing. */
  readonly act?: { readonly kind: "quit" } | { readonly kind: Change; readonly job: JobRow };
  /** Whether the key means nothing here. */
  readonly isUnknown?: boolean;
}

function inFilter(state: TopState, key: string): Pressed {
  if (key === "enter") return { state: { ...state, mode: "list" } };
  if (key === "escape") return { state: { ...state, mode: "list", filter: "" } };
  const filter = key === "backspace"
    ? [...state.filter].slice(0, -1).join("")
    : [...key].length === 1 && state.filter.length < LONGEST_FILTER
    ? state.filter + key
    : state.filter;
  return { state: { ...state, filter } };
}

/** A view of a job, from its first line, or its log from the last one. */
const opened = (state: TopState, view: View, job: JobRow, isPrevious = false): TopState => ({
  ...state,
  mode: view,
  under: state.mode === "list" || state.mode === "job" ? state.mode : state.under,
  job,
  scrolled: 0,
  isAtEnd: view === "logs",
  isPrevious,
});

/** The list, without the job that was shown. */
const left = ({ job: _, ...state }: TopState): TopState => ({
  ...state,
  mode: "list",
  scrolled: 0,
  isAtEnd: false,
});

function inView(state: TopState, view: View, job: JobRow, key: string, window: TopWindow): Pressed {
  if (["escape", "q", "backspace"].includes(key)) {
    if (view !== "job" && state.under === "job") return { state: opened(state, "job", job) };
    return { state: left(state) };
  }
  if (view === "logs" && key === "p") {
    return { state: opened(state, view, job, !state.isPrevious) };
  }
  const by = steps(key, window.rows);
  if (by === undefined) return { state, isUnknown: true };
  const end = Math.max(0, window.lines - window.rows - 1);
  const isAtEnd = view === "logs" && state.scrolled + by >= end;
  return { state: settled({ ...state, scrolled: state.scrolled + by, isAtEnd }, window) };
}

function inList(state: TopState, key: string, window: TopWindow): Pressed {
  const by = steps(key, window.rows);
  if (by !== undefined) {
    return { state: settled({ ...state, at: state.at + by, uid: undefined }, window) };
  }
  switch (key) {
    case "q":
      return { state, act: { kind: "quit" } };
    case "o": {
      const sort = SORTS[(SORTS.indexOf(state.sort) + 1) % SORTS.length] ?? "created";
      return { state: { ...state, sort, isReversed: false } };
    }
    case "r":
      return { state: { ...state, isReversed: !state.isReversed } };
    case "/":
      return { state: { ...state, mode: "filter" } };
    case "escape":
      return { state: { ...state, filter: "" } };
    default:
      return { state, isUnknown: true };
  }
}

/** The views by their keys, and what may be done by its keys. */
const VIEW_KEYS: Readonly<Record<string, View>> = {
  enter: "job",
  l: "logs",
  d: "reasons",
  y: "yaml",
};
const CHANGE_KEYS: Readonly<Record<string, readonly Change[]>> = {
  x: ["stop"],
  R: ["restart"],
  s: ["suspend", "resume"],
  "ctrl-d": ["delete"],
};

/** What a key does to the job that is shown, or under the cursor; undefined: nothing. */
function atJob(state: TopState, key: string, job: JobRow): TopState | undefined {
  const view = VIEW_KEYS[key];
  if (view !== undefined) return view === state.mode ? state : opened(state, view, job);
  const change = changesOf(job).find((it) => CHANGE_KEYS[key]?.includes(it));
  return change && { ...state, over: { change, job } };
}

/** Returns what comes of a key. */
export function press(before: TopState, key: string, window: TopWindow): Pressed {
  const { over, ...state } = settled(before, window);
  if (key === "interrupt") return { state, act: { kind: "quit" } };
  if (over !== undefined) {
    if (over === "help" || key !== "y") return { state };
    const { change: kind, job } = over;
    // Who stops a job wants to see it end.
    const after = kind === "delete" ? left(state) : opened(state, "job", job);
    return { state: after, act: { kind, job } };
  }
  const { mode } = state;
  if (mode === "filter") return inFilter(state, key);
  if (key === "?") return { state: { ...state, over: "help" } };
  const job = state.job ?? window.jobs[state.at];
  const done = job && atJob(state, key, job);
  if (done !== undefined) return { state: done };
  return mode === "list" || job === undefined
    ? inList(state, key, window)
    : inView(state, mode, job, key, window);
}
