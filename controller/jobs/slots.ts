/** Slots of a replica type: for each index its pod, and what is to be done with it. Pure. */
import { parseIndexes } from "../../crds/completion_indexes.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { V1_LABELS } from "../../crds/v1/names.ts";
import type { KubeObject } from "../../platform/kube/resource.ts";
import { isLauncher, type Replicas, type Run } from "./run.ts";

/** First exit code that means a restart under the policy `ExitCode`. */
const RETRYABLE_FROM = 128;

/** What the pods of a type need, or its Services. */
export interface SlotPlan<T = Pod> {
  /** Indexes without an object; none are counted up of a job that asks for too many. */
  readonly missing: readonly number[];
  /** Objects beyond the replicas. */
  readonly surplus: readonly T[];
  /** The one object of each index that has one. */
  readonly single: readonly { readonly index: number; readonly pod: T }[];
  /** Indexes with several objects: none of them counts. */
  readonly crowded: readonly number[];
}

/** Returns the objects of a type. */
export function podsOfType<T extends KubeObject>(
  pods: readonly T[],
  { type }: Pick<Replicas, "type">,
): T[] {
  return pods.filter(({ metadata }) =>
    metadata?.labels?.[V1_LABELS.replicaType] === type.toLowerCase()
  );
}

/** The index of an object; undefined if its label is none. A launcher has the index 0. */
function indexOf(run: Run, of: Replicas, { metadata }: KubeObject): number | undefined {
  if (isLauncher(run, { of, index: 0 })) return 0;
  const text = metadata?.labels?.[V1_LABELS.replicaIndex] ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** Returns what the objects of a type need; one with a malformed index is ignored. */
export function planSlots<T extends KubeObject>(
  run: Run,
  of: Replicas,
  pods: readonly T[],
): SlotPlan<T> {
  const slots = Map.groupBy(podsOfType(pods, of), (pod) => indexOf(run, of, pod));
  slots.delete(undefined);
  const found = [...slots].map(([index = 0, objects]) => ({ index, objects }))
    .sort((one, other) => one.index - other.index);
  const within = found.filter(({ index }) => index < of.count);
  const missing: number[] = [];
  if (run.tooLarge === undefined) {
    for (let index = 0; index < of.count; index++) if (!slots.has(index)) missing.push(index);
  }
  return {
    missing,
    surplus: found.filter(({ index }) => index >= of.count).flatMap(({ objects }) => objects),
    single: within.flatMap(({ index, objects: [pod, ...others] }) =>
      pod === undefined || others.length > 0 ? [] : [{ index, pod }]
    ),
    crowded: within.filter(({ objects }) => objects.length > 1).map(({ index }) => index),
  };
}

/**
 * Returns the indexes that have succeeded (docs/decisions/0065): those that the status names, unless a pod of them says
 * otherwise, and those whose pods ended well by themselves. One that is being deleted may have ended well because of that.
 */
function completedIndexes(
  { status }: Run,
  { type, count }: Replicas,
  { single }: SlotPlan,
): ReadonlySet<number> {
  const completed = parseIndexes(status.completedIndexes?.[type], count);
  for (const { index, pod } of single) {
    if (pod.status?.phase !== "Succeeded") completed.delete(index);
    else if (!isTerminating(pod)) completed.add(index);
  }
  return completed;
}

/** Returns what the pods of a type need; one with a malformed index is ignored. */
export function planPodSlots(run: Run, of: Replicas, pods: readonly Pod[]): SlotPlan & {
  /** Indexes that have succeeded, with a pod or without. */
  readonly completed: ReadonlySet<number>;
  /** Of `missing` those that have not succeeded. */
  readonly wanted: readonly number[];
} {
  const plan = planSlots(run, of, pods);
  const completed = completedIndexes(run, of, plan);
  return { ...plan, completed, wanted: plan.missing.filter((index) => !completed.has(index)) };
}

/** Whether an object is being deleted. */
export function isTerminating({ metadata }: KubeObject): boolean {
  return metadata?.deletionTimestamp !== undefined;
}

/** Returns the exit code of the container that trains; undefined if it has not ended. */
export function exitCodeOf({ kind }: Pick<Run, "kind">, { status }: Pod): number | undefined {
  return status?.containerStatuses?.find(({ name }) => name === kind.container)
    ?.state?.terminated?.exitCode;
}

/**
 * Returns what becomes of a pod that has failed, by its type's restart policy. Without an exit code the pod was
 * evicted or lost, which says nothing against another try. Pods of an MPIJob are never made again.
 */
export function judgeFailedPod(run: Run, of: Replicas, pod: Pod): "restart" | "permanent" {
  if (run.kind.kind === "MPIJob" || of.restartPolicy === "Never") return "permanent";
  if (of.restartPolicy !== "ExitCode") return "restart";
  return (exitCodeOf(run, pod) ?? RETRYABLE_FROM) >= RETRYABLE_FROM ? "restart" : "permanent";
}
