/** Observation of a job: its pods and Services in the caches, after adoption and release. */
import type { Pod, Service } from "../../platform/kube/kubernetes.ts";
import type { V1Job } from "../../crds/v1/job.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { keyOf, type Kind, type KubeObject } from "../../platform/kube/resource.ts";
import { inParallel } from "../../platform/base/parallel.ts";
import { readAgain } from "../../platform/kit/fresh_read.ts";
import { claimsOf } from "./job_claims.ts";
import { PODS, REPLICA_INDEXES, type ReplicaObjectKind, SERVICES } from "./replica_objects.ts";
import { adoptObject, type JobWriter, releaseObject } from "./replica_writes.ts";

/** The part of an informer that the engine uses. */
export type Cache<T> = Pick<
  Informer<T>,
  "get" | "list" | "byIndex" | "onChange" | "whenSynced" | "synced"
>;

/** The caches of one kind; those of pods and Services have {@link replicaIndexes}. */
export interface JobCaches {
  readonly jobs: Cache<V1Job>;
  readonly pods: Cache<Pod>;
  readonly services: Cache<Service>;
}

/** The objects of a job. */
export interface Observed {
  readonly pods: readonly Pod[];
  readonly services: readonly Service[];
  /** Of adoptions and releases; without those objects nothing can be created, for their names may be taken. */
  readonly errors: readonly unknown[];
}

/** The objects of one kind, and the errors of the claims on others. */
interface Claimed<T> {
  readonly objects: readonly T[];
  readonly errors: readonly unknown[];
}

async function claim<T extends KubeObject>(
  writer: JobWriter,
  of: ReplicaObjectKind<T>,
  cache: Pick<Cache<T>, "byIndex">,
  mayAdopt: () => Promise<boolean>,
): Promise<Claimed<T>> {
  const { kind, job, signal } = writer;
  const { name = "", uid = "" } = job.metadata;
  const found = new Map(
    [
      ...cache.byIndex(REPLICA_INDEXES.controller, uid),
      ...cache.byIndex(REPLICA_INDEXES.job, keyOf(job)),
    ].map((object) => [object.metadata?.uid, object]),
  );
  const { owned, orphans, strays } = claimsOf(
    { kind, name, uid },
    [...found.values()],
    of.orphanLabel,
  );
  const objects = [...owned];
  const calls = [
    ...strays.map((stray) => () => releaseObject(writer, of, stray)),
    ...orphans.map((orphan) => async () => {
      const adopted = await mayAdopt() ? await adoptObject(writer, of, orphan) : undefined;
      if (adopted !== undefined) objects.push(adopted);
    }),
  ];
  return { objects, errors: await inParallel(calls, (call) => call(), { signal }) };
}

/**
 * Returns the objects of the job. Orphans with its labels are adopted, unless the API server says that the job is
 * being deleted; objects whose labels are no longer the job's are released.
 */
export async function observe(
  writer: JobWriter,
  resource: Kind<V1Job>,
  { pods, services }: Pick<JobCaches, "pods" | "services">,
): Promise<Observed> {
  let live: Promise<V1Job | undefined> | undefined;
  const { client, job, signal } = writer;
  const mayAdopt = async () =>
    (await (live ??= readAgain(client, resource, job, { signal }))) !== undefined;
  const ofPods = await claim(writer, PODS, pods, mayAdopt);
  const ofServices = await claim(writer, SERVICES, services, mayAdopt);
  return {
    pods: ofPods.objects,
    services: ofServices.objects,
    errors: [...ofPods.errors, ...ofServices.errors],
  };
}
