/** Answers of the page's API: a window of the list, and curves, as JSON. Pure. */
import type { JobRef } from "../../crds/job_kind.ts";
import type { ListWindow } from "../list/list_window.ts";
import type { CurveJob } from "./curve_query.ts";
import type { ShownCurves } from "./owner_curves.ts";
import type { ReaderScope } from "./scope.ts";

/** Returns a window, with the kinds and namespaces that the reader may not list. */
export function listAnswer(
  { rows, total, states }: ListWindow,
  { denied }: Pick<ReaderScope, "denied">,
) {
  return { rows, total, states, ...(denied.length > 0 && { denied }) };
}

const time = (ms: number) => new Date(ms).toISOString();

/** Returns the curves of a job; the times of points are milliseconds since the epoch. */
function curvesAnswer({ kind, namespace, name, uid }: JobRef, { metrics, marks }: ShownCurves) {
  return {
    job: { kind: kind.id, namespace, name, uid },
    metrics: metrics.map(({ name, isProgress, points, source, cut }) => ({
      name,
      ...(isProgress && { isProgress }),
      points,
      ...(source && { source }),
      ...(cut && { cut }),
    })),
    marks: marks.map(({ timeMs, kind, text }) => ({ time: time(timeMs), kind, text })),
  };
}

/** A job as it was asked for, of a kind that is not known. */
export interface MissingJob {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** The JSON of curves that many viewers are given: it is written once for all of them. */
const written = new WeakMap<ShownCurves, string>();

function curvesJson(job: JobRef, curves: ShownCurves): string {
  const known = written.get(curves);
  if (known !== undefined) return known;
  const json = JSON.stringify(curvesAnswer(job, curves));
  written.set(curves, json);
  return json;
}

/** Answer about curves. */
export interface CurvesJson {
  /** The whole answer. */
  readonly json: string;
  /** What it says of jobs that are not there; empty if nothing. */
  readonly missing: string;
}

/** Returns the curves of jobs, and the names of those that are not there for this reader. */
export function allCurvesJson(
  curves: readonly ShownCurves[],
  { seen, missing = [], strangers = [] }: {
    readonly seen: readonly JobRef[];
    readonly missing?: readonly CurveJob[];
    readonly strangers?: readonly MissingJob[];
  },
): CurvesJson {
  const gone = [
    ...missing.map(({ kind, namespace, name }) => ({ kind: kind.id, namespace, name })),
    ...strangers,
  ];
  const byUid = new Map(seen.map((job) => [job.uid, job]));
  const shown = curves.flatMap((it) => {
    const job = byUid.get(it.uid);
    return job === undefined ? [] : [curvesJson(job, it)];
  });
  const missingJson = gone.length === 0 ? "" : `,"missing":${JSON.stringify(gone)}`;
  return { json: `{"curves":[${shown.join()}]${missingJson}}`, missing: missingJson };
}
