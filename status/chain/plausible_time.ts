/** Correction of implausible times: those in the future, or before the pod's start. */
import type { Sample } from "../../crds/wire/sample.ts";

/** Moments between which a sample was taken, in milliseconds since the epoch. */
export interface Bounds {
  readonly nowMs: number;
  /** Start of the pod, if known. */
  readonly startMs?: number;
}

/** Objects hold whole seconds: a clock that is ahead by less gets no warning. */
const UNNOTICED_MS = 1000;

const WHAT: Readonly<Record<keyof Bounds, { why: string; taken: string }>> = {
  nowMs: { why: "is in the future", taken: "now" },
  startMs: { why: "is before the pod's start", taken: "its start" },
};

function isPlausible({ lastUpdatedTime }: Sample, bounds: Bounds): boolean {
  const timeMs = Date.parse(lastUpdatedTime);
  return timeMs <= bounds.nowMs && timeMs >= Math.min(bounds.startMs ?? -Infinity, bounds.nowMs);
}

/** The status with a plausible time, and the bound to which its time was adjusted. */
function moved(status: Sample, { nowMs, startMs = -Infinity }: Bounds) {
  const timeMs = Date.parse(status.lastUpdatedTime);
  if (timeMs > nowMs) {
    const to = timeMs - nowMs < UNNOTICED_MS ? undefined : "nowMs";
    return { status: { ...status, lastUpdatedTime: new Date(nowMs).toISOString() }, to };
  }
  const earliestMs = Math.min(startMs, nowMs);
  if (timeMs >= earliestMs) return { status };
  return {
    status: { ...status, lastUpdatedTime: new Date(earliestMs).toISOString() },
    to: "startMs",
  };
}

function warning(
  to: keyof Bounds,
  bounds: Bounds,
  samples: readonly Sample[],
  count: number,
) {
  const { why, taken } = WHAT[to];
  const time = new Date(bounds[to] ?? bounds.nowMs).toISOString();
  const whose = samples.length === 1
    ? `lastUpdatedTime ${samples[0]?.lastUpdatedTime ?? ""}`
    : `lastUpdatedTime of ${count} of ${samples.length} samples`;
  return `${whose} ${why}, and is taken as ${taken}, ${time}: check the clock of the client`;
}

/**
 * Returns the samples of a push, oldest first, with times between the pod's start and now, and a warning for
 * each kind of adjustment. The order of times stays the same.
 */
export function plausible(
  samples: readonly Sample[],
  bounds: Bounds,
): {
  readonly samples: readonly Sample[];
  /** Original times of the samples whose time was adjusted; absent if no time was. */
  readonly sentTimes?: readonly (string | undefined)[];
  readonly warnings: readonly string[];
} {
  // The usual case.
  if (samples.every((sample) => isPlausible(sample, bounds))) return { samples, warnings: [] };
  const all = samples.map((sample) => moved(sample, bounds));
  const warnings = (["nowMs", "startMs"] as const).flatMap((to) => {
    const count = all.filter((one) => one.to === to).length;
    return count === 0 ? [] : [warning(to, bounds, samples, count)];
  });
  const sentTimes = samples.map((sample, index) =>
    all[index]?.status === sample ? undefined : sample.lastUpdatedTime
  );
  return { samples: all.map(({ status }) => status), sentTimes, warnings };
}
