/** Query of curves: jobs, metrics, and how much of them. Pure. */
import type { NamedJob } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { FailureCause } from "../../platform/http/refusals.ts";
import { NAME_PATTERN } from "../../platform/http/routes.ts";
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

/** Names of the parameters. */
export const CURVE_PARAMETERS = ["job", "metric", "points", "from", "to"] as const;

const JOB = new RegExp(`^(${NAME_PATTERN})/(${NAME_PATTERN})/(${NAME_PATTERN})$`);

/** Reads `<plural>.<group>/<namespace>/<name>`; undefined if it is no job. */
export function jobOf(text: string, kinds: JobKinds): NamedJob | undefined {
  const [, id, namespace, name] = JOB.exec(text) ?? [];
  const kind = kinds.all.find((it) => it.id === id);
  if (kind === undefined || namespace === undefined || name === undefined) return undefined;
  return { kind, namespace, name };
}

/** A value, or what is wrong with it. */
type Read<T> = { readonly value: T } | FailureCause;

function readPoints(text: string | null): Read<number> {
  if (text === null) return { value: CURVE_LIMITS.defaultPoints };
  const value = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= CURVE_LIMITS.points) return { value };
  return { field: "points", message: `must be a whole number from 1 to ${CURVE_LIMITS.points}` };
}

function readTime(field: "from" | "to", text: string | null): Read<number | undefined> {
  const value = text === null ? undefined : Date.parse(text);
  if (value === undefined || Number.isFinite(value)) return { value };
  return { field, message: "must be a time such as 2026-01-31T12:00:00Z" };
}

function readJobs(given: readonly string[], kinds: JobKinds): Read<readonly NamedJob[]> {
  if (given.length > CURVE_LIMITS.jobs) {
    return { field: "job", message: `must be given at most ${CURVE_LIMITS.jobs} times` };
  }
  const jobs = given.map((text) => jobOf(text, kinds));
  const known = jobs.filter((it) => it !== undefined);
  if (known.length === jobs.length) return { value: known };
  const message = "must be <plural>.<group>/<namespace>/<name>, " +
    "such as trainjobs.trainer.kubeflow.org/default/mnist";
  return { field: "job", message };
}

function readMetrics(given: readonly string[]): Read<readonly string[]> {
  const { metrics, metricNameLength } = CURVE_LIMITS;
  if (given.length > metrics) {
    return { field: "metric", message: `must be given at most ${metrics} times` };
  }
  const isLong = given.some((name) => name === "" || name.length > metricNameLength);
  if (!isLong) return { value: given };
  return { field: "metric", message: `must be 1 to ${metricNameLength} characters` };
}

const causesIn = (reads: readonly Read<unknown>[]) =>
  reads.filter((it): it is FailureCause => "message" in it);

const valueOf = <T>(read: Read<T>, otherwise: T): T => "value" in read ? read.value : otherwise;

/** Reads the parameters of a query; others are ignored. */
export function curveQuery(
  given: URLSearchParams,
  kinds: JobKinds,
): { readonly query: CurveQuery } | { readonly causes: readonly FailureCause[] } {
  const jobs = readJobs(given.getAll("job"), kinds);
  const metrics = readMetrics(given.getAll("metric"));
  const points = readPoints(given.get("points"));
  const from = readTime("from", given.get("from"));
  const to = readTime("to", given.get("to"));
  const causes = causesIn([jobs, metrics, points, from, to]);
  if (causes.length > 0) return { causes };
  const [fromMs, toMs] = [valueOf(from, undefined), valueOf(to, undefined)];
  const names = valueOf(metrics, []);
  return {
    query: {
      jobs: valueOf(jobs, []),
      ...(names.length > 0 && { metrics: names }),
      points: valueOf(points, CURVE_LIMITS.defaultPoints),
      ...(fromMs !== undefined && { fromMs }),
      ...(toMs !== undefined && { toMs }),
    },
  };
}
