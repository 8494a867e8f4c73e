/** Summary of a TrainJob of the demo that has ended, and the table of several. Pure. */
import { TRAINJOB } from "../../crds/job_kinds.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { trueCondition } from "../../platform/kube/conditions.ts";
import { rowOf } from "../../views/list/job_row.ts";
import type { JobRow } from "../../crds/wire/row.ts";
import { valueText } from "../../terminal/readings.ts";
import { safeText } from "../../terminal/shown_text.ts";
import { textTable } from "../../terminal/text_table.ts";

/** How a TrainJob went, for the table at the end. */
export interface JobSummary {
  readonly job: string;
  readonly state: string;
  /** From creation to the end. */
  readonly seconds: number;
  readonly metrics: Readonly<Record<string, string>>;
  /** Why it failed, else the message of the condition that ended it. */
  readonly message: string;
}

/** Values by the names of their metrics. */
export const metricsByName = (metrics: JobRow["metrics"] = []): Readonly<Record<string, string>> =>
  Object.fromEntries(metrics.map(({ name, value }) => [name, value]));

/** The summary of a TrainJob that has ended; `endedAt`, in milliseconds, is used if no condition has a time. */
export function jobSummary(trainJob: TrainJob, endedAt: number): JobSummary {
  const { name, state, metrics, created, message } = rowOf(TRAINJOB, trainJob);
  const condition = trueCondition(trainJob.status?.conditions, state);
  const began = Date.parse(created);
  const seconds = Number.isNaN(began) ? 0 : Math.max(0, (endedAt - began) / 1000);
  return {
    job: name,
    state,
    seconds: Math.round(seconds * 10) / 10,
    metrics: metricsByName(metrics),
    message: state === "Failed" ? message ?? "" : condition?.message ?? "",
  };
}

/** The table of how all jobs went. */
export function summaryTable(summaries: readonly JobSummary[]): string {
  const rows = summaries.map(({ job, state, seconds, metrics, message }) => [
    safeText(job),
    state,
    seconds.toFixed(1),
    Object.entries(metrics).map(([name, value]) => `${safeText(name)} ${valueText(value)}`)
      .join("  "),
    safeText(message),
  ]);
  return textTable(["JOB", "STATE", "SECONDS", "METRICS", "MESSAGE"], rows).join("\n");
}
