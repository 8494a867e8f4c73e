/** What Katib takes for granted of the kinds that it knows (contract katib.md 2 and 2.1). */
import { JOB_KEYS, JOBSET_KEYS, NODE, TRAINJOB_CONDITIONS } from "../../crds/names.ts";
import type { JobKind, JobTest } from "./trial_mapping.ts";

/** Conditions and primary pod of a kind; what is absent has no default. */
export interface KindDefaults {
  readonly primaryPodLabels?: Readonly<Record<string, string>>;
  readonly success?: JobTest;
  readonly failure?: JobTest;
}

/** Met by a condition of that type with status True: what KEP-1214's `succeededCondition` asks for. */
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

/** The defaults of a kind, whatever its API group, as Katib has it. */
export function defaultsOf(job: JobKind): KindDefaults {
  return BY_KIND.get(job.kind) ?? {};
}

/**
 * Whether labels are those that earlier releases of Katib gave to TrainJobs by themselves: they fit all
 * nodes, whose values would mix in one log, where the first was meant.
 */
export function isOlderDefault(job: JobKind, labels: Readonly<Record<string, string>>): boolean {
  return job.kind === "TrainJob" && Object.keys(labels).length === 1 &&
    labels[JOBSET_KEYS.replicatedJobName] === NODE;
}
