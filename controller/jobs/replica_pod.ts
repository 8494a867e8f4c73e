/** Pod of a replica of a v1 job. Pure. */
import type { Container, EnvVar, Pod } from "../../platform/kube/kubernetes.ts";
import { JOBSET_KEYS } from "../../crds/jobset_names.ts";
import { ANNOTATIONS, LABELS } from "../../crds/names.ts";
import { MASTER_ROLE, V1_FORMER_LABELS, V1_LABELS } from "../../crds/v1/names.ts";
import { unshared } from "../runtime/copy.ts";
import { trainingContainer } from "./defaults.ts";
import type { KindRules } from "./kind_rules.ts";
import { metadataOf, replicaLabels } from "./owner.ts";
import { type Replica, replicaName, type Run } from "./run.ts";

function withEnvironment(container: Container, variables: readonly EnvVar[]): Container {
  if (variables.length === 0) return container;
  return { ...container, env: [...container.env ?? [], ...variables] };
}

const JOBSET_PREFIX = JOBSET_KEYS.jobSetName.slice(0, JOBSET_KEYS.jobSetName.indexOf("/") + 1);

/**
 * Returns a template's labels without those that make a pod another job's, or a Trial's. The admission policy lets
 * the manager set these, and nobody else: a template must not set them through the manager.
 */
function withoutClaims(labels: Readonly<Record<string, string>> = {}): Record<string, string> {
  const claims = (label: string) =>
    label === LABELS.trial || label === LABELS.trainJobName || label.startsWith(JOBSET_PREFIX);
  return Object.fromEntries(Object.entries(labels).filter(([label]) => !claims(label)));
}

/** Returns a template's annotations with the count of the restart after which its pod is made; a template has none. */
function withCount(
  { restart }: Run,
  { [ANNOTATIONS.restartCount]: _, ...annotations }: Readonly<Record<string, string>> = {},
): Record<string, string> {
  if (restart === undefined) return annotations;
  return { ...annotations, [ANNOTATIONS.restartCount]: String(restart.count) };
}

/**
 * Returns the pod of a replica; it shares nothing with the job.
 *
 * @param trial the Trial whose metrics the pod pushes; a template cannot name one
 */
export function podOf(run: Run, rules: KindRules, replica: Replica, trial?: string): Pod {
  const { template, restartPolicy } = replica.of;
  const role: Record<string, string> = rules.isMaster(run, replica)
    ? { [V1_LABELS.jobRole]: MASTER_ROLE, [V1_FORMER_LABELS.jobRole]: MASTER_ROLE }
    : {};
  const variables = rules.environment(run, replica);
  const all = template.spec?.containers ?? [];
  const trains = rules.onlyFirstContainer ? all[0] : trainingContainer(run.kind, template);
  const isShared = !rules.onlyTrainingContainer && !rules.onlyFirstContainer;
  const containers = all.map((container) =>
    isShared || container === trains ? withEnvironment(container, variables) : container
  );
  const added = rules.initContainers?.(run, replica) ?? [];
  const initContainers = [...template.spec?.initContainers ?? [], ...added];
  const { labels, finalizers } = template.metadata ?? {};
  const annotations = withCount(run, template.metadata?.annotations);
  const spec = {
    ...template.spec,
    containers,
    ...(initContainers.length > 0 && { initContainers }),
    restartPolicy: restartPolicy === "ExitCode" ? "Never" : restartPolicy,
  };
  return unshared<Pod>({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...metadataOf(run, replicaName(run, replica)),
      labels: {
        ...withoutClaims(labels),
        ...replicaLabels(run, replica),
        [LABELS.jobKind]: run.kind.plural,
        ...(trial !== undefined && { [LABELS.trial]: trial }),
        ...role,
      },
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ...(finalizers && { finalizers }),
    },
    spec: rules.shape?.(run, replica, spec) ?? spec,
  });
}
