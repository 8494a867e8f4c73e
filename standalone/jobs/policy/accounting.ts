/**
 * Counts each pod exactly once, whenever the controller is killed: a pod that has ended is first
 * noted in the status by uid, then loses its finalizer, then goes from the note into the counter
 * (Kubernetes batch/v1, uncountedTerminatedPods): pure.
 */
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { parseIndexes } from "../../../crds/completion_indexes.ts";
import { hasEnded, indexOf, isDeleting, isTracked } from "../pods.ts";
import type { JobSettings, JobSnapshot } from "../job_settings.ts";
import { judgePod } from "./pod_failure.ts";

/** Most pods that one status notes at a time. */
const MAX_UNCOUNTED = 500;

/** The account of a Job's pods. */
export interface Account {
  /** Counted and noted. */
  readonly succeeded: number;
  /** Counted and noted. */
  readonly failed: number;
  /** Counters for the status: noted ones stand in `uncounted`. */
  readonly counters: { readonly succeeded: number; readonly failed: number };
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  /** Of an Indexed Job: the indexes that have succeeded. */
  readonly completed: ReadonlySet<number>;
  /** Pods whose finalizer goes once the status with the notes is written. */
  readonly release: readonly Pod[];
  /** Whether there is more to note than one status takes. */
  readonly more: boolean;
}

/** The end of the Job: by its conditions, or by those that this pass adds. */
export type Ending = "success" | "failure" | undefined;

/** Whether a pod counts as failed now, before its Job's policy is asked. */
export function isFailed(pod: Pod, settings: JobSettings): boolean {
  if (pod.status?.phase === "Failed") return true;
  return isDeleting(pod) && pod.status?.phase !== "Succeeded" && !settings.replaceEndedOnly;
}

function isReleasable(pod: Pod, { job, settings }: JobSnapshot, ending: Ending): boolean {
  if (!isTracked(pod)) return false;
  if (job.metadata?.deletionTimestamp !== undefined || hasEnded(pod)) return true;
  return isDeleting(pod) && (ending !== undefined || !settings.replaceEndedOnly);
}

/** Whether the end of a pod that is not Succeeded counts as a failure. */
function countsAsFailure(pod: Pod, settings: JobSettings, ending: Ending): boolean {
  if (ending === "success" && pod.status?.phase !== "Failed") return false;
  if (ending === "failure" && isDeleting(pod)) return true;
  return isFailed(pod, settings) && judgePod(pod, settings.podFailureRules).action !== "Ignore";
}

interface Notes {
  readonly succeeded: Set<string>;
  readonly failed: Set<string>;
  readonly completed: Set<number>;
}

function note(pod: Pod, notes: Notes, settings: JobSettings, ending: Ending): void {
  const uid = pod.metadata?.uid ?? "";
  const index = settings.indexed ? indexOf(pod, settings.completions) : undefined;
  const counts = !settings.indexed || index !== undefined;
  if (notes.failed.has(uid) || notes.succeeded.has(uid) || !counts) return;
  if (pod.status?.phase === "Succeeded") {
    if (index !== undefined) notes.completed.add(index);
    else notes.succeeded.add(uid);
  } else if (countsAsFailure(pod, settings, ending)) {
    notes.failed.add(uid);
  }
}

/** Takes the account of a Job that has not ended. */
export function takeAccount(snapshot: JobSnapshot, ending: Ending): Account {
  const { job, pods, settings } = snapshot;
  const { succeeded = 0, failed = 0, uncountedTerminatedPods: noted } = job.status ?? {};
  const tracked = new Set(pods.filter(isTracked).map((pod) => pod.metadata?.uid));
  const stillTracked = (uids: readonly string[] = []) => uids.filter((uid) => tracked.has(uid));
  const notes: Notes = {
    succeeded: new Set(stillTracked(noted?.succeeded)),
    failed: new Set(stillTracked(noted?.failed)),
    completed: parseIndexes(job.status?.completedIndexes, settings.completions),
  };
  const counters = {
    succeeded: succeeded + (noted?.succeeded?.length ?? 0) - notes.succeeded.size,
    failed: failed + (noted?.failed?.length ?? 0) - notes.failed.size,
  };
  const releasable = pods.filter((pod) => isReleasable(pod, snapshot, ending));
  const release = releasable.slice(0, MAX_UNCOUNTED);
  for (const pod of release) note(pod, notes, settings, ending);
  const completed = notes.completed.size;
  return {
    succeeded: settings.indexed ? completed : counters.succeeded + notes.succeeded.size,
    failed: counters.failed + notes.failed.size,
    counters: { ...counters, ...(settings.indexed && { succeeded: completed }) },
    uncounted: { succeeded: [...notes.succeeded], failed: [...notes.failed] },
    completed: notes.completed,
    release,
    more: releasable.length > release.length,
  };
}
