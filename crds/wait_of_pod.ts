/** Wait of a pod that has not begun to run: for a place on a node, an image or a container. Pure. */
import { findCondition } from "../platform/kube/conditions.ts";
import type { Pod } from "../platform/kube/kubernetes.ts";
import { containerStatuses } from "./pod_containers.ts";
import { NODES, POD_CONDITIONS, POD_REASONS } from "./pod_names.ts";
import { podRequests } from "./pod_requests.ts";
import type { WaitWords } from "./wire/details.ts";

/** What a pod waits for, as it says itself. */
export type PodWait =
  | { readonly on: "scheduler"; readonly reason: string; readonly message: string }
  | {
    readonly on: "image" | "container";
    readonly container: string;
    readonly image: string;
    readonly reason: string;
    readonly message: string | undefined;
  };

/** Reasons of waiting containers that are a part of every start. */
const ORDINARY: readonly string[] = [POD_REASONS.containerCreating, POD_REASONS.podInitializing];

/** Returns what a pod waits for; undefined if it does not say. */
export function waitOfPod(pod: Pick<Pod, "status">): PodWait | undefined {
  const scheduled = findCondition(pod.status?.conditions, POD_CONDITIONS.scheduled);
  if (scheduled?.status === "False") {
    const { reason = "", message = "" } = scheduled;
    return { on: "scheduler", reason, message };
  }
  for (const { name: container, image, state } of containerStatuses(pod)) {
    const { reason = "", message } = state?.waiting ?? {};
    if (reason === "" || (ORDINARY.includes(reason) && message === undefined)) continue;
    const on = /Image|Registry/.test(reason) ? "image" : "container";
    return { on, container, image, reason, message };
  }
  return undefined;
}

/** What Kubernetes' scheduler adds behind its reasons (pkg/scheduler/framework/types.go: FitError). */
const SCHEDULER_REMARKS = /[.,]?\s+(?:no new claims to deallocate|preemption:)[^]*$/;

/** Most resources that are named. */
const MOST_NAMED = 4;

/** The resources of which a scheduler says that no node has so much left. */
const LACKING = /\bInsufficient ([\w./-]*\w)/g;

function unscheduledWords({ spec }: Pick<Pod, "spec">, reason: string, message: string): WaitWords {
  if (reason === POD_REASONS.schedulingGated) {
    const gates = spec?.schedulingGates?.map(({ name }) => name) ?? [];
    return { for: `its scheduling gates to be lifted: ${gates.join(", ")}` };
  }
  const why = message.replace(SCHEDULER_REMARKS, "").replace(/[.\s]+$/, "");
  const asked = spec ? podRequests(spec) : {};
  const names = new Set([...why.matchAll(LACKING)].map(([, name = ""]) => name));
  const lacks = Object.entries(asked).filter(([name]) => names.has(name))
    .slice(0, MOST_NAMED);
  if (lacks.length === 0) return { for: "a node", why };
  const amounts = lacks.map(([name, amount]) => `${amount} ${name}`);
  return { for: amounts.join(" and "), why, lacks: Object.fromEntries(lacks) };
}

/** Returns the wait of a pod that is Pending in words; undefined if it is about to start, or does not say. */
export function waitWords(pod: Pick<Pod, "spec" | "status">): WaitWords | undefined {
  const { spec, status } = pod;
  if (status?.phase !== undefined && status.phase !== "Pending") return undefined;
  const wait = waitOfPod(pod);
  if (wait === undefined) {
    const { nodeName, schedulerName = NODES.defaultScheduler } = spec ?? {};
    // Kubernetes' own scheduler says at once what is wrong, others may not be there.
    if (nodeName || schedulerName === NODES.defaultScheduler) return undefined;
    return { for: `the scheduler ${schedulerName}`, why: "it has not said anything about the pod" };
  }
  if (wait.on === "scheduler") return unscheduledWords(pod, wait.reason, wait.message);
  const { container, image, reason, message } = wait;
  const why = message === undefined ? reason : `${reason}: ${message}`;
  return { for: wait.on === "image" ? `image ${image}` : `container ${container}`, why };
}
