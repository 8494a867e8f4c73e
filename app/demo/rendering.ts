/** The demo's output as text: progress bars for a terminal, plain lines, the table at the end. */
import type { JobSummary, JobView } from "./job_view.ts";

const BAR_WIDTH = 24;

/** `████████░░░░` for a percentage from 0 to 100. */
export function progressBar(percentage: number, width = BAR_WIDTH): string {
  const full = Math.round(Math.min(100, Math.max(0, percentage)) / 100 * width);
  return "█".repeat(full) + "░".repeat(width - full);
}

/** `loss 0.2231  accuracy 0.9571`. */
function metricsText(metrics: Readonly<Record<string, string>>): string {
  return Object.entries(metrics).map(([name, value]) => `${name} ${value}`).join("  ");
}

function etaText(view: JobView): string {
  if (view.estimatedRemainingSeconds === undefined || view.state !== "Running") return "";
  return `${view.estimatedRemainingSeconds} s left`;
}

/** One job as one line with a bar; `nameWidth` aligns several. */
export function barLine(view: JobView, nameWidth: number): string {
  const percentage = view.progressPercentage;
  const bar = percentage === undefined
    ? `${" ".repeat(BAR_WIDTH)}      `
    : `${progressBar(percentage)} ${String(percentage).padStart(3)} %`;
  return [
    view.job.padEnd(nameWidth),
    view.state.padEnd(9),
    bar,
    etaText(view).padEnd(10),
    metricsText(view.metrics),
  ].join("  ").trimEnd();
}

/** One change of a job as a line without a bar, for logs and pipes. */
export function plainLine(view: JobView): string {
  const progress = view.progressPercentage === undefined ? "" : `${view.progressPercentage} %`;
  return [view.job, view.state, progress, etaText(view), metricsText(view.metrics)]
    .filter((it) => it !== "").join("  ");
}

/** The rows under a header, each column as wide as its widest cell. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length))
  );
  return [header, ...rows]
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd())
    .join("\n");
}

/** The table of how all jobs went. */
export function summaryTable(summaries: readonly JobSummary[]): string {
  return table(
    ["JOB", "STATE", "SECONDS", "METRICS", "MESSAGE"],
    summaries.map((it) => [
      it.job,
      it.state,
      it.seconds.toFixed(1),
      metricsText(it.metrics),
      it.message,
    ]),
  );
}
