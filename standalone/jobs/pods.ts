/** Reading of a Job's pods: phase, tracking, times, completion index. Pure. */
import { isEndedPhase } from "../../crds/pod_names.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { isConditionTrue } from "../../platform/kube/conditions.ts";
import { MAX_INDEX } from "../../crds/completion_indexes.ts";
import { JOB_KEYS } from "../../crds/job_names.ts";
import { containerStatuses } from "../../crds/pod_containers.ts";

/** Whether the Job controller has not counted the pod for good yet. */
export function isTracked(pod: Pod): boolean {
  return pod.metadata?.finalizers?.includes(JOB_KEYS.trackingFinalizer) ?? false;
}

/** Whether the pod has been asked to go. */
export function isDeleting(pod: Pod): boolean {
  return pod.metadata?.deletionTimestamp !== undefined;
}

/** Whether all containers of the pod have ended for good. */
export function hasEnded(pod: Pod): boolean {
  return isEndedPhase(pod.status?.phase);
}

/** Whether the pod runs or is going to. */
export function isActive(pod: Pod): boolean {
  return !hasEnded(pod) && !isDeleting(pod);
}

/** Whether the pod is on its way out but still there. */
export function isTerminating(pod: Pod): boolean {
  return isDeleting(pod) && !hasEnded(pod);
}

/** Whether the pod's Ready condition is True. */
export function isReady(pod: Pod): boolean {
  return isConditionTrue(pod.status?.conditions, "Ready");
}

/** Number of restarts of the pod's containers in place. */
export function restartsOf(pod: Pod): number {
  return containerStatuses(pod).reduce((sum, { restartCount }) => sum + (restartCount ?? 0), 0);
}

/** When the pod's last container ended, in milliseconds since the epoch; `fallback` if unknown. */
export function endedAt(pod: Pod, fallback: number): number {
  const times = containerStatuses(pod)
    .map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ""))
    .filter((time) => !Number.isNaN(time));
  if (times.length > 0) return Math.max(...times);
  const changes = (pod.status?.conditions ?? [])
    .map(({ lastTransitionTime }) => Date.parse(lastTransitionTime ?? ""))
    .filter((time) => !Number.isNaN(time));
  return changes.length > 0 ? Math.max(...changes) : fallback;
}

/** The completion index of a pod, by its annotation; undefined if it has none below `limit`. */
export function indexOf(pod: Pod, limit = MAX_INDEX): number | undefined {
  const text = pod.metadata?.annotations?.[JOB_KEYS.completionIndex];
  if (text === undefined || !/^\d{1,6}$/.test(text)) return undefined;
  const index = Number(text);
  return index < limit ? index : undefined;
}
