/** Reads of a reconciliation, from caches or from the API server. */
import { KINDS } from "../../crds/kinds.ts";
import { allowsLastWords } from "../../crds/job_failure.ts";
import type { JobSet } from "../../crds/jobset.ts";
import { restartUnderWay, storedStopOf } from "../../crds/job_state.ts";
import { childNames } from "../../crds/names.ts";
import type {
  AnyTrainingRuntime,
  ClusterTrainingRuntime,
  TrainingRuntime,
} from "../../crds/training_runtime.ts";
import { runtimeRefOf, runtimeScope, type TrainJob } from "../../crds/trainjob.ts";
import { WATCHED, type WatchedIdentity, type WatchedPod } from "../../crds/watched.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { formatKey, type Kind, type ObjectKey } from "../../platform/kube/resource.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import type { Executor } from "../runtime/draft.ts";
import { POLICIES } from "../runtime/policies/table.ts";
import { mayHaveChildren, type Policies } from "../runtime/policy.ts";
import type { ChildCaches } from "./child_caches.ts";
import type { ChildConfigMaps } from "./child_config_maps.ts";
import { type EndedJobSets, hasEnded } from "./ended_jobsets.ts";
import {
  isFinished,
  isOurs,
  isRestarting,
  jobSetGoesOn,
  type Observed,
  type ObservedInputs,
  type ObservedJob,
  ownJobSet,
  owns,
  wasCutShort,
} from "./observed.ts";
import { isOwnPod } from "./restart_plan.ts";
import type { RunningPods } from "./running_pods.ts";
import type { Settling } from "./settling.ts";
import { trainerJobs } from "./state.ts";
import type { TrainJobFailures } from "./trainjob_failures.ts";
import type { TrialHooks } from "./trials.ts";
import type { RuntimeDefinitions } from "./runtime_definitions.ts";

/** The caches of the controller. */
export interface TrainJobInformers {
  readonly trainJobs: Informer<TrainJob>;
  readonly trainingRuntimes: Informer<TrainingRuntime>;
  readonly clusterTrainingRuntimes: Informer<ClusterTrainingRuntime>;
  readonly jobSets: Informer<JobSet>;
  /** It may hold only ConfigMaps with the label `trainer.kubeflow.org/trainjob-name`. */
  readonly configMaps: Informer<WatchedIdentity>;
  /** It may hold only pods with the label `trainer.kubeflow.org/trainjob-name`. */
  readonly pods: Informer<WatchedPod>;
}

/** Returns the key of the TrainJob's runtime. */
export function refKey(trainJob: TrainJob): ObjectKey {
  const { name } = runtimeRefOf(trainJob);
  const { namespace } = trainJob.metadata;
  return runtimeScope(trainJob) === "namespaced" ? { namespace, name } : { name };
}

/** Sources of the reads. */
export interface Sources {
  readonly client: KubeClient;
  readonly informers: Omit<TrainJobInformers, "pods" | "configMaps"> & {
    readonly pods: Pick<TrainJobInformers["pods"], "list">;
  };
  readonly configMaps: ChildConfigMaps;
  readonly childCaches: Pick<ChildCaches, "read" | "track">;
  readonly runningPods: Pick<RunningPods, "jobsOf" | "countsOf">;
  readonly failures: Pick<TrainJobFailures, "of" | "forget" | "dropped">;
  /** Whether jobs may have what their programs say last. Default true. */
  readonly failureMessages?: boolean;
  readonly endedJobSets: Pick<EndedJobSets, "get">;
  /** Returns the current executor of JobSets. */
  readonly executor: () => Executor;
  /** How many pods a job may have. Default: as rendering. */
  readonly maxPods?: number | undefined;
  readonly runtimeDefinitions: RuntimeDefinitions;
  readonly caBundle: () => string | undefined;
  readonly trials?: Pick<TrialHooks, "trialOf" | "isStopping"> | undefined;
  readonly settling: Pick<Settling, "isSettled"> | undefined;
  /** Default: the policies of this build. */
  readonly policies?: Policies;
}

/** Reads one object, from its cache or from the API server. */
type Read = <T>(
  cache: Informer<T>,
  kind: Kind<T>,
  key: ObjectKey,
) => Promise<T | undefined>;

function readRuntime(
  read: Read,
  { trainingRuntimes, clusterTrainingRuntimes }: Sources["informers"],
  trainJob: TrainJob,
): Promise<AnyTrainingRuntime | undefined> {
  const key = refKey(trainJob);
  const scope = runtimeScope(trainJob);
  if (scope === undefined) return Promise.resolve(undefined);
  return scope === "namespaced"
    ? read(trainingRuntimes, KINDS.trainingRuntime, key)
    : read(clusterTrainingRuntimes, KINDS.clusterTrainingRuntime, key);
}

/** Returns the JobSet that ended and was deleted before the status of the TrainJob said so. */
function lostEnd({ endedJobSets }: Sources, key: string, trainJob: TrainJob): JobSet | undefined {
  const jobSet = isFinished(trainJob.status) ? undefined : endedJobSets.get(key);
  return jobSet && owns(trainJob, jobSet.metadata) ? jobSet : undefined;
}

/** Looks up the Trial of a job whose pods are not created yet; pods that run keep their labels. */
export function trialOf(
  { trials }: Sources,
  { trainJob, jobSet }: Pick<ObservedJob, "trainJob" | "jobSet">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const runs = jobSet !== undefined && jobSet.spec?.suspend !== true ||
    isRestarting({ trainJob, jobSet });
  const isOver = !isOurs(trainJob) || isFinished(trainJob.status);
  if (trials === undefined || runs || isOver) return Promise.resolve(undefined);
  return trials.trialOf(trainJob, signal);
}

function isSettled({ settling }: Sources, trainJob: TrainJob, jobSet: JobSet | undefined): boolean {
  const ends = jobSet !== undefined && owns(trainJob, jobSet.metadata) && hasEnded(jobSet);
  if (!ends || isFinished(trainJob.status) || settling === undefined) return true;
  return settling.isSettled(trainJob);
}

/**
 * Reads the ConfigMaps of the job, each with its data if a decision needs it: of the snapshot of a job that
 * runs only its presence matters. A job that has ended, or that is not ours, needs neither.
 */
async function observeConfigMaps(
  { configMaps, caBundle, policies = POLICIES }: Sources,
  { trainJob, jobSet, runtime }: Pick<Observed, "trainJob" | "jobSet" | "runtime">,
  { fresh, signal }: Look,
): Promise<Pick<Observed, "snapshot" | "tlsConfig">> {
  if (!isOurs(trainJob) || isFinished(trainJob.status)) {
    return { snapshot: undefined, tlsConfig: undefined };
  }
  const { name = "" } = trainJob.metadata;
  const job = { trainJob, jobSet };
  // A job without conditions is new: it has none, or its creation is refused because there is one.
  const isNew = ownJobSet(job) === undefined && (trainJob.status?.conditions ?? []).length === 0;
  const how = { fresh, signal, unlabelled: !isNew };
  const snapshotData = !jobSetGoesOn(job) || mayHaveChildren(policies, runtime, jobSet);
  return {
    snapshot: await configMaps.read(trainJob, childNames.runtimeSnapshot(name), {
      ...how,
      data: snapshotData,
    }),
    tlsConfig: caBundle() === undefined
      ? undefined
      : await configMaps.read(trainJob, childNames.tlsConfig(name), { ...how, data: true }),
  };
}

/**
 * The manner of a look: with `fresh` everything but the pods is read from the API server, slower, but no older
 * than the call.
 */
export interface Look {
  readonly fresh: boolean;
  readonly signal: AbortSignal;
}

function readerOf({ client }: Sources, { fresh, signal }: Look): Read {
  return (cache, kind, key) =>
    fresh ? getOrUndefined(client, kind, key, { signal }) : Promise.resolve(cache.get(key));
}

/** The pods of a job that is restarted, or was until a suspension. Restarts are rare, so that searching all pods is cheaper than an index. */
function podsToRestart(
  { pods }: Sources["informers"],
  trainJob: TrainJob,
  jobSet: JobSet | undefined,
): readonly WatchedPod[] {
  if (restartUnderWay(trainJob) === undefined && !wasCutShort({ trainJob, jobSet })) return [];
  return pods.list(trainJob.metadata.namespace).filter((pod) => isOwnPod(pod, trainJob, jobSet));
}

/** Returns the TrainJob and its JobSet; undefined if it does not exist. */
export async function observeJob(
  sources: Sources,
  key: ObjectKey,
  look: Look,
): Promise<ObservedJob | undefined> {
  const { informers, runningPods } = sources;
  const read = readerOf(sources, look);
  const trainJob = await read(informers.trainJobs, WATCHED.trainJob, key);
  if (!trainJob) return undefined;
  const jobSet = await read(informers.jobSets, KINDS.jobSet, key) ??
    lostEnd(sources, formatKey(key), trainJob);
  const jobSetUid = jobSet?.metadata.uid;
  const running = runningPods.jobsOf(formatKey(key), jobSetUid);
  const attempt = { jobSetUid, restarts: jobSet?.status?.restarts ?? 0 };
  return {
    trainJob,
    jobSet,
    trainerPodRuns: trainerJobs(jobSet).some((job) => running.has(job)),
    pods: runningPods.countsOf(formatKey(key), attempt),
    restartPods: podsToRestart(informers, trainJob, jobSet),
    failures: sources.failures.of(formatKey(key), jobSetUid),
    droppedFailure: sources.failures.dropped.get(trainJob.metadata.uid ?? ""),
    tellsMessages: (sources.failureMessages ?? true) &&
      allowsLastWords(trainJob.metadata.annotations),
    isStopping: storedStopOf(trainJob) !== undefined || sources.trials?.isStopping(trainJob),
    settled: isSettled(sources, trainJob, jobSet),
  };
}

/** Returns the job with all that its children are made from, but for its Trial. */
export async function observeInputs(
  sources: Sources,
  job: ObservedJob,
  look: Look,
): Promise<ObservedInputs> {
  const { informers, executor, caBundle } = sources;
  const { trainJob, jobSet } = job;
  const runtime = await readRuntime(readerOf(sources, look), informers, trainJob);
  return {
    ...job,
    runtime,
    droppedPolicies: await sources.runtimeDefinitions.droppedFor(runtime),
    ...await observeConfigMaps(sources, { trainJob, jobSet, runtime }, look),
    caBundle: caBundle(),
    executor: executor(),
    maxPods: sources.maxPods,
  };
}
