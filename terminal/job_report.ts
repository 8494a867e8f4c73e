/** Reports of one job, as lines: its state, progress, curves, ranks and newest events; or why it is as it is. Pure. */
import { stringify } from "yaml";
import type { AnyJob } from "../crds/job_kind.ts";
import { BREAKS, isMetric, type ShownCurves } from "../crds/wire/shown_curves.ts";
import { jobStopSchema } from "../crds/trainjob.ts";
import type { JobTimeSpent } from "../crds/job_time_spent.ts";
import type { JobRow } from "../crds/wire/row.ts";
import type { JobDetails, ShownPod } from "../crds/wire/details.ts";
import { at, textAt } from "../platform/base/json.ts";
import { jobTimeText } from "../platform/base/job_change_text.ts";
import { clockText } from "../platform/base/local_time.ts";
import { shortNumber } from "../platform/base/short_number.ts";
import { curvePlot, progressBar } from "./plots.ts";
import { ageOf, changeText, durationText, leftText, valueText } from "./readings.ts";
import { columnsOf, cut, fit, safeLines, safeText, wrapped } from "./shown_text.ts";
import { ellipsisOf, type Look, styled, styleOfState } from "./styles.ts";
import { textTable } from "./text_table.ts";

/** What is known of a job. */
export interface JobFacts
  extends Pick<JobDetails, "object" | "pods" | "events" | "wait" | "lastWords"> {
  /** Of the kind as people call it, such as TrainJob. */
  readonly kind: string;
  readonly row: JobRow;
  /** How often it was started again as a whole, and what its time went to, if its object says so. */
  readonly restarts?: number;
  readonly timeSpent?: JobTimeSpent;
  readonly curves?: Pick<ShownCurves, "metrics" | "marks">;
  readonly conditions: Readonly<NonNullable<NonNullable<AnyJob["status"]>["conditions"]>>;
  /** What is not shown, and why, as sentences. */
  readonly missing: readonly string[];
}

/** How it is drawn. */
export interface ReportLook extends Look {
  /** Width of curves and of what is wrapped. */
  readonly columns: number;
  /** Where longer lines, such as those of tables, are cut. Default `columns`; Infinity for what is no screen. */
  readonly cutAt?: number;
  readonly nowMs: number;
  /** Of one curve. */
  readonly plotRows: number;
  /** The last ones. */
  readonly events: number;
}

const BAR_WIDTH = 24;
/** Room for the values beside a curve. */
const AXIS_WIDTH = 10;
const MARKS = 5;
/** Before a message that stands below what it is about. */
const INDENT = "      ";

function headLines({ kind, row, wait, object }: JobFacts, look: ReportLook): string[] {
  const { nowMs } = look;
  const { data: stop } = jobStopSchema.safeParse(at(object, "status", "stop"));
  const whyStopped = row.stopsBy && stop && `${stop.reason}: ${stop.message}`;
  const change = changeText(row, nowMs);
  const name = `${kind} ${safeText(`${row.namespace}/${row.name}`)}`;
  const { created, ended } = row;
  const start = textAt(object, "status", "startTime") ?? created;
  const ages = ended === undefined
    ? [`created ${ageOf(created, nowMs)} ago`]
    : [`took ${ageOf(start, Date.parse(ended))}`, `ended ${ageOf(ended, nowMs)} ago`];
  const search = row.optimizationJob ?? row.experiment ?? row.trial;
  return [
    [
      styled(look, "bold", name),
      styled(look, styleOfState(row.state), row.state),
      ...(change === undefined ? [] : [styled(look, "red", change)]),
      ...ages,
      ...(search === undefined ? [] : [`trial of ${safeText(search)}`]),
    ].join("  "),
    ...[row.message, whyStopped, wait].flatMap((text) =>
      text === undefined ? [] : wrapped(safeText(text), look.columns)
    ),
  ];
}

/** The end of the log of a program that failed. */
function lastWordsLines({ lastWords }: JobFacts, look: ReportLook): string[] {
  const lines = safeLines(lastWords ?? "").split("\n");
  return lines.length < 2 ? [] : ["", ...lines.map((it) => styled(look, "dim", it))];
}

/** What the job cost so far: a line, if anything is known of that. */
function costLines({ restarts, timeSpent, row }: JobFacts, { nowMs }: ReportLook): string[] {
  const time = jobTimeText(timeSpent, durationText);
  const upTo = row.ended === undefined ? `, up to ${ageOf(timeSpent?.time, nowMs)} ago` : "";
  return [[
    ...(time === "" ? [] : [`time: ${time}${upTo}`]),
    ...(restarts === undefined ? [] : [`restarts: ${restarts}`]),
  ].join("  ")].filter((it) => it !== "");
}

function progressLines({ row }: JobFacts, { characters, nowMs }: ReportLook): string[] {
  if (row.progress === undefined && row.updated === undefined) return [];
  const { progress } = row;
  const left = leftText(row);
  return [[
    ...(progress === undefined
      ? []
      : [`${progressBar(progress, BAR_WIDTH, characters)} ${progress} %`]),
    ...(left === undefined ? [] : [`${left} left`]),
    ...(row.updated === undefined ? [] : [`reported ${ageOf(row.updated, nowMs)} ago`]),
  ].join("  ")];
}

/** A curve with the most and the least beside it, and its time below. */
function curveLines(
  { name, points }: ShownCurves["metrics"][number],
  { row, curves }: JobFacts,
  look: ReportLook,
): string[] {
  const { columns, characters, nowMs, plotRows } = look;
  const width = Math.max(1, columns - AXIS_WIDTH - 1);
  const breaks = (curves?.marks ?? []).filter(({ kind }) => BREAKS.includes(kind));
  const size = { columns: width, rows: plotRows };
  const plot = curvePlot(points, size, characters, breaks.map(({ timeMs }) => timeMs));
  const [first, last] = [points[0], points.at(-1)];
  if (plot.length === 0 || first === undefined || last === undefined) return [];
  const least = points.reduce((low, [, min]) => Math.min(low, min), Infinity);
  const most = points.reduce((high, [, , max]) => Math.max(high, max), -Infinity);
  const lines = plot.map((line, row) => {
    const value = row === 0 ? most : row === plot.length - 1 ? least : undefined;
    return `${
      fit(value === undefined ? "" : shortNumber(value), AXIS_WIDTH, ellipsisOf(look), "right")
    } ${line}`;
  });
  const [from, to] = [clockText(first[0], nowMs, "-"), clockText(last[0], nowMs, "-")];
  const between = Math.max(1, width - columnsOf(from) - columnsOf(to));
  // The object is behind the curve, but has the newest one if that is no number, which the curve does not have.
  const told = row.metrics?.find((it) => it.name === name)?.value;
  const newest = Number.isFinite(Number(told ?? last[3])) ? String(last[3]) : told ?? "";
  return [
    "",
    `${styled(look, "bold", safeText(name))}  ${valueText(newest)}`,
    ...lines,
    `${" ".repeat(AXIS_WIDTH + 1)}${from}${" ".repeat(between)}${to}`,
  ];
}

/** The newest values; with those that have no curve, because they are no numbers, or curves are missing. */
function valueLines({ row, curves }: JobFacts): string[] {
  const drawn = new Set(
    curves?.metrics.filter((it) => isMetric(it) && it.points.length > 0).map((it) => it.name),
  );
  const others = (row.metrics ?? []).filter(({ name }) => !drawn.has(name));
  if (others.length === 0) return [];
  return ["", others.map(({ name, value }) => `${safeText(name)} ${valueText(value)}`).join("  ")];
}

function markLines({ curves }: JobFacts, { nowMs }: ReportLook): string[] {
  const marks = curves?.marks.slice(-MARKS) ?? [];
  if (marks.length === 0) return [];
  return [
    "",
    ...marks.map(({ timeMs, kind, text }) =>
      `${clockText(timeMs, nowMs, "-")}  ${kind}  ${safeText(text)}`.trimEnd()
    ),
  ];
}

function phaseOf({ phase, reason = "", deleting, gone, isSilent }: ShownPod): string {
  const words = [deleting && !gone ? "Terminating" : phase, reason].join(" ").trim();
  return [words, gone ? "deleted" : [], isSilent ? "printed nothing" : []].flat().join(", ");
}

function podLines({ pods }: JobFacts, { nowMs }: ReportLook): string[] {
  if (pods.length === 0) return [];
  const rows = pods.map((it) => [
    safeText(it.rank ?? ""),
    safeText(it.name),
    safeText(phaseOf(it)),
    safeText(it.node ?? ""),
    String(it.restarts),
    ageOf(it.started, nowMs),
  ]);
  return ["", ...textTable(["RANK", "POD", "PHASE", "NODE", "RESTARTS", "AGE"], rows)];
}

/** A table whose rows have a message each, whole, below them. */
function toldLines(
  header: readonly string[],
  rows: readonly { readonly cells: readonly string[]; readonly message?: string | undefined }[],
  columns: number,
): string[] {
  if (rows.length === 0) return [];
  const [titles = "", ...lines] = textTable(header, rows.map(({ cells }) => cells));
  const below = rows.map(({ message = "" }) =>
    message === ""
      ? []
      : wrapped(safeText(message), columns - INDENT.length).map((it) => INDENT + it)
  );
  return ["", titles, ...lines.flatMap((line, index) => [line, ...below[index] ?? []])];
}

/** The newest events. */
function eventLines({ events }: JobFacts, { nowMs, events: most, columns }: ReportLook): string[] {
  const rows = events.slice(0, most).map((it) => ({
    cells: [
      ageOf(it.time, nowMs),
      safeText(it.type),
      safeText(it.reason),
      `${safeText(it.object)}${it.count > 1 ? `  ${it.count} times` : ""}`,
    ],
    message: it.message,
  }));
  return toldLines(["AGE", "EVENT", "REASON", "OBJECT"], rows, columns);
}

/** The conditions, the newest first. */
function conditionLines({ conditions }: JobFacts, { nowMs, columns }: ReportLook): string[] {
  const timeOf = ({ lastTransitionTime = "" }: JobFacts["conditions"][number]) =>
    Date.parse(lastTransitionTime) || 0;
  const rows = [...conditions].sort((a, b) => timeOf(b) - timeOf(a)).map((it) => ({
    cells: [ageOf(it.lastTransitionTime, nowMs), it.type, it.status, it.reason ?? ""].map(safeText),
    message: it.message,
  }));
  return toldLines(["AGE", "CONDITION", "STATUS", "REASON"], rows, columns);
}

/** Returns the lines that say that something is not shown, and why. */
export const notShown = (why: string, columns: number): string[] =>
  wrapped(`Not shown: ${safeText(why)}.`, columns);

/** Returns the lines, none wider than the look, behind those about what is missing. */
function finished({ missing }: JobFacts, look: ReportLook, lines: readonly string[]): string[] {
  const more = missing.flatMap((it) => notShown(it, look.columns));
  return [...lines, ...(more.length === 0 ? [] : ["", ...more])]
    .map((line) => cut(line, look.cutAt ?? look.columns, ellipsisOf(look)));
}

/** Returns the report; no line is longer than the look says. */
export function jobReport(facts: JobFacts, look: ReportLook): string[] {
  const { metrics = [] } = facts.curves ?? {};
  const curves = metrics.filter(isMetric);
  return finished(facts, look, [
    ...headLines(facts, look),
    ...lastWordsLines(facts, look),
    ...progressLines(facts, look),
    ...costLines(facts, look),
    ...curves.flatMap((it) => curveLines(it, facts, look)),
    ...valueLines(facts),
    ...markLines(facts, look),
    ...podLines(facts, look),
    ...eventLines(facts, look),
  ]);
}

/** Returns why the job is as it is: its conditions, pods and events. */
export const reasonReport = (facts: JobFacts, look: ReportLook): string[] =>
  finished(facts, look, [
    ...headLines(facts, look),
    ...lastWordsLines(facts, look),
    ...conditionLines(facts, look),
    ...podLines(facts, look),
    ...eventLines(facts, look),
  ]);

/** Returns the job's object as YAML, without what only its writers' tools read. Text has at least half of the columns. */
export const yamlReport = ({ object }: Pick<JobFacts, "object">, columns: number): string[] =>
  safeLines(stringify(object, { lineWidth: 0 })).split("\n").flatMap((line) => {
    const text = line.replace(/^ +/, "");
    const indent = " ".repeat(Math.min(line.length - text.length, Math.floor(columns / 2)));
    return wrapped(text, columns - indent.length).map((it) => indent + it);
  });
