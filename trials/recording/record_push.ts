/** Recording of all samples of a push. Pure. */
import type { ObservationRow } from "./observation_row.ts";
import type { Report } from "../rules/rule.ts";
import { record, type RecordState } from "./record.ts";
import type { PodSample, Recorded } from "./pod_sample.ts";

/** Most warnings for one push. */
export const WARNINGS_MAX = 20;

/** A push: one sample, or those of a history, oldest first. */
export interface SampledPush {
  /** UID of the pod. */
  readonly pod: string;
  readonly samples: readonly Omit<PodSample, "pod" | "sequence">[];
  readonly sequence?: number;
}

function bounded(warnings: ReadonlySet<string>): string[] {
  const all = [...warnings];
  if (all.length <= WARNINGS_MAX) return all;
  const shown = all.slice(0, WARNINGS_MAX - 1);
  return [...shown, `and ${all.length - shown.length} more warnings about metrics`];
}

/**
 * Records the samples of a push. The verdict is `retry` if all of them were recorded before. Throws a
 * RangeError for an invalid time.
 */
export function recordPush(state: RecordState, push: SampledPush): Recorded<RecordState> {
  const { pod, samples, sequence } = push;
  const rows: ObservationRow[] = [];
  const reports: Report[] = [];
  const warnings = new Set<string>();
  let current = state;
  let isRetry = samples.length > 0;
  for (const sample of samples) {
    const one = record(current, { ...sample, pod, ...(sequence !== undefined && { sequence }) });
    current = one.state;
    isRetry &&= one.verdict === "retry";
    rows.push(...one.rows);
    reports.push(...one.reports);
    one.warnings.forEach((warning) => warnings.add(warning));
  }
  const verdict = isRetry ? "retry" : "new";
  return { state: current, verdict, rows, reports, warnings: bounded(warnings) };
}
