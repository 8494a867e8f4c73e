/** Choice of the container start that a log request means. Pure. */
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import type { ObjectKey } from "../../../platform/kube/resource.ts";
import { POD_REASONS } from "../../../crds/pod_names.ts";
import { allContainers, containerStatuses } from "../../../crds/pod_containers.ts";
import type { LogKey, LogStore } from "./logs.ts";

/** A pod whose log is asked for; without a UID any of that name. */
export type PodRef = ObjectKey & { readonly uid?: string };

/** There is no such log. `code` is the HTTP status that fits. */
export class LogProblem extends Error {
  constructor(message: string, readonly code: 400 | 404) {
    super(message);
    this.name = "LogProblem";
  }
}

type ContainerStatus = ReturnType<typeof containerStatuses>[number];

/** Returns whether a container has run at least once, by its status. */
export function hasRun({ lastState, state }: ContainerStatus): boolean {
  return Boolean(lastState?.terminated || state?.running || state?.terminated);
}

/** Which log of a pod is asked for. */
export interface LogOfPod {
  readonly container: string;
  readonly previous: boolean;
  /** Whether there is no such pod any more. Default false. */
  readonly isGone?: boolean;
}

/** Why logs of ended pods are removed. */
const OVER_BOUNDS = "those of ended pods are kept within --history-bytes and --history-age";

/**
 * The start that is meant: the present one, or with `previous` the one before; of a pod that is gone the last that wrote. The
 * status may lag behind the process, so `isOpen` says whether a start is being written. Throws a {@link LogProblem} if there
 * is no such container, it has not begun, or its logs were removed.
 */
export function logKeyOf(
  pod: Pod,
  { container, previous, isGone = false }: LogOfPod,
  logs: Pick<LogStore, "isOpen" | "isEmpty" | "isDiscarded">,
): LogKey {
  const { name = "", uid = "" } = pod.metadata ?? {};
  if (logs.isDiscarded(uid)) {
    throw new LogProblem(`the log of pod "${name}" was removed: ${OVER_BOUNDS}`, 404);
  }
  if (!allContainers(pod).some(({ name }) => name === container)) {
    throw new LogProblem(`container ${container} is not valid for pod ${name}`, 400);
  }
  const status = containerStatuses(pod).find(({ name }) => name === container);
  const told = { podUid: uid, container, attempt: status?.restartCount ?? 0 };
  const next = { ...told, attempt: told.attempt + 1 };
  const key = logs.isOpen(next) ? next : told;
  if (!logs.isOpen(key) && !(status && hasRun(status))) {
    const reason = status?.state?.waiting?.reason ?? POD_REASONS.containerCreating;
    const message = `container "${container}" in pod "${name}" is waiting to start: ${reason}`;
    throw new LogProblem(message, 400);
  }
  // What is gone was ended in a start that may have had no time to write.
  const isSilent = isGone && key.attempt > 0 && logs.isEmpty(key);
  if (!previous && !isSilent) return key;
  if (key.attempt > 0) return { ...key, attempt: key.attempt - 1 };
  const message = `previous terminated container "${container}" in pod "${name}" not found`;
  throw new LogProblem(message, 400);
}
