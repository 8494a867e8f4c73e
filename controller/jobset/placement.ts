/** Exclusive placement of Jobs on nodes that are reserved for them by a label and a taint. Pure. */
import { JOBSET_KEYS, RESERVED_NODES } from "../../crds/jobset_names.ts";
import type { ObjectMeta, PodSpec } from "../../platform/kube/kubernetes.ts";

const { exclusiveTopology, nodeSelectorStrategy } = JOBSET_KEYS;

type Annotated = Pick<ObjectMeta, "annotations"> | undefined;

/** The annotations of placement of one object, which count only beside the topology. */
function ownPlacement(metadata: Annotated): Record<string, string> {
  const topology = metadata?.annotations?.[exclusiveTopology];
  const strategy = metadata?.annotations?.[nodeSelectorStrategy];
  if (topology === undefined) return {};
  return {
    [exclusiveTopology]: topology,
    ...(strategy !== undefined && { [nodeSelectorStrategy]: strategy }),
  };
}

/** Returns the annotations that a Job and its pods get from the JobSet and, before it, the replicated job. */
export function placementAnnotations(
  jobSet: Annotated,
  replicatedJob: Annotated,
): Record<string, string> {
  return { ...ownPlacement(jobSet), ...ownPlacement(replicatedJob) };
}

/** Reports whether the pods of a Job with these annotations run on nodes that are reserved for the Job. */
export function isReserved(annotations: ObjectMeta["annotations"]): boolean {
  return annotations?.[exclusiveTopology] !== undefined &&
    annotations[nodeSelectorStrategy] !== undefined;
}

/** Returns the pods of a Job on the nodes that somebody labelled and tainted for it. */
export function withReservedNodes(
  pod: PodSpec,
  { namespace = "", job }: { readonly namespace?: string; readonly job: string },
): PodSpec {
  const toleration = { key: RESERVED_NODES.taint, operator: "Exists", effect: "NoSchedule" };
  return {
    ...pod,
    nodeSelector: { ...pod.nodeSelector, [RESERVED_NODES.label]: `${namespace}_${job}` },
    tolerations: [...pod.tolerations ?? [], toleration],
  };
}
