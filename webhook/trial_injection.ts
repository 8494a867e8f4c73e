/**
 * Trial injection: gives a pod of a trial what Katib's own webhook would give it for the Push collector
 * (`pkg/webhook/v1beta1/pod/inject_webhook.go`), so that trials do not need Katib's, and keeps Istio's
 * sidecar away. Pure, idempotent, and with Katib's webhook on the result is the same whatever the order.
 *
 * Unlike Katib's it denies nothing: a pod without the primary container, such as an initializer's, gets
 * no variable.
 */
import { ISTIO_INJECT, KATIB } from "../crds/katib_names.ts";
import type { Container, EnvVar, Pod } from "../platform/kube/kubernetes.ts";
import type { Trial } from "../crds/trial.ts";
import { comesByPush } from "../trials/plan/derive_plan.ts";
import { selectingLabels } from "../crds/job_kind.ts";
import type { JobKinds } from "../crds/job_kinds.ts";
import { TRAINER_GROUP } from "../crds/names.ts";
import { JOB_KEYS } from "../crds/job_names.ts";
import { JOBSET_KEYS } from "../crds/jobset_names.ts";
import { V1_FORMER_LABELS, V1_LABELS } from "../crds/v1/names.ts";

/** The fields of a Trial that its pods get. */
export interface TrialOfPod {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** The container that trains; if the Trial does not name it, no container gets the variable. */
  readonly primaryContainerName?: string | undefined;
  /** The kind of its job. */
  readonly run?: { readonly apiVersion?: unknown; readonly kind?: unknown } | undefined;
  /** Whether its metrics come only by push. */
  readonly pushes?: boolean;
}

/** Returns the fields of a Trial for its pods. */
export function trialOfPod(trial: Trial | undefined): TrialOfPod | undefined {
  if (trial === undefined) return undefined;
  const { metadata: { name = "", labels }, spec } = trial;
  return {
    name,
    labels,
    primaryContainerName: spec?.primaryContainerName,
    run: spec?.runSpec,
    pushes: comesByPush(trial, { adopted: new Set() }),
  };
}

const prefixOf = (key: string) => key.slice(0, key.indexOf("/") + 1);

/** Labels by which controllers know a pod as theirs: a Trial's labels do not reach them. */
const PREFIXES_OF_CONTROLLERS: ReadonlySet<string> = new Set([
  `${TRAINER_GROUP}/`,
  prefixOf(JOBSET_KEYS.jobSetName),
  prefixOf(JOB_KEYS.jobName),
  prefixOf(V1_LABELS.jobName),
]);
const LABELS_OF_CONTROLLERS: ReadonlySet<string> = new Set([
  JOB_KEYS.legacyJobName,
  JOB_KEYS.legacyControllerUid,
]);
/** Such labels of the pods of v1 jobs; elsewhere they mean nothing. */
const FORMER_LABELS: ReadonlySet<string> = new Set(Object.values(V1_FORMER_LABELS));

function labelsOf(pod: Pod, trial: TrialOfPod, { all }: JobKinds): Record<string, string> {
  const isV1 = pod.metadata?.labels?.[V1_LABELS.jobName] !== undefined;
  const isControllers = (label: string) =>
    isV1 && FORMER_LABELS.has(label) ||
    LABELS_OF_CONTROLLERS.has(label) || PREFIXES_OF_CONTROLLERS.has(prefixOf(label)) ||
    all.some((kind) => selectingLabels(kind).includes(label));
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

/** Returns the variables with this one once and last, where Katib appends it, in either order of the webhooks. */
function withTrialName(container: Container): Container {
  const others = container.env?.filter(({ name }) => name !== KATIB.trialNameEnv) ?? [];
  return { ...container, env: [...others, TRIAL_NAME_ENV] };
}

/**
 * Returns the pod with the labels of its Trial, its name in the primary container, and no sidecar of
 * Istio's unless it asks for one: by the annotation, the label, or both.
 */
export function injectTrial(pod: Pod, trial: TrialOfPod, kinds: JobKinds): Pod {
  if (pod.spec === undefined) return pod;
  const labels = labelsOf(pod, trial, kinds);
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
