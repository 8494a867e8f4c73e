/** Reconciliation of a v1 job: observes, decides and executes. */
import type { V1Job } from "../../crds/v1/job.ts";
import type { V1Kind } from "../../crds/v1/kinds.ts";
import { FOREGROUND_FINALIZER } from "../../crds/names.ts";
import { V1_CONDITIONS, V1_CONTROLLER } from "../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import { causeOf } from "../../crds/field_problem.ts";
import { causesText } from "../../crds/status_cause.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { Reconcile, ReconcileResult } from "../../platform/kube/controller.ts";
import { Attempts } from "../../platform/kit/attempts.ts";
import { OUTDATED_RETRY_MS } from "../../platform/kit/fresh_read.ts";
import { createNotices } from "../../platform/base/notices.ts";
import { UNSEEN_MS } from "../../platform/kit/own_writes.ts";
import { shorten } from "../shorten.ts";
import { hasEnded } from "./condition_list.ts";
import { isConditionTrue } from "../../platform/kube/conditions.ts";
import { refused } from "./decide.ts";
import { type JobFailures, withFailures } from "./job_failures.ts";
import type { Plan } from "./job_plan.ts";
import { runOf } from "./defaults.ts";
import { deletePods, execute, type Execution, type KeptChildren, RECHECK_MS } from "./execute.ts";
import type { V1Settings } from "./v1_settings.ts";
import { type JobCaches, observe } from "./observe.ts";
import { type ObjectsOfJobs, REPLICA_INDEXES } from "./replica_objects.ts";
import { type JobWriter, recordJobEvent } from "./replica_writes.ts";
import { KIND_RULES } from "./rules_by_kind.ts";
import { v1JobProblems } from "./validation.ts";
import { decideWithRestart } from "./restart_plan.ts";
import type { Run } from "./run.ts";
import { FAILED_VALIDATION, type Notice, reasonOf } from "./verdict.ts";

/** Time between two reads of a pod group that the scheduler has not taken, or a name that is not free, in milliseconds. */
const WAITING_RETRY_MS = 2_000;
/** Jobs whose recreations are remembered, and notices. */
const REMEMBERED = 4096;
/** Jobs whose children are remembered, each by a short text. */
const REMEMBERED_CHILDREN = 20_000;

/** Options of {@link createReconciler}. */
export interface ReconcilerOptions
  extends Pick<Execution, "client" | "events" | "metrics" | "jobWrites" | "gang" | "trialOf"> {
  readonly kind: V1Kind;
  /** Reports whether the kind is run. */
  readonly runs: () => boolean;
  readonly caches: JobCaches;
  readonly objects: ObjectsOfJobs;
  readonly clock: Clock;
  /** Returns all CAs that are trusted now, as PEM. Default: none, and pods report no progress. */
  readonly caBundle?: (() => string | undefined) | undefined;
  readonly failures: JobFailures;
  /** Whether jobs may have what their programs say last. Default true. */
  readonly failureMessages?: boolean;
  /** Default: {@link DEFAULT_V1_SETTINGS}. */
  readonly settings?: V1Settings;
}

/** Reports whether another controller runs the job. */
function isForeign({ spec }: V1Job): boolean {
  const { managedBy } = spec.runPolicy ?? {};
  return managedBy !== undefined && managedBy !== V1_CONTROLLER;
}

/**
 * Returns the plan for a job that admission would have refused and that another operator has begun: it is told, gets
 * nothing new, and is suspended, limited, cleaned up and ended as any other.
 */
function onlyToItsEnd(plan: Plan, invalid: Notice): Plan {
  return {
    ...plan,
    createPods: [],
    createServices: [],
    children: [],
    deletePods: plan.deletePods.filter((it) => !plan.recreated.includes(it)),
    recreated: [],
    notices: [invalid, ...plan.notices],
  };
}

/** Returns the plan for a job of whose objects some could not be claimed: they stay, and may have names that it needs. */
function withoutClaims(plan: Plan): Plan {
  const { undone } = plan;
  const status = undone === undefined ? {} : { status: undone, events: [] };
  return { ...plan, createPods: [], createServices: [], ...status };
}

/** Returns the event about a job that admission would have refused. */
function invalidEvent(
  kind: V1Kind,
  job: V1Job,
  settings: V1Settings | undefined,
): Notice | undefined {
  if (hasEnded(job.status?.conditions)) return undefined;
  const problems = v1JobProblems(kind, job, settings);
  if (problems.length === 0) return undefined;
  const text = `${kind.kind} failed validation because ${causesText(problems.map(causeOf))}`;
  const reason = reasonOf({ kind }, FAILED_VALIDATION);
  return { type: "Warning", reason, message: shorten(text) };
}

/**
 * Creates the reconciler of one kind, with its memory of what it has done: it brings the pods and Services of the job of
 * a key to what the job describes.
 */
export function createReconciler(options: ReconcilerOptions): Reconcile {
  const { kind, runs, client, caches, events, objects, jobWrites, metrics, clock, gang } = options;
  const { failures } = options;
  const rules = KIND_RULES[kind.kind];
  const resource = V1_RESOURCES[kind.kind];
  const recreations = createBoundedCache<number>(REMEMBERED);
  const isNews = createNotices(REMEMBERED);
  const kept = createBoundedCache<KeptChildren>(REMEMBERED_CHILDREN);

  function giveNotice(writer: JobWriter, { pod = "", once, ...event }: Notice): void {
    const key = `${writer.job.metadata.uid} ${pod} ${event.reason} ${once ?? event.message}`;
    if (isNews(key)) recordJobEvent(writer, event);
  }

  /** Plans a pass. A job that would have been refused and that nobody has begun is told of, and no more. */
  async function planFor(
    writer: JobWriter,
    run: Run,
    invalid: Notice | undefined,
  ): Promise<Plan> {
    const isBegun = isConditionTrue(run.status.conditions, V1_CONDITIONS.created);
    if (invalid !== undefined && !isBegun) return refused(run, invalid, clock.now());
    const { isWhole, ...observed } = await observe(writer);
    const decided = decideWithRestart({
      run,
      rules,
      ...observed,
      recreations: recreations.get(run.uid) ?? 0,
      caBundle: options.caBundle?.(),
      nowMs: clock.now(),
      isValid: invalid === undefined,
    });
    const told = withFailures(decided, {
      ...{ kind, run, job: writer.job, failures, nowMs: clock.now() },
      failureMessages: options.failureMessages ?? true,
    });
    const known = isWhole ? told : withoutClaims(told);
    return invalid === undefined ? known : onlyToItsEnd(known, invalid);
  }

  /** When what the job has beside its pods and Services is read again. */
  function recheckMs(uid: string, { children, needsGroup }: Plan): number {
    if (children.length === 0) return gang && needsGroup ? RECHECK_MS : Infinity;
    return (kept.get(uid)?.untilMs ?? Infinity) - clock.monotonic();
  }

  /** Whether something that was written has not been seen. */
  function isUnseen(uid: string): boolean {
    return Object.values(objects).some(({ cache, writes }) =>
      writes.hasUnseen(uid, cache.byIndex(REPLICA_INDEXES.controller, uid))
    );
  }

  function requeue(uid: string, plan: Plan): ReconcileResult {
    const { nextMs } = plan;
    const due = nextMs === undefined ? Infinity : nextMs - clock.now();
    const next = Math.min(due, recheckMs(uid, plan), isUnseen(uid) ? UNSEEN_MS : Infinity);
    return Number.isFinite(next) ? { requeueAfterMs: Math.max(0, next) } : undefined;
  }

  return async (key, signal) => {
    if (!runs()) return;
    const { jobs, pods, services } = caches;
    if (!(jobs.synced && pods.synced && services.synced)) {
      return { requeueAfterMs: OUTDATED_RETRY_MS };
    }
    const cached = jobs.get(key);
    const job = cached && jobWrites.latest(key, cached);
    if (!job || isForeign(job)) return;
    const { uid = "", deletionTimestamp, finalizers } = job.metadata;
    const departs = deletionTimestamp !== undefined;
    if (departs && !finalizers?.includes(FOREGROUND_FINALIZER)) return;
    const attempts = new Attempts(signal);
    const writer = {
      ...{ client, events, metrics, clock, kind, resource, job, attempts, signal },
      ...objects,
    };
    // It goes together with its pods: these end now, and need not wait for the garbage collector.
    if (departs) {
      const { cache, writes } = objects.pods;
      await deletePods(writer, writes.merge(uid, cache.byIndex(REPLICA_INDEXES.controller, uid)));
      return attempts.result();
    }
    const invalid = invalidEvent(kind, job, options.settings);
    const run = runOf(kind, job, options.settings);
    const plan = await planFor(writer, run, invalid);
    for (const notice of plan.notices) giveNotice(writer, notice);
    const onRecreation = () => void recreations.set(uid, (recreations.get(uid) ?? 0) + 1);
    const execution = {
      ...writer,
      run,
      rules,
      jobWrites,
      kept,
      onRecreation,
      ...(gang && { gang }),
      trialOf: options.trialOf,
    };
    const result = await attempts.one(() => execute(execution, plan));
    // The deadline and the expiry hold whatever goes wrong.
    if (attempts.failed) return attempts.result(plan.nextMs && plan.nextMs - clock.now());
    if (result === "outdated") return { requeueAfterMs: OUTDATED_RETRY_MS };
    if (result === "waiting") return { requeueAfterMs: WAITING_RETRY_MS };
    return requeue(uid, plan);
  };
}
