/** Status patches of an early stop: the end of a Trial, and of its job. Pure. */
import { TRIAL_CONDITIONS, TRIAL_EARLY_STOPPED } from "../../crds/katib_names.ts";
import type { AnyJob, JobKind } from "../../crds/job_kind.ts";
import { earlyStopOf, endOf } from "../../crds/job_state.ts";
import { type Trial, trialConditionSchema } from "../../crds/trial.ts";
import { rfc3339 } from "../../crds/timestamps.ts";
import { type ConditionLike, isConditionTrue, setCondition } from "../../kube/conditions.ts";
import type { Stop } from "../adapter/adapter.ts";

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

function preconditions({ metadata: { uid, resourceVersion } }: Pick<AnyJob, "metadata">) {
  return { uid, resourceVersion };
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
export function trialStop(trial: Trial, stop: Stop, nowMs: number): StopWrite {
  const conditions = trial.status?.conditions;
  if (isConditionTrue(conditions, TRIAL_CONDITIONS.earlyStopped)) return { kind: "done" };
  if (OTHER_ENDS.some((type) => isConditionTrue(conditions, type))) return { kind: "finished" };
  const now = rfc3339(nowMs);
  const status = {
    conditions: conditionsOf(trial, now),
    completionTime: now,
    ...(stop.observation.length > 0 && { observation: { metrics: stop.observation } }),
  };
  return { kind: "patch", body: { metadata: preconditions(trial), status } };
}

/** Returns the end of the job: the conditions by which its kind is stopped. */
export function jobStop(kind: JobKind, job: AnyJob, stop: Stop, nowMs: number): StopWrite {
  if (endOf(kind, job) !== undefined) {
    return { kind: earlyStopOf(kind, job) === undefined ? "finished" : "done" };
  }
  const { message } = stop.verdict;
  const now = rfc3339(nowMs);
  const conditions = kind.stop.reduce<ConditionLike[]>(
    (list, update) => setCondition(list, { ...update, message }, now),
    job.status?.conditions ?? [],
  );
  return { kind: "patch", body: { metadata: preconditions(job), status: { conditions } } };
}
