/** Failures of the pods of v1 jobs: what is read of each pod, and what a pass makes of them. */
import type { JobKind } from "../../crds/job_kind.ts";
import { failureOf, shownStateOf } from "../../crds/job_state.ts";
import { podFailure } from "../../crds/failure_of_pod.ts";
import { allowsLastWords } from "../../crds/job_failure.ts";
import { EVENT_REASONS, isOpenState } from "../../crds/names.ts";
import type { V1Job } from "../../crds/v1/job.ts";
import type { V1Kind } from "../../crds/v1/kinds.ts";
import { V1_GROUP } from "../../crds/v1/names.ts";
import { V1_JOB_KINDS } from "../../crds/v1/v1_job_kinds.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { controllerKey, controllerOf } from "../../platform/kube/owner_references.ts";
import { keyOf } from "../../platform/kube/resource.ts";
import { decideFailure } from "../failure_decision.ts";
import { createPodFailures, type PodFailures } from "../pod_failures.ts";
import { hasEnded } from "./condition_list.ts";
import type { Plan } from "./job_plan.ts";
import { isRestarting } from "./restart_plan.ts";
import type { Run } from "./run.ts";

/** The failures, by job; a run is one of a job. Each pod keeps its name when it is made again. */
export type JobFailures = PodFailures<Pod>;

/** An empty memory for the jobs of a kind. */
export const createJobFailures = ({ kind }: V1Kind): JobFailures =>
  createPodFailures((pod) => {
    const metadata = pod.metadata ?? {};
    const job = controllerKey({ metadata }, { group: V1_GROUP, kind });
    if (job === undefined) return undefined;
    return { job, run: controllerOf(metadata)?.uid, attempt: 0, failure: podFailure(pod) };
  });

const shownKind = ({ kind }: V1Kind): JobKind | undefined =>
  V1_JOB_KINDS.find((it) => it.kind === kind);

/** Returns the plan with what the status says of failures, and the events about them. */
export function withFailures(
  plan: Plan,
  { kind, run, job, failures, failureMessages, nowMs }: {
    readonly kind: V1Kind;
    readonly run: Run;
    readonly job: V1Job;
    readonly failures: Pick<JobFailures, "of" | "forget">;
    readonly failureMessages: boolean;
    readonly nowMs: number;
  },
): Plan {
  const shown = shownKind(kind);
  if (shown === undefined) return plan;
  const key = keyOf(job);
  const seenState = shownStateOf(shown, { ...job, status: plan.status });
  // Pods that go with all others, and come again, have nothing to answer for.
  const state = isRestarting(run) && isOpenState(seenState) ? "Suspended" : seenState;
  const { failure, event, cause, recheckMs } = decideFailure({
    old: failureOf(job),
    seen: failures.of(key, run.uid),
    state,
    hasEnded: hasEnded(job.status?.conditions),
    tellsMessages: failureMessages && allowsLastWords(run.annotations),
    restartLimit: run.spec.runPolicy?.backoffLimit,
    nowMs,
  });
  if (state === "Suspended") failures.forget(key, run.uid);
  const told = cause === undefined ? [] : [{
    type: "Warning" as const,
    reason: EVENT_REASONS.failed,
    message: cause,
  }];
  const dueMs = recheckMs === undefined ? Infinity : nowMs + recheckMs;
  const nextMs = Math.min(plan.nextMs ?? Infinity, dueMs);
  const { failure: _, ...status } = plan.status;
  return {
    ...plan,
    status: { ...status, ...(failure !== undefined && { failure }) },
    events: [...plan.events, ...told, ...(event === undefined ? [] : [event])],
    ...(nextMs < Infinity && { nextMs }),
  };
}
