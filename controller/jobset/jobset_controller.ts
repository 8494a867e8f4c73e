/** Controller of the built-in JobSet executor: its sources, its reconciler, which observes, decides and acts, and its loop. */
import type { JobSet } from "../../crds/jobset.ts";
import { KINDS } from "../../crds/kinds.ts";
import { MILEPOST_JOBSET_CONTROLLER } from "../../crds/jobset_names.ts";
import { WATCHED, type WatchedIdentity, type WatchedJob } from "../../crds/watched.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import {
  type Controller,
  type ControllerOptions,
  createController,
  type ReconcileResult,
} from "../../platform/kube/controller.ts";
import { subjectOf } from "../../platform/kube/event_object.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import type { Cache } from "../../platform/kube/watching/informer.ts";
import { controllerOf, controllerUids } from "../../platform/kube/owner_references.ts";
import { Attempts } from "../../platform/kit/attempts.ts";
import { OUTDATED_RETRY_MS } from "../../platform/kit/fresh_read.ts";
import { createNotices } from "../../platform/base/notices.ts";
import { createOwnWrites, UNSEEN_MS } from "../../platform/kit/own_writes.ts";
import { keyOf } from "../../platform/kube/resource.ts";
import { watch, watchOwned } from "../../platform/kube/sources.ts";
import { act, suspend } from "./act.ts";
import { readClaims } from "./claim_calls.ts";
import { decide } from "./decide.ts";
import { resolveSpec } from "./defaults.ts";
import { needsClaims } from "./volume_claims.ts";

/** Name of the index of Jobs by the uid of their controller. */
const JOBS_BY_CONTROLLER = "controllerUid";

/** Indexes that the informer of Jobs must have. */
export const jobSetJobIndexes: Record<string, (job: WatchedJob) => string[]> = {
  [JOBS_BY_CONTROLLER]: controllerUids,
};

/** Options of {@link createJobSetReconciler}. */
export interface ReconcilerOptions {
  readonly client: KubeClient;
  /** The name of the manager, with which the names of its roles begin. */
  readonly managerName: string;
  readonly informers: {
    readonly jobSets: Cache<JobSet>;
    /** With {@link jobSetJobIndexes}. */
    readonly jobs: Cache<WatchedJob>;
    readonly services: Cache<WatchedIdentity>;
  };
  readonly events: Pick<EventRecorder, "record">;
  readonly clock: Clock;
  /** How many pods a JobSet may have. Default: as `decide()`. */
  readonly maxPods?: number;
}

/** Notices that are remembered. */
const NOTICES = 1000;

function isOurs(jobSet: JobSet): boolean {
  return jobSet.spec?.managedBy === MILEPOST_JOBSET_CONTROLLER;
}

/**
 * Creates a reconciler with its memory of own writes, which is fed by the caches that wake the controller. It reconciles
 * one key at a time.
 */
export function createJobSetReconciler(
  { client, managerName, informers, events, clock, maxPods }: ReconcilerOptions,
): Required<Pick<ControllerOptions, "reconcile" | "sources">> {
  const jobWrites = createOwnWrites<WatchedJob>({
    clock,
    groupOf: (job) => controllerOf(job.metadata)?.uid,
  });
  const jobSetWrites = createOwnWrites<JobSet>({ clock, groupOf: keyOf });
  const actor = { client, events, managerName, jobWrites, jobSetWrites };
  const isNews = createNotices(NOTICES);

  async function reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const inCache = informers.jobSets.get(key);
    const jobSet = inCache && jobSetWrites.latest(key, inCache);
    if (!jobSet || !isOurs(jobSet)) return;
    const { namespace, uid = "", deletionTimestamp } = jobSet.metadata;
    const cached = () => informers.jobs.byIndex(JOBS_BY_CONTROLLER, uid);
    const attempts = new Attempts(signal);
    const now = clock.now();
    const pass = { ...actor, jobSet, attempts, signal, now };
    await suspend(pass, jobWrites.merge(uid, cached()));
    if (deletionTimestamp !== undefined) return attempts.result();
    const jobs = await jobWrites.observe(uid, cached, { ...pass, kind: WATCHED.job });
    const spec = resolveSpec(jobSet);
    const name = spec.network.subdomain;
    const hasService = informers.services.get({ namespace, name }) !== undefined;
    const claims = needsClaims(jobSet, spec, jobs)
      ? await attempts.one(() => readClaims(pass, spec.volumeClaims)) ?? "unknown"
      : undefined;
    const plan = decide({ jobSet, jobs, hasService, claims, maxPods }, now);
    const { notice, requeueAfterMs } = plan;
    if (notice !== undefined && isNews(`${uid} ${notice.message}`)) {
      events.record(subjectOf(KINDS.jobSet, jobSet), notice);
    }
    const result = await act(pass, plan);
    if (result === "outdated") return { requeueAfterMs: OUTDATED_RETRY_MS };
    if (attempts.failed || requeueAfterMs !== undefined) return attempts.result(requeueAfterMs);
    return jobWrites.hasUnseen(uid, cached()) ? { requeueAfterMs: UNSEEN_MS } : undefined;
  }

  const sources = [
    watch(
      informers.jobSets,
      ({ object }) => isOurs(object) ? [keyOf(object)] : [],
      jobSetWrites,
    ),
    watchOwned(informers.jobs, KINDS.jobSet, jobWrites),
    watchOwned(informers.services, KINDS.jobSet),
  ];
  return { reconcile, sources };
}

/**
 * Creates the controller of the JobSets whose `spec.managedBy` names Milepost: they become Jobs and
 * headless Services. The caller runs the caches. By default 4 are reconciled concurrently.
 */
export function createJobSetController(
  options: ReconcilerOptions & Pick<ControllerOptions, "workers" | "metrics">,
): Controller {
  const { clock, workers = 4, metrics } = options;
  const reconciler = createJobSetReconciler(options);
  return createController({ name: "jobset", ...reconciler, workers, clock, metrics });
}
