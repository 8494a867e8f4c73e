/** Account of a job's time: what was productive, and what was not (docs/decisions/0085). Pure. */
import type { JobTimeSpent, Spending } from "../../crds/job_time_spent.ts";
import { compact } from "../../platform/base/json.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";

/** A time by both clocks, in milliseconds. */
export interface Moment {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

/** An account. Times are of the monotonic clock. */
export interface TimeSpent {
  readonly seconds: Readonly<Record<Spending, number>>;
  /** Up to when time is counted; undefined: no pod of this run was heard of. */
  readonly untilMs: number | undefined;
  /** Before this nothing may be counted: it is, or was not heard. */
  readonly fromMs: number;
  /** The highest step of all runs, and of those before this one; -1: none. */
  readonly topStep: number;
  readonly earlierStep: number;
}

/**
 * Opens the account of a job. Counted is what comes after that which is `kept` with its object; where nothing is, all since
 * the job was made, unless it has reported to an owner before this one.
 */
export function openTimeSpent(
  kept: JobTimeSpent | undefined,
  { now, createdMs, hasReported }: {
    readonly now: Moment;
    /** On the wall clock. */
    readonly createdMs: number;
    readonly hasReported: boolean;
  },
): TimeSpent {
  const sinceMs = kept === undefined ? createdMs : Math.max(createdMs, Date.parse(kept.time));
  const agoMs = kept === undefined && hasReported ? 0 : Math.max(0, now.wallMs - sinceMs) || 0;
  const { step = -1 } = kept ?? {};
  return {
    seconds: {
      productive: kept?.productiveSeconds ?? 0,
      starting: kept?.startingSeconds ?? 0,
      stalled: kept?.stalledSeconds ?? 0,
      lost: kept?.lostSeconds ?? 0,
    },
    untilMs: undefined,
    fromMs: now.monotonicMs - agoMs,
    topStep: step,
    earlierStep: step,
  };
}

/** Begins to count, where that has not begun, from a time on, or as early as may be. */
export const countedFrom = (spent: TimeSpent, atMs: number): TimeSpent =>
  spent.untilMs === undefined ? { ...spent, untilMs: Math.max(spent.fromMs, atMs) } : spent;

/** Goes on with a run of which another owner has counted a part. */
export const continued = (spent: TimeSpent): TimeSpent => ({
  ...countedFrom(spent, spent.fromMs),
  earlierStep: spent.topStep - 1,
});

/** Begins the account of another run: what followed the last sign of this one counts for nothing. */
export const nextRunOf = (spent: TimeSpent, nowMs: number): TimeSpent => ({
  ...spent,
  untilMs: undefined,
  fromMs: Math.max(nowMs, spent.untilMs ?? spent.fromMs),
  earlierStep: spent.topStep,
});

/** Whether a step is made again. */
export const isLost = ({ earlierStep }: TimeSpent, step: number): boolean =>
  step >= 0 && step <= earlierStep;

/** Counts the time up to then, when that step was reached. */
export function spentOn(spent: TimeSpent, on: Spending, atMs: number, step = -1): TimeSpent {
  const { seconds, untilMs = Infinity } = spent;
  const topStep = Math.max(spent.topStep, step);
  if (!(atMs > untilMs)) return { ...spent, topStep };
  const counted = { ...seconds, [on]: seconds[on] + (atMs - untilMs) / 1000 };
  return { ...spent, topStep, seconds: counted, untilMs: atMs };
}

/** Returns the account as it is kept with the job's object. */
export function keptTimeSpent(
  { seconds, untilMs, fromMs, topStep }: TimeSpent,
  { wallMs, monotonicMs }: Moment,
): JobTimeSpent {
  const countedMs = wallMs - (monotonicMs - (untilMs ?? fromMs));
  return compact({
    productiveSeconds: Math.floor(seconds.productive),
    startingSeconds: Math.floor(seconds.starting),
    stalledSeconds: Math.floor(seconds.stalled),
    lostSeconds: Math.floor(seconds.lost),
    step: topStep < 0 ? undefined : topStep,
    // Not before what was counted: the next owner would count that again.
    time: rfc3339(Math.ceil(countedMs / 1000) * 1000),
  });
}
