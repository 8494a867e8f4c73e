/** Rules of TrainJobs beyond the schema (contract trainjob.md 4.1, 6 and 10). Pure. */
import { isDeepStrictEqual } from "node:util";
import type { JobSet, ReplicatedJob } from "../crds/jobset.ts";
import type { EnvVar } from "../crds/kubernetes.ts";
import {
  INITIALIZER_VOLUME,
  LABELS,
  type Step,
  STEPS,
  TORCH_ENV,
  TRAINER_GROUP,
} from "../crds/names.ts";
import { KINDS } from "../crds/kinds.ts";
import type { AnyTrainingRuntime, TrainingRuntimeSpec } from "../crds/training_runtime.ts";
import type { TrainJob } from "../crds/trainjob.ts";
import { validateChildNames } from "./child_names.ts";
import { type FieldProblem, forbidden, invalid, valueAt } from "../crds/field_problem.ts";
import { RESERVED_STATUS_ENV } from "./pod_injection.ts";
import { validatePatchChange, validateRuntimePatches } from "./runtime_patch_validation.ts";
import {
  containersOf,
  hasNamed,
  initContainersOf,
  replicatedJobsOf,
  stepOf,
} from "./runtime_template.ts";
import {
  deprecationWarning,
  isDeprecated,
  type ReportedProblem,
  type Verdict,
} from "./runtime_validation.ts";
import { samePatches } from "./trainjob_defaulting.ts";
import { trialAnnotationProblems, trialAnnotationWarnings } from "./trial_annotations.ts";

/** Optional fields that stay as they were created; the schema's own rule misses their coming and going (G3). */
const FROZEN_FIELDS = ["initializer", "trainer", "activeDeadlineSeconds"] as const;

/** What judges a TrainJob against its runtime. */
export interface TrainJobRules {
  /** Problems that rendering the TrainJob would meet. */
  readonly render: (job: TrainJob, runtime: AnyTrainingRuntime) => readonly ReportedProblem[];
  /** What the runtime asks for and nothing executes. */
  readonly unsupported: (spec: TrainingRuntimeSpec) => readonly ReportedProblem[];
}

/** One initializer's rules: what it needs of the runtime. */
interface InitializerNeeds {
  readonly step: Step;
  readonly config: "datasetConfig" | "modelConfig";
}

const REF = "spec.runtimeRef";

/** Whether the container has the shared volume, by the runtime or by a patch. */
function mountsInitializer(job: ReplicatedJob, container: string, trainJob: TrainJob): boolean {
  const own = containersOf(job).filter((one) => one.name === container);
  const patched = (trainJob.spec.runtimePatches ?? [])
    .flatMap((patch) => patch.trainingRuntimeSpec?.template?.spec?.replicatedJobs ?? [])
    .filter((patch) => patch.name === job.name)
    .flatMap((patch) => patch.template?.spec?.template?.spec?.containers ?? [])
    .filter((one) => one.name === container);
  return [...own, ...patched].some((one) => hasNamed(one.volumeMounts ?? [], INITIALIZER_VOLUME));
}

/** The reference to the runtime, as messages show it: whole, in the order of upstream's. */
function shownRef({ spec: { runtimeRef } }: TrainJob) {
  const { name, apiGroup = TRAINER_GROUP, kind = KINDS.clusterTrainingRuntime.kind } = runtimeRef;
  return { name, apiGroup, kind };
}

function initializerProblems(
  needs: InitializerNeeds,
  trainJob: TrainJob,
  runtime: TrainingRuntimeSpec,
): FieldProblem[] {
  const { step, config } = needs;
  const problem = (detail: string) => [invalid(REF, shownRef(trainJob), detail)];
  const jobs = replicatedJobsOf(runtime);
  const job = jobs.find((one) => stepOf(one) === step) ?? jobs.find((one) => one.name === step);
  if (job === undefined) {
    return problem(`must have ${step} job when trainJob is configured with input ${config}`);
  }
  if (!hasNamed(containersOf(job), step)) {
    return problem(`must have container with name - ${step} in the ${step} job`);
  }
  if (!mountsInitializer(job, step, trainJob)) {
    return problem(
      `must have volumeMount with name - ${INITIALIZER_VOLUME} in container ${step} of the ${step} job`,
    );
  }
  if (stepOf(job) !== step) {
    return problem(
      `must have label ${LABELS.ancestorStep}: ${step} on the template of job ${step}`,
    );
  }
  return [];
}

function allInitializerProblems(job: TrainJob, runtime: TrainingRuntimeSpec): FieldProblem[] {
  const { dataset, model } = job.spec.initializer ?? {};
  const needs: InitializerNeeds[] = [
    ...(dataset ? [{ step: STEPS.datasetInitializer, config: "datasetConfig" as const }] : []),
    ...(model ? [{ step: STEPS.modelInitializer, config: "modelConfig" as const }] : []),
  ];
  return needs.flatMap((one) => initializerProblems(one, job, runtime));
}

function reservedEnvProblems(
  env: readonly EnvVar[] | undefined,
  reserved: readonly string[],
  field: string,
): FieldProblem[] {
  const names = (env ?? []).map((variable) => variable.name);
  const taken = [...new Set(names.filter((name) => reserved.includes(name)))].sort();
  if (taken.length === 0) return [];
  const detail = `must not have reserved envs, invalid envs configured: [${taken.join(" ")}]`;
  return [invalid(field, taken, detail)];
}

/** Variables that the torch policy or the pod's identity sets. */
function envProblems(job: TrainJob, runtime: TrainingRuntimeSpec): FieldProblem[] {
  const { trainer, initializer } = job.spec;
  const torch = runtime.mlPolicy?.torch === undefined ? [] : Object.values(TORCH_ENV);
  const reserved = [...torch, ...RESERVED_STATUS_ENV];
  return [
    ...reservedEnvProblems(trainer?.env, reserved, "spec.trainer.env"),
    ...(["dataset", "model"] as const).flatMap((step) =>
      reservedEnvProblems(
        initializer?.[step]?.env,
        RESERVED_STATUS_ENV,
        `spec.initializer.${step}.env`,
      )
    ),
  ];
}

/** Containers that the torch policy should reach but the template does not have. */
function envInjectionProblems(runtime: TrainingRuntimeSpec): FieldProblem[] {
  const targets = runtime.mlPolicy?.torch?.envInjection?.targets ?? [];
  return targets.flatMap((wanted) => {
    const { jobName, containerNames } = wanted;
    const target = replicatedJobsOf(runtime).find((one) => one.name === jobName);
    const existing = target ? [...containersOf(target), ...initContainersOf(target)] : [];
    return containerNames.filter((name) => !hasNamed(existing, name)).map((name) =>
      invalid(
        REF,
        wanted,
        `envInjection target podSet "${jobName}" container "${name}" not found in runtime template`,
      )
    );
  });
}

/** What a message shows of the field it is about; of a runtime its name says enough. */
function shownValue(job: TrainJob, path: string): unknown {
  if (path === "spec") return undefined;
  return path === REF ? job.spec.runtimeRef.name : valueAt(job, path);
}

function reported(
  problems: readonly ReportedProblem[],
  toProblem: (path: string | undefined, message: string) => FieldProblem,
): FieldProblem[] {
  return problems.map((problem) =>
    typeof problem === "string"
      ? toProblem(undefined, problem)
      : toProblem(problem.field, problem.message)
  );
}

/** All that a TrainJob must satisfy with its runtime; rendering is tried last, on what looks good. */
function runtimeProblems(
  job: TrainJob,
  runtime: AnyTrainingRuntime,
  isNew: boolean,
  rules: TrainJobRules,
): FieldProblem[] {
  const { spec } = runtime;
  const name = `${runtime.kind} "${job.spec.runtimeRef.name}"`;
  if (spec === undefined) return [invalid(REF, job.spec.runtimeRef.name, `${name} has no spec`)];
  const problems = [
    ...allInitializerProblems(job, spec),
    ...validateRuntimePatches(job, spec),
    ...envProblems(job, spec),
    ...envInjectionProblems(spec),
    ...(isNew ? validateChildNames(job, spec) : []),
    ...reported(
      rules.unsupported(spec),
      (path, message) =>
        forbidden(REF, `${name} cannot be used: ${path ? `${path}: ` : ""}${message}`),
    ),
  ];
  if (problems.length > 0) return problems;
  return reported(
    rules.render(job, runtime),
    (path = "spec", message) => invalid(path, shownValue(job, path), message),
  );
}

/** The problem of naming a runtime that is not there (contract trainjob.md 6, with its spelling). */
export function missingRuntimeProblem(job: TrainJob): FieldProblem {
  const { name, apiGroup, kind } = shownRef(job);
  const [field, what] = kind === KINDS.trainingRuntime.kind
    ? [REF, "trainingRuntime"]
    : ["spec.RuntimeRef", "clusterTrainingRuntime"];
  const detail = `${kind}.${apiGroup} "${name}" not found: specified ${what} must be created ` +
    "before the TrainJob is created";
  return invalid(field, shownRef(job), detail);
}

/** Judges a new TrainJob. `runtime` is the live one, absent where there is none. */
export function validateNewTrainJob(
  job: TrainJob,
  runtime: AnyTrainingRuntime | undefined,
  rules: TrainJobRules,
): Verdict {
  const ofTrials = trialAnnotationProblems(job, undefined);
  if (runtime === undefined) {
    return { problems: [missingRuntimeProblem(job), ...ofTrials], warnings: [] };
  }
  const deprecation = isDeprecated(runtime)
    ? [deprecationWarning(`Referenced ${runtime.kind} "${runtime.metadata.name}"`)]
    : [];
  return {
    problems: [...ofTrials, ...runtimeProblems(job, runtime, true, rules)],
    warnings: [...deprecation, ...trialAnnotationWarnings(job, undefined)],
  };
}

/** Whether an update has to be judged against the runtime: only its patches can have changed. */
export function needsRuntime(job: TrainJob, old: TrainJob): boolean {
  return !samePatches(job.spec.runtimePatches, old.spec.runtimePatches);
}

/** What is known when a TrainJob changes. */
export interface ChangeContext {
  /** The runtime it started from; absent where neither snapshot nor runtime is there (G11). */
  readonly runtime?: AnyTrainingRuntime;
  readonly jobSet?: JobSet;
}

/** Judges a change. What did not change is not judged again: a job can always be let go of. */
export function validateChangedTrainJob(
  job: TrainJob,
  old: TrainJob,
  context: ChangeContext,
  rules: TrainJobRules,
): Verdict {
  const frozen = FROZEN_FIELDS
    .filter((field) => !isDeepStrictEqual(job.spec[field], old.spec[field]))
    .map((field) => forbidden(`spec.${field}`, "field is immutable"));
  const problems = [...frozen, ...trialAnnotationProblems(job, old)];
  const warnings = trialAnnotationWarnings(job, old);
  if (!needsRuntime(job, old)) return { problems, warnings };
  const { runtime, jobSet } = context;
  return {
    problems: [
      ...problems,
      ...validatePatchChange(job, old, jobSet),
      ...(runtime === undefined
        ? [missingRuntimeProblem(job)]
        : runtimeProblems(job, runtime, false, rules)),
    ],
    warnings,
  };
}
