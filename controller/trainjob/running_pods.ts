/** Which pods of each TrainJob have got as far as running: an index fed by the pod cache. */
import { JOBSET_KEYS, LABELS } from "../../crds/names.ts";
import type { WatchedPod } from "../../crds/watched.ts";
import type { Informer } from "../../kube/informer.ts";
import { formatKey, keyOf } from "../../kube/resource.ts";

/** Answers by TrainJob which of its replicated jobs have a pod that runs. */
export interface RunningPods {
  /**
   * Names of the replicated jobs of that TrainJob with a pod that runs, or has run to its end. Pods
   * of another JobSet than that of `jobSetUid` do not count: a TrainJob of the same name may have
   * left them.
   */
  jobsOf(trainJobKey: string, jobSetUid: string | undefined): Set<string>;
  /** Stops following the cache. */
  end(): void;
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

/** Where a pod belongs by its labels. */
interface Place {
  readonly job: string;
  readonly jobSetUid: string | undefined;
}

function placeOf({ metadata }: WatchedPod): Place {
  const { [JOBSET_KEYS.replicatedJobName]: job = "", [JOBSET_KEYS.jobSetUid]: jobSetUid } =
    metadata?.labels ?? {};
  return { job, jobSetUid };
}

/** Follows the cache until {@link RunningPods.end}; it holds no more than the cache does. */
export function followRunningPods(pods: Pick<Informer<WatchedPod>, "onChange">): RunningPods {
  const byTrainJob = new Map<string, Map<string, Place>>();
  const forget = (trainJob: string, pod: string) => {
    const running = byTrainJob.get(trainJob);
    running?.delete(pod);
    if (running?.size === 0) byTrainJob.delete(trainJob);
  };
  const end = pods.onChange(({ type, object, old }) => {
    const key = keyOf(object);
    const before = old && trainJobKeyOf(old);
    if (before !== undefined) forget(before, key);
    const trainJob = trainJobKeyOf(object);
    if (trainJob === undefined) return;
    if (type === "deleted" || !runs(object)) return forget(trainJob, key);
    const running = byTrainJob.get(trainJob) ?? new Map<string, Place>();
    running.set(key, placeOf(object));
    byTrainJob.set(trainJob, running);
  });
  return {
    jobsOf(trainJob, wanted) {
      const places = [...byTrainJob.get(trainJob)?.values() ?? []];
      const own = places.filter(({ jobSetUid = wanted }) => jobSetUid === wanted);
      return new Set(own.map(({ job }) => job));
    },
    end,
  };
}
