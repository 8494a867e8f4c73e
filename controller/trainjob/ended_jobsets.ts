/** How JobSets ended that went before their TrainJobs could tell: what has run must not run again. */
import { createBoundedCache } from "../../kube/bounded_cache.ts";
import type { JobSet } from "../../crds/jobset.ts";
import { JOBSET_CONDITIONS } from "../../crds/names.ts";
import { isConditionTrue } from "../../kube/conditions.ts";
import type { Informer } from "../../kube/informer.ts";
import { keyOf } from "../../kube/resource.ts";

/** JobSets that are remembered; each is needed until its TrainJob is reconciled next. */
const REMEMBERED = 2000;

/** Whether the JobSet has completed or failed. */
export function hasEnded({ status }: JobSet): boolean {
  return isConditionTrue(status?.conditions, JOBSET_CONDITIONS.completed) ||
    isConditionTrue(status?.conditions, JOBSET_CONDITIONS.failed);
}

/** The last words of JobSets that are gone. */
export interface EndedJobSets {
  /** The JobSet of that key where it had ended and is gone; without its spec. */
  get(key: string): JobSet | undefined;
  /** Stops following the cache. */
  end(): void;
}

/** Follows the cache of JobSets until {@link EndedJobSets.end}. */
export function followEndedJobSets(jobSets: Pick<Informer<JobSet>, "onChange">): EndedJobSets {
  const ended = createBoundedCache<JobSet>(REMEMBERED);
  const end = jobSets.onChange(({ type, object }) => {
    const { spec: _spec, ...rest } = object;
    if (type === "deleted" && hasEnded(object)) ended.set(keyOf(object), rest);
    if (type === "added") ended.delete(keyOf(object));
  });
  return { get: (key) => ended.get(key), end };
}
