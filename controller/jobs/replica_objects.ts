/** Objects of a replica: its pod and its Service, and how each is written, watched and named in events. */
import { KINDS } from "../../crds/kinds.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { createOwnWrites, type OwnWrites } from "../../platform/kit/own_writes.ts";
import {
  formatKey,
  type Kind,
  type KubeObject,
  withMetadataOnly,
} from "../../platform/kube/resource.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import type { Pod, Service } from "../../platform/kube/kubernetes.ts";
import { LABELS } from "../../crds/names.ts";
import { V1_LABELS } from "../../crds/v1/names.ts";
import { controllerOf, controllerUids } from "../../platform/kube/owner_references.ts";

/** The pods of replicas, or their Services. */
export interface ReplicaObjects<T extends KubeObject> {
  readonly resource: Kind<T>;
  /** The same, of which the response to a creation need not repeat more than the metadata. */
  readonly created: Kind<KubeObject>;
  /** As messages of events name it. */
  readonly word: "pod" | "service";
  /**
   * The label that one without a controller needs to be adopted. Anybody may give a pod the labels by which a job
   * selects it, and would speak for that job; the admission policy lets only the pods of jobs have this one.
   */
  readonly orphanLabel?: string;
  /** With {@link replicaIndexes}. */
  readonly cache: Pick<Informer<T>, "byIndex">;
  /** What was written, in groups by the UID of the job. */
  readonly writes: OwnWrites<T>;
}

/** Pods and Services. */
export interface ObjectsOfJobs {
  readonly pods: ReplicaObjects<Pod>;
  readonly services: ReplicaObjects<Service>;
}

/** Returns the pods and Services of these caches, with an empty memory of own writes. */
export function objectsOfJobs(
  { pods, services }: { [Of in keyof ObjectsOfJobs]: ObjectsOfJobs[Of]["cache"] },
  clock: Pick<Clock, "monotonic">,
): ObjectsOfJobs {
  const groupOf = ({ metadata }: KubeObject) => controllerOf(metadata)?.uid;
  const { pod, service } = KINDS;
  return {
    pods: {
      resource: pod,
      created: withMetadataOnly(pod),
      word: "pod",
      orphanLabel: LABELS.jobKind,
      cache: pods,
      writes: createOwnWrites<Pod>({ clock, groupOf, keep: ({ spec: _, ...pod }) => pod }),
    },
    services: {
      resource: service,
      created: withMetadataOnly(service),
      word: "service",
      cache: services,
      writes: createOwnWrites<Service>({ clock, groupOf }),
    },
  };
}

/** Names of the indexes of {@link replicaIndexes}. */
export const REPLICA_INDEXES = { controller: "controllerUid", job: "jobName" } as const;

/** Indexes that the informers of pods and of Services must have: by the controller, and by the job's name. */
export const replicaIndexes: Record<string, (object: KubeObject) => string[]> = {
  [REPLICA_INDEXES.controller]: controllerUids,
  [REPLICA_INDEXES.job]: ({ metadata }) => {
    const name = metadata?.labels?.[V1_LABELS.jobName];
    return name === undefined ? [] : [formatKey({ namespace: metadata?.namespace, name })];
  },
};
