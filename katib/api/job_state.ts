/** How a TrainJob stands, as trial controllers see it. Pure. */
import { ANNOTATIONS, TRAINJOB_CONDITIONS } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { TrialSpec } from "../../crds/trial.ts";
import { outcomeOf } from "../../trials/mapping/outcome.ts";
import { mappingOf } from "../../trials/mapping/trial_template.ts";
import type { JobOutcome } from "../../trials/mapping/trial_mapping.ts";
import type { Observation } from "./messages.ts";

/** The state, and the condition that decides it. */
export type JobState = Pick<Observation, "state" | "reason" | "message">;

function condition({ status }: TrainJob, type: string) {
  return status?.conditions?.find((it) => it.type === type && it.status === "True");
}

/** The template that the TrainJob's annotation holds; undefined where it is no JSON. */
function annotated({ metadata: { annotations } }: TrainJob): unknown {
  try {
    return JSON.parse(annotations?.[ANNOTATIONS.trialTemplate] ?? "{}");
  } catch {
    return undefined;
  }
}

/**
 * How the job stands by its template: the Trial's that it is of, else that of its annotation, else
 * Katib's defaults. By a template that cannot be read it never succeeds.
 */
export function outcomeByTemplate(job: TrainJob, trial: TrialSpec | undefined): JobOutcome {
  const { apiVersion, kind } = job;
  const read = mappingOf(trial ?? annotated(job), { apiVersion, kind });
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

/**
 * EarlyStopped where the TrainJob says so, whatever its template makes of it; then what the trial's
 * template says; else Running, with the reason why it does not run where there is one.
 */
export function jobState(job: TrainJob, outcome: JobOutcome): JobState {
  const stopped = condition(job, TRAINJOB_CONDITIONS.earlyStopped);
  if (stopped !== undefined) return { state: "EarlyStopped", ...wordsOf(stopped) };
  if ("problem" in outcome) return { state: "Running", message: outcome.problem };
  if (outcome.state !== "Undecided") return { state: outcome.state, ...wordsOf(outcome) };
  const suspended = condition(job, TRAINJOB_CONDITIONS.suspended);
  if (suspended !== undefined) return { state: "Running", ...wordsOf(suspended) };
  const { state = "Created" } = job.status ?? {};
  return state === "Created" ? { state: "Running", reason: state } : { state: "Running" };
}
