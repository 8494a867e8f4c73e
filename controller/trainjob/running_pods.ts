/** Index of the pods of each TrainJob that run or have run to their end, fed by the pod cache. */
import { LABELS } from "../../crds/names.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import type { WatchedPod } from "../../crds/watched.ts";
import { formatKey, keyOf } from "../../platform/kube/resource.ts";
import type { Change } from "../../platform/kube/watching/informer_cache.ts";

/** Pods of a replicated job. */
export interface PodCounts {
  readonly running: number;
  readonly succeeded: number;
}

/** The key of the TrainJob that the pod's label names; it selects and authorizes nothing. */
export function trainJobKeyOf(pod: WatchedPod): string | undefined {
  const name = pod.metadata?.labels?.[LABELS.trainJobName];
  return name ? formatKey({ namespace: pod.metadata?.namespace, name }) : undefined;
}

/** Pods that stop are of a run that ends, or of one that was paused. */
function runs({ metadata, status }: WatchedPod): boolean {
  return metadata?.deletionTimestamp === undefined &&
    (status?.phase === "Running" || status?.phase === "Succeeded");
}

/** The part of a TrainJob that a pod belongs to by its labels. */
type Membership = ReturnType<typeof membershipOf>;

function membershipOf({ metadata, status }: WatchedPod) {
  const {
    [JOBSET_KEYS.replicatedJobName]: job = "",
    [JOBSET_KEYS.jobSetUid]: jobSetUid,
    [JOBSET_KEYS.restartAttempt]: attempt,
  } = metadata?.labels ?? {};
  return { job, jobSetUid, attempt, hasSucceeded: status?.phase === "Succeeded" };
}

/** The pods that run, by TrainJob. */
export type RunningPods = ReturnType<typeof createRunningPods>;

/** An empty index; it holds no more than the cache that feeds it. */
export function createRunningPods() {
  const byTrainJob = new Map<string, Map<string, Membership>>();
  const forget = (trainJob: string, pod: string) => {
    const running = byTrainJob.get(trainJob);
    running?.delete(pod);
    if (running?.size === 0) byTrainJob.delete(trainJob);
  };
  return {
    seen({ type, object, old }: Change<WatchedPod>): void {
      const key = keyOf(object);
      const before = old && trainJobKeyOf(old);
      if (before !== undefined) forget(before, key);
      const trainJob = trainJobKeyOf(object);
      if (trainJob === undefined) return;
      if (type === "deleted" || !runs(object)) return forget(trainJob, key);
      const running = byTrainJob.get(trainJob) ?? new Map<string, Membership>();
      running.set(key, membershipOf(object));
      byTrainJob.set(trainJob, running);
    },
    /**
     * Names of the replicated jobs of that TrainJob with a pod that runs, or has run to its end. Pods of another
     * JobSet than that of the wanted UID do not count: a TrainJob of the same name may have left them.
     */
    jobsOf(trainJob: string, wanted: string | undefined): Set<string> {
      const running = [...byTrainJob.get(trainJob)?.values() ?? []];
      const own = running.filter(({ jobSetUid = wanted }) => jobSetUid === wanted);
      return new Set(own.map(({ job }) => job));
    },
    /** Numbers of the pods of a JobSet between two restarts, by the names of their replicated jobs. */
    countsOf(
      trainJob: string,
      { jobSetUid, restarts }: { jobSetUid: string | undefined; restarts: number },
    ): Map<string, PodCounts> {
      const counts = new Map<string, PodCounts>();
      for (const pod of byTrainJob.get(trainJob)?.values() ?? []) {
        if (pod.jobSetUid !== jobSetUid || pod.attempt !== String(restarts)) continue;
        const { running, succeeded } = counts.get(pod.job) ?? { running: 0, succeeded: 0 };
        counts.set(
          pod.job,
          pod.hasSucceeded
            ? { running, succeeded: succeeded + 1 }
            : { running: running + 1, succeeded },
        );
      }
      return counts;
    },
  };
}
