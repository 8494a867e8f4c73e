/** Screen of `milepost top`: the lines that are drawn, as many and as wide as the terminal has. Pure. */
import type { JobRow, ListWindow } from "../crds/wire/row.ts";
import { notShown } from "./job_report.ts";
import { jobRows, type RowsLook } from "./job_rows.ts";
import type { Size } from "./plots.ts";
import { cut, fit, safeText } from "./shown_text.ts";
import { ellipsisOf, type Look, styled } from "./styles.ts";
import type { TopState } from "./top_state.ts";

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
  /** The report of the job that is shown. */
  readonly report?: readonly string[];
}

/** How it is drawn. */
export interface TopLook extends Look, Pick<RowsLook, "nowMs" | "pointsOf" | "namespaced"> {
  readonly size: Size;
}

const HELP = [
  "Up, Down, PgUp, PgDn, Home, End   move",
  "Enter                             look at a job; Esc goes back",
  "/                                 show the names with this text; Esc shows all",
  "s                                 order by the next of: created, name, state, progress, remaining, updated",
  "r                                 turn the order round",
  "x                                 stop a job, after a question",
  "q                                 end",
];

const KEYS: Readonly<Record<TopState["mode"], string>> = {
  list: "Enter job  / filter  s order  r reverse  x stop  ? help  q end",
  filter: "Enter keeps the filter  Esc shows all",
  job: "Up Down scroll  x stop  Esc back",
  stop: "",
  help: "any key goes back",
};

function countsText({ total, states }: ListWindow): string {
  const counts = Object.entries(states).map(([state, count]) => `${count} ${state}`);
  return `${total} ${total === 1 ? "job" : "jobs"}${
    counts.length === 0 ? "" : `: ${counts.join(", ")}`
  }`;
}

function headLine({ window, where }: TopView, { sort, isReversed, filter }: TopState): string {
  const order = `by ${sort}${isReversed ? ", reversed" : ""}`;
  const filtered = filter === "" ? "" : `  /${safeText(filter)}`;
  return `${safeText(where)}  ${countsText(window)}  ${order}${filtered}`;
}

function questionOf({ namespace, name }: JobRow): string {
  return `Stop ${safeText(`${namespace}/${name}`)}? y: yes, any other key: no`;
}

/** The last line: what is asked, what came of it, what is missing, or the keys. */
function footLine({ missing, notice }: TopView, state: TopState, look: TopLook): string {
  if (state.mode === "stop" && state.job !== undefined) {
    return styled(look, "yellow", questionOf(state.job));
  }
  if (state.mode === "filter") return `/${safeText(state.filter)}_  ${KEYS.filter}`;
  if (notice !== undefined) return styled(look, "yellow", safeText(notice));
  const [first] = missing;
  if (first !== undefined) {
    const more = missing.length > 1 ? ` (and ${missing.length - 1} more)` : "";
    return styled(look, "yellow", `? Not shown${more}: ${safeText(first)}`);
  }
  return styled(look, "dim", KEYS[state.mode]);
}

/** Lines of the screen that are not rows of the list: head, titles, foot. */
export const FRAME_LINES = 3;

function listLines(view: TopView, { at, first }: TopState, look: TopLook): string[] {
  const { window: { rows } } = view;
  const columns = Math.max(1, look.size.columns - MARKER.length);
  const { header, lines } = jobRows(rows, { ...look, columns });
  if (rows.length === 0) return ["", view.isThere ? "No jobs." : "Reading the jobs ..."];
  return [
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
  const isJob = state.job !== undefined && (state.mode === "job" || state.mode === "stop");
  const report = view.report ?? ["Reading the job ..."];
  const inner = Math.max(0, rows - 2);
  const body = state.mode === "help"
    ? [...HELP, "", ...view.missing.flatMap((it) => notShown(it, columns))]
    : isJob
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
