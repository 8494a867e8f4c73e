/** Failures of the pods of TrainJobs, by the labels of their JobSets, and by the Jobs that control them. */
import { z } from "zod";
import type { JobFailure } from "../../crds/job_failure.ts";
import { JOB_KEYS } from "../../crds/job_names.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import { LABELS } from "../../crds/names.ts";
import { JOB_OF_JOB_SET } from "../../crds/owner_links.ts";
import { replicaOf } from "../../crds/failure_of_pod.ts";
import type { WatchedPod } from "../../crds/watched.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import { controllerKey, controllerOf } from "../../platform/kube/owner_references.ts";
import { createPodFailures, type PodPlace } from "../pod_failures.ts";
import { trainJobKeyOf } from "./running_pods.ts";

/** TrainJobs of which it is remembered that their definition dropped a failure. */
const DROPPED_MAX = 4096;

const attemptSchema = z.coerce.number().pipe(z.int32().min(0)).default(0);

/** Whether a Job of that TrainJob's JobSet controls the pod: anybody may label one. */
function isOfJob(pod: WatchedPod, trainJob = ""): boolean {
  const { name = "" } = controllerOf(pod.metadata) ?? {};
  return controllerKey(pod, KINDS.job) !== undefined && JOB_OF_JOB_SET.nameFits(name, trainJob);
}

function placeOf(pod: WatchedPod): PodPlace | undefined {
  const job = trainJobKeyOf(pod);
  const { [JOBSET_KEYS.jobSetUid]: run, [JOBSET_KEYS.restartAttempt]: text, ...labels } =
    pod.metadata?.labels ?? {};
  const attempt = attemptSchema.safeParse(text).data;
  if (job === undefined || attempt === undefined) return undefined;
  if (!isOfJob(pod, labels[LABELS.trainJobName])) return undefined;
  // Pods without an index have no place that another one takes.
  const replica = labels[JOB_KEYS.completionIndex] === undefined ? undefined : replicaOf(labels);
  return { job, run, attempt, replica, failure: pod.failure };
}

/** The failures, by TrainJob; a run is one of a JobSet. */
export type TrainJobFailures = ReturnType<typeof createTrainJobFailures>;

/** An empty memory. */
export const createTrainJobFailures = () => ({
  ...createPodFailures(placeOf),
  /** Failures that were written and dropped by the definition of TrainJobs, by the UIDs of those. */
  dropped: createBoundedCache<JobFailure>(DROPPED_MAX),
});
