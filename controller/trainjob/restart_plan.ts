/** Plan for a restart of a TrainJob: its pods go, and when none is left others come (docs/decisions/0083). Pure. */
import type { JobSet } from "../../crds/jobset.ts";
import { restartOf } from "../../crds/job_state.ts";
import { JOB_CONDITIONS } from "../../crds/job_names.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import { LABELS } from "../../crds/names.ts";
import { isEndedPhase } from "../../crds/pod_names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { WatchedJob, WatchedPod } from "../../crds/watched.ts";
import { isConditionTrue } from "../../platform/kube/conditions.ts";
import { isControlledBy } from "../../platform/kube/owner_references.ts";
import { finishOf, replicatedJobOf } from "../jobset/buckets.ts";
import { LATE_MS, latePods } from "../restart_events.ts";
import type { ChildWrite } from "./children.ts";
import { hasEnded } from "./ended_jobsets.ts";
import { type JobSetDecision, patchOf, reportsSuspended, restartMark } from "./jobset_plan.ts";
import {
  type ObservedJob,
  openRestart,
  ownJobSet,
  restartCountOf,
  wasCutShort,
} from "./observed.ts";
import { trainerJobs } from "./state.ts";

/** Reports whether a pod is of the job, by its labels. Pods of another JobSet count only if the job has none now. */
export function isOwnPod(
  { metadata }: WatchedPod,
  trainJob: TrainJob,
  jobSet: JobSet | undefined,
): boolean {
  const { [LABELS.trainJobName]: name, [JOBSET_KEYS.jobSetUid]: run } = metadata?.labels ?? {};
  const own = ownJobSet({ trainJob, jobSet })?.metadata.uid;
  return name === trainJob.metadata.name && (own === undefined || run === undefined || run === own);
}

/** Reports whether a pod has to go before others come: its containers may still run. */
export const isLiving = ({ status }: WatchedPod): boolean => !isEndedPhase(status?.phase);

/** Returns the pods of a job that is restarted which have to go first. */
export const livingPods = ({ restartPods = [] }: ObservedJob): readonly WatchedPod[] =>
  restartPods.filter(isLiving);

/** What a restart does next. */
export type RestartStep =
  | { readonly kind: "none" }
  /** The JobSet is suspended, with the count of the restart. */
  | { readonly kind: "suspend"; readonly write: ChildWrite }
  /** The executor, or pods, are waited for. */
  | { readonly kind: "wait" }
  /** Nothing is known to be left: it is time to look at its Jobs, and once more at its pods. */
  | { readonly kind: "look"; readonly jobSet: JobSet };

/** Plans the next step of the restart that is under way, or of what is left of one that a suspension has ended. */
export function planRestart(job: ObservedJob): RestartStep {
  const restart = openRestart(job);
  const jobSet = ownJobSet(job);
  const isOver = restart === undefined && !wasCutShort(job);
  if (isOver || jobSet && hasEnded(jobSet)) return { kind: "none" };
  if (jobSet === undefined || jobSet.metadata.deletionTimestamp !== undefined) {
    return { kind: "wait" };
  }
  if (restart !== undefined && restartCountOf(jobSet) !== restart.count) {
    const metadata = { annotations: restartMark(restart.count) };
    return { kind: "suspend", write: patchOf(jobSet, { metadata, spec: { suspend: true } }) };
  }
  if (jobSet.spec?.suspend !== true) return { kind: "none" };
  const isIdle = reportsSuspended(jobSet) && livingPods(job).length === 0;
  return isIdle ? { kind: "look", jobSet } : { kind: "wait" };
}

/**
 * Decides by the Jobs of a JobSet whose pods are gone. Those of the trainer of which an index has succeeded are deleted,
 * since what has succeeded is not run again; they are made anew. The pods come when the others are known to rest: until
 * then a Job controller may not have heard that it shall make none.
 */
export function planJobs(job: ObservedJob, jobSet: JobSet, jobs: readonly WatchedJob[]) {
  const trainers = trainerJobs(jobSet);
  // A Job controller may not have counted them yet.
  const succeeded = (job.restartPods ?? []).filter(({ metadata, status, isUncounted }) =>
    status?.phase === "Succeeded" && (isUncounted || metadata?.deletionTimestamp === undefined)
  );
  const spent = jobs.filter((it) =>
    trainers.includes(replicatedJobOf(it) ?? "") &&
    ((it.status?.succeeded ?? 0) > 0 ||
      succeeded.some(({ metadata }) => isControlledBy(metadata, it.metadata?.uid ?? "")))
  );
  const rests = ({ metadata, spec, status }: WatchedJob) =>
    metadata?.deletionTimestamp !== undefined || finishOf({ status }) !== undefined ||
    spec?.suspend === true && isConditionTrue(status?.conditions, JOB_CONDITIONS.suspended);
  return {
    remove: spent.filter(({ metadata }) => metadata?.deletionTimestamp === undefined),
    // With its resumption a JobSet that was cut short is new to its executor, which must find its Jobs.
    mayRestart: spent.length === 0 && jobs.every(rests) && (jobs.length > 0 || !wasCutShort(job)),
  };
}

/** Plans the resumption of a JobSet that was suspended for a restart: of nothing else, so that the job goes on as it was. */
export function planResumption(job: ObservedJob): JobSetDecision {
  const jobSet = ownJobSet(job);
  const resumes = job.mayRestart && jobSet?.spec?.suspend === true;
  return { plan: resumes ? patchOf(jobSet, { spec: { suspend: false } }) : { kind: "none" } };
}

/**
 * Returns for what a restart has waited too long, for people, or the time until it may be so, in milliseconds.
 * `sinceMs`: when this manager began to carry out restarts.
 */
export function lateWait(
  job: ObservedJob,
  { sinceMs, nowMs }: { readonly sinceMs: number; readonly nowMs: number },
): { readonly text?: string; readonly dueMs?: number } {
  const restart = restartOf(job.trainJob);
  const beginMs = Math.max(sinceMs, Date.parse(restart?.time ?? "") || 0);
  const pods = livingPods(job);
  if (pods.length === 0 && openRestart(job) === undefined) return {};
  const {
    dueMs,
    text = "its JobSet and its Jobs are not suspended yet; is their controller running?",
  } = pods.length > 0 ? latePods(pods, { beginMs, nowMs }) : { dueMs: beginMs + LATE_MS };
  return nowMs < dueMs ? { dueMs: dueMs - nowMs } : { text };
}
