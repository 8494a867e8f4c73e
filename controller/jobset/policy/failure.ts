/** Failure policy of a JobSet. Pure. */
import { RE2JS } from "re2js";
import type { FailurePolicyRule, JobSetStatus } from "../../../crds/jobset.ts";
import { JOB_CONDITIONS } from "../../../crds/job_names.ts";
import { JOBSET_REASONS as REASONS } from "../../../crds/jobset_names.ts";
import type { WatchedJob } from "../../../crds/watched.ts";
import { findCondition } from "../../../platform/kube/conditions.ts";
import { replicatedJobOf } from "../buckets.ts";
import { countedJobRestarts, indexOf, restartsOneJob, withJobRestart } from "../job_restarts.ts";
import { CHANGES, type StatusDraft, withCondition, withFailure } from "../jobset_conditions.ts";
import type { ResolvedSpec } from "../defaults.ts";

function failureOf(job: WatchedJob) {
  return findCondition(job.status?.conditions, JOB_CONDITIONS.failed);
}

function failedAt(job: WatchedJob): number {
  return Date.parse(failureOf(job)?.lastTransitionTime ?? "") || 0;
}

/** Returns the Job that failed first; of two at the same time, the first of the list. */
function firstFailed(jobs: readonly WatchedJob[]): WatchedJob | undefined {
  return jobs.reduce<WatchedJob | undefined>(
    (first, job) => first === undefined || failedAt(job) < failedAt(first) ? job : first,
    undefined,
  );
}

/** The RE2 pattern; undefined if it does not compile, and so matches nothing. */
function compiled(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern);
  } catch {
    return undefined;
  }
}

/** Adds a warning for each pattern that does not compile. */
function withPatternWarnings(draft: StatusDraft, rules: readonly FailurePolicyRule[]): StatusDraft {
  const events = rules.flatMap(({ onJobFailureMessagePatterns = [] }, rule) =>
    onJobFailureMessagePatterns.flatMap((pattern, index) =>
      compiled(pattern) ? [] : [{
        type: "Warning" as const,
        reason: REASONS.invalidPattern,
        message:
          `spec.failurePolicy.rules[${rule}].onJobFailureMessagePatterns[${index}]: "${pattern}" is no RE2 pattern and matches nothing`,
      }]
    )
  );
  return { ...draft, events: [...draft.events, ...events] };
}

/** Reports whether the RE2 pattern matches in the text. */
export function patternMatches(pattern: string, text: string): boolean {
  return compiled(pattern)?.matcher(text).find() ?? false;
}

function ruleMatches(rule: FailurePolicyRule, job: WatchedJob): boolean {
  const failure = failureOf(job);
  const {
    onJobFailureReasons: reasons = [],
    onJobFailureMessagePatterns: patterns = [],
    targetReplicatedJobs: targets = [],
  } = rule;
  return (reasons.length === 0 || reasons.includes(failure?.reason ?? "")) &&
    (patterns.length === 0 ||
      patterns.some((pattern) => patternMatches(pattern, failure?.message ?? ""))) &&
    (targets.length === 0 || targets.includes(replicatedJobOf(job) ?? ""));
}

/** The action for a failure, with the Job and the rule that caused it. */
export interface FailureDecision {
  readonly action: FailurePolicyRule["action"];
  /** Absent for the default action. */
  readonly rule?: string;
  /** Name of the Job that failed first. */
  readonly job: string;
}

/** Returns the action of the first rule that matches a failed Job; by default the JobSet restarts. */
export function chooseAction(
  rules: readonly FailurePolicyRule[],
  failed: readonly WatchedJob[],
): FailureDecision {
  for (const rule of rules) {
    const job = firstFailed(failed.filter((each) => ruleMatches(rule, each)));
    if (job) return { action: rule.action, rule: rule.name, job: job.metadata?.name ?? "" };
  }
  return { action: "RestartJobSet", job: firstFailed(failed)?.metadata?.name ?? "" };
}

/** The actions that count towards the maximum of restarts. */
const COUNTED: readonly FailurePolicyRule["action"][] = ["RestartJobSet", "RestartJob"];

function restartEvent({ action, job }: FailureDecision) {
  return {
    type: "Warning",
    reason: `${action}FailurePolicyAction`,
    message: `applying ${action} failure policy action (first failed job: ${job})`,
  } as const;
}

function restarted(draft: StatusDraft, decision: FailureDecision, now: number): StatusDraft {
  const { action, rule } = decision;
  const { message } = restartEvent(decision);
  const reason = rule === undefined
    ? REASONS.defaultFailurePolicy
    : `${REASONS.failurePolicyRulePrefix}${rule}`;
  const restarting = withCondition(draft, CHANGES.restarting(reason, message), now);
  const { restarts = 0, restartsCountTowardsMax = 0 } = draft.status;
  const counted = COUNTED.includes(action) ? 1 : 0;
  const status: JobSetStatus = {
    ...restarting.status,
    restarts: restarts + 1,
    ...(restartsCountTowardsMax + counted > 0 &&
      { restartsCountTowardsMax: restartsCountTowardsMax + counted }),
  };
  return { status, events: [...restarting.events, restartEvent(decision)] };
}

/** Counts a restart of the one Job; the next pass deletes it. */
function jobRestarted(
  draft: StatusDraft,
  spec: ResolvedSpec,
  decision: FailureDecision,
  failed: readonly WatchedJob[],
): StatusDraft {
  const job = failed.find(({ metadata }) => metadata?.name === decision.job);
  const name = job && replicatedJobOf(job);
  const replicatedJob = spec.replicatedJobs.find((each) => each.name === name);
  if (job === undefined || replicatedJob === undefined) {
    throw new Error(`Job ${decision.job} failed and belongs to no replicated job; delete it`);
  }
  const replicatedJobsStatus = withJobRestart(draft.status.replicatedJobsStatus, {
    name: replicatedJob.name,
    index: indexOf(job),
    replicas: replicatedJob.replicas,
    isCounted: COUNTED.includes(decision.action),
  });
  return {
    status: { ...draft.status, replicatedJobsStatus },
    events: [...draft.events, restartEvent(decision)],
  };
}

/** Returns the draft after the failure policy: failed, or with one more restart. `failed` is not empty. */
export function applyFailurePolicy(
  before: StatusDraft,
  spec: ResolvedSpec,
  { failed, now }: { failed: readonly WatchedJob[]; now: number },
): StatusDraft {
  const policy = spec.failurePolicy;
  const counters = before.status.replicatedJobsStatus;
  const draft = withPatternWarnings(before, policy?.rules ?? []);
  const fail = (reason: string, text: string, job: string | undefined) =>
    withFailure(draft, { reason, message: `${text} (first failed job: ${job})` }, now);
  if (policy === undefined) {
    const text = "jobset failed due to one or more job failures";
    return fail(REASONS.failedJobs, text, firstFailed(failed)?.metadata?.name);
  }
  const decision = chooseAction(policy.rules, failed);
  if (decision.action === "FailJobSet") {
    const text = "applying FailJobSet failure policy action";
    return fail(REASONS.failJobSetAction, text, decision.job);
  }
  const counted = (draft.status.restartsCountTowardsMax ?? 0) + countedJobRestarts(counters);
  if (COUNTED.includes(decision.action) && counted >= policy.maxRestarts) {
    const text = "jobset failed due to reaching max number of restarts";
    return fail(REASONS.reachedMaxRestarts, text, decision.job);
  }
  return restartsOneJob(decision.action)
    ? jobRestarted(draft, spec, decision, failed)
    : restarted(draft, decision, now);
}
