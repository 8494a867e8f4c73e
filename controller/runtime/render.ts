/** Renders a TrainJob and its runtime as a JobSet. Pure: inputs are read only. */
import type { FieldProblem } from "../../crds/field_problem.ts";
import type { JobSet } from "../../crds/jobset.ts";
import { JOBSET_API_VERSION, TRAINER_API_VERSION } from "../../crds/names.ts";
import type { AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { controllerReference } from "../../kube/ownership.ts";
import { childNameLengths } from "./child_names.ts";
import { type Draft, type Executor, jobsOf, type Stage } from "./draft.ts";
import { execution, podIdentity } from "./identity.ts";
import { mlPolicy } from "./ml_policy.ts";
import { nodeCounts, parallelism } from "./node_counts.ts";
import { runtimePatches } from "./runtime_patches.ts";
import {
  initializers,
  resourcesPerNode,
  singleReplica,
  stepsExist,
  trainerEnv,
  trainerOverrides,
} from "./steps.ts";
import { unsupportedFeatures } from "./unsupported.ts";
import { unshared } from "./copy.ts";

/** What is rendered. */
export interface RenderInput {
  readonly trainJob: TrainJob;
  readonly runtime: AnyTrainingRuntime;
  readonly executor: Executor;
  /** The Trial whose metrics the pods push; they carry its name. */
  readonly trial?: string | undefined;
}

/**
 * The JobSet, or why there is none. `unsupported` tells a runtime that asks for what nothing
 * executes from a TrainJob that does not fit its runtime.
 */
export type Rendered =
  | { readonly jobSet: JobSet }
  | { readonly problem: FieldProblem; readonly unsupported: boolean };

const hasJobs: Stage = {
  name: "hasJobs",
  apply: (draft) =>
    jobsOf(draft).length > 0 ? undefined : {
      field: "spec.runtimeRef",
      message: "must have at least one replicated job in the runtime's template",
    },
};

/** The order of the rendering (contract trainjob.md 3.1); nothing else decides it. */
export const STAGES: readonly Stage[] = [
  hasJobs,
  runtimePatches,
  stepsExist,
  singleReplica,
  resourcesPerNode,
  nodeCounts,
  trainerEnv,
  mlPolicy,
  initializers,
  trainerOverrides,
  parallelism,
  podIdentity,
  execution,
  childNameLengths,
];

function createDraft({ trainJob, runtime, executor, trial }: RenderInput): Draft {
  const template = runtime.spec?.template;
  const { labels, annotations } = template?.metadata ?? {};
  return {
    trainJob,
    runtimeName: runtime.metadata.name ?? "",
    mlPolicy: runtime.spec?.mlPolicy,
    executor,
    trial,
    metadata: { labels: { ...labels }, annotations: { ...annotations } },
    spec: unshared(template?.spec ?? {}),
    counts: new Map(),
  };
}

function filled(map: Record<string, string>): Record<string, string> | undefined {
  return Object.keys(map).length > 0 ? map : undefined;
}

function toJobSet({ trainJob, metadata, spec }: Draft): JobSet {
  const { name = "", namespace, uid = "" } = trainJob.metadata;
  const labels = filled(metadata.labels);
  const annotations = filled(metadata.annotations);
  const owner = { apiVersion: TRAINER_API_VERSION, kind: "TrainJob", name, uid };
  return {
    apiVersion: JOBSET_API_VERSION,
    kind: "JobSet",
    metadata: {
      name,
      namespace,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ownerReferences: [controllerReference(owner)],
    },
    spec,
  };
}

/** The JobSet that the TrainJob stands for under this runtime, or the first problem that forbids it. */
export function renderJobSet(input: RenderInput): Rendered {
  const { trainJob, runtime, executor } = input;
  const unsupported = runtime.spec && unsupportedFeatures(runtime.spec, trainJob, executor)[0];
  if (unsupported) return { problem: unsupported, unsupported: true };
  const draft = createDraft(input);
  for (const stage of STAGES) {
    const problem = stage.apply(draft);
    if (problem) return { problem, unsupported: false };
  }
  return { jobSet: toJobSet(draft) };
}
