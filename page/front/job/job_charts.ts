/** Charts of jobs that are shown together: which there are, their lines, and how far their axis reaches. Pure. */
import type { ChartLine } from "../charts/curve_rows.ts";
import { extentOf } from "../charts/axis_scale.ts";
import { bucketWidth, jobRuns } from "../charts/job_runs.ts";
import { type JobTimes, type TimeRange, withFiner } from "../charts/zoom_range.ts";
import { type Curve, isMetric, isSameCurve, type JobCurves } from "../feed/view_answers_read.ts";
import type { AxisKind } from "../url_state.ts";
import type { CurvePoint } from "../../../crds/wire/shown_curves.ts";

/** A job that is shown. */
export interface ShownJob {
  readonly key: string;
  readonly label: string;
  readonly curves: JobCurves;
  /** Curves with finer points of a part of the time. */
  readonly finer?: { readonly curves: readonly Curve[]; readonly times: JobTimes } | undefined;
}

/** A chart: of a metric, or of the progress. */
export interface JobChart {
  readonly kind: "metric" | "progress";
  readonly title: string;
  readonly lines: readonly ChartLine[];
}

const KINDS = ["metric", "progress"] as const;

/** A curve of whatever points. */
type PlainCurve = Omit<Curve, "points"> & { readonly points: readonly CurvePoint[] };

/** Returns the points of the step of a job. */
export const stepsOf = ({ curves }: { readonly curves: readonly PlainCurve[] }) =>
  curves.find(({ isStep }) => isStep)?.points ?? [];

/** Returns the curves of a job with finer points where there are some. */
function curvesOf({ curves, finer }: ShownJob): readonly PlainCurve[] {
  if (finer === undefined) return curves.curves;
  return curves.curves.map((curve) => {
    const { source, cut, points = [] } = finer.curves.find((it) => isSameCurve(it, curve)) ?? {};
    return source === "log"
      ? { ...curve, source, cut, points: withFiner(curve.points, points, finer.times, cut) }
      : curve;
  });
}

/** Returns the begin of a job: that of its first point. */
const startOf = ({ curves }: JobCurves): number =>
  Math.min(...curves.map(({ points }) => points[0]?.[0] ?? Infinity));

/**
 * Returns the charts of all metrics, those of the first job before others; progress is the last. A job without steps has
 * no place on their axis.
 */
export function chartsOf(jobs: readonly ShownJob[], axis: AxisKind): readonly JobChart[] {
  const charts = new Map<string, JobChart>();
  jobs.forEach((job, place) => {
    const curves = curvesOf(job);
    const steps = stepsOf({ curves });
    if (axis === "step" && steps.length === 0) return;
    const { marks } = job.curves;
    const shared = {
      key: job.key,
      place,
      label: job.label,
      marks,
      startMs: startOf(job.curves),
      runs: jobRuns(marks, steps),
    };
    for (const curve of curves) {
      const { name, isProgress } = curve;
      if (!isProgress && !isMetric(curve)) continue;
      const kind = isProgress ? "progress" : "metric";
      const title = isProgress ? "Progress, %" : name;
      // A metric may be called as the progress is.
      const id = `${kind} ${title}`;
      const { lines = [] } = charts.get(id) ?? {};
      const nonFinite = curves.find((it) => it.isNonFinite && it.name === name && !isProgress);
      const line = { ...shared, ...curve, nonFinite: nonFinite?.points ?? [] };
      charts.set(id, { kind, title, lines: [...lines, line] });
    }
  });
  return [...charts.values()].sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
}

/**
 * Returns the whole axis of charts, in steps or milliseconds: as far as any value reaches, and what happened to the
 * first job; undefined if nothing has a place on it.
 */
export function wholeOf(jobs: readonly ShownJob[], axis: AxisKind): TimeRange | undefined {
  const places = jobs.flatMap(({ curves }, index) => {
    if (axis === "step") return stepsOf(curves).flatMap(([, min, max]) => [min, max]);
    const times = curves.curves.flatMap(({ points }) => [points[0]?.[0], points.at(-1)?.[0]])
      .filter((it) => it !== undefined);
    if (index === 0 && times.length > 0) times.push(...curves.marks.map(({ timeMs }) => timeMs));
    const zeroMs = axis === "elapsed" ? startOf(curves) : 0;
    return times.map((it) => it - zeroMs);
  });
  const [from, to] = extentOf(places) ?? [];
  return from === undefined || to === undefined ? undefined : { from, to };
}

/** Returns the time of a job within a part of the axis; without an end where that reaches to its last step. */
export function timesOf(
  job: JobCurves,
  { from, to }: TimeRange,
  axis: AxisKind,
): JobTimes | undefined {
  if (axis !== "step") {
    const zeroMs = axis === "elapsed" ? startOf(job) : 0;
    return { fromMs: from + zeroMs, toMs: to + zeroMs };
  }
  const steps = stepsOf(job);
  const within = steps.filter(([, min, max]) => max >= from && min <= to);
  const [first, last] = [within[0], within.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const isOpen = last === steps.at(-1);
  return { fromMs: first[0], ...(!isOpen && { toMs: last[0] + bucketWidth(steps) - 1 }) };
}
