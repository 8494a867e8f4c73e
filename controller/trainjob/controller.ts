/** The TrainJob controller: what wakes it, and its loop. */
import { isDeepStrictEqual } from "node:util";
import { KINDS } from "../../crds/kinds.ts";
import { childNames } from "../../crds/names.ts";
import type { AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { WatchedPod } from "../../crds/watched.ts";
import type { KubeClient } from "../../kube/client.ts";
import { createBoundedCache } from "../../kube/bounded_cache.ts";
import type { Clock } from "../../kube/clock.ts";
import {
  type Controller,
  type ControllerMetrics,
  createController,
} from "../../kube/controller.ts";
import type { EventRecorder } from "../../kube/events.ts";
import type { Informer } from "../../kube/informer.ts";
import { controllerOf } from "../../kube/ownership.ts";
import { formatKey, keyOf, type KubeObject } from "../../kube/resource.ts";
import type { Executor } from "../runtime/draft.ts";
import { followEndedJobSets } from "./ended_jobsets.ts";
import { isFinished, owns, runtimeRefOf } from "./observed.ts";
import { refKey, type TrainJobInformers } from "./observe.ts";
import { reconcileTrainJob } from "./reconcile.ts";
import { followRunningPods, trainJobKeyOf } from "./running_pods.ts";
import { createSettling } from "./settling.ts";
import type { TrialHooks } from "./trials.ts";

/** Where the CA that pods shall trust comes from. */
export interface ProgressOptions {
  /** All CAs trusted now, as PEM; undefined while there are none yet. */
  caBundle(): string | undefined;
  /** Calls the listener after each change; answers a function that ends this. */
  onCaChange(listener: () => void): (() => void) | void;
}

/** Options of {@link createTrainJobController}. */
export interface TrainJobControllerOptions {
  readonly client: KubeClient;
  readonly informers: TrainJobInformers;
  readonly events: EventRecorder;
  readonly clock: Clock;
  /** Who executes JobSets now. */
  readonly executor: () => Executor;
  /** Undefined where the feature gate is off. */
  readonly progress: ProgressOptions | undefined;
  /** Undefined where no job is anybody's trial. */
  readonly trials?: TrialHooks | undefined;
  /** TrainJobs reconciled at a time; upstream has 5. */
  readonly workers?: number;
  readonly metrics?: ControllerMetrics;
}

/** Warnings that are remembered as told. */
const TOLD_MAX = 1000;
/** Such a warning is told again after this long, in milliseconds. */
const TOLD_AGAIN_MS = 3_600_000;

const CHILD_SUFFIXES = [childNames.runtimeSnapshot(""), childNames.tlsConfig("")];

/** The TrainJob that controls the object, and the one whose child would have its name. */
function parentKeys(object: KubeObject): string[] {
  const { namespace, name = "" } = object.metadata ?? {};
  const owner = controllerOf(object.metadata);
  const owned = owner?.kind === "TrainJob" ? [owner.name] : [];
  const suffix = CHILD_SUFFIXES.find((candidate) => name.endsWith(candidate));
  const named = suffix === undefined ? name : name.slice(0, -suffix.length);
  return [...new Set([...owned, named])].map((parent) => formatKey({ namespace, name: parent }));
}

/** Whether a change of its runtime means something to the job: it has none of its own to go by. */
function waitsForRuntime(
  { jobSets, configMaps }: TrainJobInformers,
  trainJob: TrainJob,
): boolean {
  if (isFinished(trainJob.status)) return false;
  const { namespace, name = "" } = trainJob.metadata;
  const jobSet = jobSets.get(keyOf(trainJob));
  const hasBegun = jobSet !== undefined && owns(trainJob, jobSet.metadata);
  return !hasBegun || !configMaps.get({ namespace, name: childNames.runtimeSnapshot(name) });
}

/** Whether progress was written and nothing else: up to 50 times a second that is no news here. */
function isProgressAlone(now: TrainJob, old: TrainJob | undefined): boolean {
  if (old === undefined) return false;
  if (isDeepStrictEqual(now.status?.trainerStatus, old.status?.trainerStatus)) return false;
  const rest = ({ metadata, status, ...job }: TrainJob) => ({
    ...job,
    metadata: { ...metadata, resourceVersion: undefined, managedFields: undefined },
    status: { ...status, trainerStatus: undefined },
  });
  return isDeepStrictEqual(rest(now), rest(old));
}

function watchChildren(informers: TrainJobInformers, wake: (key: string) => void): (() => void)[] {
  const parents = (change: { object: KubeObject }) => {
    for (const key of parentKeys(change.object)) if (informers.trainJobs.get(key)) wake(key);
  };
  const pods = (change: { object: WatchedPod; old?: WatchedPod }) => {
    if (change.object.status?.phase === change.old?.status?.phase) return;
    const key = trainJobKeyOf(change.object);
    if (key !== undefined) wake(key);
  };
  return [
    informers.jobSets.onChange(parents),
    informers.configMaps.onChange(parents),
    informers.pods.onChange(pods),
  ];
}

/** Runtimes change seldom, so that looking through all TrainJobs is cheaper than an index. */
function watchRuntimes(informers: TrainJobInformers, wake: (key: string) => void): (() => void)[] {
  const on = <T extends AnyTrainingRuntime>(cache: Informer<T>, { kind }: { kind: string }) =>
    cache.onChange(({ object }) => {
      if (!informers.trainJobs.synced) return;
      for (const trainJob of informers.trainJobs.list(object.metadata.namespace)) {
        const isMeant = runtimeRefOf(trainJob).kind === kind &&
          formatKey(refKey(trainJob)) === keyOf(object);
        if (isMeant && waitsForRuntime(informers, trainJob)) wake(keyOf(trainJob));
      }
    });
  return [
    on(informers.trainingRuntimes, KINDS.trainingRuntime),
    on(informers.clusterTrainingRuntimes, KINDS.clusterTrainingRuntime),
  ];
}

/** Enqueues the TrainJobs that a change concerns. Answers a function that ends this. */
function subscribe(
  { informers, progress }: TrainJobControllerOptions,
  wake: (key: string) => void,
): () => void {
  const ends = [
    informers.trainJobs.onChange(({ object, old }) => {
      if (!isProgressAlone(object, old)) wake(keyOf(object));
    }),
    ...watchChildren(informers, wake),
    ...watchRuntimes(informers, wake),
    progress?.onCaChange(() => {
      for (const trainJob of informers.trainJobs.list()) {
        if (!isFinished(trainJob.status)) wake(keyOf(trainJob));
      }
    }),
  ];
  return () => ends.forEach((end) => end?.());
}

async function allSynced(informers: TrainJobInformers, signal: AbortSignal): Promise<boolean> {
  const { trainJobs, trainingRuntimes, clusterTrainingRuntimes, jobSets, configMaps, pods } =
    informers;
  const caches = [trainJobs, trainingRuntimes, clusterTrainingRuntimes, jobSets, configMaps, pods];
  const synced = await Promise.all(caches.map((cache) => cache.whenSynced(signal)));
  return synced.every((done) => done);
}

/**
 * The controller that makes JobSets of TrainJobs. It subscribes to the informers while it runs, and
 * begins once all of them are synced; whoever composes it runs the informers.
 */
export function createTrainJobController(options: TrainJobControllerOptions): Controller {
  const { client, informers, events, clock, executor, progress, trials, workers, metrics } =
    options;
  const told = createBoundedCache<true>(TOLD_MAX, {
    ttl: TOLD_AGAIN_MS,
    perf: { now: () => clock.monotonic() },
  });
  const runningPods = followRunningPods(informers.pods);
  const endedJobSets = followEndedJobSets(informers.jobSets);
  const settling = trials &&
    createSettling({ settle: trials.settle, clock, wake: (key) => loop.enqueue(key) });
  const reconciler = {
    client,
    informers,
    runningPods,
    endedJobSets,
    events,
    clock,
    executor,
    trials,
    settling,
    caBundle: () => progress?.caBundle(),
    isNews(uid: string, message: string) {
      const key = `${uid} ${message}`;
      const isNew = !told.has(key);
      told.set(key, true);
      return isNew;
    },
  };
  const loop = createController({
    name: "trainjob",
    reconcile: (key, signal) => reconcileTrainJob(reconciler, key, signal),
    workers: workers ?? 5,
    clock,
    metrics,
  });
  return {
    enqueue: (key) => loop.enqueue(key),
    enqueueAfter: (key, ms) => loop.enqueueAfter(key, ms),
    async run(signal) {
      const unsubscribe = subscribe(options, (key) => loop.enqueue(key));
      try {
        if (await allSynced(informers, signal)) await loop.run(signal);
      } finally {
        unsubscribe();
        runningPods.end();
        endedJobSets.end();
        settling?.end();
      }
    },
  };
}
