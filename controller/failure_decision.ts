/** Decision on what a job says of the failures of its pods: `status.failure`, and the event about restarts. Pure. */
import { fullHeadlineOf, headlineOf } from "../crds/failure_headline.ts";
import { type JobFailure, jobFailureSchema } from "../crds/job_failure.ts";
import { EVENT_REASONS, type ShownState } from "../crds/names.ts";
import { compact } from "../platform/base/json.ts";
import { rfc3339 } from "../platform/base/timestamps.ts";
import type { EventText } from "../platform/kube/event_object.ts";
import type { SeenFailures } from "./pod_failures.ts";

/** Restarts, done or certain, from which on a job that runs says so: the first one may be of no account. */
const TOLD_RESTARTS = 2;
/** Time after a failure of which nothing more is known at which it counts as overcome, in milliseconds. */
const FORGIVEN_MS = 600_000;

/** What the decision is made from. */
export interface FailureInputs {
  /** As the job has it. */
  readonly old: JobFailure | undefined;
  readonly seen: SeenFailures | undefined;
  /** Of the job after this pass. */
  readonly state: ShownState;
  /** Whether it was so before. */
  readonly hasEnded: boolean;
  /** Whether the job may have what its programs said. */
  readonly tellsMessages: boolean;
  /** The restarts after which the job fails, at the most, if that is known. */
  readonly restartLimit?: number | undefined;
  readonly nowMs: number;
}

/** What is decided. */
export interface FailureDecision {
  readonly failure: JobFailure | undefined;
  /** To be recorded when the failure is written. */
  readonly event?: EventText;
  /** What pods did in words, of a job that fails now. */
  readonly cause?: string;
  /** Time until it may have recovered, in milliseconds. */
  readonly recheckMs?: number;
}

const isSame = (one: JobFailure | undefined, other: JobFailure) =>
  one?.time === other.time && one.pod === other.pod && one.container === other.container;

/** The newest failure, in what of it the job may have; undefined if the job's definition would refuse it. */
function shown(
  { first: { failure }, restarts }: SeenFailures,
  tellsMessages: boolean,
  restartLimit?: number,
): JobFailure | undefined {
  const isProgram = failure.exitCode !== undefined;
  const told = {
    ...failure,
    message: tellsMessages || !isProgram ? failure.message : undefined,
    restarts: restarts > 0 ? restarts : undefined,
    restartLimit,
  };
  const whole = compact({ headline: headlineOf(told), ...told });
  // The rest of the status is written in the same request, and must not be refused with it.
  return jobFailureSchema.safeParse(whole).success ? whole : undefined;
}

function restartEvent(failure: JobFailure): EventText {
  const times = failure.restarts === 1 ? "once" : `${failure.restarts} times`;
  const limit = failure.restartLimit;
  const end = limit === undefined ? "" : `; the job fails after at most ${limit}`;
  const message = `${fullHeadlineOf(failure)}; started again ${times}${end}`;
  return { type: "Warning", reason: EVENT_REASONS.restarting, message };
}

function history(failure: JobFailure | undefined, sinceMs: number): JobFailure | undefined {
  if (failure === undefined || failure.recoveredTime !== undefined) return failure;
  const { headline: _, restartLimit: _limit, ...others } = failure;
  return { ...others, recoveredTime: rfc3339(sinceMs) };
}

/** Of a job that goes on: whether it fails again and again, or has overcome that. */
function whileOpen(
  { old, seen, tellsMessages, restartLimit, nowMs }: FailureInputs,
): FailureDecision {
  const isTold = old !== undefined && old.recoveredTime === undefined;
  if (seen === undefined) {
    const dueMs = isTold ? Date.parse(old.time) + FORGIVEN_MS - nowMs : Infinity;
    if (dueMs <= 0) return { failure: history(old, nowMs) };
    return { failure: old, ...(isTold && { recheckMs: dueMs }) };
  }
  const { recoversMs = Infinity } = seen;
  const restarts = Math.max(seen.restarts, old?.restarts ?? 0);
  const failure = shown({ ...seen, restarts }, tellsMessages, restartLimit);
  if (failure === undefined || isSame(old, failure) && !isTold) return { failure: old };
  const isNews = Math.max(seen.withNext, restarts) >= TOLD_RESTARTS;
  if (!isTold && !isNews) return { failure: old };
  if (nowMs >= recoversMs) return { failure: history(isTold ? failure : old, nowMs) };
  return {
    failure,
    ...(!isTold && { event: restartEvent(failure) }),
    ...(recoversMs < Infinity && { recheckMs: recoversMs - nowMs }),
  };
}

/** Returns what the job says of its failures; one that holds no more is history. */
export function decideFailure(inputs: FailureInputs): FailureDecision {
  const { old, seen, state, hasEnded, tellsMessages, nowMs } = inputs;
  switch (state) {
    case "Created":
    case "Running":
      return whileOpen(inputs);
    case "Failed": {
      // The pod may be heard of after the end of its job.
      if (hasEnded && old !== undefined) return { failure: old };
      const found = seen && shown(seen, tellsMessages);
      const isHistory = found !== undefined && isSame(old, found) && old?.recoveredTime;
      return {
        failure: isHistory ? old : found ?? old,
        ...(found !== undefined && { cause: fullHeadlineOf(found) }),
      };
    }
    default:
      return { failure: history(old, nowMs) };
  }
}
