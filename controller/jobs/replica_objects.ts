/** Objects of a replica: its pod and its Service, and how each is written, watched and named in events. */
import { KINDS } from "../../crds/kinds.ts";
import { formatKey, type Kind, type KubeObject } from "../../platform/kube/resource.ts";
import type { Pod, Service } from "../../platform/kube/kubernetes.ts";
import { LABELS } from "../../crds/names.ts";
import { V1_LABELS } from "../../crds/v1/names.ts";
import { controllerOf } from "../../platform/kube/owner_references.ts";
import type { ExpectationKey, Expected } from "./expectations.ts";

/** One of the two kinds. */
export interface ReplicaObjectKind<T extends KubeObject> {
  readonly resource: Kind<T>;
  readonly of: Expected;
  /** As messages of events name it. */
  readonly word: "pod" | "service";
  /**
   * The label that one without a controller needs to be adopted. Anybody may give a pod the labels by which a job
   * selects it, and would speak for that job; the admission policy lets only the pods of jobs have this one.
   */
  readonly orphanLabel?: string;
}

export const PODS: ReplicaObjectKind<Pod> = {
  resource: KINDS.pod,
  of: "pods",
  word: "pod",
  orphanLabel: LABELS.jobKind,
};
export const SERVICES: ReplicaObjectKind<Service> = {
  resource: KINDS.service,
  of: "services",
  word: "service",
};

/** Returns what stands for the object in the expectations of the job of that UID. */
export function expectationKey(
  { of }: Pick<ReplicaObjectKind<KubeObject>, "of">,
  { metadata }: KubeObject,
  job: string,
): ExpectationKey {
  return { job, type: metadata?.labels?.[V1_LABELS.replicaType] ?? "", of };
}

/** Names of the indexes of {@link replicaIndexes}. */
export const REPLICA_INDEXES = { controller: "controllerUid", job: "jobName" } as const;

/** Indexes that the informers of pods and of Services must have: by the controller, and by the job's name. */
export const replicaIndexes: Record<string, (object: KubeObject) => string[]> = {
  [REPLICA_INDEXES.controller]: ({ metadata }) => {
    const uid = controllerOf(metadata)?.uid;
    return uid === undefined ? [] : [uid];
  },
  [REPLICA_INDEXES.job]: ({ metadata }) => {
    const name = metadata?.labels?.[V1_LABELS.jobName];
    return name === undefined ? [] : [formatKey({ namespace: metadata?.namespace, name })];
  },
};
