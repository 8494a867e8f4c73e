/** Katib's defaults by kind of job (kubeflow/katib: pkg/apis/controller/experiments/v1beta1/constants.go). */
import { JOB_KEYS, JOBSET_KEYS, NODE, TRAINJOB_CONDITIONS } from "../../crds/names.ts";
import type { JobKind, JobTest } from "./trial_mapping.ts";

/** Default conditions and primary pod of a kind; what is absent has no default. */
export interface KindDefaults {
  readonly primaryPodLabels?: Readonly<Record<string, string>>;
  readonly success?: JobTest;
  readonly failure?: JobTest;
}

/** Returns a test for a condition of that type with status True, as KEP-1214's `succeededCondition` means. */
export function conditionTest(type: string): JobTest {
  const expression = `status.conditions.#(type==${JSON.stringify(type)})#|#(status=="True")#`;
  return { expression, path: { text: expression } };
}

const TRAINING_OPERATOR: KindDefaults = {
  primaryPodLabels: { "training.kubeflow.org/job-role": "master" },
  success: conditionTest("Succeeded"),
  failure: conditionTest("Failed"),
};

const BY_KIND: ReadonlyMap<string, KindDefaults> = new Map([
  ["Job", { success: conditionTest("Complete"), failure: conditionTest("Failed") }],
  ["TFJob", TRAINING_OPERATOR],
  ["PyTorchJob", TRAINING_OPERATOR],
  ["XGBoostJob", TRAINING_OPERATOR],
  ["MPIJob", TRAINING_OPERATOR],
  ["TrainJob", {
    primaryPodLabels: { [JOBSET_KEYS.replicatedJobName]: NODE, [JOB_KEYS.completionIndex]: "0" },
    success: conditionTest(TRAINJOB_CONDITIONS.complete),
    failure: conditionTest(TRAINJOB_CONDITIONS.failed),
  }],
]);

/** Returns the defaults of a kind, whatever its API group, as Katib does. */
export function defaultsOf(job: JobKind): KindDefaults {
  return BY_KIND.get(job.kind) ?? {};
}

/**
 * Whether labels are the default that earlier releases of Katib had for TrainJobs. They match all nodes,
 * whose values would mix in one log, although only the first node was meant.
 */
export function isOlderDefault(job: JobKind, labels: Readonly<Record<string, string>>): boolean {
  return job.kind === "TrainJob" && Object.keys(labels).length === 1 &&
    labels[JOBSET_KEYS.replicatedJobName] === NODE;
}
