/** Caches of the manager: an informer for each kind that it reads. */
import { jobSetJobIndexes } from "../../controller/jobset/jobset_controller.ts";
import { type AnyJob, type JobKind, podSelector } from "../../crds/job_kind.ts";
import { type JobKinds, TRAINJOB } from "../../crds/job_kinds.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { Pod, Service } from "../../platform/kube/kubernetes.ts";
import { LABELS, MANAGER, OPTIMIZATION } from "../../crds/names.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import { mayBeChild, wantedPartOf, WATCHED, type WatchedPod } from "../../crds/watched.ts";
import type { V1Job } from "../../crds/v1/job.ts";
import {
  V1_KIND_LIST,
  V1_KINDS,
  type V1KindName,
  v1KindOf,
  v1Selector,
} from "../../crds/v1/kinds.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import { replicaIndexes } from "../../controller/jobs/replica_objects.ts";
import type { V1Kinds } from "../../controller/jobs/v1_kinds.ts";
import type { TrialResources } from "../../katib/trials/trial_resources.ts";
import { trialReference } from "../../trials/plan/claim.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { trialIndexes } from "../../katib/trials/cached_trial.ts";
import { podIndexes } from "../../katib/trials/primary_runs.ts";
import {
  createInformer,
  type Informer,
  type InformerOptions,
} from "../../platform/kube/watching/informer.ts";
import type { Kind, KubeObject } from "../../platform/kube/resource.ts";
import {
  createServedInformer,
  type ServedInformer,
  type ServedInformerOptions,
} from "../../platform/kube/watching/served_informer.ts";
import { createSemaphore } from "../../platform/base/semaphore.ts";
import type { ManagerPart } from "./rights.ts";

/** The parts that read a cache; all others are read by the controller, which always runs. */
const READERS: Readonly<Record<string, readonly ManagerPart[]>> = {
  batchJobs: ["executor", "progress"],
  services: ["executor"],
  serviceAccounts: ["progress"],
  trials: ["trials"],
  optimizationJobs: [OPTIMIZATION.role],
};

/** The informers of one kind of job. */
export interface JobKindCaches {
  readonly jobs: Informer<AnyJob>;
  /** The pods of its jobs, selected by their labels. */
  readonly pods: Informer<WatchedPod>;
}

/** The informers of one v1 kind; they run while the kind is run. */
export interface V1KindCaches {
  readonly jobs: ServedInformer<V1Job>;
  /** The pods of its jobs, selected by their labels, as the Services are. */
  readonly pods: ServedInformer<Pod>;
  readonly services: ServedInformer<Service>;
}

/**
 * Pages of lists that are in memory at a time: tenants choose how large objects are, and each page takes
 * several times its bytes while it is parsed.
 */
const PAGES_AT_A_TIME = 2;

/** The informers, not yet running. */
export function createCaches(options: {
  readonly kinds: JobKinds;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly v1Kinds: Pick<V1Kinds, "of">;
  readonly trialResources: Pick<TrialResources, "of">;
  /** The parts that the manager runs: a cache that none of them reads is not filled. */
  readonly parts: ReadonlySet<ManagerPart>;
  /** The manager's own namespace. */
  readonly namespace: string;
  /** Called when the watch of a resource has to begin again. */
  readonly onRestart: (resource: string, cause: string) => void;
  /** Called for each object of a resource that is skipped because it cannot be read. */
  readonly onSkipped: (resource: string) => void;
}) {
  const { kinds, client, clock } = options;
  const places = createSemaphore(PAGES_AT_A_TIME);
  const common = (kind: Pick<Kind<unknown>, "plural">) => ({
    client,
    clock,
    places,
    onRestart: (cause: string) => options.onRestart(kind.plural, cause),
    onSkipped: () => options.onSkipped(kind.plural),
  });
  function cache<T extends KubeObject>(
    kind: InformerOptions<T>["kind"],
    more: Partial<InformerOptions<T>> = {},
  ): Informer<T> {
    return createInformer<T>({ ...common(kind), kind, ...more });
  }
  /** Of a kind that is not always there. */
  function servedCache<T extends KubeObject>(
    kind: Kind<T>,
    more: Partial<ServedInformerOptions<T>> = {},
  ): ServedInformer<T> {
    return createServedInformer<T>({ ...common(kind), kind, ...more });
  }
  const podsOf = (kind: JobKind) =>
    cache(WATCHED.pod, { labelSelector: podSelector(kind), indexes: podIndexes(kind) });
  const named = {
    trainJobs: cache(WATCHED.trainJob),
    // Most clusters have no Katib.
    trials: servedCache(WATCHED.trial, { indexes: trialIndexes }),
    // Nor may upstream's definition of searches be there.
    optimizationJobs: servedCache(WATCHED.optimizationJob),
    trainingRuntimes: cache(KINDS.trainingRuntime),
    clusterTrainingRuntimes: cache(KINDS.clusterTrainingRuntime),
    jobSets: cache(WATCHED.jobSet),
    // The Jobs and pods of other workloads are many and do not matter here.
    batchJobs: cache(WATCHED.job, {
      indexes: jobSetJobIndexes,
      labelSelector: JOBSET_KEYS.jobSetName,
    }),
    services: cache(WATCHED.service),
    // Upstream's have no label; they are read by name.
    configMaps: cache(WATCHED.configMap, {
      labelSelector: LABELS.trainJobName,
      keep: mayBeChild,
    }),
    pods: podsOf(TRAINJOB),
    serviceAccounts: cache(WATCHED.serviceAccount),
    secrets: cache(KINDS.secret, {
      namespace: options.namespace,
      fieldSelector: `metadata.name=${MANAGER.certificateSecret}`,
    }),
    mutatingConfigurations: cache(KINDS.mutatingWebhookConfiguration),
    validatingConfigurations: cache(KINDS.validatingWebhookConfiguration, {
      fieldSelector: `metadata.name=${MANAGER.validatingConfiguration}`,
    }),
  };
  function v1Caches(name: V1KindName): V1KindCaches {
    const kind = V1_KINDS[name];
    const jobKind = kinds.all.find((it) => v1KindOf(it)?.kind === name);
    const served = options.v1Kinds.of(name);
    const children = { served, labelSelector: v1Selector(kind), tellsDeletions: false };
    return {
      jobs: servedCache(V1_RESOURCES[name], { served }),
      pods: servedCache(KINDS.pod, {
        ...children,
        indexes: { ...replicaIndexes, ...jobKind && podIndexes(jobKind) },
      }),
      services: servedCache(KINDS.service, { ...children, indexes: replicaIndexes }),
    };
  }
  /** Of a kind that others run: the jobs of Trials, and their pods. */
  function foreignCaches(kind: JobKind): JobKindCaches {
    const served = options.trialResources.of(kind);
    return {
      jobs: servedCache<AnyJob>(kind, {
        served,
        keep: ({ metadata }) => trialReference(metadata) !== undefined,
      }),
      pods: servedCache(WATCHED.pod, {
        served,
        tellsDeletions: false,
        labelSelector: podSelector(kind),
        indexes: podIndexes(kind),
      }),
    };
  }
  const v1 = new Map(V1_KIND_LIST.map(({ kind }) => [kind, v1Caches(kind)]));
  function cachesOf(kind: JobKind): JobKindCaches {
    if (kind.id === TRAINJOB.id) return { jobs: named.trainJobs, pods: named.pods };
    if (kind.isForeign) return foreignCaches(kind);
    const name = v1KindOf(kind)?.kind;
    return name && v1.get(name) || { jobs: cache(kind), pods: podsOf(kind) };
  }
  const byKind = new Map<JobKind, JobKindCaches>(kinds.all.map((kind) => [kind, cachesOf(kind)]));
  /** Of a kind that may have no CRD; only the objects that were made for TrainJobs. */
  const createChildCache = (kind: Kind<KubeObject>, onServed: () => void) =>
    servedCache(wantedPartOf(kind), { onServed, labelSelector: LABELS.trainJobName });
  const isRead = (name: string) => READERS[name]?.some((part) => options.parts.has(part)) ?? true;
  return { ...named, byKind, v1, isRead, createChildCache };
}

/** All informers of the manager. */
export type Caches = ReturnType<typeof createCaches>;

/** An informer as it is run and waited for. */
type Running =
  & Pick<Informer<unknown>, "synced" | "whenSynced" | "run">
  & Partial<Pick<ServedInformer<unknown>, "wasSynced">>;

/** The informers that some part reads by name, each once. */
function informersOf({ byKind, v1, isRead, createChildCache: _, ...named }: Caches) {
  const all: Record<string, Running> = Object
    .fromEntries(Object.entries(named).filter(([name]) => isRead(name)));
  for (const [{ plural, id, isForeign }, { jobs, pods }] of byKind) {
    if (jobs === named.trainJobs) continue;
    const name = isForeign ? id : plural;
    all[name] = jobs;
    all[`pods of ${name}`] = pods;
  }
  for (const [kind, { jobs, pods, services }] of v1) {
    const { plural } = V1_KINDS[kind];
    all[plural] = jobs;
    all[`pods of ${plural}`] = pods;
    all[`services of ${plural}`] = services;
  }
  return all;
}

/** The caches that have no first list yet, by name. */
export function unsynced(caches: Caches): string[] {
  return Object.entries(informersOf(caches))
    .filter(([, { synced, wasSynced = synced }]) => !wasSynced)
    .map(([name]) => name);
}

/** Runs all of them until `signal` aborts. */
export async function runCaches(caches: Caches, signal: AbortSignal): Promise<void> {
  await Promise.all(Object.values(informersOf(caches)).map((it) => it.run(signal)));
}

/** Waits for the first list of each. Returns false if `signal` aborts before. */
export async function cachesSynced(caches: Caches, signal: AbortSignal): Promise<boolean> {
  const all = Object.values(informersOf(caches)).map((it) => it.whenSynced(signal));
  return (await Promise.all(all)).every((it) => it);
}
