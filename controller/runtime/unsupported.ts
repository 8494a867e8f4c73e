/** What the schemas accept and nothing executes yet: refused by name, never ignored. */
import type { FieldProblem } from "../../crds/field_problem.ts";
import type { JobSetSpec } from "../../crds/jobset.ts";
import {
  JOBSET_KEYS,
  MILEPOST_JOBSET_CONTROLLER,
  UPSTREAM_JOBSET_CONTROLLER,
} from "../../crds/names.ts";
import type { TrainingRuntimeSpec } from "../../crds/training_runtime.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { Executor } from "./draft.ts";

const LATER = "is not supported yet";
const POLICIES = ["mpi", "jax", "xgboost", "flux"] as const;
const POD_GROUPS = ["coscheduling", "volcano"] as const;
const PLACEMENT: readonly string[] = [
  JOBSET_KEYS.exclusiveTopology,
  JOBSET_KEYS.nodeSelectorStrategy,
];
const EXECUTORS: readonly (string | undefined)[] = [
  undefined,
  MILEPOST_JOBSET_CONTROLLER,
  UPSTREAM_JOBSET_CONTROLLER,
];

/** A field that carries metadata, with the path of its annotations. */
interface Annotated {
  readonly field: string;
  readonly annotations: Record<string, string> | undefined;
}

function policies(spec: TrainingRuntimeSpec): FieldProblem[] {
  const named = POLICIES.filter((name) => spec.mlPolicy?.[name] !== undefined)
    .map((name) => ({ field: `spec.mlPolicy.${name}`, message: `ML policy ${name} ${LATER}` }));
  const groups = POD_GROUPS.filter((name) => spec.podGroupPolicy?.[name] !== undefined)
    .map((name) => ({
      field: `spec.podGroupPolicy.${name}`,
      message: `gang scheduling by ${name} ${LATER}`,
    }));
  return [...named, ...groups];
}

function annotatedOfRuntime(spec: TrainingRuntimeSpec): Annotated[] {
  const path = "spec.template";
  const jobs = spec.template.spec?.replicatedJobs ?? [];
  return [
    { field: `${path}.metadata`, annotations: spec.template.metadata?.annotations },
    ...jobs.map(({ template }, index) => ({
      field: `${path}.spec.replicatedJobs[${index}].template.metadata`,
      annotations: template.metadata?.annotations,
    })),
  ];
}

function annotatedOfPatches(trainJob: TrainJob | undefined): Annotated[] {
  return (trainJob?.spec.runtimePatches ?? []).flatMap(({ trainingRuntimeSpec }, index) => {
    const path = `spec.runtimePatches[${index}].trainingRuntimeSpec.template`;
    const template = trainingRuntimeSpec?.template;
    const jobs = template?.spec?.replicatedJobs ?? [];
    return [
      { field: `${path}.metadata`, annotations: template?.metadata?.annotations },
      ...jobs.map((job, at) => ({
        field: `${path}.spec.replicatedJobs[${at}].template.metadata`,
        annotations: job.template?.metadata?.annotations,
      })),
    ];
  });
}

function placement(annotated: readonly Annotated[]): FieldProblem[] {
  return annotated.flatMap(({ field, annotations }) =>
    PLACEMENT.filter((name) => annotations?.[name] !== undefined).map((name) => ({
      field: `${field}.annotations[${name}]`,
      message: `exclusive placement ${LATER} by the builtin JobSet executor`,
    }))
  );
}

function jobSetFeatures(spec: JobSetSpec): FieldProblem[] {
  const path = "spec.template.spec";
  const by = "by the builtin JobSet executor";
  const problems: FieldProblem[] = [];
  const refuse = (field: string, what: string) =>
    problems.push({ field: `${path}.${field}`, message: `${what} ${LATER} ${by}` });
  if ((spec.volumeClaimPolicies ?? []).length > 0) {
    refuse("volumeClaimPolicies", "volumeClaimPolicies");
  }
  if (spec.failurePolicy?.restartStrategy === "InPlaceRestart") {
    refuse("failurePolicy.restartStrategy", "InPlaceRestart");
  }
  (spec.failurePolicy?.rules ?? []).forEach(({ action }, index) => {
    if (action === "RestartJob" || action === "RestartJobAndIgnoreMaxRestarts") {
      refuse(`failurePolicy.rules[${index}].action`, action);
    }
  });
  if (!EXECUTORS.includes(spec.managedBy)) refuse("managedBy", `managedBy ${spec.managedBy}`);
  return problems;
}

/**
 * Every feature that the runtime, or the TrainJob's patches, ask for and nothing executes. Paths
 * are of the runtime, but those that begin with `spec.runtimePatches`. Empty where all is well.
 * What upstream's JobSet controller can execute is refused of the builtin executor alone.
 */
export function unsupportedFeatures(
  runtimeSpec: TrainingRuntimeSpec,
  trainJob?: TrainJob,
  executor: Executor = "builtin",
): FieldProblem[] {
  const problems = policies(runtimeSpec);
  if (executor === "external") return problems;
  return [
    ...problems,
    ...jobSetFeatures(runtimeSpec.template.spec ?? {}),
    ...placement([...annotatedOfRuntime(runtimeSpec), ...annotatedOfPatches(trainJob)]),
  ];
}
