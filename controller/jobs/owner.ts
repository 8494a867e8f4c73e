/** Ownership and labels of everything that is made for a v1 job. */
import type { OwnerReference } from "../../crds/kubernetes.ts";
import { V1_API_VERSION, V1_FORMER_LABELS, V1_GROUP, V1_LABELS } from "../../crds/v1/names.ts";
import { controllerReference } from "../../kube/owner_references.ts";
import { isLauncher, type Replica, type Run } from "./run.ts";

/** Returns the reference that makes the job the controller of what is made for it. */
export function ownerOf({ kind, name, uid }: Pick<Run, "kind" | "name" | "uid">): OwnerReference {
  return controllerReference({ apiVersion: V1_API_VERSION, kind: kind.kind, name, uid });
}

/** Returns the labels of everything that belongs to the job, in both generations. */
export function jobLabels({ kind, name }: Pick<Run, "kind" | "name">): Record<string, string> {
  return {
    [V1_LABELS.jobName]: name,
    [V1_LABELS.operatorName]: kind.operatorName,
    [V1_FORMER_LABELS.groupName]: V1_GROUP,
    [V1_FORMER_LABELS.jobName]: name,
  };
}

/** Returns the labels of a replica, which its Service selects by: all but that of the role. */
export function replicaLabels(run: Run, { of, index }: Replica): Record<string, string> {
  const type = of.type.toLowerCase();
  const indexed: Record<string, string> = isLauncher(run, { of, index }) ? {} : {
    [V1_LABELS.replicaIndex]: String(index),
    [V1_FORMER_LABELS.replicaIndex]: String(index),
  };
  return {
    ...jobLabels(run),
    [V1_LABELS.replicaType]: type,
    [V1_FORMER_LABELS.replicaType]: type,
    ...indexed,
  };
}
