/** Failures of the pods of TrainJobs, by the labels of their JobSets. */
import { JOB_KEYS } from "../../crds/job_names.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import { replicaOf } from "../../crds/failure_of_pod.ts";
import type { WatchedPod } from "../../crds/watched.ts";
import { createPodFailures, type PodFailures, type PodPlace } from "../pod_failures.ts";
import { trainJobKeyOf } from "./running_pods.ts";

/** The failures, by TrainJob; a run is one of a JobSet. */
export type TrainJobFailures = PodFailures<WatchedPod>;

function placeOf(pod: WatchedPod): PodPlace | undefined {
  const job = trainJobKeyOf(pod);
  const { [JOBSET_KEYS.jobSetUid]: run, [JOBSET_KEYS.restartAttempt]: attempt, ...labels } =
    pod.metadata?.labels ?? {};
  // Pods without an index have no place that another one takes.
  const replica = labels[JOB_KEYS.completionIndex] === undefined ? undefined : replicaOf(labels);
  return job === undefined
    ? undefined
    : { job, run, attempt: Number(attempt ?? 0), replica, failure: pod.failure };
}

/** An empty memory. */
export const createTrainJobFailures = (): TrainJobFailures => createPodFailures(placeOf);
