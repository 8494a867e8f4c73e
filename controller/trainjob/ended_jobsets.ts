/** Memory of JobSets that ended and were deleted, so that their TrainJobs do not run them again. */
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import type { JobSet } from "../../crds/jobset.ts";
import { keyOf } from "../../platform/kube/resource.ts";
import type { Change } from "../../platform/kube/watching/informer_cache.ts";
import { terminalCondition } from "../jobset/policy/terminal_condition.ts";

/** JobSets that are remembered; each is needed until its TrainJob is reconciled next. */
const REMEMBERED = 2000;

/** Reports whether the JobSet has completed or failed. */
export function hasEnded({ status }: JobSet): boolean {
  return terminalCondition(status) !== undefined;
}

/** The last states of JobSets that were deleted. */
export type EndedJobSets = ReturnType<typeof createEndedJobSets>;

/** Creates an empty memory, to be fed by the cache of JobSets. */
export function createEndedJobSets() {
  const ended = createBoundedCache<JobSet>(REMEMBERED);
  return {
    /** Returns the JobSet of that key if it had ended and was deleted; without its spec. */
    get: (key: string): JobSet | undefined => ended.get(key),
    seen({ type, object }: Change<JobSet>): void {
      const { spec: _spec, ...rest } = object;
      if (type === "deleted" && hasEnded(object)) ended.set(keyOf(object), rest);
      if (type === "added") ended.delete(keyOf(object));
    },
  };
}
