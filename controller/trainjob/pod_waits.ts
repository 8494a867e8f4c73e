/** Waits of a TrainJob for its first pod: when one is long, and the causes that pods name. Pure. */
import type { JobSet } from "../../crds/jobset.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { POD_CONDITIONS, POD_REASONS } from "../../crds/pod_names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { runStart } from "./active_deadline.ts";

/** Wait that is long, in milliseconds. */
export const LONG_WAIT_MS = 300_000;

/** Returns the time at which the wait of a job of which no pod has run becomes long; undefined if it does not wait. */
export function longWaitAt(
  trainJob: TrainJob,
  jobSet: JobSet | undefined,
  state: string | undefined,
): number | undefined {
  if (jobSet === undefined || state !== "Created") return undefined;
  const start = runStart(trainJob, jobSet);
  return start === undefined ? undefined : start + LONG_WAIT_MS;
}

/** Reasons of waiting containers that are a part of every start. */
const ORDINARY: readonly string[] = [POD_REASONS.containerCreating, POD_REASONS.podInitializing];

/** Why one pod waits; undefined if it does not say. */
function causeOf({ metadata, spec, status }: Pod): string | undefined {
  const name = `pod "${metadata?.name}"`;
  const scheduled = status?.conditions?.find(({ type }) => type === POD_CONDITIONS.scheduled);
  if (scheduled?.status === "False") return `${name} is not scheduled: ${scheduled.message}`;
  const statuses = [...status?.initContainerStatuses ?? [], ...status?.containerStatuses ?? []];
  for (const { name: container, image, state } of statuses) {
    const { reason = "", message } = state?.waiting ?? {};
    if (reason === "" || (ORDINARY.includes(reason) && message === undefined)) continue;
    const node = spec?.nodeName ? ` on node "${spec.nodeName}"` : "";
    const what = /Image|Registry/.test(reason)
      ? `image "${image}" of container "${container}" cannot be pulled`
      : `container "${container}" waits`;
    return `${name}${node}: ${what} (${reason})${message === undefined ? "" : `: ${message}`}`;
  }
  return undefined;
}

/** Returns why pods do not run, by the first that says so; undefined without pods. */
export function waitCause(pods: readonly Pod[]): string | undefined {
  if (pods.length === 0) return undefined;
  const causes = pods.map(causeOf).filter((cause) => cause !== undefined);
  return causes[0] ?? `pod "${pods[0]?.metadata?.name}" is Pending and does not say why`;
}
