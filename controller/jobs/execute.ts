/** Execution of a plan: the writes of a pass, in the order in which an interrupted pass can be repeated. */
import { createHash } from "node:crypto";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import type { V1Job } from "../../crds/v1/job.ts";
import { restartOf } from "../../crds/job_state.ts";
import { V1_LABELS } from "../../crds/v1/names.ts";
import type { BoundedCache } from "../../platform/base/bounded_cache.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { isControlledBy } from "../../platform/kube/owner_references.ts";
import type { OwnWrites } from "../../platform/kit/own_writes.ts";
import { deleteExactly } from "../../platform/kit/deletion.ts";
import { readAgain } from "../../platform/kit/fresh_read.ts";
import { listAll } from "../../platform/kube/watching/paged_list.ts";
import type { TrialHooks } from "../trainjob/trials.ts";
import { hasEnded } from "./condition_list.ts";
import type { Plan } from "./job_plan.ts";
import { type GangScheduler, namesOtherScheduler } from "./gang.ts";
import { deleteChild, keepChild } from "./job_children.ts";
import type { KindRules } from "./kind_rules.ts";
import { podOf } from "./replica_pod.ts";
import { deleteGroup, keepGroup } from "./pod_groups.ts";
import {
  createObject,
  type Creation,
  deleteObject,
  type JobWriter,
  recordJobEvent,
} from "./replica_writes.ts";
import { awaitedPods } from "./restart_plan.ts";
import type { Replica, Run } from "./run.ts";
import { serviceOf } from "./replica_service.ts";
import { isTerminating } from "./slots.ts";
import { writeStatus } from "./status_write.ts";

/** Children of a job that were written as they are wanted. */
export interface KeptChildren {
  readonly digest: string;
  /** Monotonic time after which they are read again, in milliseconds. */
  readonly untilMs: number;
}

/** Time after which the children of a job that runs are read again, in milliseconds; no watch shows them. */
export const RECHECK_MS = 5 * 60_000;

/** A pass, and what it writes by. */
export interface Execution extends JobWriter {
  readonly run: Run;
  readonly rules: KindRules;
  readonly jobWrites: OwnWrites<V1Job>;
  /** What was written of the children of jobs, by the UID of the job. */
  readonly kept: BoundedCache<KeptChildren>;
  /** Absent: pods are scheduled one by one. */
  readonly gang?: GangScheduler;
  /** Absent: no pod is labelled as a Trial's. */
  readonly trialOf?: TrialHooks["trialOf"] | undefined;
  /** Called for each failed pod that is deleted to be made again. */
  readonly onRecreation: () => void;
}

/**
 * Result of an execution: `outdated` if the plan was made from an outdated cache, and the pass is to be repeated;
 * `waiting` if something could not be made: names of replicas are not free yet, the gang scheduler has not taken the
 * job's pod group, or a call failed, which is among the attempts.
 */
export type Executed = "done" | "outdated" | "waiting";

/** Whether the API server has pods of before a restart that caches do not show: those of before and after never meet. */
async function hasAwaitedPods({ client, pods, job, run, signal }: Execution): Promise<boolean> {
  const { namespace, name, uid = "" } = job.metadata;
  const selection = { namespace, labelSelector: `${V1_LABELS.jobName}=${name}` };
  const { items } = await listAll({ client, kind: pods.created, selection, signal });
  return awaitedPods(run, items).some(({ metadata }) => isControlledBy(metadata, uid));
}

/**
 * Reports whether the job is still as it was planned for: what has ended, is suspended, or is restarted must not start
 * again because a cache is behind. The first pass of a job has no earlier state.
 */
async function mayCreate(execution: Execution, { createPods }: Plan): Promise<boolean> {
  const { client, job, resource, run, signal } = execution;
  if (job.status?.conditions === undefined) return true;
  const live = await readAgain(client, resource, job, { signal });
  return live !== undefined &&
    hasEnded(live.status?.conditions) === hasEnded(job.status.conditions) &&
    (live.spec.runPolicy?.suspend ?? false) === (job.spec.runPolicy?.suspend ?? false) &&
    restartOf(live)?.count === run.restart?.count &&
    !(run.restart !== undefined && createPods.length > 0 && await hasAwaitedPods(execution));
}

/** Deletes pods of a job that are not being deleted already. */
export async function deletePods(writer: JobWriter, pods: readonly Pod[]): Promise<void> {
  const living = pods.filter((pod) => !isTerminating(pod));
  await writer.attempts.each(living, (pod) => deleteObject(writer, writer.pods, pod));
}

/** Deletes what is not being deleted already. Returns whether all of it was accepted. */
async function deleteAll(execution: Execution, plan: Plan): Promise<boolean> {
  const { pods, services, attempts, onRecreation } = execution;
  const calls = [
    ...plan.deletePods.filter((pod) => !isTerminating(pod)).map((pod) => async () => {
      await deleteObject(execution, pods, pod);
      if (plan.recreated.includes(pod)) onRecreation();
    }),
    ...plan.deleteServices.filter((service) => !isTerminating(service)).map((service) => () =>
      deleteObject(execution, services, service)
    ),
  ];
  return await attempts.each(calls, (call) => call());
}

function warnOfRestartPolicy(execution: Execution, { of }: Replica): void {
  if (of.template.spec?.restartPolicy === undefined) return;
  const message =
    "Restart policy in pod template will be overwritten by restart policy in replica spec";
  recordJobEvent(execution, { type: "Warning", reason: "SetPodTemplateRestartPolicy", message });
}

function warnOfScheduler(execution: Execution): void {
  const message =
    "Another scheduler is specified when gang-scheduling is enabled and it will not be overwritten";
  recordJobEvent(execution, { type: "Warning", reason: "SetPodTemplateSchedulerName", message });
}

/** The plan without the pods that need the objects which could not be kept. */
function withoutLast({ run, rules }: Execution, plan: Plan): Plan {
  return { ...plan, createPods: plan.createPods.filter((it) => !rules.isLast?.(run, it)) };
}

/** Creates the pods and Services; one that cannot be created does not keep the others from it. */
async function createAll(execution: Execution, plan: Plan): Promise<Executed> {
  const { pods, services, attempts, run, rules, job, gang, trialOf, signal } = execution;
  if (plan.createPods.length + plan.createServices.length === 0) return "done";
  if (!(await mayCreate(execution, plan))) return "outdated";
  const creations = new Set<Creation>();
  const take = (creation: Creation) => void creations.add(creation);
  for (const replica of plan.createPods) warnOfRestartPolicy(execution, replica);
  if (gang !== undefined && namesOtherScheduler(run, gang)) warnOfScheduler(execution);
  const trial = plan.createPods.length === 0 ? undefined : await trialOf?.(job, signal);
  const podFor = (replica: Replica) => {
    const pod = podOf(run, rules, replica, trial);
    return gang === undefined ? pod : gang.member(run, replica.of.type, pod);
  };
  const calls = [
    ...plan.createPods.map((replica) => async () =>
      take(await createObject(execution, pods, podFor(replica)))
    ),
    ...plan.createServices.map((replica) => async () =>
      take(await createObject(execution, services, serviceOf(run, replica)))
    ),
  ];
  const isMade = await attempts.each(calls, (call) => call());
  if (creations.has("outdated")) return "outdated";
  return isMade && !creations.has("taken") ? "done" : "waiting";
}

/**
 * Keeps and deletes what the job has beside its pods and Services; one after the other, because a role has to be
 * there when it is bound. No cache shows these: what was written is not read again for five minutes as long as the
 * same is wanted. Returns `waiting` if names are not free yet, and `failed` if a call did.
 */
async function keepChildren(
  execution: Execution,
  plan: Plan,
): Promise<"kept" | "waiting" | "failed"> {
  const { children, unwanted } = plan;
  // What is kept is no wider than wanted.
  const narrowed = plan.narrowed.filter(({ kind }) => !children.some((it) => it.kind === kind));
  if (children.length + narrowed.length + unwanted.length === 0) return "kept";
  const { job: { metadata: { uid = "" } }, kept, clock, attempts } = execution;
  const objects = [children, narrowed, unwanted].map((all) => all.map(({ object }) => object));
  const digest = createHash("sha256").update(JSON.stringify(objects)).digest("base64");
  const nowMs = clock.monotonic();
  const known = kept.get(uid);
  if (known?.digest === digest && nowMs < known.untilMs) return "kept";
  const results: (boolean | undefined)[] = [];
  for (const child of [...children, ...narrowed]) {
    results.push(await attempts.one(() => keepChild(execution, child)));
  }
  for (const child of unwanted) {
    results.push(await attempts.one(() => deleteChild(execution, child).then(() => true)));
  }
  if (results.includes(undefined)) return "failed";
  if (results.includes(false)) return "waiting";
  kept.set(uid, { digest, untilMs: nowMs + RECHECK_MS });
  return "kept";
}

async function deleteJob(execution: Execution): Promise<void> {
  const { client, job, kind, resource, signal } = execution;
  const { name } = job.metadata;
  try {
    const call = { propagationPolicy: "Background", signal } as const;
    if (!(await deleteExactly(client, resource, job, call))) return;
  } catch (error) {
    const message = `Error deleting: ${messageOf(error)}`;
    recordJobEvent(execution, { type: "Warning", reason: "FailedDeleteJob", message });
    throw error;
  }
  const message = `Deleted job: ${name}`;
  recordJobEvent(execution, { type: "Normal", reason: "SuccessfulDeleteJob", message });
  const namespace = job.metadata.namespace ?? "";
  execution.metrics.counted("deleted", { namespace, framework: kind.framework });
}

/** Tells of what the status says now. */
function tell(execution: Execution, { events, counted }: Plan): void {
  const { metrics, kind, run } = execution;
  for (const event of events) recordJobEvent(execution, event);
  const labels = { namespace: run.namespace, framework: kind.framework };
  for (const what of counted) metrics.counted(what, labels);
}

/**
 * Keeps or deletes the pod group. Returns the plan as the gang scheduler lets it be: while the pods wait for the group it
 * is without them, and the status has the time.
 */
async function admitted(execution: Execution, plan: Plan): Promise<Plan> {
  const { run, gang, clock, attempts } = execution;
  if (gang === undefined) return plan;
  if (!plan.needsGroup) {
    await attempts.one(() => deleteGroup(execution, run, gang));
    return plan;
  }
  const members = { run, collected: plan.collected };
  const isAdmitted = await attempts.one(() => keepGroup(execution, members, gang));
  const { lastReconcileTime = rfc3339(clock.now()), ...status } = plan.status;
  if (isAdmitted) return { ...plan, status };
  const waiting = { ...plan, createPods: [], createServices: [] };
  const undone = plan.undone && { undone: { ...plan.undone, lastReconcileTime } };
  return { ...waiting, status: { ...status, lastReconcileTime }, ...undone };
}

/** Executes the plan. Every step may be repeated. Throws if the status cannot be written. */
export async function execute(execution: Execution, wanted: Plan): Promise<Executed> {
  if (wanted.statusFirst) {
    await writeStatus(execution, wanted.status);
    tell(execution, wanted);
  }
  const isDeleted = await deleteAll(execution, wanted);
  const free = await admitted(execution, wanted);
  const children = await keepChildren(execution, free);
  const plan = children === "kept" ? free : withoutLast(execution, free);
  const result = await execution.attempts.one(() => createAll(execution, plan)) ?? "waiting";
  const waits = children === "waiting" || plan.createPods.length < wanted.createPods.length;
  const undone = isDeleted && !waits && result === "done" ? undefined : plan.undone;
  if (!plan.statusFirst && result !== "outdated") {
    await writeStatus(execution, undone ?? plan.status);
    if (undone === undefined) tell(execution, plan);
  }
  if (plan.deleteJob) await deleteJob(execution);
  return waits ? "waiting" : result;
}
