/** Waits of a TrainJob for its first pod: when one is long, and the causes that pods name. Pure. */
import type { JobSet } from "../../crds/jobset.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { waitOfPod } from "../../crds/wait_of_pod.ts";
import { runStart } from "./active_deadline.ts";

/** Wait that is long, in milliseconds. */
export const LONG_WAIT_MS = 300_000;

/** Returns the time at which the wait of a job of which no pod has run becomes long; undefined if it does not wait. */
export function longWaitAt(
  trainJob: TrainJob,
  jobSet: JobSet | undefined,
  state: string | undefined,
): number | undefined {
  if (jobSet === undefined || jobSet.spec?.suspend === true || state !== "Created") {
    return undefined;
  }
  const start = runStart(trainJob, jobSet);
  return start === undefined ? undefined : start + LONG_WAIT_MS;
}

/** Why one pod waits; undefined if it does not say. */
function causeOf(pod: Pod): string | undefined {
  const name = `pod "${pod.metadata?.name}"`;
  const wait = waitOfPod(pod);
  if (wait === undefined) return undefined;
  if (wait.on === "scheduler") return `${name} is not scheduled: ${wait.message}`;
  const { container, image, reason, message } = wait;
  const node = pod.spec?.nodeName ? ` on node "${pod.spec.nodeName}"` : "";
  const what = wait.on === "image"
    ? `image "${image}" of container "${container}" cannot be pulled`
    : `container "${container}" waits`;
  return `${name}${node}: ${what} (${reason})${message === undefined ? "" : `: ${message}`}`;
}

/** Returns why pods do not run, by the first that says so; undefined without pods. */
export function waitCause(pods: readonly Pod[]): string | undefined {
  if (pods.length === 0) return undefined;
  const causes = pods.map(causeOf).filter((cause) => cause !== undefined);
  return causes[0] ?? `pod "${pods[0]?.metadata?.name}" is Pending and does not say why`;
}
