/** Scheduler: binds pods without a node to one node, in the order of their creation. */
import { getLogger } from "@logtape/logtape";
import { KINDS } from "../../crds/kinds.ts";
import type { Pod, PodSpec } from "../../platform/kube/kubernetes.ts";
import { hasLabels, meetsRequirement } from "../../crds/label_selector.ts";
import { NODES, POD_CONDITIONS, POD_REASONS } from "../../crds/pod_names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { createSleeper } from "../../platform/base/sleeper.ts";
import { createNotices } from "../../platform/base/notices.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { findCondition, setCondition } from "../../platform/kube/conditions.ts";
import { isConflict, isNotFound, messageOf } from "../../platform/kube/errors.ts";
import { subjectOf } from "../../platform/kube/event_object.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import { createInformer, type Informer } from "../../platform/kube/watching/informer.ts";
import { keyOf } from "../../platform/kube/resource.ts";
import { hasEnded } from "../jobs/pods.ts";
import { extendedRequests } from "./gpus/device_requests.ts";

const logger = getLogger(["milepost", "standalone"]);

/** The node that pods are placed on. */
export interface NodeOffer {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Amounts of its extended resources (names with a slash); cpu and memory are never refused. */
  readonly resources: ReadonlyMap<string, number>;
  /** Most pods at a time. */
  readonly mostPods: number;
}

/** Outcome of the scheduling of a pod. */
export type Placement =
  | { readonly kind: "bind" }
  | { readonly kind: "ignore" }
  | { readonly kind: "wait"; readonly reason: string; readonly message: string };

type Affinity = NonNullable<PodSpec["affinity"]>;
type Terms = NonNullable<
  NonNullable<Affinity["nodeAffinity"]>["requiredDuringSchedulingIgnoredDuringExecution"]
>["nodeSelectorTerms"];
type Requirement = NonNullable<Terms[number]["matchExpressions"]>[number];

/** Nodes are selected like labels, and also by numbers. */
function meets(labels: NodeOffer["labels"], requirement: Requirement): boolean {
  const { key, operator, values = [] } = requirement;
  if (operator === "Gt") return Number(labels[key]) > Number(values[0]);
  if (operator === "Lt") return Number(labels[key]) < Number(values[0]);
  return meetsRequirement(labels, requirement);
}

/** Whether one of the terms holds; matchFields other than the name match nothing. */
function meetsAffinity(spec: PodSpec, node: NodeOffer): boolean {
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!required) return true;
  return required.nodeSelectorTerms.some(({ matchExpressions = [], matchFields = [] }) =>
    matchExpressions.every((one) => meets(node.labels, one)) &&
    matchFields.every((one) => meets({ "metadata.name": node.name }, one))
  );
}

/** Extended resources of which the node has less left than the pod asks for. */
function missingResources(spec: PodSpec, node: NodeOffer, onNode: readonly Pod[]): string[] {
  const wanted = [...extendedRequests(spec)];
  if (wanted.length === 0) return [];
  const taken = onNode.map((pod) =>
    pod.spec ? extendedRequests(pod.spec) : new Map<string, number>()
  );
  return wanted.filter(([name, amount]) => {
    const used = taken.reduce((sum, amounts) => sum + (amounts.get(name) ?? 0), 0);
    return used + amount > (node.resources.get(name) ?? 0);
  }).map(([name]) => name);
}

/** Why the node cannot take the pod beside those on it; undefined if it can. */
function obstacle(spec: PodSpec, node: NodeOffer, onNode: readonly Pod[]): string | undefined {
  if (!hasLabels(node.labels, spec.nodeSelector ?? {})) {
    return "node(s) didn't match Pod's node affinity/selector";
  }
  if (!meetsAffinity(spec, node)) return "node(s) didn't match Pod's node affinity/selector";
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
  for (const [field, rule] of Object.entries({ podAffinity, podAntiAffinity })) {
    if (!rule?.requiredDuringSchedulingIgnoredDuringExecution?.length) continue;
    return `required spec.affinity.${field} is not supported by this scheduler`;
  }
  const missing = missingResources(spec, node, onNode);
  if (missing.length > 0) return missing.map((name) => `Insufficient ${name}`).join(", 1 ");
  return onNode.length >= node.mostPods ? "Too many pods" : undefined;
}

/** Decides about one pod; `onNode` are the pods that the node has and that have not ended. Pure. */
export function place(pod: Pod, node: NodeOffer, onNode: readonly Pod[]): Placement {
  const spec = pod.spec;
  const scheduler = spec?.schedulerName || NODES.defaultScheduler;
  if (!spec || spec.nodeName || pod.metadata?.deletionTimestamp) return { kind: "ignore" };
  if (scheduler !== NODES.defaultScheduler) return { kind: "ignore" };
  if (spec.schedulingGates?.length) {
    const names = spec.schedulingGates.map(({ name }) => name).join(" ");
    return {
      kind: "wait",
      reason: POD_REASONS.schedulingGated,
      message: `Scheduling is blocked due to non-empty scheduling gates: [${names}]`,
    };
  }
  const why = obstacle(spec, node, onNode);
  if (why === undefined) return { kind: "bind" };
  const message = `0/1 nodes are available: 1 ${why}.`;
  return { kind: "wait", reason: POD_REASONS.unschedulable, message };
}

/** The oldest first; of the same second by namespace and name. Pure. */
export function inOrder(pods: readonly Pod[]): Pod[] {
  const rank = (pod: Pod) => `${pod.metadata?.creationTimestamp ?? ""} ${keyOf(pod)}`;
  return [...pods].sort((a, b) => rank(a) < rank(b) ? -1 : 1);
}

/** Options of {@link runScheduler}. */
export interface SchedulerOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly node: NodeOffer;
  readonly events: Pick<EventRecorder, "record">;
}

/** Time after which a pod that still fits nowhere has another event, in milliseconds, as with Kubernetes' scheduler. */
const TELL_AGAIN_MS = 300_000;
/** Pods that fit nowhere of which is known what was told. */
const TOLD_MAX = 10_000;
const CALL = { deadlineMs: 10_000 };
/** Wait after a round in which a call failed, in milliseconds. */
const RETRY_MS = 1000;

/** Binds each pod without a node, in order, and reports on the others why they wait, until `signal` aborts. */
export async function runScheduler(
  { client, clock, node, events }: SchedulerOptions,
  signal: AbortSignal,
): Promise<void> {
  const bound = new Map<string, Pod>();
  /** Events go away after an hour, and waits may be longer. */
  const isNews = createNotices(TOLD_MAX, {
    ttl: TELL_AGAIN_MS,
    perf: { now: () => clock.monotonic() },
  });

  async function bind(pod: Pod): Promise<void> {
    const { namespace, name = "", uid } = pod.metadata ?? {};
    await client.createSubresource(KINDS.pod, { namespace, name }, "binding", {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { namespace, name, uid },
      target: { apiVersion: "v1", kind: "Node", name: node.name },
    }, CALL);
    bound.set(uid ?? "", pod);
  }

  function recordFailure(pod: Pod, message: string): void {
    if (!isNews(pod.metadata?.uid ?? "", message)) return;
    const reason = POD_REASONS.failedScheduling;
    events.record(subjectOf(KINDS.pod, pod), { type: "Warning", reason, message });
  }

  async function tellWaiting(pod: Pod, reason: string, message: string): Promise<void> {
    if (reason === POD_REASONS.unschedulable) recordFailure(pod, message);
    const before = pod.status?.conditions ?? [];
    const update = { type: POD_CONDITIONS.scheduled, status: "False" as const, reason, message };
    const conditions = setCondition(before, update, rfc3339(clock.now()));
    if (conditions === before && findCondition(before, update.type)) return;
    const { namespace, name = "", uid } = pod.metadata ?? {};
    const body = { metadata: { uid }, status: { conditions } };
    const options = { ...CALL, subresource: "status" };
    await client.patch(KINDS.pod, { namespace, name }, { type: "merge", body }, options);
  }

  /** One round over all pods. Returns whether every call succeeded. */
  async function round(pods: Informer<Pod>): Promise<boolean> {
    const all = pods.list();
    const unplaced = all.filter(({ spec }) => !spec?.nodeName);
    const uids = new Set(unplaced.map(({ metadata }) => metadata?.uid));
    for (const uid of bound.keys()) if (!uids.has(uid)) bound.delete(uid);
    const mine = all.filter((pod) => pod.spec?.nodeName === node.name && !hasEnded(pod));
    const onNode = [...mine, ...bound.values()];
    let good = true;
    for (const pod of inOrder(unplaced)) {
      if (signal.aborted) return true;
      if (bound.has(pod.metadata?.uid ?? "")) continue;
      const placement = place(pod, node, onNode);
      try {
        if (placement.kind === "bind") {
          await bind(pod);
          onNode.push(pod);
        } else if (placement.kind === "wait") {
          await tellWaiting(pod, placement.reason, placement.message);
        }
      } catch (error) {
        if (isNotFound(error)) continue;
        good = false;
        if (isConflict(error)) continue;
        logger.warn("Cannot place a pod", { pod: keyOf(pod), error: messageOf(error) });
      }
    }
    return good;
  }

  const pods = createInformer({ client, kind: KINDS.pod, clock });
  const sleeper = createSleeper(clock);
  pods.onChange(sleeper.wake);
  const running = pods.run(signal);
  await pods.whenSynced(signal);
  while (!signal.aborted) {
    const good = await round(pods);
    // Check again every minute, and sooner after a failed call.
    await sleeper.sleep(good ? 60_000 : RETRY_MS, signal);
  }
  await running;
}
