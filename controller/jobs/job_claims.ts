/** Claim of a job on pods and Services: by its labels, and by the UID of their controller. Pure. */
import { V1_LABELS } from "../../crds/v1/names.ts";
import type { V1Kind } from "../../crds/v1/kinds.ts";
import { controllerOf, isControlledBy } from "../../platform/kube/owner_references.ts";
import type { KubeMeta, KubeObject } from "../../platform/kube/resource.ts";

/** The part of a job that claims. */
export interface Claimant {
  readonly kind: Pick<V1Kind, "operatorName">;
  readonly name: string;
  readonly uid: string;
}

/** Reports whether the labels are those of the job. */
export function hasLabelsOf(
  { kind, name }: Pick<Claimant, "kind" | "name">,
  metadata: Pick<KubeMeta, "labels"> | undefined,
): boolean {
  return metadata?.labels?.[V1_LABELS.jobName] === name &&
    metadata.labels[V1_LABELS.operatorName] === kind.operatorName;
}

/**
 * Divides objects that may be the job's; those of others are left out, and so are orphans that are being deleted, or
 * that lack the label which orphans must have.
 */
export function claimsOf<T extends KubeObject>(
  claimant: Claimant,
  objects: readonly T[],
  orphanLabel?: string,
) {
  const isOurs = ({ metadata }: T) => isControlledBy(metadata, claimant.uid);
  const matches = ({ metadata }: T) => hasLabelsOf(claimant, metadata);
  const isOrphan = ({ metadata }: T) =>
    controllerOf(metadata) === undefined && metadata?.deletionTimestamp === undefined &&
    (orphanLabel === undefined || metadata?.labels?.[orphanLabel] !== undefined);
  return {
    /** Objects of the job. */
    owned: objects.filter((it) => isOurs(it) && matches(it)),
    /** Objects with the job's labels that nobody controls. */
    orphans: objects.filter((it) => isOrphan(it) && matches(it)),
    /** Objects that the job controls although their labels are no longer its own. */
    strays: objects.filter((it) => isOurs(it) && !matches(it)),
  };
}
