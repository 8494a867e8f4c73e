/** Observation of a job: its pods and Services in the caches, after adoption and release. */
import type { Pod, Service } from "../../platform/kube/kubernetes.ts";
import type { V1Job } from "../../crds/v1/job.ts";
import type { Cache } from "../../platform/kube/watching/informer.ts";
import { keyOf, type KubeObject } from "../../platform/kube/resource.ts";
import { readAgain } from "../../platform/kit/fresh_read.ts";
import { claimsOf } from "./job_claims.ts";
import { REPLICA_INDEXES, type ReplicaObjects } from "./replica_objects.ts";
import { adoptObject, type JobWriter, releaseObject } from "./replica_writes.ts";

/** The caches of one kind; those of pods and Services have {@link replicaIndexes}. */
export interface JobCaches {
  readonly jobs: Cache<V1Job>;
  readonly pods: Cache<Pod>;
  readonly services: Cache<Service>;
}

/** Claims the objects of one kind. Returns whether all claims were met. */
async function claim<T extends KubeObject>(
  writer: JobWriter,
  of: ReplicaObjects<T>,
  objects: T[],
  mayAdopt: () => Promise<boolean>,
): Promise<boolean> {
  const { kind, job, attempts } = writer;
  const { name = "", uid = "" } = job.metadata;
  const cached = () => [
    ...new Map(
      [
        ...of.cache.byIndex(REPLICA_INDEXES.controller, uid),
        ...of.cache.byIndex(REPLICA_INDEXES.job, keyOf(job)),
      ].map((object) => [object.metadata?.uid, object]),
    ).values(),
  ];
  const found = await of.writes.observe(uid, cached, { ...writer, kind: of.resource });
  const { owned, orphans, strays } = claimsOf({ kind, name, uid }, found, of.orphanLabel);
  objects.push(...owned);
  const calls = [
    ...strays.map((stray) => () => releaseObject(writer, of, stray)),
    ...orphans.map((orphan) => async () => {
      const adopted = await mayAdopt() ? await adoptObject(writer, of, orphan) : undefined;
      if (adopted !== undefined) objects.push(adopted);
    }),
  ];
  return await attempts.each(calls, (call) => call());
}

/**
 * Returns the objects of the job. Orphans with its labels are adopted, unless the API server says that the job is
 * being deleted; objects whose labels are no longer the job's are released.
 */
export async function observe(writer: JobWriter) {
  let live: Promise<V1Job | undefined> | undefined;
  const { client, resource, job, signal } = writer;
  const mayAdopt = async () =>
    (await (live ??= readAgain(client, resource, job, { signal }))) !== undefined;
  const pods: Pod[] = [];
  const services: Service[] = [];
  const hasPods = await claim(writer, writer.pods, pods, mayAdopt);
  const hasServices = await claim(writer, writer.services, services, mayAdopt);
  return {
    pods,
    services,
    /** Whether all are known: else names that the job needs may be taken, and nothing can be created. */
    isWhole: hasPods && hasServices,
  };
}
