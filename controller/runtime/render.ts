/** Rendering of a TrainJob and its runtime as a JobSet. Pure: inputs are read only. */
import { type FieldProblem, invalid } from "../../crds/field_problem.ts";
import { JOB_LIMITS } from "../../crds/job_limits.ts";
import type { JobSet } from "../../crds/jobset.ts";
import { TRAINER_API_VERSION } from "../../crds/names.ts";
import { JOBSET_API_VERSION } from "../../crds/jobset_names.ts";
import type { AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import { controllerReference } from "../../platform/kube/owner_references.ts";
import type { Child, Progress } from "./child.ts";
import { childNames } from "./child_names.ts";
import { unshared } from "./copy.ts";
import { type Draft, type DraftInput, jobsOf, type Stage } from "./draft.ts";
import { execution, podIdentity } from "./identity.ts";
import { nodeCounts, parallelism, podBound } from "./node_counts.ts";
import { POLICIES } from "./policies/table.ts";
import {
  droppedPolicyProblems,
  gangStage,
  mlPolicyStage,
  type Policies,
  policiesOf,
  policyCounts,
  policyVariables,
} from "./policy.ts";
import { runtimePatches } from "./runtime_patches.ts";
import {
  initializers,
  resourcesPerNode,
  singleReplica,
  stepsExist,
  trainerEnv,
  trainerOverrides,
} from "./trainer_stages.ts";
import { unsupportedFeatures } from "./unsupported.ts";

/** The input of rendering. */
export interface RenderInput extends DraftInput {
  readonly runtime: AnyTrainingRuntime;
  /** How many pods the job may have. Default: {@link JOB_LIMITS}. */
  readonly maxPods?: number | undefined;
  /** Default: the policies of this build. */
  readonly policies?: Policies | undefined;
  /** ML policies that the cluster's definition of runtimes drops. Default: none. */
  readonly droppedPolicies?: readonly string[] | undefined;
}

/** Everything that prevents rendering; both lists are empty if nothing does. */
export interface RenderProblems {
  /** Features of the runtime, or of a patch, that nothing executes. */
  readonly unsupported: readonly FieldProblem[];
  /** Ways in which the TrainJob does not fit its runtime. */
  readonly problems: readonly FieldProblem[];
}

/** The JobSet and the other children, or why there are none. */
export type Rendered =
  | { readonly jobSet: JobSet; readonly children: (progress: Progress) => Child[] }
  | RenderProblems;

const hasJobs: Stage = {
  name: "hasJobs",
  validate: (draft) =>
    jobsOf(draft).length > 0 ? [] : [
      invalid(
        "spec.runtimeRef",
        draft.runtimeName,
        "must have at least one replicated job in the runtime's template",
      ),
    ],
};

/** Returns the stages in the order in which they are applied; no policy may depend on another order. */
export function stagesOf(policies: Policies): readonly Stage[] {
  return [
    hasJobs,
    stepsExist,
    runtimePatches,
    singleReplica,
    resourcesPerNode,
    nodeCounts,
    policyCounts(policies),
    podBound,
    policyVariables(policies),
    trainerEnv,
    mlPolicyStage(policies),
    initializers,
    trainerOverrides,
    parallelism,
    gangStage(policies),
    podIdentity,
    execution,
    childNames,
  ];
}

function createDraft(input: RenderInput): Draft {
  const { metadata: { name = "" }, spec } = input.runtime;
  const { labels, annotations } = spec?.template.metadata ?? {};
  return {
    ...input,
    runtimeName: name,
    runtime: spec ?? {},
    maxPods: input.maxPods ?? JOB_LIMITS.pods,
    metadata: { labels: { ...labels }, annotations: { ...annotations } },
    spec: unshared(spec?.template.spec ?? {}),
    counts: new Map(),
  };
}

function toJobSet({ trainJob, metadata, spec }: Draft): JobSet {
  const { name = "", namespace, uid = "" } = trainJob.metadata;
  const marks = Object.entries(metadata).filter(([, map]) => Object.keys(map).length > 0);
  const owner = { apiVersion: TRAINER_API_VERSION, kind: "TrainJob", name, uid };
  return {
    apiVersion: JOBSET_API_VERSION,
    kind: "JobSet",
    metadata: {
      name,
      namespace,
      ...Object.fromEntries(marks),
      ownerReferences: [controllerReference(owner)],
    },
    spec,
  };
}

/**
 * Runs the stages. One with problems is not applied; the others are, so that every problem is found, unless it is
 * decisive.
 */
function runStages(input: RenderInput, admission: boolean): { draft: Draft } & RenderProblems {
  const { trainJob, runtime, executor, policies = POLICIES, droppedPolicies = [] } = input;
  const draft = createDraft(input);
  const problems: FieldProblem[] = [];
  for (const stage of stagesOf(policies)) {
    const found = stage.validate?.(draft) ?? [];
    problems.push(...(admission && stage.admit ? stage.admit(draft) : found));
    if (found.length === 0) stage.apply?.(draft);
    else if (stage.isDecisive) break;
  }
  const unsupported = runtime.spec === undefined ? [] : [
    ...unsupportedFeatures(runtime.spec, { trainJob, executor, policies }),
    ...droppedPolicyProblems(policies, runtime, droppedPolicies),
  ];
  return { draft, unsupported, problems };
}

/**
 * Renders the JobSet of a TrainJob under its runtime, or returns everything that prevents it. With
 * `admission` that includes what only admission refuses.
 */
export function renderJobSet(input: RenderInput, { admission = false } = {}): Rendered {
  const { draft, unsupported, problems } = runStages(input, admission);
  if (unsupported.length + problems.length > 0) return { unsupported, problems };
  const { policies = POLICIES } = input;
  return {
    jobSet: toJobSet(draft),
    children: (progress) =>
      policiesOf(policies, draft.runtime)
        .flatMap((policy) => policy.children?.(draft, progress) ?? []),
  };
}
