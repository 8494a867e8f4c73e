/**
 * Gives a pod of a trial what Katib's own webhook would give it for the Push collector (contract
 * katib.md 4.1 a, b), so that trials need not Katib's, and keeps Istio's sidecar away. Pure, idempotent,
 * and with Katib's webhook on the result is the same whatever the order.
 *
 * Unlike Katib's it denies nothing: a pod without the primary container, such as an initializer's, has
 * no variable.
 */
import { ISTIO_INJECT, KATIB } from "../crds/katib_names.ts";
import type { Container, EnvVar, Pod } from "../crds/kubernetes.ts";
import { JOB_KEYS, JOBSET_KEYS, TRAINER_GROUP } from "../crds/names.ts";

/** What a pod is given of its Trial. */
export interface TrialOfPod {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** The container that trains; where the Trial does not say, no container has the variable. */
  readonly primaryContainerName?: string | undefined;
}

const prefixOf = (key: string) => key.slice(0, key.indexOf("/") + 1);

/** Labels by which controllers know a pod as theirs: a Trial's labels do not reach them. */
const PREFIXES_OF_CONTROLLERS: ReadonlySet<string> = new Set([
  `${TRAINER_GROUP}/`,
  prefixOf(JOBSET_KEYS.jobSetName),
  prefixOf(JOB_KEYS.jobName),
]);
const LABELS_OF_CONTROLLERS: ReadonlySet<string> = new Set([
  JOB_KEYS.legacyJobName,
  JOB_KEYS.legacyControllerUid,
]);

const isControllers = (label: string) =>
  LABELS_OF_CONTROLLERS.has(label) || PREFIXES_OF_CONTROLLERS.has(prefixOf(label));

function labelsOf(pod: Pod, trial: TrialOfPod): Record<string, string> {
  const ofTrial = Object.entries(trial.labels ?? {}).filter(([label]) => !isControllers(label));
  return {
    ...pod.metadata?.labels,
    ...Object.fromEntries(ofTrial),
    [KATIB.trialLabel]: trial.name,
  };
}

/** The Trial's name, read from the label; spelled with what the API server would default. */
const TRIAL_NAME_ENV: EnvVar = {
  name: KATIB.trialNameEnv,
  valueFrom: {
    fieldRef: { apiVersion: "v1", fieldPath: `metadata.labels['${KATIB.trialLabel}']` },
  },
};

/** With the variable once and last: where Katib appends it, whoever comes first. */
function withTrialName(container: Container): Container {
  const others = container.env?.filter(({ name }) => name !== KATIB.trialNameEnv) ?? [];
  return { ...container, env: [...others, TRIAL_NAME_ENV] };
}

/**
 * The pod with the labels of its Trial, its name in the primary container, and no sidecar of Istio's
 * unless it says that it wants one: by the annotation, the label, or both.
 */
export function injectTrial(pod: Pod, trial: TrialOfPod): Pod {
  if (pod.spec === undefined) return pod;
  const labels = labelsOf(pod, trial);
  const { annotations = {} } = pod.metadata ?? {};
  // What one spelling says holds for the other too: Istio prefers the label.
  const istio = labels[ISTIO_INJECT] ?? annotations[ISTIO_INJECT] ?? "false";
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { [ISTIO_INJECT]: istio, ...labels },
      annotations: { [ISTIO_INJECT]: istio, ...annotations },
    },
    spec: {
      ...pod.spec,
      containers: pod.spec.containers.map((it) =>
        it.name === trial.primaryContainerName ? withTrialName(it) : it
      ),
    },
  };
}
