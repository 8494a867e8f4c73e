/** Plan of a pass over a v1 job that may be restarted: its old pods go, and only then the next ones come. Pure. */
import { ANNOTATIONS } from "../../crds/names.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import type { KubeObject } from "../../platform/kube/resource.ts";
import { doneEvent, latePods, waitsEvent } from "../restart_events.ts";
import { hasEnded } from "./condition_list.ts";
import { decide } from "./decide.ts";
import type { ObservedRun, Plan } from "./job_plan.ts";
import type { Run } from "./run.ts";
import { isTerminating } from "./slots.ts";

/** Whether a restart of the job is under way. */
export const isRestarting = ({ restart }: Pick<Run, "restart">): boolean =>
  restart !== undefined && restart.endTime === undefined;

/**
 * Returns the pods that were made before the job's last restart: those that do not say that they were made after this one.
 * A count that was lost comes again; then those are that the restart names.
 */
export function olderPods<T extends KubeObject>(
  { restart }: Pick<Run, "restart">,
  pods: readonly T[],
): T[] {
  if (restart === undefined) return [];
  const named = new Set(restart.pods);
  const countOf = ({ metadata }: T) =>
    Number(metadata?.annotations?.[ANNOTATIONS.restartCount] ?? 0);
  return pods.filter((pod) => countOf(pod) !== restart.count || named.has(pod.metadata?.uid ?? ""));
}

/** Returns the older pods that the next ones wait for: all while a restart is under way, and later those that still go. */
export const awaitedPods = <T extends KubeObject>(run: Pick<Run, "restart">, pods: readonly T[]) =>
  olderPods(run, pods).filter((pod) => isRestarting(run) || isTerminating(pod));

/** The plan while old pods are there; those that do not go, as of a node that is down, are told of once a restart. */
function untilGone(
  plan: Plan,
  { run: { restart }, nowMs }: ObservedRun,
  older: readonly Pod[],
): Plan {
  const beginMs = Date.parse(restart?.time ?? "") || 0;
  const { dueMs, text } = latePods(older, { beginMs, nowMs });
  const once = `restart ${restart?.count}`;
  const notices = text === undefined ? [] : [{ ...waitsEvent(restart?.count, text), once }];
  const nextMs = Math.min(plan.nextMs ?? Infinity, text === undefined ? dueMs : Infinity);
  return {
    ...plan,
    createPods: [],
    deletePods: [...plan.deletePods, ...older],
    notices: [...plan.notices, ...notices],
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
  if (restarts && older.size > 0) return untilGone(plan, observed, [...older]);
  // Those that live and stay are members as others: what is made beside them takes the place of one that is gone.
  const isHeld = goesOn ? awaitedPods(run, pods).length > 0 : older.size > 0;
  const alone = isHeld ? { ...plan, createPods: [] } : plan;
  const { restart } = run;
  if (restart === undefined || !isRestarting(run)) return alone;
  // A status that is written first cannot say how the pass went: the next one does.
  if (restarts && plan.statusFirst) return plan;
  const over = { ...plan.status, restart: { ...restart, endTime: rfc3339(nowMs) } };
  if (!restarts) return { ...alone, status: over };
  return {
    ...plan,
    status: over,
    undone: plan.status,
    events: [...plan.events, doneEvent(restart.count)],
  };
}
