/** How a TrainJob stands, as trial controllers see it. Pure. */
import { TRAINJOB_CONDITIONS } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { JobOutcome } from "../mapping/trial_mapping.ts";
import type { Observation } from "./messages.ts";

/** The state, and the condition that decides it. */
export type JobState = Pick<Observation, "state" | "reason" | "message">;

function condition({ status }: TrainJob, type: string) {
  return status?.conditions?.find((it) => it.type === type && it.status === "True");
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
