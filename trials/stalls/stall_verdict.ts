/** Verdict on a job's silence: whether it is as usual, or longer than ever (docs/decisions/0081). Pure. */
import { type JobPace, type Phase, PHASES } from "../../crds/job_stall.ts";
import { DEFAULT_STALL_POLICY, type StallPolicy } from "../../crds/stall_policy.ts";
import { HEARTBEAT_LIMITS } from "../../crds/wire/heartbeat.ts";
import { isDone, phaseOf, SETTLED, silenceOf, type Watch } from "./silence_watch.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** What a policy says of limits. */
export type SetLimits = Pick<StallPolicy, "afterMs" | "startupMs">;

/** Bounds of silences, in milliseconds. */
export const SILENCE_MS = {
  /** From the start to the second sign, and of the phase `Starting`: programs compile. */
  startup: DEFAULT_STALL_POLICY.startupMs,
  /** While the pace is not known. */
  unknown: 10 * MINUTE,
  /** Before it no job is quiet. */
  quiet: 10 * SECOND,
  /** Least ones where it is: of steps, of evaluations and checkpoints, and of a program without phases. */
  training: 20 * SECOND,
  pause: MINUTE,
  plain: MINUTE,
} as const;

/** How many silences of its kind make one known, and of a program without phases what else: the first ones may be of no account. */
const KNOWN = { training: 5, pause: 2, epochs: 2, long: 2, plainSeconds: 7200 } as const;

/** Phases of a program that has started. */
const STARTED = PHASES.filter((it) => it !== "Starting");

/** How many times longer than known a silence may be. */
const TIMES = { ofStep: 5, ofPhase: 2, ofPlain: 5 } as const;

/** What is thought of a job: `unjudged` of one that never reported, or that is done. */
export type Verdict = "unjudged" | "going" | "quiet" | "stalled";

const longestMs = (pace: JobPace | undefined, phase: Phase | undefined) =>
  silenceOf(pace, phase).seconds * SECOND;

/** Limit of a program that does not say what it does: evaluations and checkpoints are silences, too. */
function plainLimitMs(pace: JobPace | undefined): number {
  const { epochs = 0, long = 0, heardSeconds = 0 } = pace ?? {};
  const knownMs = TIMES.ofPlain * longestMs(pace, undefined);
  // A first evaluation may be an hour away, and checkpoints before it are shorter.
  const isKnown = (epochs >= KNOWN.epochs || long >= KNOWN.long) &&
    heardSeconds >= KNOWN.plainSeconds;
  return Math.max(isKnown ? SILENCE_MS.plain : SILENCE_MS.unknown, knownMs);
}

/** Limit of a program that says what it does, in one of its phases. */
function phaseLimitMs(pace: JobPace | undefined, phase: Phase): number {
  const { count } = silenceOf(pace, phase);
  const twiceMs = TIMES.ofPhase * longestMs(pace, phase);
  switch (phase) {
    case "Starting":
      return Math.max(SILENCE_MS.startup, twiceMs);
    case "Training": {
      const stepsMs = TIMES.ofStep * (pace?.stepSeconds ?? 0) * SECOND;
      const leastMs = count >= KNOWN.training ? SILENCE_MS.training : SILENCE_MS.unknown;
      return Math.max(leastMs, stepsMs, twiceMs);
    }
    case "Evaluating":
    case "Checkpointing":
      return Math.max(count >= KNOWN.pause ? SILENCE_MS.pause : SILENCE_MS.unknown, twiceMs);
  }
}

/** Returns the limits that follow from a pace alone, of each phase and of a program that says none, in milliseconds. */
export const limitsOfPace = (pace: JobPace): number[] => [
  ...PHASES.map((phase) => phaseLimitMs(pace, phase)),
  plainLimitMs(pace),
];

/**
 * Returns how long a job may be silent, in milliseconds; undefined if it is not judged. A policy that says `after` has the
 * last word, whatever the job has taught.
 */
export function limitMs(
  watch: Watch,
  { afterMs, startupMs }: SetLimits = DEFAULT_STALL_POLICY,
): number | undefined {
  const { last, pace, signs, isWhole } = watch;
  if (isDone(watch) || (last === undefined && pace === undefined)) return undefined;
  const phase = phaseOf(watch);
  if (phase === "Starting") {
    const taughtMs = afterMs === undefined ? TIMES.ofPhase * longestMs(pace, phase) : 0;
    return Math.max(startupMs, taughtMs);
  }
  if (afterMs !== undefined) return afterMs;
  const ownMs = phase === undefined ? plainLimitMs(pace) : phaseLimitMs(pace, phase);
  if (isWhole && signs >= SETTLED) return ownMs;
  // It may have become slower, or begun to evaluate, while it could not be heard.
  const ofPhases = STARTED.map((it) => TIMES.ofPhase * longestMs(pace, it));
  return Math.max(SILENCE_MS.unknown, ownMs, ...ofPhases);
}

/** Time without a heartbeat after which a job counts as silent, in milliseconds. */
const NO_BEAT_MS = 2.5 * HEARTBEAT_LIMITS.intervalMs;

/** Returns for how long a job is known to be silent: up to the newest heartbeat, unless those have ended as well. */
function silentMsOf({ sinceMs, heardMs, isBeaten }: Watch, nowMs: number): number {
  return (isBeaten && nowMs - heardMs < NO_BEAT_MS ? heardMs : nowMs) - sinceMs;
}

/** Returns what is thought of a job. */
export function verdictOf(watch: Watch, nowMs: number, set?: SetLimits): Verdict {
  const most = limitMs(watch, set);
  if (most === undefined) return "unjudged";
  const silentMs = silentMsOf(watch, nowMs);
  if (silentMs >= most) return "stalled";
  return silentMs >= most / 2 ? "quiet" : "going";
}

/** Returns after how long a silence the job is missed, in milliseconds: more than ever, and no longer than its limit. */
export function missedMs(watch: Watch, set?: SetLimits): number | undefined {
  const most = limitMs(watch, set);
  if (most === undefined || watch.signs < 2) return most;
  const everMs = TIMES.ofPhase * longestMs(watch.pace, phaseOf(watch));
  return everMs === 0 ? most : Math.min(most, Math.max(SILENCE_MS.training, everMs));
}

/**
 * Whether a pod that was last heard at that time lives and makes no step: it was heard when the job had been silent for a while,
 * and is still heard. A job of which nobody is may only have lost its way to the endpoint.
 */
export function isWitness(watch: Watch, heardMs: number, nowMs: number, set?: SetLimits): boolean {
  const quietMs = watch.sinceMs + (limitMs(watch, set) ?? Infinity) / 2;
  return heardMs >= quietMs && nowMs - heardMs < NO_BEAT_MS;
}
