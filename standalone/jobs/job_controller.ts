/** Job controller of the embedded cluster: observes batch/v1 Jobs, decides and acts. */
import { KINDS } from "../../crds/kinds.ts";
import type { Job, Pod } from "../../platform/kube/kubernetes.ts";
import { JOB_CONTROLLER } from "../../crds/job_names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { soonest } from "../../platform/base/soonest.ts";
import {
  type Controller,
  type ControllerOptions,
  createController,
  type ReconcileResult,
} from "../../platform/kube/controller.ts";
import type { EventRecorder } from "../../platform/kube/events.ts";
import type { Cache } from "../../platform/kube/watching/informer.ts";
import { controllerKey, controllerOf } from "../../platform/kube/owner_references.ts";
import { createOwnWrites, UNSEEN_MS } from "../../platform/kit/own_writes.ts";
import { watch, watchOwned } from "../../platform/kube/sources.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import { keyOf, parseKey } from "../../platform/kube/resource.ts";
import { act, releasePod } from "./plan_execution.ts";
import { Attempts } from "../../platform/kit/attempts.ts";
import { decideJob } from "./job_decision.ts";
import { isTracked } from "./pods.ts";
import type { Backoff } from "../../platform/base/backoff.ts";
import { KUBERNETES_POD_BACKOFF } from "./policy/pod_failure_backoff.ts";

/** Jobs that are worked on at a time. */
const WORKERS = 4;
/** Name of the index by which pods are found under `namespace/name` of their Job. */
const PODS_BY_JOB = "controllingJob";

/** The key of the Job that controls the pod; undefined if none does. */
const jobOf = (pod: Pod) => controllerKey(pod, KINDS.job);

/** Indexes that the informer of pods must have for the Job controller. */
export const jobPodIndexes: Record<string, (pod: Pod) => string[]> = {
  [PODS_BY_JOB]: (pod) => {
    const key = jobOf(pod);
    return key === undefined ? [] : [key];
  },
};

/** Options of {@link createJobReconciler}. */
export interface ReconcilerOptions {
  readonly client: KubeClient;
  readonly informers: {
    readonly jobs: Cache<Job>;
    /** With {@link jobPodIndexes}. */
    readonly pods: Cache<Pod>;
  };
  readonly events: Pick<EventRecorder, "record">;
  readonly clock: Clock;
  /** Numbers from 0 up to 1, for the names of pods. */
  readonly random: () => number;
  /** Default: Kubernetes' own. */
  readonly podBackoff?: Backoff;
}

function isOurs(job: Job): boolean {
  const managedBy = job.spec?.managedBy;
  return managedBy === undefined || managedBy === JOB_CONTROLLER;
}

/**
 * A reconciler with its memory of own writes, which is fed by the caches that wake the controller. It makes one pass at a
 * time for each key.
 */
export function createJobReconciler(
  options: ReconcilerOptions,
): Required<Pick<ControllerOptions, "reconcile" | "sources">> {
  const { client, informers, events, clock, random } = options;
  const backoff = options.podBackoff ?? KUBERNETES_POD_BACKOFF;
  const podWrites = createOwnWrites<Pod>({ clock, groupOf: (pod) => jobOf(pod) ?? "" });
  const jobWrites = createOwnWrites<Job>({ clock, groupOf: keyOf });

  /** Releases the pods of a Job that is gone, so that they can be deleted. */
  async function releaseOrphans(key: string, pods: readonly Pod[], signal: AbortSignal) {
    if (pods.length === 0) return;
    const live = await getOrUndefined(client, KINDS.job, parseKey(key), { signal });
    const liveUid = live?.metadata?.uid;
    for (const pod of pods) {
      if (controllerOf(pod.metadata)?.uid === liveUid) continue;
      await releasePod({ client, podWrites, signal }, pod);
    }
  }

  async function reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const cached = informers.jobs.get(key);
    const job = cached && jobWrites.latest(key, cached);
    const attempts = new Attempts(signal);
    const podsNow = () => informers.pods.byIndex(PODS_BY_JOB, key);
    const all = await podWrites.observe(key, podsNow, {
      client,
      kind: KINDS.pod,
      attempts,
      signal,
    });
    const uid = job?.metadata?.uid;
    const isMine = (pod: Pod) => controllerOf(pod.metadata)?.uid === uid;
    const orphans = all.filter((pod) => isTracked(pod) && !isMine(pod));
    await attempts.one(() => releaseOrphans(key, orphans, signal));
    if (job === undefined || !isOurs(job)) return attempts.result();
    const pods = all.filter(isMine);
    const now = clock.now();
    const plan = decideJob({ job, pods, now, backoff });
    const pass = { client, events, podWrites, jobWrites, random, attempts, job, signal, now };
    const goesOn = await act(pass, plan);
    // The deadline and the time to live hold whatever goes wrong.
    if (attempts.failed) return attempts.result(plan.requeueAfterMs);
    if (goesOn) return { requeueAfterMs: 1 };
    const unseenMs = podWrites.hasUnseen(key, podsNow()) ? UNSEEN_MS : undefined;
    return { requeueAfterMs: soonest([plan.requeueAfterMs, unseenMs]) };
  }

  const sources = [
    watch(informers.jobs, ({ object }) => [keyOf(object)], jobWrites),
    watchOwned(informers.pods, KINDS.job, podWrites),
  ];
  return { reconcile, sources };
}

/** A controller of all Jobs that no other one manages. Its caller runs the caches. */
export function createJobController(options: ReconcilerOptions): Controller {
  const { clock, random } = options;
  const reconciler = createJobReconciler(options);
  return createController({ name: "job", ...reconciler, workers: WORKERS, clock, random });
}
