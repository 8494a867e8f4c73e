/** Job and its observation as trial controllers see them. Pure. */
import type { AnyJob, JobKind, JobRef, JobResult } from "../../crds/job_kind.ts";
import { earlyStopOf, endOf, obstacleOf, suspensionOf } from "../../crds/job_state.ts";
import { ANNOTATIONS, OBSERVATION_REASONS } from "../../crds/names.ts";
import { jsonOfText } from "../../platform/base/json.ts";
import type { TrialSpec } from "../../crds/trial.ts";
import { outcomeOf } from "../../trials/mapping/outcome.ts";
import { mappingOf } from "../../trials/mapping/trial_template.ts";
import type { JobOutcome } from "../../trials/mapping/trial_mapping.ts";
import type { Position } from "../../crds/wire/observation.ts";
import type { ObservationSeen, SeenPage } from "../../owner/observations/observation_asks.ts";
import type { JobObservation, Observation } from "./messages.ts";
import { positionText } from "./position.ts";

/** The state, and the condition that decides it. */
export type JobState = Pick<Observation, "state" | "reason" | "message">;

/** The template that the job's annotation holds; undefined if it is no JSON. */
function annotated({ metadata: { annotations } }: AnyJob): unknown {
  return jsonOfText(annotations?.[ANNOTATIONS.trialTemplate] ?? "{}");
}

/**
 * Returns the outcome of the job by its template: that of its Trial, else that of its annotation, else
 * Katib's defaults. By a template that cannot be read it never succeeds.
 */
export function outcomeByTemplate(
  kind: JobKind,
  job: AnyJob,
  trial: TrialSpec | undefined,
): JobOutcome {
  const read = mappingOf(trial ?? annotated(job), kind);
  if (read.ok) return outcomeOf(read.mapping, job);
  const what = read.problems.map(({ field, message }) => `${field || "it"}: ${message}`);
  return { problem: `the trial's template cannot be read: ${what.join("; ")}` };
}

/** Reason and message, without what is empty. */
function wordsOf(from: { reason?: string | undefined; message?: string | undefined } | undefined) {
  return {
    ...(from?.reason ? { reason: from.reason } : {}),
    ...(from?.message ? { message: from.message } : {}),
  };
}

/** Returns the state of a job that has ended by itself: what its template does not decide has failed. */
function endedState(end: JobResult, outcome: JobOutcome): JobState {
  if ("problem" in outcome) {
    const reason = OBSERVATION_REASONS.templateInvalid;
    return { state: "Failed", reason, message: outcome.problem };
  }
  if (outcome.state !== "Undecided") return { state: outcome.state, ...wordsOf(outcome) };
  return {
    state: "Failed",
    reason: OBSERVATION_REASONS.conditionsNotMet,
    message: `the job has ended as ${end}, and met neither condition of its trial's template`,
  };
}

/**
 * Returns EarlyStopped if the job says so, whatever its template makes of it; then what the trial's template
 * says; else Running, with the reason why it does not run, if there is one. A job that has ended is never
 * Running, and one that can still go on has not failed.
 */
export function jobState(kind: JobKind, job: AnyJob, outcome: JobOutcome): JobState {
  const stopped = earlyStopOf(kind, job);
  if (stopped !== undefined) return { state: "EarlyStopped", ...wordsOf(stopped) };
  const end = endOf(kind, job);
  if (end !== undefined) return endedState(end, outcome);
  const obstacle = obstacleOf(kind, job);
  if (obstacle !== undefined) return { state: "Running", ...wordsOf(obstacle) };
  if ("problem" in outcome) return { state: "Running", message: outcome.problem };
  if (outcome.state !== "Undecided") return { state: outcome.state, ...wordsOf(outcome) };
  const suspended = suspensionOf(kind, job);
  if (suspended !== undefined) return { state: "Running", ...wordsOf(suspended) };
  return kind.hasBegun(job)
    ? { state: "Running" }
    : { state: "Running", reason: OBSERVATION_REASONS.created };
}

/** Puts together how the job stands and what the owner knows. `next`: where to read on, if anywhere. */
export function observationOf(
  state: JobState,
  { trial, primaryPod, metrics, rows }: ObservationSeen,
  next: Position | undefined,
): Observation {
  return {
    ...state,
    ...(trial === undefined ? {} : { trial }),
    ...(primaryPod === undefined ? {} : { primaryPod }),
    metrics,
    log: rows,
    ...(next === undefined ? {} : { continue: positionText(next) }),
  };
}

/** A page of one of many jobs; with a `problem` if it cannot be read now. */
export type JobPage = SeenPage & { readonly problem?: string };

/** Puts together what a stream of many jobs tells of one of them. */
export function observationOfJob(
  { name, uid }: JobRef,
  state: JobState,
  { rows, more, problem }: JobPage,
  next: Position | undefined,
): JobObservation {
  return {
    job: { name, uid },
    ...state,
    log: rows,
    ...(next === undefined ? {} : { continue: positionText(next) }),
    ...(more && { more }),
    ...(problem !== undefined && { problem }),
  };
}
