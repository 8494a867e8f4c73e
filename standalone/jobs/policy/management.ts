/** Pods to create and to delete for a running Job (Kubernetes batch/v1). Pure. */
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { hasEnded, indexOf, isActive, isReady, isTerminating, isTracked } from "../pods.ts";
import type { JobSettings, JobSnapshot } from "../job_settings.ts";
import type { Account } from "./accounting.ts";

/** Most pods that one pass creates. */
const MAX_CREATIONS = 500;

/** Actions on pods. */
export interface Management {
  /** Pods to create: the completion index of each, undefined for a Job without indexes. */
  readonly create: readonly (number | undefined)[];
  /** Pods that go without being counted. */
  readonly discard: readonly Pod[];
  /** Milliseconds until pods may be created that back-off holds back now. */
  readonly waitMs?: number;
}

function createdAt(pod: Pod): number {
  return Date.parse(pod.metadata?.creationTimestamp ?? "") || 0;
}

/** Those that are worth least first: not running, not ready, youngest. */
function byWorth(a: Pod, b: Pod): number {
  const worth = (pod: Pod) => (pod.status?.phase === "Running" ? 2 : 0) + (isReady(pod) ? 1 : 0);
  return worth(a) - worth(b) || createdAt(b) - createdAt(a);
}

/** Active pods that no index needs: out of range, done already, or the second of one index. */
function superfluous(active: readonly Pod[], settings: JobSettings, account: Account): Pod[] {
  if (!settings.indexed) return [];
  const taken = new Set<number>();
  return [...active].sort((a, b) => byWorth(b, a)).filter((pod) => {
    const index = indexOf(pod, settings.completions);
    if (index === undefined || account.completed.has(index) || taken.has(index)) return true;
    taken.add(index);
    return false;
  });
}

function wantedActive(settings: JobSettings, account: Account, active: number): number {
  const { completions, parallelism } = settings;
  if (completions === undefined) {
    return account.succeeded > 0 ? Math.min(active, parallelism) : parallelism;
  }
  return Math.max(0, Math.min(completions - account.succeeded, parallelism));
}

/** The lowest indexes that neither have succeeded nor have a pod. */
function freeIndexes(
  { settings, pods }: JobSnapshot,
  account: Account,
  count: number,
): number[] {
  const occupied = new Set(
    pods.filter((pod) => {
      if (isActive(pod) || pod.status?.phase === "Succeeded") return true;
      return settings.replaceEndedOnly && !hasEnded(pod);
    }).map((pod) => indexOf(pod, settings.completions)),
  );
  const free: number[] = [];
  for (let index = 0; index < (settings.completions ?? 0) && free.length < count; index++) {
    if (!account.completed.has(index) && !occupied.has(index)) free.push(index);
  }
  return free;
}

/** The pods to create and to delete for a Job that goes on; back-off holds new ones back for that many milliseconds. */
export function managePods(
  snapshot: JobSnapshot,
  account: Account,
  backoffLeftMs: number,
): Management {
  const { settings, pods } = snapshot;
  const active = pods.filter(isActive);
  if (settings.suspend) return { create: [], discard: active };
  // A pod that lost its finalizer was being discarded when the controller stopped.
  const untracked = active.filter((pod) => !isTracked(pod));
  const tracked = active.filter(isTracked);
  const extra = superfluous(tracked, settings, account);
  const kept = tracked.filter((pod) => !extra.includes(pod)).sort(byWorth);
  const wanted = wantedActive(settings, account, kept.length);
  const discard = [...untracked, ...extra, ...kept.slice(0, Math.max(0, kept.length - wanted))];
  const leaving = settings.replaceEndedOnly ? pods.filter(isTerminating).length : 0;
  const missing = Math.min(wanted - kept.length - leaving, MAX_CREATIONS);
  if (missing <= 0) return { create: [], discard };
  if (backoffLeftMs > 0) return { create: [], discard, waitMs: backoffLeftMs };
  const create = settings.indexed
    ? freeIndexes(snapshot, account, missing)
    : new Array<undefined>(missing).fill(undefined);
  return { create, discard };
}
