/** Screen of `milepost top`: the lines that are drawn, as many and as wide as the terminal has. Pure. */
import { LISTED_STATES } from "../crds/wire/row.ts";
import type { JobRow, ListWindow } from "../crds/wire/row.ts";
import { notShown } from "./job_report.ts";
import { jobRows, type RowsLook } from "./job_rows.ts";
import type { Size } from "./plots.ts";
import { cut, fit, safeText, wrapped } from "./shown_text.ts";
import { ellipsisOf, type Look, styled } from "./styles.ts";
import { type Change, changesOf, SORTS, type TopState, viewOf } from "./top_state.ts";

/** What is shown. */
export interface TopView {
  readonly window: ListWindow;
  /** Of whom the jobs are, such as `team-a` or `all namespaces`. */
  readonly where: string;
  /** Whether the first list is there. */
  readonly isThere: boolean;
  /** What is not shown, and why, as sentences. */
  readonly missing: readonly string[];
  /** What came of the last stop. */
  readonly notice?: string;
  /** The job that is shown, or under the cursor. */
  readonly chosen?: JobRow | undefined;
  /** Searches that run, as lines above those of jobs. */
  readonly searches?: readonly string[];
  /** The report of the job that is shown, or its log. */
  readonly report?: readonly string[];
}

/** How it is drawn. */
export interface TopLook extends Look, Pick<RowsLook, "nowMs" | "pointsOf" | "namespaced"> {
  readonly size: Size;
}

/** Each key, and what it is for. */
const HELP: readonly (readonly [keys: string, meaning: string])[] = [
  ["Up Down PgUp PgDn Home End", "move; k, j, Ctrl-B, Ctrl-F, g and G do, too"],
  ["Enter", "look at a job; Esc goes back"],
  ["l", "its log, all ranks; p: that of before the last restart"],
  ["d", "why it is as it is: conditions, pods and events"],
  ["y", "its object, as YAML"],
  ["s", "suspend it, or let it go on, after a question; it is shown then"],
  ["x", "stop it early, after a question; it is shown then"],
  ["R", "start its pods again, from its last checkpoint, after a question; it is shown then"],
  ["Ctrl-D", "delete it, after a question"],
  ["/", "show the names with this text; Esc shows all"],
  ["o", `order by the next of: ${SORTS.join(", ")}`],
  ["r", "turn the order round"],
  ["q", "end"],
];
/** Columns of the keys, and of the blanks behind them. */
const KEYS_WIDTH = 28;

const helpLines = (columns: number): string[] =>
  HELP.flatMap(([keys, meaning]) =>
    wrapped(meaning, columns - KEYS_WIDTH)
      .map((line, index) => (index === 0 ? keys : "").padEnd(KEYS_WIDTH) + line)
  );

/** What the last line offers in each mode; `CHANGES` stands for what may be done to the job. */
const CHANGES = "CHANGES";
const KEYS: Readonly<Record<TopState["mode"] | "help", string>> = {
  list: `Enter job  l logs  d reasons  ${CHANGES}/ filter  o sort  ? help  q end`,
  filter: "Enter keeps the filter  Esc shows all",
  job: `Up Down scroll  l logs  d reasons  ${CHANGES}Esc back`,
  reasons: `Up Down scroll  l logs  Enter job  ${CHANGES}Esc back`,
  yaml: `Up Down scroll  l logs  d reasons  Enter job  ${CHANGES}Esc back`,
  logs: `Up Down scroll  p previous  d reasons  Enter job  ${CHANGES}Esc back`,
  help: "any key goes back",
};
const CHANGE_KEYS: Readonly<Record<Change, string>> = {
  stop: "x stop",
  restart: "R restart",
  suspend: "s suspend",
  resume: "s resume",
  delete: "Ctrl-D delete",
};

/** Changes for which the last line has room. */
const FOOT_CHANGES = 2;

function countsText({ total, states }: ListWindow): string {
  const counts = LISTED_STATES.flatMap((it) => states[it] ? [`${states[it]} ${it}`] : []);
  return `${total} ${total === 1 ? "job" : "jobs"}${
    counts.length === 0 ? "" : `: ${counts.join(", ")}`
  }`;
}

function headLine({ window, where }: TopView, state: TopState): string {
  const { sort, isReversed, filter, isPrevious, job } = state;
  if (job !== undefined && viewOf(state) === "logs") {
    const which = isPrevious ? "log before the last restart" : "log";
    return `${safeText(`${job.namespace}/${job.name}`)}  ${job.state}  ${which}`;
  }
  const order = `by ${sort}${isReversed ? ", reversed" : ""}`;
  const filtered = filter === "" ? "" : `  /${safeText(filter)}`;
  return `${safeText(where)}  ${order}${filtered}  ${countsText(window)}`;
}

/** What is asked before a change is made. */
const QUESTIONS: Readonly<Record<Change, readonly [verb: string, means: string]>> = {
  stop: ["Stop", ""],
  restart: ["Restart", " (unsaved work is lost)"],
  suspend: ["Suspend", " (its pods go)"],
  resume: ["Resume", ""],
  delete: ["Delete", " (with its pods, logs and curves)"],
};

function questionOf(change: Change, { namespace, name }: JobRow): string {
  const [verb, means] = QUESTIONS[change];
  return `${verb} ${safeText(`${namespace}/${name}`)}? y: yes, any other key: no${means}`;
}

/** The last line: what is asked, what came of it, what is missing, or the keys. */
function footLine({ missing, notice, chosen }: TopView, state: TopState, look: TopLook): string {
  const { mode, over } = state;
  if (typeof over === "object") {
    return styled(look, "yellow", questionOf(over.change, over.job));
  }
  if (mode === "filter") return `/${safeText(state.filter)}_  ${KEYS.filter}`;
  if (notice !== undefined) return styled(look, "yellow", safeText(notice));
  const [first] = missing;
  if (first !== undefined) {
    const more = missing.length > 1 ? ` (and ${missing.length - 1} more)` : "";
    return styled(look, "yellow", `? Not shown${more}: ${safeText(first)}`);
  }
  const possible = chosen === undefined ? [] : changesOf(chosen);
  // There is no room for all of them, and what runs is rather stopped.
  const changes = (possible.length === 1 ? possible : possible.filter((it) => it !== "delete"))
    .slice(0, FOOT_CHANGES)
    .map((it) => `${CHANGE_KEYS[it]}  `);
  return styled(look, "dim", KEYS[over ?? mode].replace(CHANGES, changes.join("")));
}

/** Lines of the screen that are not rows of the list: head, titles, foot. */
export const FRAME_LINES = 3;

function emptyText({ isThere, where }: TopView, { filter }: TopState): string {
  if (!isThere) return "Reading the jobs ...";
  return filter === ""
    ? `No jobs in ${safeText(where)}`
    : "No jobs match this filter; Esc shows all";
}

function listLines(view: TopView, state: TopState, look: TopLook): string[] {
  const { at, first } = state;
  const { window: { rows } } = view;
  const columns = Math.max(1, look.size.columns - MARKER.length);
  const { header, lines } = jobRows(rows, { ...look, columns });
  const { searches = [] } = view;
  if (rows.length === 0) return [...searches, "", emptyText(view, state)];
  return [
    ...searches,
    styled(look, "dim", " ".repeat(MARKER.length) + header),
    ...lines.map((line, index) =>
      first + index === at ? styled(look, "bold", MARKER) + line : " ".repeat(MARKER.length) + line
    ),
  ];
}

const MARKER = "> ";

/** Returns the lines of the whole screen. */
export function topScreen(view: TopView, state: TopState, look: TopLook): string[] {
  const { columns, rows } = look.size;
  const report = view.report ?? ["Reading the job ..."];
  const inner = Math.max(0, rows - 2);
  const body = state.over === "help"
    ? [...helpLines(columns), "", ...view.missing.flatMap((it) => notShown(it, columns))]
    : viewOf(state) !== undefined
    ? report.slice(state.scrolled)
    : listLines(view, state, look);
  const filled = [...body, ...new Array<string>(inner).fill("")].slice(0, inner);
  return [
    styled(look, "inverse", fit(headLine(view, state), columns, ellipsisOf(look))),
    ...filled,
    footLine(view, state, look),
  ]
    .slice(0, rows).map((line) => cut(line, columns, ellipsisOf(look)));
}
