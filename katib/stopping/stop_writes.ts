/** What a stop writes: the end of a Trial's status, and of its TrainJob's. Pure. */
import { TRIAL_CONDITIONS, TRIAL_EARLY_STOPPED } from "../../crds/katib_names.ts";
import { TRAINJOB_CONDITIONS, TRAINJOB_REASONS } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { type Trial, trialConditionSchema } from "../../crds/trial.ts";
import { rfc3339 } from "../../crds/timestamps.ts";
import { isConditionTrue, setCondition } from "../../kube/conditions.ts";
import type { Stop } from "../adapter/adapter.ts";

/** What is to be done about one object. */
export type StopWrite =
  /** A merge patch of its status, with uid and resource version in it. */
  | { readonly kind: "patch"; readonly body: unknown }
  /** It says so already. */
  | { readonly kind: "done" }
  /** It has ended in another way, and is left alone. */
  | { readonly kind: "finished" };

/** The ends of a Trial besides an early stop (contract katib.md 3). */
const OTHER_ENDS = [
  TRIAL_CONDITIONS.succeeded,
  TRIAL_CONDITIONS.failed,
  TRIAL_CONDITIONS.killed,
  TRIAL_CONDITIONS.metricsUnavailable,
];

function preconditions({ metadata: { uid, resourceVersion } }: Trial | TrainJob) {
  return { uid, resourceVersion };
}

/**
 * The condition stands at the end, as what happened last does (contract katib.md 1.5). Running stays as
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

/** The end of the TrainJob: EarlyStopped, and Complete for those who know nothing else. */
export function jobStop(trainJob: TrainJob, stop: Stop, nowMs: number): StopWrite {
  const { earlyStopped, complete, failed } = TRAINJOB_CONDITIONS;
  const { rulesMet, earlyStopped: reason } = TRAINJOB_REASONS;
  const { message } = stop.verdict;
  const old = trainJob.status?.conditions ?? [];
  const isOver = isConditionTrue(old, complete) || isConditionTrue(old, failed);
  if (isOver) return { kind: isConditionTrue(old, earlyStopped) ? "done" : "finished" };
  const now = rfc3339(nowMs);
  const stopped = { type: earlyStopped, status: "True", reason: rulesMet, message } as const;
  const ended = { type: complete, status: "True", reason, message } as const;
  const conditions = setCondition(setCondition(old, stopped, now), ended, now);
  return { kind: "patch", body: { metadata: preconditions(trainJob), status: { conditions } } };
}
