/** Names of Katib that Milepost reads or writes. */
import { LABELS } from "./names.ts";

/** Katib's API group, the kind that controls the TrainJob of a trial, and other names of Katib. */
export const KATIB = {
  group: "kubeflow.org",
  version: "v1beta1",
  apiVersion: "kubeflow.org/v1beta1",
  trialKind: "Trial",
  experimentKind: "Experiment",
  /** Label on every pod of a trial: the Trial's name. */
  trialLabel: "katib.kubeflow.org/trial",
  /** Label of a Trial and of its job: the name of their Experiment. */
  experimentLabel: "katib.kubeflow.org/experiment",
  /** Variable of the primary container: the Trial's name, read from the label. */
  trialNameEnv: "KATIB_TRIAL_NAME",
  /** Its mutating webhook configuration, and the webhook in it that is called for pods. */
  webhookConfiguration: "katib.kubeflow.org",
  podWebhook: "mutator.pod.katib.kubeflow.org",
  /** The value of a metric that has none. */
  unavailable: "unavailable",
  dbManagerPort: 6789,
} as const;

/** Istio's switch, as KEP-1214 has it (annotation) and as Katib's users have it today (label). */
export const ISTIO_INJECT = "sidecar.istio.io/inject";

/** Collector kinds of a Trial. */
export const COLLECTORS = { push: "Push", stdOut: "StdOut", file: "File" } as const;

/** Conditions of a Katib Trial (kubeflow/katib: pkg/apis/controller/trials/v1beta1/util.go). */
export const TRIAL_CONDITIONS = {
  created: "Created",
  running: "Running",
  succeeded: "Succeeded",
  failed: "Failed",
  killed: "Killed",
  metricsUnavailable: "MetricsUnavailable",
  earlyStopped: "EarlyStopped",
} as const;
/** Reason and message of an early-stopped Trial (kubeflow/katib: pkg/earlystopping/v1beta1/medianstop/service.py). */
export const TRIAL_EARLY_STOPPED = {
  reason: "TrialEarlyStopped",
  message: "Trial is early stopped",
} as const;

/**
 * The matchCondition that keeps Katib's pod webhook away from the pods whose metrics Milepost takes: those
 * with the trial label. `deploy/katib/` puts it into Katib's webhook configuration.
 */
export const KATIB_KEPT_OUT = {
  name: "exclude-milepost-trials",
  expression: `!has(object.metadata.labels) || !("${LABELS.trial}" in object.metadata.labels)`,
} as const;
