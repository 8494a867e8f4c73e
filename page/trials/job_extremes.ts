/** Least and greatest values of jobs' metrics, as the manager's curves have them. */
import { isMetric } from "../../crds/wire/shown_curves.ts";
import { CURVE_LIMITS } from "../../crds/wire/view_limits.ts";
import { systemClock } from "../../platform/base/clock.ts";
import { answerInTime } from "../../platform/base/deadline.ts";
import { shortNumber } from "../../platform/base/short_number.ts";
import { createCurveReads } from "../mirror/curve_reads.ts";
import type { ReadJob } from "./labelled_jobs.ts";
import type { SearchReader } from "./search.ts";

/** How long a search waits for the manager, in milliseconds, and the digits that a value of a curve has. */
const [WAIT_MS, DIGITS] = [5_000, 7];

/** Returns the jobs, their metrics with the least and the greatest value where the viewer's manager has them in time. */
export async function withExtremes(
  { manager, signal, viewer }: SearchReader,
  jobs: readonly ReadJob[],
  clock = systemClock,
): Promise<readonly ReadJob[]> {
  if (manager === undefined) return jobs;
  const asked = jobs.filter(({ isOfTrial }) => !isOfTrial).map(({ job }) => job).entries();
  const parts = [...Map.groupBy(asked, ([at]) => Math.floor(at / CURVE_LIMITS.jobs)).values()];
  const answers = await answerInTime(clock, WAIT_MS, [], (signal) => {
    const read = createCurveReads({ signal });
    return Promise.all(
      parts.map((part) => read(manager, { points: 1 }, part.map(([, job]) => job), viewer)),
    );
  }, signal);
  const all = answers.flatMap((it) => "all" in it ? it.all : []);
  const curves = new Map(all.map(({ uid, metrics }) => [uid, metrics.filter(isMetric)]));
  return jobs.map((read) => {
    const metrics = read.found.metrics.map((metric) => {
      const own = curves.get(read.job.uid)?.find(({ name }) => name === metric.name);
      const [, min, max] = own?.points[0]?.map((it) => shortNumber(it ?? NaN, DIGITS)) ?? [];
      return min && max ? { ...metric, min, max } : metric;
    });
    return { ...read, found: { ...read.found, metrics } };
  });
}
