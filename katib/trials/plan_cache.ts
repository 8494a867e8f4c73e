/** Cache of the observation plans of jobs. */
import { type AnyJob, type JobKind, jobNow, type JobRef, jobRefOf } from "../../crds/job_kind.ts";
import { formatKey, type Kind, type ObjectKey } from "../../platform/kube/resource.ts";
import { earlyStopOf, endOf, storedStopOf, suspensionOf } from "../../crds/job_state.ts";
import { TRIAL_CONDITIONS } from "../../crds/katib_names.ts";
import { LOG_ANNOTATIONS, RULE_ANNOTATIONS } from "../../crds/early_stopping.ts";
import { ANNOTATIONS, LABELS } from "../../crds/names.ts";
import type { JobSet } from "../../crds/jobset.ts";
import type { Trial } from "../../crds/trial.ts";
import { WATCHED } from "../../crds/watched.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import { createRecentMemory } from "../../platform/base/recent_memory.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { isConditionTrue, trueCondition } from "../../platform/kube/conditions.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { isControlledBy } from "../../platform/kube/owner_references.ts";
import type { ServedInformer } from "../../platform/kube/watching/served_informer.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import type { PlanSource } from "../../owner/observations/observations.ts";
import { controlOfTrial, controlShown } from "../../owner/observations/stop_decision.ts";
import { hasOtherEnd } from "../stopping/stop_writes.ts";
import { isPrimaryPod } from "../../trials/mapping/outcome.ts";
import { judgeClaim, trialReference } from "../../trials/plan/claim.ts";
import type { Notice } from "../../trials/plan/notice.ts";
import {
  comesByPush,
  type DerivedPlan,
  derivePlan,
  type PlanInputs,
} from "../../trials/plan/derive_plan.ts";
import type { ObservationPlan, PlanSettings } from "../../trials/plan/observation_plan.ts";
import { primaryContainerProblem } from "../../trials/plan/primary_container.ts";
import { deriveStopTarget } from "../../trials/plan/stop_target.ts";
import { cachedTrial, TRIALS_BY } from "./cached_trial.ts";
import { createPodLabels, type PodLabelsOptions } from "./pod_labels.ts";
import { type PodCache, presentRunOf } from "./primary_runs.ts";
import { ONE_RUN } from "../../trials/recording/present_run.ts";

/** The cache of Trials, with the indexes of `trialIndexes`. */
export interface TrialCache
  extends Pick<ServedInformer<Trial>, "get" | "byIndex" | "resting" | "wake"> {}

/** Options of {@link createPlanCache}. */
export interface PlanCacheOptions {
  /** The caches of every kind of job. */
  readonly jobs: ReadonlyMap<JobKind, {
    readonly jobs: Pick<Informer<AnyJob>, "get" | "list">;
    readonly pods: PodLabelsOptions["pods"] & PodCache;
  }>;
  readonly trials: TrialCache;
  readonly client: Pick<KubeClient, "get">;
  readonly jobSets: Pick<Informer<JobSet>, "get">;
  /** Called for each plan. */
  readonly settings: () => PlanSettings;
  /** Called with the notices of every new plan, which may repeat earlier ones. */
  readonly notify: (notices: readonly Notice[]) => void;
  /** Deadline of one read, in milliseconds. */
  readonly deadlineMs: number;
  readonly clock: Pick<Clock, "monotonic">;
}

/** Most plans that are cached; each is derived again when its objects have changed. */
const REMEMBERED = 20_000;
/** How long an unused plan is cached, in milliseconds. */
const IDLE_MS = 600_000;

/** Limits of the cache of reads that bypassed the informers, with their lifetime in milliseconds. */
const READ = { max: 1000, ttl: 2_000 } as const;

/** A plan, and the fingerprint of everything that it depends on. */
interface Remembered {
  readonly by: string;
  readonly planned: DerivedPlan;
}

function versionOf({ metadata: { uid, resourceVersion } }: Trial): string {
  return `${uid}@${resourceVersion}`;
}

/** Returns everything that a plan depends on, as one text; the progress of the job is not part of it. */
function fingerprint(
  view: PlanInputs,
  { adopted, namesOnly, keepsPlainJobs, keepsSteps }: PlanSettings,
): string {
  const { annotations = {}, ownerReferences = [], uid } = view.job.metadata;
  const { earlyStoppingCompare, earlyStoppingGrace } = ANNOTATIONS;
  return JSON.stringify([
    uid,
    [...LOG_ANNOTATIONS, earlyStoppingCompare, earlyStoppingGrace].map((key) => annotations[key]),
    ownerReferences,
    [view.trial ?? [], view.claimants, view.namesakes].flat().map(versionOf),
    [...adopted],
    namesOnly,
    keepsPlainJobs,
    keepsSteps,
  ]);
}

/** Creates the plans of one term. */
export function createPlanCache(options: PlanCacheOptions): PlanSource & {
  /**
   * Returns the Trial whose metrics the job's pods push, for the label on them. Rejects if that is not known
   * now.
   */
  trialOf(kind: JobKind, job: AnyJob, signal: AbortSignal): Promise<string | undefined>;
} {
  const { jobs, trials, client, jobSets, settings, notify, deadlineMs, clock } = options;
  const perf = { now: () => clock.monotonic() };
  const plans = createRecentMemory<Remembered>({ ...perf, max: REMEMBERED, idleMs: IDLE_MS });
  /** Reads of objects that are not in the caches, so that impostors cost few requests. */
  const reads = createBoundedCache<Promise<unknown>>(READ.max, { ttl: READ.ttl, perf });
  const podLabels = new Map(
    [...jobs].map(([kind, { pods }]) => [kind, createPodLabels({ ...options, pods })]),
  );

  function isPrimary(
    plan: ObservationPlan,
    pod: { readonly name: string; readonly uid: string },
  ): boolean | undefined | Promise<boolean | undefined> {
    const { mapping, needsLabel } = plan;
    const keys = [...Object.keys(mapping?.primaryPodLabels ?? {}), LABELS.trial];
    const judge = (labels: Readonly<Record<string, string>> | undefined) => {
      // The pod was deleted: its last push is not acknowledged as recorded.
      if (labels === undefined) return undefined;
      if (needsLabel && labels[LABELS.trial] !== plan.key.name) return false;
      return mapping === undefined || isPrimaryPod(mapping, labels);
    };
    const { kind, namespace } = plan.job;
    const labels = podLabels.get(kind)?.of({ namespace, ...pod }, keys);
    if (!(labels instanceof Promise)) return judge(labels);
    return labels.then(judge, () => undefined);
  }

  /** Whether the job has not finished and may have rules. */
  function mayBeOpen(kind: JobKind, job: AnyJob): boolean {
    const asks = RULE_ANNOTATIONS.some((key) => job.metadata.annotations?.[key] !== undefined) ||
      trialReference(job.metadata) !== undefined;
    return asks && !isOver(kind, job);
  }

  /** Whether the job has ended, or is another operator's, and its Trial has ended without it. */
  function isOver(kind: JobKind, job: AnyJob): boolean {
    if (endOf(kind, job) !== undefined) return true;
    if (!kind.isForeign) return false;
    const trial = cachedTrial(trials, job);
    if (trial === undefined) return false;
    // A job whose Trial was stopped early has still to be ended.
    const isStopped = isConditionTrue(trial.status?.conditions, TRIAL_CONDITIONS.earlyStopped);
    return hasOtherEnd(trial) || (isStopped && suspensionOf(kind, job) !== undefined);
  }

  /** Returns undefined if the caches may be behind: they lack the job, or the very Trial that it names. */
  function cachedView(kind: JobKind, job: AnyJob | undefined): PlanInputs | undefined {
    if (job === undefined) return undefined;
    if (trialReference(job.metadata) === undefined) return view(kind, job, undefined);
    const trial = cachedTrial(trials, job);
    return trial && view(kind, job, trial);
  }

  function view(kind: JobKind, job: AnyJob, trial: Trial | undefined): PlanInputs {
    if (trial === undefined) return { kind, job, trial, claimants: [], namesakes: [] };
    const { namespace = "", name = "" } = job.metadata;
    return {
      kind,
      job,
      trial,
      claimants: trials.byIndex(TRIALS_BY.job, formatKey({ namespace, name })),
      namesakes: trials.byIndex(TRIALS_BY.name, trial.metadata.name ?? "")
        .filter(({ metadata }) => metadata.namespace !== trial.metadata.namespace),
    };
  }

  async function readView(ref: JobRef, signal: AbortSignal): Promise<PlanInputs | undefined> {
    const job = jobNow(jobs, ref) ?? await read(ref.kind, ref);
    if (job?.metadata.uid !== ref.uid) return undefined;
    return await viewOf(ref.kind, job, signal);
  }

  async function viewOf(kind: JobKind, job: AnyJob, signal: AbortSignal): Promise<PlanInputs> {
    const reference = trialReference(job.metadata);
    if (reference === undefined) return view(kind, job, undefined);
    // A job that names a Trial shows that the cluster has Trials.
    if (trials.resting) trials.wake();
    const key = { namespace: job.metadata.namespace, name: reference.name };
    const trial = await read(WATCHED.trial, key);
    signal.throwIfAborted();
    return view(kind, job, trial);
  }

  /** Reads an object, once for all concurrent callers. Returns undefined if there is none. */
  async function read<T>(kind: Kind<T>, { namespace, name }: ObjectKey): Promise<T | undefined> {
    const id = `${kind.plural}.${kind.group} ${formatKey({ namespace, name })}`;
    const reading = reads.get(id) ??
      getOrUndefined(client, kind, { namespace, name }, { deadlineMs, honorRetryAfter: false })
        .catch((error) => {
          reads.delete(id);
          throw error;
        });
    if (!reads.has(id)) reads.set(id, reading);
    const object = await reading;
    return object === undefined ? undefined : kind.parse(object);
  }

  function plan(view: PlanInputs): DerivedPlan {
    const now = settings();
    const by = fingerprint(view, now);
    const uid = view.job.metadata.uid ?? "";
    const known = plans.get(uid);
    if (known?.by === by) return known.planned;
    const planned = derivePlan(view, now);
    plans.set(uid, { by, planned });
    notify(planned.notices);
    return planned;
  }

  return {
    planFor(job, signal) {
      const view = cachedView(job.kind, jobNow(jobs, job));
      if (view !== undefined) return plan(view).decision;
      return readView(job, signal).then(
        (read) => read === undefined ? { kind: "none" } as const : plan(read).decision,
        (error) => ({ kind: "unknown", why: `the job's Trial is not known: ${messageOf(error)}` }),
      );
    },
    openPlans() {
      return [...jobs].flatMap(([kind, { jobs }]) =>
        jobs.list().flatMap((job) => {
          if (!mayBeOpen(kind, job)) return [];
          const view = cachedView(kind, job);
          const decision = view && plan(view).decision;
          return decision?.kind === "plan" && decision.rules.length > 0 ? [decision] : [];
        })
      );
    },
    isOpen(ref) {
      const job = jobNow(jobs, ref);
      return job !== undefined && !isOver(ref.kind, job);
    },
    async stopTargetFor(ref, signal) {
      const view = cachedView(ref.kind, jobNow(jobs, ref)) ?? await readView(ref, signal);
      return view && deriveStopTarget(view);
    },
    storedStop(ref) {
      const job = jobNow(jobs, ref);
      return job && storedStopOf(job);
    },
    stoppingJobs() {
      return [...jobs].flatMap(([kind, { jobs }]) =>
        jobs.list()
          .filter((job) => storedStopOf(job) !== undefined && endOf(kind, job) === undefined)
          .map((job) => jobRefOf(kind, job))
      );
    },
    stopShown(ref) {
      const job = jobNow(jobs, ref);
      if (job === undefined) return undefined;
      if (earlyStopOf(ref.kind, job) !== undefined) return controlShown(ref.kind, job);
      const { status } = cachedTrial(trials, job) ?? {};
      const stopped = trueCondition(status?.conditions, TRIAL_CONDITIONS.earlyStopped);
      return stopped && controlOfTrial(stopped.message);
    },
    hasEnded({ key, job: ref }) {
      const job = jobNow(jobs, ref);
      if (key.kind !== "trial" || job === undefined) return false;
      const trial = cachedTrial(trials, job);
      return endOf(ref.kind, job) !== undefined || (trial !== undefined && hasOtherEnd(trial));
    },
    primaryProblem({ job: { namespace, name, uid }, mapping }) {
      const jobSet = mapping && jobSets.get({ namespace, name });
      if (!jobSet || !isControlledBy(jobSet.metadata, uid)) return undefined;
      return primaryContainerProblem(mapping, jobSet)?.message;
    },
    isSuspended(ref) {
      const job = jobNow(jobs, ref);
      return job !== undefined && suspensionOf(ref.kind, job) !== undefined;
    },
    presentRun(plan) {
      const pods = jobs.get(plan.job.kind)?.pods;
      if (pods === undefined) return ONE_RUN;
      return presentRunOf(pods, plan.job, (pod) => isPrimary(plan, pod));
    },
    async trialOf(kind, job, signal) {
      if (trialReference(job.metadata) === undefined) return undefined;
      const view = cachedView(kind, job) ?? await viewOf(kind, job, signal);
      // Reports what is wrong before there is a pod that could push.
      plan(view);
      const claim = judgeClaim(view);
      const isHeld = claim.kind === "holds" && comesByPush(claim.trial, settings());
      return isHeld ? claim.trial.metadata.name : undefined;
    },
    isPrimary,
  };
}
