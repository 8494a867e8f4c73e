/** Reads what a reconciliation decides by: from caches, or anew from the API server. */
import { KINDS } from "../../crds/kinds.ts";
import type { JobSet } from "../../crds/jobset.ts";
import { childNames } from "../../crds/names.ts";
import type {
  AnyTrainingRuntime,
  ClusterTrainingRuntime,
  TrainingRuntime,
} from "../../crds/training_runtime.ts";
import { runtimeRefOf, runtimeScope, type TrainJob } from "../../crds/trainjob.ts";
import { identityOf, WATCHED, type WatchedConfigMap, type WatchedPod } from "../../crds/watched.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Informer } from "../../kube/informer.ts";
import {
  formatKey,
  type KubeObject,
  type ObjectKey,
  type ResourceKind,
} from "../../kube/resource.ts";
import { getOrUndefined } from "../../kube/upsert.ts";
import type { Child } from "../runtime/child.ts";
import type { Executor } from "../runtime/draft.ts";
import type { Policies } from "../runtime/policy.ts";
import { type EndedJobSets, hasEnded } from "./ended_jobsets.ts";
import { isFinished, isOurs, type Observed, owns } from "./observed.ts";
import type { RunningPods } from "./running_pods.ts";
import type { Settling } from "./settling.ts";
import { trainerJobs } from "./state.ts";
import type { TrialHooks } from "./trials.ts";

/** The caches that the controller reads. */
export interface TrainJobInformers {
  readonly trainJobs: Informer<TrainJob>;
  readonly trainingRuntimes: Informer<TrainingRuntime>;
  readonly clusterTrainingRuntimes: Informer<ClusterTrainingRuntime>;
  readonly jobSets: Informer<JobSet>;
  /** May hold only those with a name of a TrainJob's child. */
  readonly configMaps: Informer<WatchedConfigMap>;
  /** May hold only those with the label `trainer.kubeflow.org/trainjob-name`. */
  readonly pods: Informer<WatchedPod>;
}

/** Where the runtime of the TrainJob is found. */
export function refKey(trainJob: TrainJob): ObjectKey {
  const { name } = runtimeRefOf(trainJob);
  const { namespace } = trainJob.metadata;
  return runtimeScope(trainJob) === "namespaced" ? { namespace, name } : { name };
}

/** Everything to read from. */
export interface Sources {
  readonly client: KubeClient;
  readonly informers: Omit<TrainJobInformers, "pods">;
  readonly runningPods: Pick<RunningPods, "jobsOf">;
  readonly endedJobSets: Pick<EndedJobSets, "get">;
  readonly executor: () => Executor;
  readonly caBundle: () => string | undefined;
  readonly trials: Pick<TrialHooks, "trialOf"> | undefined;
  readonly settling: Pick<Settling, "isSettled"> | undefined;
  /** Default: the policies of this build. */
  readonly policies?: Policies;
}

/** How one object is read: from its cache, or from the API server. */
type Read = <T>(
  cache: Informer<T>,
  kind: ResourceKind<T>,
  key: ObjectKey,
) => Promise<T | undefined>;

function cached<T>(cache: Informer<T>, _kind: unknown, key: ObjectKey): Promise<T | undefined> {
  return Promise.resolve(cache.get(key));
}

function live(client: KubeClient, signal: AbortSignal): Read {
  return (_cache, kind, key) => getOrUndefined(client, kind, key, { signal });
}

/**
 * Reads a policy's child from the API server: no cache holds it whole. Of one that is created once
 * nothing is read but which object it is and whose.
 */
export function observeChild(
  client: KubeClient,
  { kind, name, mode }: Child,
  { namespace, signal }: { namespace: string | undefined; signal: AbortSignal },
): Promise<KubeObject | undefined> {
  const read: ResourceKind<KubeObject> = mode === "once" ? identityOf(kind) : kind;
  return getOrUndefined(client, read, { namespace, name }, { signal });
}

function readRuntime(
  read: Read,
  { trainingRuntimes, clusterTrainingRuntimes }: Sources["informers"],
  trainJob: TrainJob,
): Promise<AnyTrainingRuntime | undefined> {
  const key = refKey(trainJob);
  switch (runtimeScope(trainJob)) {
    case "namespaced":
      return read(trainingRuntimes, KINDS.trainingRuntime, key);
    case "cluster":
      return read(clusterTrainingRuntimes, KINDS.clusterTrainingRuntime, key);
    default:
      return Promise.resolve(undefined);
  }
}

/** The JobSet that had ended, and went, before the TrainJob told of it. */
function lostEnd({ endedJobSets }: Sources, key: string, trainJob: TrainJob): JobSet | undefined {
  const jobSet = isFinished(trainJob.status) ? undefined : endedJobSets.get(key);
  return jobSet && owns(trainJob, jobSet.metadata) ? jobSet : undefined;
}

/** Asked only of a job whose pods are still to be made: what runs keeps the labels that it has. */
function trialOf(
  { trials }: Sources,
  { trainJob, jobSet }: { trainJob: TrainJob; jobSet: JobSet | undefined },
  signal: AbortSignal,
): Promise<string | undefined> {
  const runs = jobSet !== undefined && jobSet.spec?.suspend !== true;
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
 * What is known of the TrainJob; undefined where there is none. With `fresh` everything but the
 * pods comes from the API server: slower, but no older than the call.
 */
export async function observe(
  sources: Sources,
  key: ObjectKey,
  { fresh, signal }: { fresh: boolean; signal: AbortSignal },
): Promise<Observed | undefined> {
  const { client, informers, runningPods, executor, caBundle } = sources;
  const read: Read = fresh ? live(client, signal) : cached;
  const trainJob = await read(informers.trainJobs, WATCHED.trainJob, key);
  if (!trainJob) return undefined;
  const { namespace, name } = key;
  const configMap = (child: string) =>
    read(informers.configMaps, WATCHED.configMap, { namespace, name: child });
  const jobSet = await read(informers.jobSets, KINDS.jobSet, key) ??
    lostEnd(sources, formatKey(key), trainJob);
  const running = runningPods.jobsOf(formatKey(key), jobSet?.metadata.uid);
  return {
    trainJob,
    jobSet,
    runtime: await readRuntime(read, informers, trainJob),
    snapshot: await configMap(childNames.runtimeSnapshot(name)),
    tlsConfig: await configMap(childNames.tlsConfig(name)),
    trainerPodRuns: trainerJobs(jobSet).some((job) => running.has(job)),
    caBundle: caBundle(),
    executor: executor(),
    trial: await trialOf(sources, { trainJob, jobSet }, signal),
    settled: isSettled(sources, trainJob, jobSet),
  };
}
