/** Status patches of an early stop: the end of a Trial, and of its job. Pure. */
import { TRIAL_CONDITIONS, TRIAL_EARLY_STOPPED } from "../../crds/katib_names.ts";
import { conditionsWith } from "../../crds/job_conditions.ts";
import type { AnyJob, JobKind } from "../../crds/job_kind.ts";
import { earlyStopOf, endOf, storedStopOf } from "../../crds/job_state.ts";
import { type Trial, trialConditionSchema } from "../../crds/trial.ts";
import { asRead } from "../../platform/kit/as_read.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import { isConditionTrue } from "../../platform/kube/conditions.ts";
import type { Stop } from "../../owner/observations/observations.ts";
import { type StopDecision, storedForm } from "../../owner/observations/stop_decision.ts";

/** The write that stops one object. */
export type StopWrite =
  /** A merge patch of its status, with uid and resource version in it. */
  | { readonly kind: "patch"; readonly body: unknown }
  /** The object has this end already. */
  | { readonly kind: "done" }
  /** The object has ended in another way, and stays as it is. */
  | { readonly kind: "finished" };

/** Conditions that end a Trial, besides an early stop. */
const OTHER_ENDS = [
  TRIAL_CONDITIONS.succeeded,
  TRIAL_CONDITIONS.failed,
  TRIAL_CONDITIONS.killed,
  TRIAL_CONDITIONS.metricsUnavailable,
];

/** Whether the Trial has ended in another way than by an early stop. */
export function hasOtherEnd({ status }: Pick<Trial, "status">): boolean {
  return isConditionTrue(status?.conditions, ...OTHER_ENDS);
}

/**
 * Returns the conditions with EarlyStopped at the end, since Katib takes the last condition for the newest.
 * Running stays, as with Katib's own early stopping (kubeflow/katib: pkg/earlystopping/v1beta1): Katib's
 * controller would set it again. The patch replaces the whole list, so invalid conditions are kept in it.
 */
function conditionsOf({ status }: Trial, now: string): unknown[] {
  const type = TRIAL_CONDITIONS.earlyStopped;
  const isStop = (one: unknown) => trialConditionSchema.safeParse(one).data?.type === type;
  const all: readonly unknown[] = status?.allConditions ?? status?.conditions ?? [];
  const others = all.filter((one) => !isStop(one));
  const times = { lastUpdateTime: now, lastTransitionTime: now };
  return [...others, { type, status: "True", ...TRIAL_EARLY_STOPPED, ...times }];
}

/**
 * Returns the end of the Trial: condition, observation and completionTime in one patch. With its observation
 * it takes none of its Experiment's parallel trials, even if Katib deletes the job at once.
 */
export function trialStop(
  trial: Trial,
  { observation = [] }: Pick<Stop, "observation">,
  nowMs: number,
): StopWrite {
  const { earlyStopped } = TRIAL_CONDITIONS;
  if (isConditionTrue(trial.status?.conditions, earlyStopped)) return { kind: "done" };
  if (hasOtherEnd(trial)) return { kind: "finished" };
  const now = rfc3339(nowMs);
  const status = {
    conditions: conditionsOf(trial, now),
    completionTime: now,
    ...(observation.length > 0 && { observation: { metrics: observation } }),
  };
  return { kind: "patch", body: asRead(trial, { status }) };
}

/**
 * Returns the end of the job: the conditions by which its kind is stopped, with the decision that its status
 * holds, else with this one, which is stored with them.
 */
export function jobStop(
  kind: JobKind,
  job: AnyJob,
  decision: StopDecision,
  nowMs: number,
): StopWrite {
  if (endOf(kind, job) !== undefined) {
    return { kind: earlyStopOf(kind, job) === undefined ? "finished" : "done" };
  }
  const stored = storedStopOf(job);
  const { reason, message } = stored ?? decision;
  const now = rfc3339(nowMs);
  const updates = kind.stop.map((update) => ({
    ...update,
    ...(update.type === kind.conditions.earlyStopped && { reason }),
    message,
  }));
  const conditions = conditionsWith(kind, job, updates, now);
  const stop = stored === undefined && { stop: storedForm(decision, nowMs) };
  return { kind: "patch", body: asRead(job, { status: { conditions, ...stop } }) };
}
