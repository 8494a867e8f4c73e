/** TrainJob controller: its sources and its loop. */
import { KINDS } from "../../crds/kinds.ts";
import { CHILD_CONFIG_MAP_SUFFIXES, childNames, TRAINJOB_CONDITIONS } from "../../crds/names.ts";
import { timeToLiveOf } from "../../crds/time_to_live.ts";
import type { AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import type { OptimizationJob } from "../../crds/optimization_job.ts";
import { trialName } from "../../crds/trial_records.ts";
import { runtimeRefOf, type TrainJob } from "../../crds/trainjob.ts";
import { sameJson } from "../../platform/base/json.ts";
import { createBoundedCache } from "../../platform/base/bounded_cache.ts";
import { findCondition } from "../../platform/kube/conditions.ts";
import { createNotices } from "../../platform/base/notices.ts";
import type { Clock } from "../../platform/base/clock.ts";
import {
  type Controller,
  type ControllerMetrics,
  createController,
} from "../../platform/kube/controller.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { controllerOf } from "../../platform/kube/owner_references.ts";
import { formatKey, keyOf, type KubeObject } from "../../platform/kube/resource.ts";
import { type Source, watch, watchSignal } from "../../platform/kube/sources.ts";
import { hasSearchEnded } from "../../trials/search/search_status.ts";
import { isProgressOnly } from "../progress_change.ts";
import { type ChildCacheFactory, createChildCaches } from "./child_caches.ts";
import { createChildConfigMaps } from "./child_config_maps.ts";
import type { WaitCheck } from "./job_events.ts";
import { createEndedJobSets, type EndedJobSets } from "./ended_jobsets.ts";
import { isSeenByKueue } from "./kueue_runtime.ts";
import { isFinished, owns } from "./observed.ts";
import { refKey, type TrainJobInformers } from "./observe.ts";
import { type ReconcilerOptions, reconcileTrainJob } from "./reconcile.ts";
import { createTrainJobFailures, type TrainJobFailures } from "./trainjob_failures.ts";
import { createRunningPods, type RunningPods, trainJobKeyOf } from "./running_pods.ts";
import { createSettling, type Settling } from "./settling.ts";
import type { TrialHooks } from "./trials.ts";

/** Options of {@link createTrainJobController}. */
export interface TrainJobControllerOptions extends
  Pick<
    ReconcilerOptions,
    | "client"
    | "managerName"
    | "events"
    | "executor"
    | "maxPods"
    | "failureMessages"
    | "runtimeDefinitions"
    | "searches"
  > {
  readonly informers: TrainJobInformers;
  readonly clock: Clock;
  /** Source of the CA that pods trust; undefined if the feature gate is off. */
  readonly progress: {
    /** Returns all CAs that are trusted now, as PEM; undefined while there are none. */
    caBundle(): string | undefined;
    /** Calls the listener after each change. Returns a function that ends this. */
    onCaChange(listener: () => void): (() => void) | void;
  } | undefined;
  /** Creates the cache of a kind of children. Default: children are read from the API server. */
  readonly createChildCache?: ChildCacheFactory;
  /** Undefined if no job belongs to a trial. */
  readonly trials?: TrialHooks | undefined;
  /** TrainJobs reconciled concurrently. Default 5, as upstream. */
  readonly workers?: number;
  readonly metrics?: ControllerMetrics;
}

/** Jobs that wait for long, of which the next look is remembered; of a forgotten one the look is repeated. */
const WAIT_CHECKS_MAX = 4096;
/** Warnings that are remembered, so that they are not repeated. */
const WARNINGS_MAX = 1000;
/** Time after which a warning is repeated, in milliseconds. */
const REPEAT_WARNING_MS = 3_600_000;

/** Returns the keys of the TrainJob that controls the object, and of the one whose child has that name. */
function parentKeys(object: KubeObject): string[] {
  const { namespace, name = "" } = object.metadata ?? {};
  const owner = controllerOf(object.metadata);
  const owned = owner?.kind === "TrainJob" ? [owner.name] : [];
  const suffix = CHILD_CONFIG_MAP_SUFFIXES.find((candidate) => name.endsWith(candidate));
  const named = suffix === undefined ? name : name.slice(0, -suffix.length);
  return [...new Set([...owned, named])].map((parent) => formatKey({ namespace, name: parent }));
}

/**
 * Reports whether the job may depend on the live runtime: it has not begun, or no snapshot is watched, as of
 * a job that upstream's controller began.
 */
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

/** Reports whether a child of the TrainJob could not be made. */
function waitsForChildren({ status }: TrainJob): boolean {
  return !isFinished(status) &&
    findCondition(status?.conditions, TRAINJOB_CONDITIONS.resourcesCreated)?.status === "False";
}

/** The runtimes of one kind. They change seldom, so that searching all TrainJobs is cheaper than an index. */
function watchRuntimes<T extends AnyTrainingRuntime>(
  runtimes: Informer<T>,
  { kind }: { readonly kind: string },
  informers: TrainJobInformers,
): Source {
  const isMeant = (trainJob: TrainJob, runtime: T) =>
    runtimeRefOf(trainJob).kind === kind && formatKey(refKey(trainJob)) === keyOf(runtime);
  return watch(runtimes, ({ object, old }) => {
    if (!informers.trainJobs.synced) return [];
    const isGone = runtimes.get(keyOf(object)) === undefined;
    const expires = old !== undefined && timeToLiveOf(object) !== timeToLiveOf(old);
    return informers.trainJobs.list(object.metadata.namespace).filter((it) =>
      isMeant(it, object) &&
      (waitsForRuntime(informers, it) || (isGone && isSeenByKueue(it)) || expires)
    ).map(keyOf);
  });
}

/** The keys of the trials that a search has kept from their time to live. */
function keptTrials(search: OptimizationJob): string[] {
  if (!hasSearchEnded(search)) return [];
  const { metadata, spec: { numTrials = 1 } } = search;
  const { namespace } = metadata;
  return Array.from(
    { length: numTrials },
    (_, index) => formatKey({ namespace, name: trialName(metadata, index) }),
  );
}

/** Sources of the controller's keys; each change reaches its observer first. */
function sourcesOf(
  { informers, progress, searches }: TrainJobControllerOptions,
  { runningPods, failures, endedJobSets, settling }: {
    readonly runningPods: RunningPods;
    readonly failures: TrainJobFailures;
    readonly endedJobSets: EndedJobSets;
    readonly settling: Settling | undefined;
  },
): Source[] {
  const { trainJobs } = informers;
  const parents = ({ object }: { readonly object: KubeObject }) =>
    parentKeys(object).filter((key) => trainJobs.get(key));
  const unfinished = () => trainJobs.list().filter((it) => !isFinished(it.status)).map(keyOf);
  const sources = [
    watch(
      trainJobs,
      (change) => isProgressOnly(change) ? [] : [keyOf(change.object)],
    ),
    watch(informers.jobSets, parents, endedJobSets),
    watch(informers.configMaps, parents),
    watch(informers.pods, ({ type, object, old }) => {
      // A pod that is gone may have filled its place in a gang.
      const isSame = object.status?.phase === old?.status?.phase &&
        sameJson(object.failure, old?.failure);
      if (type !== "deleted" && isSame) return [];
      const key = trainJobKeyOf(object);
      return key === undefined ? [] : [key];
    }, {
      seen(change) {
        runningPods.seen(change);
        failures.seen(change);
      },
    }),
    watchRuntimes(informers.trainingRuntimes, KINDS.trainingRuntime, informers),
    watchRuntimes(informers.clusterTrainingRuntimes, KINDS.clusterTrainingRuntime, informers),
  ];
  if (searches) sources.push(watch(searches, ({ object }) => keptTrials(object)));
  if (progress) sources.push(watchSignal(progress.onCaChange, unfinished));
  if (settling) sources.push(settling);
  return sources;
}

/** Creates the controller that makes JobSets of TrainJobs. The caller runs the informers. */
export function createTrainJobController(options: TrainJobControllerOptions): Controller {
  const { client, informers, clock, progress, trials, workers, metrics } = options;
  const runningPods = createRunningPods();
  const failures = createTrainJobFailures();
  const endedJobSets = createEndedJobSets();
  const settling = trials && createSettling({ settle: trials.settle, clock });
  const { trainJobs } = informers;
  const childCaches = createChildCaches({
    client,
    clock,
    createCache: options.createChildCache,
    parentsOf: (object) => parentKeys(object).filter((key) => trainJobs.get(key)),
    waiting: () => trainJobs.list().filter(waitsForChildren).map(keyOf),
  });
  const reconciler = {
    ...options,
    configMaps: createChildConfigMaps({ client, cache: informers.configMaps }),
    childCaches,
    runningPods,
    failures,
    endedJobSets,
    since: clock.now(),
    waitChecks: createBoundedCache<WaitCheck>(WAIT_CHECKS_MAX),
    settling,
    caBundle: () => progress?.caBundle(),
    isNews: createNotices(WARNINGS_MAX, {
      ttl: REPEAT_WARNING_MS,
      perf: { now: () => clock.monotonic() },
    }),
  };
  return createController({
    name: "trainjob",
    reconcile: (key, signal) => reconcileTrainJob(reconciler, key, signal),
    sources: [
      ...sourcesOf(options, { runningPods, failures, endedJobSets, settling }),
      childCaches,
    ],
    workers: workers ?? 5,
    clock,
    metrics,
  });
}
