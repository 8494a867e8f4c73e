/** Restarts of jobs as a whole, told with their cause as the caches show them. */
import type { WatchedJobs } from "../../crds/job_kind.ts";
import { restartOf } from "../../crds/job_state.ts";
import type { JobSet } from "../../crds/jobset.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";

/** Options of {@link countRestarts}. */
export interface RestartsOptions {
  readonly jobs: WatchedJobs;
  readonly jobSets: Pick<Informer<JobSet>, "onChange">;
  /** `failure`: by the rules of its JobSet. */
  readonly onRestart?: ((cause: "user" | "policy" | "failure", times: number) => void) | undefined;
}

/** Follows the caches from now on. Returns what ends that. */
export const countRestarts = ({ jobs, jobSets, onRestart = () => {} }: RestartsOptions) => [
  ...[...jobs.values()].map((cache) =>
    cache.jobs.onChange(({ object, old }) => {
      const restart = restartOf(object);
      if (old === undefined || restart === undefined) return;
      const isNext = restart.count > (restartOf(old)?.count ?? 0);
      if (isNext) onRestart(restart.user === undefined ? "policy" : "user", 1);
    })
  ),
  jobSets.onChange(({ object, old }) => {
    const times = (object.status?.restarts ?? 0) - (old?.status?.restarts ?? 0);
    if (old !== undefined && times > 0) onRestart("failure", times);
  }),
];
