/** Columns of pods in `kubectl get`: ready containers, status, restarts. */
import {
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
} from "../../../platform/base/json.ts";
import type { ApiObject } from "../objects/api_object.ts";
import { humanDuration } from "../../../platform/base/human_duration.ts";

/** Returns ready and all containers, such as `1/2`. */
export function readyContainers(pod: ApiObject): string {
  const ready = objectsAt(pod.status, "containerStatuses").filter((one) => one.ready === true);
  return `${ready.length}/${objectsAt(pod.spec, "containers").length}`;
}

/** Returns why a container waits or has ended; undefined while it runs. */
function stateReason(status: JsonObject): string | undefined {
  const waiting = textAt(status, "state", "waiting", "reason");
  if (waiting) return waiting;
  const terminated = objectAt(status, "state").terminated;
  if (terminated === undefined) return undefined;
  const reason = textAt(terminated, "reason");
  if (reason) return reason;
  const signal = numberAt(terminated, "signal");
  return signal ? `Signal:${signal}` : `ExitCode:${numberAt(terminated, "exitCode") ?? 0}`;
}

function initStatus(pod: ApiObject): string | undefined {
  const statuses = objectsAt(pod.status, "initContainerStatuses");
  const total = objectsAt(pod.spec, "initContainers").length;
  const index = statuses.findIndex((status) => {
    const terminated = objectAt(status, "state", "terminated");
    return numberAt(terminated, "exitCode") !== 0 && status.started !== true;
  });
  const status = statuses[index];
  if (!status) return undefined;
  const reason = stateReason(status);
  return reason && reason !== "PodInitializing" ? `Init:${reason}` : `Init:${index}/${total}`;
}

/** Returns the status column: the phase, or the most specific reason. */
export function podStatus(pod: ApiObject): string {
  const phase = textAt(pod.status, "phase") ?? "Unknown";
  const finished = phase === "Succeeded" || phase === "Failed";
  const reason = textAt(pod.status, "reason") || phase;
  if (pod.metadata.deletionTimestamp !== undefined && !finished) return "Terminating";
  const gated = objectsAt(pod.status, "conditions")
    .some((one) => one.type === "PodScheduled" && one.reason === "SchedulingGated");
  if (gated) return "SchedulingGated";
  const init = finished ? undefined : initStatus(pod);
  if (init) return init;
  const reasons = objectsAt(pod.status, "containerStatuses").map(stateReason);
  const found = reasons.find((one) => one !== undefined && one !== "Completed") ??
    reasons.find((one) => one !== undefined);
  if (found === "Completed" && phase === "Running") {
    return reasons.includes(undefined) ? "Running" : "Completed";
  }
  return found ?? reason;
}

/** Returns the restarts column, such as `2 (3m ago)`. */
export function podRestarts(pod: ApiObject, now: number): string {
  const statuses = objectsAt(pod.status, "containerStatuses");
  const restarts = statuses.reduce((sum, one) => sum + (numberAt(one, "restartCount") ?? 0), 0);
  const ends = statuses.map((one) =>
    Date.parse(textAt(one, "lastState", "terminated", "finishedAt") ?? "")
  ).filter((time) => !Number.isNaN(time));
  if (restarts === 0 || ends.length === 0) return `${restarts}`;
  return `${restarts} (${humanDuration(now - Math.max(...ends))} ago)`;
}
