/** Limits of a v1 job: how often its pods may be restarted, and how long it may be active. Pure. */
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { containerStatuses } from "../../crds/pod_containers.ts";
import type { V1Status } from "../../crds/v1/job.ts";
import { STALLED_REASON } from "../../crds/names.ts";
import { V1_CONDITIONS } from "../../crds/v1/names.ts";
import { trueCondition } from "../../platform/kube/conditions.ts";
import type { ObservedRun } from "./job_plan.ts";
import type { Counts, PodsByType } from "./kind_rules.ts";
import { type Run, totalReplicas } from "./run.ts";
import { podsOfType } from "./slots.ts";

/** What is compared with the limits. */
export interface Activity extends Pick<ObservedRun, "pods" | "recreations" | "nowMs"> {
  readonly byType: Pick<PodsByType, "counts">;
}

/** Restarts in place of the pods that run, of the types whose pods are restarted at all. */
function restartsInPlace(run: Run, pods: readonly Pod[]): number {
  return run.replicas.filter(({ restartPolicy }) => restartPolicy !== "Never")
    .flatMap((of) => podsOfType(pods, of))
    .filter(({ status }) => status?.phase === "Running")
    .flatMap(containerStatuses)
    .reduce((sum, { restartCount }) => sum + restartCount, 0);
}

/**
 * Whether a pod has failed for which nothing was done yet, and there are no tries left for it. One that is deleted while it
 * runs, as when its node is drained or its job was suspended, is no failure.
 */
function lacksTries(run: Run, limit: number, { byType, recreations }: Activity): boolean {
  const sum = (of: keyof Counts) =>
    [...byType.counts.values()].reduce((sum, it) => sum + it[of], 0);
  const known = Object.values(run.status.replicaStatuses ?? {})
    .reduce((sum, { failed = 0 }) => sum + failed, 0);
  const isNew = sum("toRestart") > 0 ||
    sum("permanent") > 0 && sum("failed") - sum("drained") > known;
  return isNew && sum("active") !== totalReplicas(run) && recreations + 1 > limit;
}

function exceedsBackoff(run: Run, activity: Activity): boolean {
  const limit = run.spec.runPolicy?.backoffLimit;
  if (limit === undefined) return false;
  const restarts = restartsInPlace(run, activity.pods);
  const exceeded = limit === 0 ? restarts > 0 : restarts >= limit;
  return exceeded || lacksTries(run, limit, activity);
}

/** Returns when the job has been active for too long, in milliseconds since the epoch; undefined if never. */
export function deadlineMs({ spec, status }: Run): number | undefined {
  const { activeDeadlineSeconds } = spec.runPolicy ?? {};
  if (activeDeadlineSeconds === undefined || status.startTime === undefined) return undefined;
  return Date.parse(status.startTime) + activeDeadlineSeconds * 1000;
}

const BACKOFF = "has failed because it has reached the specified backoff limit";
const DEADLINE = "has failed because it was active longer than specified deadline";

/** Returns whether a limit has ended the job, or its policy of stalls: then nothing of it is left, whatever its clean-up policy. */
export function endedByLimit({ conditions }: Pick<V1Status, "conditions">): boolean {
  const { message = "", reason } = trueCondition(conditions, V1_CONDITIONS.failed) ?? {};
  return reason === STALLED_REASON || message.endsWith(BACKOFF) || message.endsWith(DEADLINE);
}

/** Returns the message of the limit that the job has reached; undefined if it has reached none. */
export function reachedLimit(run: Run, activity: Activity): string | undefined {
  if (exceedsBackoff(run, activity)) return `Job ${run.name} ${BACKOFF}`;
  const deadline = deadlineMs(run);
  if (deadline === undefined || activity.nowMs < deadline) return undefined;
  return `Job ${run.name} ${DEADLINE}`;
}
