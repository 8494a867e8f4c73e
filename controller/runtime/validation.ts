/** Admission rules of TrainJobs and runtimes beyond the schemas, by rendering them. Pure. */
import { sameJson } from "../../platform/base/json.ts";
import { type FieldProblem, forbidden, invalid } from "../../crds/field_problem.ts";
import type { JobSet, ReplicatedJob } from "../../crds/jobset.ts";
import { IDENTITY_VOLUME, STEP_CONTAINERS } from "../../crds/names.ts";
import type { TrainingRuntimeSpec } from "../../crds/training_runtime.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { jobSetProblems } from "../jobset/problems.ts";
import { containersOf, type Executor, hasNamed, podSpecOf, stepOf } from "./draft.ts";
import { POLICIES } from "./policies/table.ts";
import { type Policies, policiesOf } from "./policy.ts";
import { type RenderInput, renderJobSet } from "./render.ts";
import { unsupportedFeatures } from "./unsupported.ts";

const REF = "spec.runtimeRef";

/** The built-in executor judges the JobSet; upstream's has an admission webhook of its own. */
function executorProblems({ trainJob, executor }: RenderInput, jobSet: JobSet): FieldProblem[] {
  if (executor === "external") return [];
  return jobSetProblems(jobSet.spec ?? {}, jobSet.metadata).map(({ field, message }) =>
    invalid(
      REF,
      trainJob.spec.runtimeRef.name,
      `the JobSet of this TrainJob is not valid: ${field}: ${message}`,
    )
  );
}

/** A feature that nothing executes is a problem of the reference, unless a patch asks for it. */
function referenceProblem({ trainJob, runtime }: RenderInput, problem: FieldProblem): FieldProblem {
  const { field, message } = problem;
  if (field.startsWith("spec.runtimePatches")) return forbidden(field, message);
  const name = `${runtime.kind} "${trainJob.spec.runtimeRef.name}"`;
  return forbidden(REF, `${name} cannot be used: ${field}: ${message}`);
}

/** Returns every problem of a new TrainJob with its runtime. Nothing is created. */
export function trainJobProblems(input: RenderInput): FieldProblem[] {
  const rendered = renderJobSet(input, { admission: true });
  return "jobSet" in rendered ? executorProblems(input, rendered.jobSet) : [
    ...rendered.problems,
    ...rendered.unsupported.map((problem) => referenceProblem(input, problem)),
  ];
}

/**
 * Returns the problems that a change brings: those that the TrainJob did not have before, so that a job
 * can always be changed back, resumed or released. `runtime` is the one of the job's snapshot.
 */
export function changedTrainJobProblems(input: RenderInput, old: TrainJob): FieldProblem[] {
  const before = trainJobProblems({ ...input, trainJob: old });
  return trainJobProblems(input)
    .filter((problem) => !before.some((known) => sameJson(known, problem)));
}

function jobProblems(job: ReplicatedJob, field: string): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const pod = `${field}.template.spec.template.spec`;
  if (hasNamed(podSpecOf(job)?.volumes ?? [], IDENTITY_VOLUME.name)) {
    const message = `volume ${IDENTITY_VOLUME.name} is reserved for the pod's identity`;
    problems.push(forbidden(`${pod}.volumes`, message));
  }
  const step = stepOf(job);
  if (step === undefined) return problems;
  if ((job.replicas ?? 1) !== 1) {
    problems.push(invalid(`${field}.replicas`, job.replicas, "always must be 1"));
  }
  if (!hasNamed(containersOf(job), STEP_CONTAINERS[step])) {
    const names = containersOf(job).map(({ name }) => name);
    const message = `must contain the required container for the ancestor: ${step}`;
    problems.push(invalid(`${pod}.containers`, names, message));
  }
  return problems;
}

/** Returns every problem of a runtime's spec. */
export function runtimeProblems(
  runtime: TrainingRuntimeSpec,
  { executor, policies = POLICIES }: { executor: Executor; policies?: Policies },
): FieldProblem[] {
  const jobs = runtime.template.spec?.replicatedJobs ?? [];
  return [
    ...jobs.flatMap((job, index) =>
      jobProblems(job, `spec.template.spec.replicatedJobs[${index}]`)
    ),
    ...policiesOf(policies, runtime).flatMap((policy) => policy.validateRuntime?.(runtime) ?? []),
    ...unsupportedFeatures(runtime, { executor, policies })
      .map(({ field, message }) => forbidden(field, message)),
  ];
}
