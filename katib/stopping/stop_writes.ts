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
  /** It says so already. */
  | { readonly kind: "done" }
  /** It has ended in another way, and is left alone. */
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
 * The condition is the last one, because Katib reads the last as the newest. Running stays as
 * it is, as with Katib's own early stopping (5.4): its controller would set it again. The
 * patch replaces the whole list, so what cannot be read as a condition is in it, too.
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
 * The end of the Trial: condition, observation and completionTime in one patch. With its observation it
 * costs its Experiment no parallel trial, also where Katib deletes the job at once (7.1, 3).
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

/**
 * Returns the end of the job: the conditions by which its kind is stopped. A job that Milepost stopped before
 * has an end, too, and says so.
 */
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
