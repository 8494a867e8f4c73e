/** Query of curves: jobs, metrics, and how much of them. Pure. */
import { z } from "zod";
import type { NamedJob } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { FailureCause } from "../../platform/http/refusals.ts";
import { NAME_PATTERN } from "../../platform/http/routes.ts";
import { strictQuery } from "../../platform/http/strict_query.ts";
import { CURVE_LIMITS } from "../../crds/wire/view_limits.ts";

/** A query. */
export interface CurveQuery {
  readonly jobs: readonly NamedJob[];
  /** Absent: all. */
  readonly metrics?: readonly string[];
  readonly points: number;
  /** Milliseconds since the epoch. */
  readonly fromMs?: number;
  readonly toMs?: number;
}

const POINTS = `must be a whole number from 1 to ${CURVE_LIMITS.points}`;
const METRIC = `must be 1 to ${CURVE_LIMITS.metricNameLength} characters`;

const listOf = (of: z.ZodString, most: number) =>
  z.array(of).max(most, `must be given at most ${most} times`).default([]);
const time = z.string().transform((text) => Date.parse(text))
  .pipe(z.number("must be a time such as 2026-01-31T12:00:00Z")).optional();

const querySchema = z.strictObject({
  job: listOf(z.string(), CURVE_LIMITS.jobs),
  metric: listOf(
    z.string().min(1, METRIC).max(CURVE_LIMITS.metricNameLength, METRIC),
    CURVE_LIMITS.metrics,
  ),
  points: z.string().regex(/^\d{1,4}$/, POINTS).transform(Number)
    .pipe(z.number().min(1, POINTS).max(CURVE_LIMITS.points, POINTS))
    .default(CURVE_LIMITS.defaultPoints),
  from: time,
  to: time,
});

/** Names of the parameters. */
export const CURVE_PARAMETERS: readonly string[] = Object.keys(querySchema.shape);

const JOB = new RegExp(`^(${NAME_PATTERN})/(${NAME_PATTERN})/(${NAME_PATTERN})$`);

/** Reads `<plural>.<group>/<namespace>/<name>`; undefined if it is no job. */
export function jobOf(text: string, kinds: JobKinds): NamedJob | undefined {
  const [, id = "", namespace, name] = JOB.exec(text) ?? [];
  const kind = kinds.byId(id);
  if (kind === undefined || namespace === undefined || name === undefined) return undefined;
  return { kind, namespace, name };
}

/** Reads the parameters of a query, each of which may be given once unless it is a list. */
export function curveQuery(
  given: URLSearchParams,
  kinds: JobKinds,
): { readonly query: CurveQuery } | { readonly causes: readonly FailureCause[] } {
  const read = strictQuery(given, querySchema);
  if ("causes" in read) return read;
  const { job, metric, points, from, to } = read.query;
  const jobs = job.map((text) => jobOf(text, kinds)).filter((it) => it !== undefined);
  if (jobs.length < job.length) {
    const message = "must be <plural>.<group>/<namespace>/<name>, " +
      "such as trainjobs.trainer.kubeflow.org/default/mnist";
    return { causes: [{ field: "job", message }] };
  }
  return {
    query: {
      jobs,
      ...(metric.length > 0 && { metrics: metric }),
      points,
      ...(from !== undefined && { fromMs: from }),
      ...(to !== undefined && { toMs: to }),
    },
  };
}
