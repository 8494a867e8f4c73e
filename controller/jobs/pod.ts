/** Pod of a replica, and the labels by which pods and Services of a v1 job are found. */
import type { Container, EnvVar, OwnerReference, Pod } from "../../crds/kubernetes.ts";
import {
  MASTER_ROLE,
  V1_API_VERSION,
  V1_FORMER_LABELS,
  V1_GROUP,
  V1_LABELS,
} from "../../crds/v1/names.ts";
import { controllerReference } from "../../kube/owner_references.ts";
import { unshared } from "../runtime/copy.ts";
import { trainingContainer } from "./defaults.ts";
import type { KindRules } from "./kind_rules.ts";
import { isLauncher, type Replica, replicaName, type Run } from "./run.ts";

/** Returns the reference that makes the job the controller of what is made for it. */
export function ownerOf({ kind, name, uid }: Run): OwnerReference {
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

function withEnvironment(container: Container, variables: readonly EnvVar[]): Container {
  if (variables.length === 0) return container;
  return { ...container, env: [...container.env ?? [], ...variables] };
}

/** Returns the pod of a replica; it shares nothing with the job. */
export function podOf(run: Run, rules: KindRules, replica: Replica): Pod {
  const { template, restartPolicy } = replica.of;
  const role: Record<string, string> = rules.isMaster(run, replica)
    ? { [V1_LABELS.jobRole]: MASTER_ROLE, [V1_FORMER_LABELS.jobRole]: MASTER_ROLE }
    : {};
  const variables = rules.environment(run, replica);
  const trains = trainingContainer(run.kind, template);
  const containers = (template.spec?.containers ?? []).map((container) =>
    rules.onlyTrainingContainer && container !== trains
      ? container
      : withEnvironment(container, variables)
  );
  const added = rules.initContainers?.(run, replica) ?? [];
  const initContainers = [...template.spec?.initContainers ?? [], ...added];
  const { labels, annotations, finalizers } = template.metadata ?? {};
  return unshared<Pod>({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: replicaName(run, replica),
      namespace: run.namespace,
      labels: { ...labels, ...replicaLabels(run, replica), ...role },
      ...(annotations && { annotations }),
      ...(finalizers && { finalizers }),
      ownerReferences: [ownerOf(run)],
    },
    spec: {
      ...template.spec,
      containers,
      ...(initContainers.length > 0 && { initContainers }),
      restartPolicy: restartPolicy === "ExitCode" ? "Never" : restartPolicy,
    },
  });
}
