/** End of a trial, as its TrainJob shows it. Pure. */
import type { AnyJob } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { earlyStopOf, endOf } from "../../crds/job_state.ts";
import { TRAINJOB_CONDITIONS } from "../../crds/names.ts";
import { TRIAL_REASONS } from "../../crds/optimization_names.ts";
import type { TrialRecord } from "../../crds/trial_records.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { cutText } from "../../platform/base/hostile_text.ts";
import { goNumber } from "../../platform/base/go_float.ts";
import { trueCondition } from "../../platform/kube/conditions.ts";

/** Longest texts of a record, which have a part in its bytes; as JSON a character takes six at most. */
const MESSAGE_MAX = 256;
const REASON_MAX = 128;
const VALUE_MAX = 64;

/** How a trial has ended. */
export type TrialEnd = Pick<TrialRecord, "state" | "reason" | "message" | "value">;

/** Returns the end of a trial that has failed. */
export function failedTrial(reason: string, message: string): TrialEnd {
  return { state: "Failed", reason, message: cutText(message, MESSAGE_MAX) };
}

/** Whether the TrainJob has ended, however that was. */
export const hasEnded = (job: AnyJob): boolean =>
  earlyStopOf(TRAINJOB, job) !== undefined || endOf(TRAINJOB, job) !== undefined;

/** Whether the TrainJob is complete, so that the trial ends with its objective. */
export const isComplete = (job: AnyJob): boolean =>
  earlyStopOf(TRAINJOB, job) === undefined && endOf(TRAINJOB, job) === "Complete";

/** Returns how a trial has ended whose TrainJob is not complete; undefined if it has not. */
export function endWithoutObjective(job: TrainJob): TrialEnd | undefined {
  const stop = earlyStopOf(TRAINJOB, job);
  if (stop !== undefined) {
    const message = cutText(stop.message ?? "", MESSAGE_MAX);
    return { state: "EarlyStopped", reason: cutText(stop.reason ?? "", REASON_MAX), message };
  }
  if (endOf(TRAINJOB, job) !== "Failed") return undefined;
  const failed = trueCondition(job.status?.conditions, TRAINJOB_CONDITIONS.failed);
  const words = [failed?.reason, failed?.message].filter(Boolean);
  return failedTrial(TRIAL_REASONS.failed, words.join(": "));
}

/** Returns the value of a metric that the TrainJob's last push had. */
export function shownValue({ status }: TrainJob, metric: string): string | undefined {
  return status?.trainerStatus?.metrics?.findLast(({ name }) => name === metric)?.value;
}

/** Returns how a trial has ended whose TrainJob is complete, by the last value of its objective. */
export function endWithObjective(metric: string, value: string | undefined): TrialEnd {
  const { metricsUnavailable } = TRIAL_REASONS;
  if (value === undefined) {
    const message = `it is complete, and has never pushed ${metric}, the objective: push it, or ` +
      "name a metric that is pushed";
    return failedTrial(metricsUnavailable, message);
  }
  const number = goNumber(value);
  if (Number.isFinite(number)) {
    return { state: "Complete", value: value.length <= VALUE_MAX ? value : String(number) };
  }
  return failedTrial(metricsUnavailable, `its last ${metric}, the objective, is ${value}`);
}
