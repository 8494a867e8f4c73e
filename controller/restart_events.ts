/** Events of a restart that is carried out, of jobs of all kinds: what it waits for, and that it is done. Pure. */
import { EVENT_REASONS } from "../crds/names.ts";
import type { WatchedPod } from "../crds/watched.ts";
import type { EventText } from "../platform/kube/event_object.ts";
import { shorten } from "./shorten.ts";

/** Time after which a wait is told of, in milliseconds: of a pod after the end of its grace. */
export const LATE_MS = 60_000;
/** Pods that are named. */
const NAMED_PODS = 3;

type OldPod = Pick<WatchedPod, "metadata" | "spec">;

const nodeOf = ({ spec }: OldPod) => spec?.nodeName ? ` on node "${spec.nodeName}"` : "";

/**
 * Returns when the first of some pods is late, and which of them are, for people. All times are in milliseconds since the
 * epoch; `beginMs`: when the restart began.
 */
export function latePods(
  pods: readonly OldPod[],
  { beginMs, nowMs }: { readonly beginMs: number; readonly nowMs: number },
): { readonly dueMs: number; readonly text?: string } {
  const dueOf = ({ metadata }: OldPod) =>
    Math.max(beginMs, Date.parse(metadata?.deletionTimestamp ?? "") || 0) + LATE_MS;
  const dueMs = pods.reduce((least, pod) => Math.min(least, dueOf(pod)), Infinity);
  if (nowMs < dueMs) return { dueMs };
  const late = pods.filter((pod) => dueOf(pod) <= nowMs);
  const names = late.slice(0, NAMED_PODS).map((pod) => `"${pod.metadata?.name}"${nodeOf(pod)}`);
  const more = late.length > names.length ? ` and ${late.length - names.length} more` : "";
  const go = late.length === 1 ? "does" : "do";
  return { dueMs, text: `pod ${names.join(", pod ")}${more} ${go} not go; is the node dead?` };
}

/** Returns the event of a restart that something holds up. */
export const waitsEvent = (count: number | undefined, text: string): EventText => ({
  type: "Warning",
  reason: EVENT_REASONS.restartWaits,
  message: shorten(`Restart ${count} waits: ${text}`),
});

/** Returns the event of a restart that is done. */
export const doneEvent = (count: number): EventText => ({
  type: "Normal",
  reason: EVENT_REASONS.restarted,
  message: `Restart ${count} is done: the pods before it are gone, and others come`,
});
