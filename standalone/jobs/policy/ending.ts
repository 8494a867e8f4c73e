/** Failure and success of a Job, with the reason (Kubernetes batch/v1). Pure. */
import type { Job, Pod } from "../../../platform/kube/kubernetes.ts";
import { JOB_CONDITIONS, JOB_REASONS } from "../../../crds/job_names.ts";
import { trueCondition } from "../../../platform/kube/conditions.ts";
import { parseIndexes } from "../../../crds/completion_indexes.ts";
import { isActive, isTracked, restartsOf } from "../pods.ts";
import { type JobSettings, type JobSnapshot, unsupportedJob } from "../job_settings.ts";
import { type Account, type Ending, isFailed } from "./accounting.ts";
import { judgePod } from "./pod_failure.ts";

/** Why a Job ends: first as an interim condition, then, when its pods are gone, as the last one. */
export interface End {
  readonly outcome: NonNullable<Ending>;
  readonly reason: string;
  readonly message: string;
}

const INTERIM = [
  [JOB_CONDITIONS.failureTarget, "failure"],
  [JOB_CONDITIONS.successCriteriaMet, "success"],
] as const;

/** The end that the Job's conditions already announce. */
export function announcedEnd(job: Job): End | undefined {
  for (const [type, outcome] of INTERIM) {
    const condition = trueCondition(job.status?.conditions, type);
    if (condition !== undefined) {
      return { outcome, reason: condition.reason ?? "", message: condition.message ?? "" };
    }
  }
  return undefined;
}

function fail(reason: string, message: string): End {
  return { outcome: "failure", reason, message };
}

/** The end that a failed pod's rule demands. */
function podFailureEnd(pods: readonly Pod[], settings: JobSettings): End | undefined {
  for (const pod of pods) {
    if (!isFailed(pod, settings)) continue;
    const verdict = judgePod(pod, settings.podFailureRules);
    if (verdict.action === "FailJob") return fail(JOB_REASONS.podFailurePolicy, verdict.message);
  }
  return undefined;
}

/** Whether restarts of containers in place have used up the limit. */
function restartsExceed(pods: readonly Pod[], { backoffLimit, restartsInPlace }: JobSettings) {
  if (!restartsInPlace) return false;
  const restarts = pods.filter(isActive).reduce((sum, pod) => sum + restartsOf(pod), 0);
  return restarts > 0 && restarts >= backoffLimit;
}

/** Milliseconds until the Job's active deadline; undefined if it has none or does not run. */
export function deadlineLeft(job: Job, settings: JobSettings, now: number): number | undefined {
  const { activeDeadlineSeconds, suspend } = settings;
  const startTime = job.status?.startTime;
  if (activeDeadlineSeconds === undefined || suspend || startTime === undefined) return undefined;
  return Math.max(0, Date.parse(startTime) + activeDeadlineSeconds * 1000 - now);
}

function successRuleEnd(account: Account, settings: JobSettings): End | undefined {
  for (const [index, rule] of settings.successRules.entries()) {
    const wanted = rule.succeededIndexes === undefined
      ? undefined
      : parseIndexes(rule.succeededIndexes, settings.completions);
    const reached = [...account.completed].filter((each) => wanted?.has(each) ?? true).length;
    if (reached > 0 && reached >= (rule.succeededCount ?? wanted?.size ?? Infinity)) {
      const message = `Matched rules at index ${index}`;
      return { outcome: "success", reason: JOB_REASONS.successPolicy, message };
    }
  }
  return undefined;
}

function completionEnd(
  account: Account,
  pods: readonly Pod[],
  { completions }: JobSettings,
): End | undefined {
  const complete = completions === undefined
    ? account.succeeded > 0 && !pods.some((pod) => isActive(pod) && isTracked(pod))
    : account.succeeded >= completions;
  if (!complete) return undefined;
  return {
    outcome: "success",
    reason: JOB_REASONS.completionsReached,
    message: "Reached expected number of succeeded pods",
  };
}

/** A failure that does not need the account: by refusal, by policy, by deadline. */
export function earlyEnd({ job, pods, settings, now }: JobSnapshot): End | undefined {
  const announced = announcedEnd(job);
  if (announced !== undefined) return announced;
  const unsupported = unsupportedJob(job);
  if (unsupported !== undefined) return fail(JOB_REASONS.notSupported, unsupported);
  return podFailureEnd(pods, settings) ??
    (deadlineLeft(job, settings, now) === 0
      ? fail(JOB_REASONS.deadlineExceeded, "Job was active longer than specified deadline")
      : undefined);
}

/** The end that the account brings: the back-off limit first, then success. */
export function accountedEnd({ pods, settings }: JobSnapshot, account: Account): End | undefined {
  if (account.failed > settings.backoffLimit || restartsExceed(pods, settings)) {
    return fail(
      JOB_REASONS.backoffLimitExceeded,
      "Job has reached the specified backoff limit",
    );
  }
  return successRuleEnd(account, settings) ?? completionEnd(account, pods, settings);
}
