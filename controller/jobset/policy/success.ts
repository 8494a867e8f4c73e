/** Success policy of a JobSet. Pure. */
import type { WatchedJob } from "../../../crds/watched.ts";
import { replicatedJobOf } from "../buckets.ts";
import { replicasOf, type ResolvedSpec } from "../defaults.ts";

/** Reports whether the succeeded Jobs satisfy the policy; without a succeeded Job they never do. */
export function isSuccessful(spec: ResolvedSpec, succeeded: readonly WatchedJob[]): boolean {
  if (succeeded.length === 0) return false;
  const { operator, targetReplicatedJobs: targets } = spec.successPolicy;
  const isTarget = (name: string | undefined) =>
    targets.length === 0 || (name !== undefined && targets.includes(name));
  const reached = succeeded.filter((job) => isTarget(replicatedJobOf(job))).length;
  if (operator === "Any") return reached > 0;
  return reached >= replicasOf(spec.replicatedJobs.filter(({ name }) => isTarget(name)));
}
