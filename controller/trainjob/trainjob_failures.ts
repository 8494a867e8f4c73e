/** Failures of the pods of TrainJobs, by the labels of their JobSets. */
import { JOB_KEYS } from "../../crds/job_names.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import { replicaOf } from "../../crds/failure_of_pod.ts";
import type { WatchedPod } from "../../crds/watched.ts";
import { createPodFailures, type JobPod, type PodFailures } from "../pod_failures.ts";
import { trainJobKeyOf } from "./running_pods.ts";

/** The failures, by TrainJob; a run is one of a JobSet. */
export type TrainJobFailures = PodFailures<WatchedPod>;

function describe(object: WatchedPod): JobPod | undefined {
  const job = trainJobKeyOf(object);
  if (job === undefined) return undefined;
  const { metadata: { labels = {}, name = "", uid = name } = {}, status, failure } = object;
  const runsSince = status?.phase === "Running" ? status.startTime : undefined;
  return {
    job,
    run: labels[JOBSET_KEYS.jobSetUid],
    attempt: Number(labels[JOBSET_KEYS.restartAttempt] ?? 0),
    // Pods without an index have no place that another one takes.
    replica: labels[JOB_KEYS.completionIndex] === undefined ? name : replicaOf(labels) ?? name,
    uid,
    failure,
    runsSince: failure === undefined ? runsSince : failure.runsSince,
    isFailed: status?.phase === "Failed",
  };
}

/** An empty memory. */
export const createTrainJobFailures = (): TrainJobFailures => createPodFailures(describe);
