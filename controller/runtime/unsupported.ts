/** Features that the schemas accept and nothing executes: refused by name, never ignored. */
import type { FieldProblem } from "../../crds/field_problem.ts";
import { MILEPOST_JOBSET_CONTROLLER, UPSTREAM_JOBSET_CONTROLLER } from "../../crds/jobset_names.ts";
import type { TrainingRuntimeSpec } from "../../crds/training_runtime.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { unsupportedParts, unsupportedPlacement } from "../jobset/unsupported.ts";
import type { Executor } from "./draft.ts";
import { type Policies, unsupportedPolicies } from "./policy.ts";

const EXECUTORS: readonly (string | undefined)[] = [
  undefined,
  MILEPOST_JOBSET_CONTROLLER,
  UPSTREAM_JOBSET_CONTROLLER,
];

function inTemplate({ template }: TrainingRuntimeSpec): FieldProblem[] {
  return unsupportedParts(template.spec ?? {}, template.metadata)
    .map((problem) => ({ ...problem, field: `spec.template.${problem.field}` }));
}

function inManager({ template }: TrainingRuntimeSpec): FieldProblem[] {
  const managedBy = template.spec?.managedBy;
  if (EXECUTORS.includes(managedBy)) return [];
  const message =
    `managedBy ${managedBy} is not supported by the built-in JobSet executor; remove it`;
  return [{ field: "spec.template.spec.managedBy", message }];
}

function inPatches(trainJob: TrainJob | undefined): FieldProblem[] {
  return (trainJob?.spec.runtimePatches ?? []).flatMap(({ trainingRuntimeSpec }, index) => {
    const field = `spec.runtimePatches[${index}].trainingRuntimeSpec.template`;
    const { metadata, spec } = trainingRuntimeSpec?.template ?? {};
    return [
      ...unsupportedPlacement(metadata?.annotations, `${field}.metadata.annotations`),
      ...(spec?.replicatedJobs ?? []).flatMap(({ template }, at) =>
        unsupportedPlacement(
          template?.metadata?.annotations,
          `${field}.spec.replicatedJobs[${at}].template.metadata.annotations`,
        )
      ),
    ];
  });
}

/**
 * Returns a problem for every feature that the runtime, or a patch of the TrainJob, asks for and that
 * nothing executes. Fields belong to the runtime, but for those that begin with `spec.runtimePatches`.
 * Features that upstream's JobSet controller executes are refused only for the built-in executor.
 */
export function unsupportedFeatures(
  runtime: TrainingRuntimeSpec,
  { trainJob, executor, policies }: {
    readonly trainJob?: TrainJob;
    readonly executor: Executor;
    readonly policies: Policies;
  },
): FieldProblem[] {
  const problems = unsupportedPolicies(policies, runtime);
  if (executor === "external") return problems;
  return [...problems, ...inTemplate(runtime), ...inManager(runtime), ...inPatches(trainJob)];
}
