/** Plan of a pass over a v1 job that may be restarted: its old pods go, and only then the next ones come. Pure. */
import { ANNOTATIONS, EVENT_REASONS } from "../../crds/names.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import type { KubeObject } from "../../platform/kube/resource.ts";
import { hasEnded } from "./condition_list.ts";
import { decide } from "./decide.ts";
import type { ObservedRun, Plan } from "./job_plan.ts";
import type { Run } from "./run.ts";
import { isTerminating } from "./slots.ts";
import type { Notice } from "./verdict.ts";

/** Time after its grace at which a pod that is still there is told, in milliseconds. */
const STUCK_MS = 60_000;
/** Such pods that are named. */
const NAMED = 3;

/** Whether a restart of the job is under way. */
export const isRestarting = ({ restart }: Pick<Run, "restart">): boolean =>
  restart !== undefined && restart.endTime === undefined;

/** Returns the pods that were made before the job's last restart: those that do not say that they were made after it. */
export function olderPods<T extends KubeObject>(
  { restart }: Pick<Run, "restart">,
  pods: readonly T[],
): T[] {
  const { count = 0 } = restart ?? {};
  const countOf = ({ metadata }: T) =>
    Number(metadata?.annotations?.[ANNOTATIONS.restartCount] ?? 0);
  return pods.filter((pod) => !(countOf(pod) >= count));
}

/** When a pod should have been gone for long, in milliseconds since the epoch; NaN if it is not being deleted. */
const stuckMs = ({ metadata }: Pod) => Date.parse(metadata?.deletionTimestamp ?? "") + STUCK_MS;

/** The notice about pods that do not go, such as those of a node that is down; once for each restart. */
function waitNotices({ restart }: Run, older: readonly Pod[], nowMs: number): Notice[] {
  const stuck = older.filter((pod) => nowMs >= stuckMs(pod));
  if (stuck.length === 0) return [];
  const named = stuck.slice(0, NAMED).map(({ metadata, spec }) =>
    spec?.nodeName ? `${metadata?.name} on node ${spec.nodeName}` : `${metadata?.name}`
  );
  const others = stuck.length > NAMED ? ` and ${stuck.length - NAMED} more` : "";
  const once = `restart ${restart?.count}`;
  const message = `${once} waits for pods that do not go: ${named.join(", ")}${others}`;
  return [{ type: "Warning", reason: EVENT_REASONS.restartWaits, message, once }];
}

/** The plan while old pods are there. */
function untilGone(plan: Plan, run: Run, older: readonly Pod[], nowMs: number): Plan {
  const dueMs = [plan.nextMs ?? Infinity, ...older.map(stuckMs)].filter((ms) => ms > nowMs);
  const nextMs = dueMs.reduce((least, ms) => Math.min(least, ms), Infinity);
  return {
    ...plan,
    createPods: [],
    deletePods: [...plan.deletePods, ...older],
    notices: [...plan.notices, ...waitNotices(run, older, nowMs)],
    ...(nextMs < Infinity && { nextMs }),
  };
}

/**
 * Returns what a pass does for a job that is run here. Of a restart that is under way the old pods are deleted, and say
 * nothing of the job any more; the restart is over when they are gone, or the job does not go on. A job that admission would
 * have refused gets no new pods, and keeps those that it has.
 */
export function decideWithRestart(observed: ObservedRun & { readonly isValid: boolean }): Plan {
  const { run, pods, nowMs, isValid } = observed;
  const older = new Set(olderPods(run, pods));
  const { status, status: { completedIndexes: _, ...others } } = run;
  const goesOn = isValid && !run.suspended && status.stop === undefined &&
    !hasEnded(status.conditions);
  const restarts = isRestarting(run) && goesOn;
  const plan = decide({
    ...observed,
    pods: pods.filter((it) => !older.has(it) || !restarts && !isTerminating(it)),
    // Every index runs again.
    ...(restarts && { run: { ...run, status: { ...others, replicaStatuses: {} } } }),
  });
  if (restarts && older.size > 0) return untilGone(plan, run, [...older], nowMs);
  const alone = older.size > 0 ? { ...plan, createPods: [] } : plan;
  const { restart } = run;
  if (restart === undefined || !isRestarting(run)) return alone;
  const over = { ...plan.status, restart: { ...restart, endTime: rfc3339(nowMs) } };
  if (!restarts) return { ...alone, status: over };
  const message = `all pods of before restart ${restart.count} are gone, and the job goes on`;
  const event = { type: "Normal", reason: EVENT_REASONS.restarted, message } as const;
  return { ...plan, status: over, undone: plan.status, events: [...plan.events, event] };
}
