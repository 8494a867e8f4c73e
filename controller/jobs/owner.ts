/** Ownership and labels of everything that is made for a v1 job. */
import type { OwnerReference } from "../../platform/kube/kubernetes.ts";
import { V1_API_VERSION, V1_FORMER_LABELS, V1_GROUP, V1_LABELS } from "../../crds/v1/names.ts";
import { controllerReference } from "../../platform/kube/owner_references.ts";
import { isLauncher, type Replica, type Run } from "./run.ts";

/** Returns the reference that makes the job the controller of what is made for it. */
export function ownerOf({ kind, name, uid }: Pick<Run, "kind" | "name" | "uid">): OwnerReference {
  return controllerReference({ apiVersion: V1_API_VERSION, kind: kind.kind, name, uid });
}

/** Returns the metadata of an object of that name that is made for the job. */
export const metadataOf = (run: Run, name: string) => ({
  name,
  namespace: run.namespace,
  ownerReferences: [ownerOf(run)],
});

/** Returns the labels of everything that belongs to the job, in both generations. */
function jobLabels({ kind, name }: Pick<Run, "kind" | "name">): Record<string, string> {
  return {
    [V1_LABELS.jobName]: name,
    [V1_LABELS.operatorName]: kind.operatorName,
    [V1_FORMER_LABELS.groupName]: V1_GROUP,
    [V1_FORMER_LABELS.jobName]: name,
  };
}

/** Returns the labels of a replica in both generations: all but that of the role. */
export function replicaLabels(run: Run, replica: Replica): Record<string, string> {
  const { of, index } = replica;
  return {
    ...jobLabels(run),
    ...replicaSelector(run, replica),
    [V1_FORMER_LABELS.replicaType]: of.type.toLowerCase(),
    ...(!isLauncher(run, replica) && { [V1_FORMER_LABELS.replicaIndex]: String(index) }),
  };
}

/** Returns the labels by which a replica's Service selects its pod: those that pods of the operator have as well. */
export function replicaSelector(run: Run, replica: Replica): Record<string, string> {
  const { of, index } = replica;
  return {
    [V1_LABELS.jobName]: run.name,
    [V1_LABELS.operatorName]: run.kind.operatorName,
    [V1_LABELS.replicaType]: of.type.toLowerCase(),
    ...(!isLauncher(run, replica) && { [V1_LABELS.replicaIndex]: String(index) }),
  };
}
