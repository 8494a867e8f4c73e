/** Present run of a job: the primary pod that started last, by the caches. */
import type { JobKind, JobRef } from "../../crds/job_kind.ts";
import { WATCHED_POD_LABELS, type WatchedPod } from "../../crds/watched.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { formatKey } from "../../platform/kube/resource.ts";
import { NO_RUN, ONE_RUN, type PresentRun } from "../../trials/recording/present_run.ts";
import { sortableTime } from "../../trials/recording/row_time.ts";

const BY_JOB = "job";

/** The cache of the pods of one kind of job, with the indexes of {@link podIndexes}. */
export type PodCache = Pick<Informer<WatchedPod>, "get" | "byIndex">;

/** Returns the indexes of the pods of a kind: by the job, whose name is in a label. */
export function podIndexes({ podLabels: { jobName } }: JobKind) {
  return {
    [BY_JOB]: ({ metadata }: WatchedPod): string[] => {
      const name = metadata?.labels?.[jobName];
      return name === undefined ? [] : [formatKey({ namespace: metadata?.namespace, name })];
    },
  };
}

/** A pod that has started. */
interface StartedPod {
  readonly name: string;
  readonly uid: string;
  readonly since: string;
}

function startedPod({ metadata, status }: WatchedPod): StartedPod[] {
  const since = sortableTime(status?.startTime ?? "");
  const { name, uid } = metadata ?? {};
  return name === undefined || uid === undefined || since === undefined
    ? []
    : [{ name, uid, since }];
}

/** Returns the pods of a job that have started, the last one first. */
function startedPods(pods: PodCache, job: JobRef): StartedPod[] {
  return pods.byIndex(BY_JOB, formatKey(job)).flatMap(startedPod)
    .sort((one, other) =>
      one.since > other.since || (one.since === other.since && one.uid > other.uid) ? -1 : 1
    );
}

/**
 * Returns the run of the primary pod that started last. Without such a pod rows belong to no run. Rejects if
 * it is not known whether a later pod is a primary one: its rows would count for the pod before it.
 */
export async function presentRunOf(
  pods: PodCache,
  job: JobRef,
  isPrimary: (pod: StartedPod) => boolean | undefined | Promise<boolean | undefined>,
): Promise<PresentRun> {
  // The caches do not keep the label that names a job of another kind.
  if (!WATCHED_POD_LABELS.includes(job.kind.podLabels.jobName)) return ONE_RUN;
  for (const pod of startedPods(pods, job)) {
    const is = await isPrimary(pod);
    if (is === undefined) {
      throw new Error(`it is not known whether pod ${pod.name} is a primary pod`);
    }
    if (is) return { run: pod.uid, since: pod.since };
  }
  return NO_RUN;
}
