/** Watch over a job's signs of progress: those of its present run, and the pace that its runs have taught. Pure. */
import { type JobPace, NO_PHASE, type Phase } from "../../crds/job_stall.ts";
import type { Sample } from "../../crds/wire/sample.ts";
import { compact, sameJson } from "../../platform/base/json.ts";
import { readGoFloat } from "../../platform/base/go_float.ts";

/** Weights of the newest interval in the usual one, and of a step that is faster than those before. */
const NEWEST = { interval: 0.2, fasterStep: 0.35 } as const;
/** Silences that are far longer than usual: so many times, and at least so many seconds. */
const LONG = { times: 5, leastSeconds: 20 } as const;
/** Longest silence that is learned, in seconds: who was silent for a day has hung. */
const LEARNED_MOST = 6 * 3600;
/** Up to which silences, long ones and epochs are counted. */
const COUNTED_MOST = 99;
/** Progress of a job that is done, in percent. */
const DONE = 100;

/** Signs of a run with which its program has started, and after which its pace counts. */
const STARTED = 2;
export const SETTLED = 6;

const NO_PACE: JobPace = { silences: {} };

/** Watch over one job. Times are of a monotonic clock, in milliseconds. */
export interface Watch {
  /** Since when silence counts: the last sign, or the end of what could not be heard. */
  readonly sinceMs: number;
  /** When the job was last heard of, whatever it said. */
  readonly heardMs: number;
  /** The last report that was a sign of progress in this run. */
  readonly last: Sample | undefined;
  /** Signs of this run, counted up to {@link SETTLED}: with the second one the program has started. */
  readonly signs: number;
  /** Whether everything since the last sign could be heard: only then its silence teaches something. */
  readonly isWhole: boolean;
  /** Whether the last sign came by a heartbeat: what happened since the newest one is not known. */
  readonly isBeaten: boolean;
  /** Undefined: no run has reported anything yet. */
  readonly pace: JobPace | undefined;
}

/** Begins the watch over a run, of which nothing was heard; `hasStarted` if that is known all the same. */
export function beginRun(nowMs: number, pace: JobPace | undefined, hasStarted = false): Watch {
  const signs = hasStarted ? STARTED : 0;
  const times = { sinceMs: nowMs, heardMs: nowMs };
  return { ...times, last: undefined, signs, isWhole: false, isBeaten: false, pace };
}

/** Begins the watch over a run that has said it is done: nothing is expected of it before it reports again. */
export const beginDone = (nowMs: number, pace: JobPace | undefined, last: Sample): Watch => ({
  ...beginRun(nowMs, pace, true),
  last,
});

/**
 * Begins the silence anew: what was could not have been heard, or need not have been said. The program may do something
 * else now, or do it slower.
 */
export const excused = (watch: Watch, nowMs: number): Watch => ({
  ...watch,
  sinceMs: nowMs,
  signs: Math.min(watch.signs, STARTED),
  isWhole: false,
});

/** What the silence belongs to: a phase, or undefined where the program says none. */
export const phaseOf = ({ signs, last }: Pick<Watch, "signs" | "last">): Phase | undefined =>
  signs < STARTED ? "Starting" : last?.phase;

/** Whether the job has said that it is done. */
export const isDone = ({ last }: Pick<Watch, "last">): boolean => last?.progressPercentage === DONE;

/** Returns the longest silence of a phase in seconds, and how many were heard. */
export function silenceOf(
  pace: JobPace | undefined,
  phase: Phase | undefined,
): { readonly seconds: number; readonly count: number } {
  const [seconds = 0, count = 0] = pace?.silences[phase ?? NO_PHASE] ?? [];
  return { seconds, count };
}

/** Whether a report says anything new. One without a step may be all that the program ever says. */
function isSign(last: Sample | undefined, next: Sample): boolean {
  if (last === undefined || next.step === undefined) return true;
  return next.step !== last.step || next.phase !== last.phase ||
    next.progressPercentage !== last.progressPercentage || !sameJson(next.metrics, last.metrics);
}

/** Whether a report says only that another phase begins: a program that has not made its first step may say so, too. */
const isPhaseAlone = (last: Sample, next: Sample): boolean =>
  next.phase !== last.phase && next.step === last.step &&
  next.progressPercentage === last.progressPercentage && sameJson(next.metrics, last.metrics);

const epochOf = (sample: Sample | undefined): number | undefined => {
  const text = sample?.metrics?.find(({ name }) => name === "epoch")?.value;
  return text === undefined ? undefined : readGoFloat(text)?.value;
};

/** Whether an epoch ended between two reports. */
function endsEpoch(last: Sample | undefined, next: Sample): boolean {
  const [before = NaN, now = NaN] = [epochOf(last), epochOf(next)];
  return Math.floor(now) > Math.floor(before);
}

const rounded = (seconds: number): number => Number(seconds.toPrecision(3));
const smoothed = (old = NaN, next: number, weight: number): number =>
  rounded(Number.isNaN(old) ? next : old + weight * (next - old));
/** A slower step counts at once: the next ones may be slower still. */
const stepAfter = (old = 0, next: number): number =>
  next >= old ? rounded(next) : smoothed(old, next, NEWEST.fasterStep);
const counted = (count = 0): number => Math.min(COUNTED_MOST, count + 1);

function withSilence(pace: JobPace, phase: Phase | undefined, seconds: number) {
  const old = silenceOf(pace, phase);
  const longest = rounded(Math.max(old.seconds, Math.min(LEARNED_MOST, seconds)));
  return { ...pace.silences, [phase ?? NO_PHASE]: [longest, counted(old.count)] };
}

/** What a sign says beside that there is one. */
interface Lesson {
  /** Of the silence before it. */
  readonly seconds: number;
  /** Steps since the last sign, if that is known. */
  readonly steps: number | undefined;
  readonly endsEpoch: boolean;
}

/** Adds to a pace what the silence before a sign teaches. */
function learned(watch: Watch, { seconds, steps = 0, endsEpoch }: Lesson): JobPace {
  const { pace = NO_PACE } = watch;
  const phase = phaseOf(watch);
  const { intervalSeconds, stepSeconds, long } = pace;
  const silences = withSilence(pace, phase, seconds);
  const heardSeconds = Math.round((pace.heardSeconds ?? 0) + seconds);
  const epochs = endsEpoch ? counted(pace.epochs) : pace.epochs;
  const heard = compact({ ...pace, silences, heardSeconds, epochs });
  if (phase !== undefined && phase !== "Training") return heard;
  // Of a program that says its phases it is a step, and the next ones may be as slow.
  const isLong = phase === undefined && intervalSeconds !== undefined &&
    seconds >= Math.max(LONG.leastSeconds, LONG.times * intervalSeconds);
  if (isLong) return { ...heard, long: counted(long) };
  return compact({
    ...heard,
    intervalSeconds: smoothed(intervalSeconds, seconds, NEWEST.interval),
    // After a restore steps go back.
    stepSeconds: steps > 0 ? stepAfter(stepSeconds, seconds / steps) : stepSeconds,
  });
}

/** Returns the watch after a sign at that time. */
function signed(watch: Watch, atMs: number, lesson: Omit<Lesson, "seconds">): Watch {
  const { signs, isWhole, sinceMs, pace = NO_PACE } = watch;
  const teaches = isWhole && !isDone(watch);
  const seconds = (atMs - sinceMs) / 1000;
  return {
    ...watch,
    sinceMs: atMs,
    signs: Math.min(SETTLED, signs + 1),
    isWhole: true,
    pace: teaches ? learned(watch, { ...lesson, seconds }) : pace,
  };
}

/** Returns the watch after a report of the job. One that says nothing new was heard, and is no progress. */
export function reported(watch: Watch, next: Sample, nowMs: number): Watch {
  const { last, signs } = watch;
  if (signs > 0 && !isSign(last, next)) return { ...watch, heardMs: nowMs };
  const steps = next.step === undefined || last?.step === undefined
    ? undefined
    : next.step - last.step;
  const after = signed(watch, nowMs, { steps, endsEpoch: endsEpoch(last, next) });
  const begins = signs === 1 && last !== undefined && isPhaseAlone(last, next);
  return { ...after, ...(begins && { signs }), heardMs: nowMs, last: next, isBeaten: false };
}

/**
 * Returns the watch after a heartbeat that says that a process made steps, the last one so many seconds ago. `steps` is
 * undefined where the former step is not known.
 */
export function stepped(
  watch: Watch,
  { steps, secondsAgo }: { readonly steps: number | undefined; readonly secondsAgo: number },
  nowMs: number,
): Watch {
  const atMs = Math.min(nowMs, Math.max(0, nowMs - secondsAgo * 1000));
  if (atMs <= watch.sinceMs) return { ...watch, heardMs: nowMs };
  const after = signed(watch, atMs, { steps, endsEpoch: false });
  return { ...after, heardMs: nowMs, isBeaten: true };
}
