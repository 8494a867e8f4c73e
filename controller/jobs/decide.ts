/** Decision of a pass: from a job and its objects to a plan. Pure. */
import type { EventText } from "../../platform/kube/event_object.ts";
import type { Pod, Service } from "../../platform/kube/kubernetes.ts";
import type { V1Condition, V1Status } from "../../crds/v1/job.ts";
import { type CleanPodPolicy, V1_CONDITIONS, type V1ConditionType } from "../../crds/v1/names.ts";
import { expiryMs, rfc3339 } from "../../platform/base/timestamps.ts";
import { caOf } from "./ca.ts";
import { podsToClean } from "./clean_up.ts";
import { hasEnded, type NewCondition, withCondition } from "./condition_list.ts";
import { isConditionTrue } from "../../platform/kube/conditions.ts";
import { completedTexts, groupPods, replicaStatuses } from "./counts.ts";
import type { JobCount } from "./job_metrics.ts";
import { autoscalerOf } from "./hpa.ts";
import { deadlineMs, endedByLimit, reachedLimit } from "./limits.ts";
import { abnormalPods, exitedPods } from "./pod_events.ts";
import { NOTHING, type ObservedRun, type Plan } from "./job_plan.ts";
import type { JobChild } from "./kind_rules.ts";
import type { Replica, Run } from "./run.ts";
import { planReplicas } from "./replica_plan.ts";
import {
  createdCondition,
  failedCondition,
  type Notice,
  refusedCondition,
  resumedCondition,
  suspendedConditions,
  verdictOf,
} from "./verdict.ts";

/** The autoscaler, if the job has one. */
const autoscalersOf = (run: Run) => [autoscalerOf(run)].filter((it) => it !== undefined);

/** Conditions that are changed one after the other. */
class Conditions {
  list: readonly V1Condition[];
  readonly #now: string;

  constructor({ status }: Run, nowMs: number) {
    this.list = status.conditions ?? [];
    this.#now = rfc3339(nowMs);
  }

  has(type: V1ConditionType): boolean {
    return isConditionTrue(this.list, type);
  }

  set(...wanted: readonly NewCondition[]): void {
    for (const it of wanted) this.list = withCondition(this.list, it, this.#now);
  }
}

const normal = ({ reason, message }: NewCondition): EventText => ({
  type: "Normal",
  reason,
  message,
});

/** The Services without a pod that stays. */
function servicesWithout(services: readonly Service[], kept: readonly Pod[]): Service[] {
  const names = new Set(kept.map(({ metadata }) => metadata?.name));
  return services.filter(({ metadata }) => !names.has(metadata?.name));
}

/** The counters with other numbers of active pods; what is deleted while it runs is no failure. */
function withActive(
  { replicaStatuses = {} }: V1Status,
  activeOf: (type: string) => number,
): V1Status["replicaStatuses"] {
  return Object.fromEntries(
    Object.entries(replicaStatuses).map(([type, { active: _, ...others }]) => {
      const active = activeOf(type);
      return [type, { ...others, ...(active > 0 && { active }) }];
    }),
  );
}

/** The indexes that have succeeded, in a status that has or had any. */
function withCompleted(
  { completedIndexes = {} }: V1Status,
  completed: Readonly<Record<string, string>>,
): Pick<V1Status, "completedIndexes"> {
  const known = [completed, completedIndexes].some((it) => Object.keys(it).length > 0);
  return known ? { completedIndexes: completed } : {};
}

/** What was still active when the job succeeded counts as succeeded. */
function allSucceeded(status: V1Status): V1Status["replicaStatuses"] {
  return Object.fromEntries(
    Object.entries(status.replicaStatuses ?? {}).map((
      [type, { active = 0, succeeded = 0, ...others }],
    ) => [type, { ...others, ...(active + succeeded > 0 && { succeeded: active + succeeded }) }]),
  );
}

/** The clean-up policy; what a limit or a stop has ended leaves no pod running. */
function policyOf({ cleanPodPolicy, status }: Run): CleanPodPolicy {
  if (endedByLimit(status)) return "All";
  const isStopped = isConditionTrue(status.conditions, V1_CONDITIONS.earlyStopped);
  return isStopped && cleanPodPolicy === "None" ? "Running" : cleanPodPolicy;
}

/** What gives rights, for a job that has no other pods than these. */
function narrowedTo({ run, rules }: ObservedRun, pods: readonly Pod[]): JobChild[] {
  const grants = rules.grants?.(run, groupPods(run, pods)) ?? [];
  return grants.map((it) => ({ ...it, isOnlyChanged: true }));
}

function decideEnded(observed: ObservedRun): Plan {
  const { run, pods, services, nowMs } = observed;
  const { status } = run;
  const cleanPodPolicy = policyOf(run);
  const deletePods = podsToClean({ ...run, cleanPodPolicy }, pods);
  const kept = pods.filter((it) => !deletePods.includes(it));
  const completionTime = status.completionTime ?? rfc3339(nowMs);
  const expiry = expiryMs(completionTime, run.spec.runPolicy?.ttlSecondsAfterFinished);
  const deleteJob = expiry !== undefined && nowMs >= expiry;
  const succeeded = isConditionTrue(status.conditions, V1_CONDITIONS.succeeded);
  return {
    ...NOTHING,
    deletePods,
    deleteServices: cleanPodPolicy === "None" ? [] : servicesWithout(services, kept),
    narrowed: narrowedTo(observed, kept),
    status: {
      ...status,
      completionTime,
      ...(succeeded && { replicaStatuses: allSucceeded(status) }),
    },
    deleteJob,
    ...(expiry !== undefined && !deleteJob && { nextMs: expiry }),
  };
}

/** The plan of a job of which nothing is to be left. */
const emptied = (observed: ObservedRun) => ({
  ...NOTHING,
  deletePods: observed.pods,
  deleteServices: observed.services,
  narrowed: narrowedTo(observed, []),
});

function decideSuspended(observed: ObservedRun, conditions: Conditions): Plan {
  const { run, pods } = observed;
  const [stopped, suspended] = suspendedConditions(run);
  const isNews = !conditions.has(V1_CONDITIONS.suspended);
  const { counts } = groupPods(run, pods);
  const undone = {
    ...run.status,
    conditions: [...conditions.list],
    replicaStatuses: withActive(run.status, (type) => counts.get(type)?.active ?? 0),
  };
  if (conditions.has(V1_CONDITIONS.running)) conditions.set(stopped);
  conditions.set(suspended);
  return {
    ...emptied(observed),
    unwanted: autoscalersOf(run),
    status: {
      ...run.status,
      conditions: [...conditions.list],
      replicaStatuses: withActive(run.status, () => 0),
    },
    undone,
    events: isNews ? [normal(suspended)] : [],
  };
}

function decideLimited(observed: ObservedRun, conditions: Conditions, message: string): Plan {
  const { run, nowMs } = observed;
  const failed = failedCondition(run, message);
  conditions.set(failed);
  return {
    ...emptied(observed),
    status: { ...run.status, conditions: [...conditions.list], completionTime: rfc3339(nowMs) },
    statusFirst: true,
    events: [normal(failed)],
    counted: ["failed"],
  };
}

/** The pods to create without those that are created last, as long as there are others. */
function othersFirst(
  { run, rules }: ObservedRun,
  replicas: readonly Replica[],
): readonly Replica[] {
  const others = replicas.filter((it) => !rules.isLast?.(run, it));
  return others.length > 0 ? others : replicas;
}

function decideActive(observed: ObservedRun, conditions: Conditions): Plan {
  const { run, rules, pods, nowMs } = observed;
  const byType = groupPods(run, pods);
  const message = reachedLimit(run, { ...observed, byType });
  if (message !== undefined) return decideLimited(observed, conditions, message);
  const { events, notices, restarting, permanentExit, ...replicas } = planReplicas(run, observed);
  const verdict = verdictOf(run, rules, byType, { restarting, permanentExit });
  conditions.set(...verdict.conditions);
  const plan = {
    ...NOTHING,
    narrowed: narrowedTo(observed, pods),
    notices: [...abnormalPods(pods), ...exitedPods(run, pods), ...notices],
  };
  const status = {
    ...run.status,
    conditions: [...conditions.list],
    replicaStatuses: replicaStatuses(run, byType),
    ...withCompleted(run.status, completedTexts(byType)),
  };
  // A job that ends in this pass gets no new pods.
  if (verdict.end !== undefined) {
    const counted: readonly JobCount[] = [verdict.end === "Succeeded" ? "successful" : "failed"];
    const atEnd = { ...status, completionTime: rfc3339(nowMs) };
    return { ...plan, status: atEnd, needsGroup: true, events: verdict.events, counted };
  }
  const limit = deadlineMs(run);
  return {
    ...plan,
    ...replicas,
    createPods: othersFirst(observed, replicas.createPods),
    status,
    // A push beside it may make the write fail, and of a pod that is deleted nothing says why.
    statusFirst: replicas.recreated.length > 0,
    needsGroup: true,
    children: [
      ...(observed.caBundle === undefined ? [] : [caOf(run, observed.caBundle)]),
      ...run.tooLarge === undefined ? rules.children?.(run, byType) ?? [] : [],
      ...autoscalersOf(run),
    ],
    // What still ends because it failed has been said.
    events: events.length > 0 ? [...events, ...verdict.events] : [],
    counted: events.map(() => "restarted"),
    ...(limit !== undefined && { nextMs: limit }),
  };
}

/** Returns what a pass does for a job that admission would have refused, and that nobody has begun. */
export function refused(run: Run, notice: Notice, nowMs: number): Plan {
  const { message } = notice;
  const known = (run.status.conditions ?? [])
    .filter((it) => it.type !== V1_CONDITIONS.created || it.message === message);
  const conditions = withCondition(known, refusedCondition(run, message), rfc3339(nowMs));
  const status = { ...run.status, conditions: [...conditions] };
  return { ...NOTHING, status, notices: [notice] };
}

/** Returns what a pass does for a job that is run here. */
export function decide(observed: ObservedRun): Plan {
  const { run, nowMs } = observed;
  if (hasEnded(run.status.conditions)) return decideEnded(observed);
  const conditions = new Conditions(run, nowMs);
  const isNew = !conditions.has(V1_CONDITIONS.created);
  conditions.set(createdCondition(run));
  const created: readonly JobCount[] = isNew ? ["created"] : [];
  if (run.suspended) {
    const plan = decideSuspended(observed, conditions);
    return { ...plan, counted: [...created, ...plan.counted] };
  }
  const resumes = conditions.has(V1_CONDITIONS.suspended);
  const resumed = resumedCondition(run);
  if (resumes) conditions.set(resumed);
  const startTime = resumes ? rfc3339(nowMs) : run.status.startTime ?? rfc3339(nowMs);
  // What succeeded before a suspension trains again with the others.
  const ended = resumes ? { replicaStatuses: {}, completedIndexes: {} } : {};
  const started = { ...run, status: { ...run.status, startTime, ...ended } };
  const plan = decideActive({ ...observed, run: started }, conditions);
  const before = resumes ? [normal(resumed)] : [];
  return {
    ...plan,
    events: [...before, ...plan.events],
    counted: [...created, ...plan.counted],
  };
}
