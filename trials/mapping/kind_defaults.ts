/** Katib's defaults for trial templates by kind (`pkg/webhook/v1beta1/experiment/defaulter`). */
import { sameJson } from "../../platform/base/json.ts";
import type { KatibDefaults } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import type { JobTest, TemplateKind, TrialMapping } from "./trial_mapping.ts";

/** Default conditions and primary pod of a kind; what is absent has no default. */
export type KindDefaults = Partial<
  Pick<TrialMapping, "primaryPodLabels" | "success" | "failure">
>;

/** Returns a test for a condition of that type with status True, as KEP-1214's `succeededCondition` means. */
export function conditionTest(type: string): JobTest {
  const expression = `status.conditions.#(type==${JSON.stringify(type)})#|#(status=="True")#`;
  return { expression, path: { text: expression } };
}

const TRAINING_OPERATOR: KatibDefaults = {
  primaryPodLabels: { "training.kubeflow.org/job-role": "master" },
  success: "Succeeded",
  failure: "Failed",
};

/** Katib identifies a kind by its name, in any API group. */
const BY_KIND: ReadonlyMap<string, KatibDefaults> = new Map([
  ["Job", { success: "Complete", failure: "Failed" }],
  ["TFJob", TRAINING_OPERATOR],
  ["PyTorchJob", TRAINING_OPERATOR],
  ["XGBoostJob", TRAINING_OPERATOR],
  ["MPIJob", TRAINING_OPERATOR],
  [TRAINJOB.kind, TRAINJOB.katib],
]);

function katibOf({ kind, katib }: TemplateKind): KatibDefaults {
  return katib ?? BY_KIND.get(kind) ?? {};
}

/** Returns the defaults of a kind. */
export function defaultsOf(job: TemplateKind): KindDefaults {
  const { primaryPodLabels, success, failure } = katibOf(job);
  return {
    ...(primaryPodLabels && { primaryPodLabels }),
    ...(success !== undefined && { success: conditionTest(success) }),
    ...(failure !== undefined && { failure: conditionTest(failure) }),
  };
}

/**
 * Whether labels are those that earlier releases of Katib wrote into templates by themselves, and that
 * stand for the defaults of today.
 */
export function isFormerDefault(
  job: TemplateKind,
  labels: Readonly<Record<string, string>>,
): boolean {
  return sameJson(labels, katibOf(job).formerPodLabels);
}
