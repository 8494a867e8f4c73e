/** Events about the pods of a v1 job: containers that wait or end badly (training-operator v1.9: pkg/controller.v1/common). Pure. */
import { isEndedPhase } from "../../crds/pod_names.ts";
import type { EventText } from "../../platform/kube/event_object.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import type { Run } from "./run.ts";
import { exitCodeOf, isTerminating } from "./slots.ts";
import type { Notice } from "./verdict.ts";

type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];

const warning = (reason: string | undefined, message: string): EventText => ({
  type: "Warning",
  reason: reason || "Unknown",
  message,
});

function containerEvents(pod: string, { name, state }: ContainerStatus): EventText[] {
  const { terminated, waiting } = state ?? {};
  const who = `Error pod ${pod} container ${name}`;
  if (terminated && terminated.exitCode !== 0) {
    const { exitCode, reason, message = "" } = terminated;
    return [warning(reason, `${who} exitCode: ${exitCode} terminated message: ${message}`)];
  }
  if (!waiting?.message) return [];
  return [warning(waiting.reason, `${who} waiting message: ${waiting.message}`)];
}

/** The earliest condition of a pod without containers, if it says that something is missing. */
function conditionEvents(pod: string, { status }: Pod): EventText[] {
  const time = (it: { readonly lastTransitionTime?: string }) => it.lastTransitionTime ?? "";
  const [first] = [...status?.conditions ?? []].sort((a, b) => time(a) < time(b) ? -1 : 1);
  if (first === undefined || first.status === "True") return [];
  return [warning(first.reason, `Error pod ${pod} condition message: ${first.message ?? ""}`)];
}

function abnormal(pod: Pod): EventText[] {
  const name = pod.metadata?.name ?? "";
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const statuses = containerStatuses.length > 0 ? containerStatuses : initContainerStatuses;
  if (statuses.length === 0) return conditionEvents(name, pod);
  return statuses.flatMap((status) => containerEvents(name, status));
}

/** Returns what keeps pods that have not ended from running. */
export function abnormalPods(pods: readonly Pod[]): Notice[] {
  return pods.filter((pod) => !isEndedPhase(pod.status?.phase) && !isTerminating(pod))
    .flatMap((pod) => abnormal(pod).map((it) => ({ ...it, pod: pod.metadata?.uid })));
}

/** Returns with which codes the containers that train have ended. */
export function exitedPods(run: Run, pods: readonly Pod[]): Notice[] {
  return pods.filter((pod) => !isTerminating(pod)).flatMap((pod): Notice[] => {
    const code = exitCodeOf(run, pod);
    if (code === undefined) return [];
    const message = `Pod: ${run.namespace}.${pod.metadata?.name} exited with code ${code}`;
    return [{ type: "Normal", reason: "ExitedWithCode", message, pod: pod.metadata?.uid }];
  });
}
