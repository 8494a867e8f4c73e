/** Zoom into logs: the points of a time range from the observation log of a job, read in small parts. */
import { getLogger } from "@logtape/logtape";
import type { JobRef } from "../../crds/job_kind.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { createSemaphore } from "../../platform/base/semaphore.ts";
import type { JobCurves } from "./curve_store.ts";
import { type Curve, isMetric } from "../../crds/wire/shown_curves.ts";
import { type LogReadingOptions, readInParts } from "./log_reading.ts";
import { LogPoints } from "./log_points.ts";

/** Bounds of zooming into logs. */
export const ZOOM_LIMITS = {
  /** Logs that are read at a time, and those that are read or wait for it: beyond that curves have to do. */
  logsAtOnce: 1,
  waiting: 64,
  /** Rows of one log. */
  rows: 50_000,
  /** Time for one query, in milliseconds: replicas wait 2 s for the owner. */
  deadlineMs: 1_500,
} as const;

/** The time range, and most points of a curve. */
export interface ZoomRange {
  readonly fromMs: number;
  readonly toMs: number;
  readonly points: number;
}

/** Returns the curves of a time range with points of the log, where it has finer ones than those that are kept. */
export type LogZoom = (
  job: JobRef,
  kept: Pick<JobCurves, "metrics" | "widthMs">,
  range: ZoomRange,
  signal: AbortSignal,
) => Promise<readonly Curve[]>;

/** Points of the rows of a range: of each metric by its name, and of the step if it is asked for. */
interface RangePoints {
  readonly metrics: ReadonlyMap<string, LogPoints>;
  readonly steps?: LogPoints;
}

function pointsFor(curve: Curve, { metrics, steps }: RangePoints): LogPoints | undefined {
  if (curve.isStep) return steps;
  const points = metrics.get(curve.name);
  if (curve.isNonFinite) return points?.nonFinite;
  return isMetric(curve) ? points : undefined;
}

const timeText = (ms: number) => new Date(ms).toISOString();

/** Times that RFC 3339 can write. */
const [FIRST_MS, LAST_MS] = [Date.UTC(1970, 0, 1), Date.UTC(9999, 11, 31)];
const bounded = (ms: number) => Math.min(LAST_MS, Math.max(FIRST_MS, ms));

/** Returns whether a log has no rows where the curve, in buckets within the range, has samples. */
function lacks(
  { points }: Curve,
  widthMs: number,
  { fromMs, toMs }: ZoomRange,
  log: { readonly firstMs: number; readonly lastMs: number },
): boolean {
  return points.some(([begin]) =>
    begin >= fromMs && begin + widthMs <= toMs &&
    (begin + widthMs <= log.firstMs || begin > log.lastMs)
  );
}

/** Creates {@link LogZoom}: few logs are read at a time, each in parts with pauses, so that no push has to wait. */
export function createLogZoom({ readLog, clock }: LogReadingOptions): LogZoom {
  const log = getLogger(["milepost", "page"]);
  const places = createSemaphore(ZOOM_LIMITS.logsAtOnce);
  let waiting = 0;

  /** Adds the rows of a range. Returns whether those were all. */
  async function readRows(
    job: JobRef,
    { metrics, steps }: RangePoints,
    { fromMs, toMs }: ZoomRange,
    signal: AbortSignal,
  ): Promise<boolean> {
    const [metric] = metrics.keys();
    return await readInParts({ readLog, clock }, job, {
      since: timeText(bounded(fromMs)),
      until: timeText(bounded(toMs)),
      limit: ZOOM_LIMITS.rows,
      ...(metrics.size === 1 && metric !== undefined && { metric }),
    }, (rows) => {
      for (const row of rows) {
        metrics.get(row.name)?.add(row);
        if (row.step !== undefined) steps?.addNumber(Date.parse(row.time), row.step);
      }
    }, signal);
  }

  /** Returns the points of those curves of which the log has some, and whether it was read to the end of the range. */
  async function readPoints(
    job: JobRef,
    curves: readonly Curve[],
    range: ZoomRange,
    signal: AbortSignal,
  ) {
    const pointsOf = ({ name }: Curve) => [name, new LogPoints(range.points)] as const;
    const found: RangePoints = {
      metrics: new Map(curves.filter(isMetric).map(pointsOf)),
      ...(curves.some(({ isStep }) => isStep) && { steps: new LogPoints(range.points) }),
    };
    const isWhole = await readRows(job, found, range, signal).catch((error) => {
      if (signal.aborted) return false;
      const { namespace, name } = job;
      log.debug("a log cannot be read for curves", { namespace, name, problem: messageOf(error) });
      return false;
    });
    return { ...found, isWhole };
  }

  /** The same when there is a place; undefined if there is none in time. */
  async function readInTime(...query: Parameters<typeof readPoints>) {
    const signal = query[3];
    if (waiting >= ZOOM_LIMITS.waiting || signal.aborted) return undefined;
    waiting++;
    try {
      return await places.run(() => readPoints(...query), signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    } finally {
      waiting--;
    }
  }

  return async (job, { metrics, widthMs }, range, signal) => {
    const coarse = metrics.filter((it) =>
      it.isStep || isMetric(it) && it.points.length < range.points
    );
    const read = coarse.some(isMetric) ? await readInTime(job, coarse, range, signal) : undefined;
    return metrics.map((curve): Curve => {
      const found = read && pointsFor(curve, read);
      const span = found?.span;
      if (read === undefined || found === undefined || span === undefined) {
        return { ...curve, source: "curve" };
      }
      const isCut = !read.isWhole || lacks(curve, widthMs, range, span);
      return {
        ...curve,
        points: found.points,
        source: "log",
        ...(isCut && { cut: true }),
      };
    });
  };
}
