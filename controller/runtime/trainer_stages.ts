/** Stages of the trainer and the initializers: what a TrainJob sets on their containers. */
import { type FieldProblem, invalid } from "../../crds/field_problem.ts";
import type { ReplicatedJob } from "../../crds/jobset.ts";
import type { Container, ResourceRequirements } from "../../platform/kube/kubernetes.ts";
import {
  INITIALIZER_VOLUME,
  LABELS,
  RESERVED_STATUS_ENV,
  STEP_CONTAINERS,
  STEPS,
  STORAGE_URI_ENV,
} from "../../crds/names.ts";
import { type InitializerStep, runtimeRefOf } from "../../crds/trainjob.ts";
import {
  containersOf,
  type Draft,
  hasNamed,
  jobsOf,
  jobsOfStep,
  type Stage,
  stepContainers,
  stepOf,
} from "./draft.ts";
import { reservedEnvProblems, upsertEnv } from "./container_environment.ts";
import { byField, mergeLists, mergeMaps } from "./merge.ts";
import { unshared } from "./copy.ts";

/** Runs a job that is a step of the TrainJob once, whatever its template says. */
export const singleReplica: Stage = {
  name: "singleReplica",
  apply(draft) {
    for (const job of jobsOf(draft)) if (stepOf(job)) job.replicas = 1;
  },
};

/** Returns the resources of a container with those of a TrainJob, which win key by key. */
export function mergeResources(
  target: ResourceRequirements | undefined,
  patch: ResourceRequirements,
): ResourceRequirements {
  const limits = mergeMaps(target?.limits, patch.limits);
  const requests = mergeMaps(target?.requests, patch.requests);
  const claims = mergeLists(target?.claims, patch.claims, byField(({ name }) => name));
  return {
    ...target,
    ...(limits && { limits }),
    ...(requests && { requests }),
    ...(claims && { claims }),
  };
}

/** Merges `trainer.resourcesPerNode` into the runtime's, with or without an ML policy (G7). */
export const resourcesPerNode: Stage = {
  name: "resourcesPerNode",
  apply(draft) {
    const resources = draft.trainJob.spec.trainer?.resourcesPerNode;
    if (!resources) return;
    for (const container of stepContainers(draft, STEPS.trainer)) {
      container.resources = mergeResources(container.resources, resources);
    }
  },
};

/** Replaces image, command and arguments of the trainer, each as a whole, by an empty list too. */
export const trainerOverrides: Stage = {
  name: "trainerOverrides",
  apply(draft) {
    const { image, args, command: wanted } = draft.trainJob.spec.trainer ?? {};
    const command = draft.trainerCommand ?? wanted;
    for (const container of stepContainers(draft, STEPS.trainer)) {
      if (image) container.image = image;
      if (command) container.command = [...command];
      if (args && !draft.commandHasArgs) container.args = [...args];
    }
  },
};

/** Sets `trainer.env`. The ML policy's stage follows and overwrites its own variables. */
export const trainerEnv: Stage = {
  name: "trainerEnv",
  admit: ({ trainJob }) =>
    reservedEnvProblems(trainJob.spec.trainer?.env, RESERVED_STATUS_ENV, "spec.trainer.env"),
  apply(draft) {
    for (const container of stepContainers(draft, STEPS.trainer)) {
      upsertEnv(container, draft.trainJob.spec.trainer?.env ?? []);
    }
  },
};

/** An initializer that the TrainJob configures. */
type Initializer = ReturnType<typeof initializersOf>[number];

/** Returns those of the TrainJob, each with its field under `spec.initializer`. */
function initializersOf({ trainJob }: Draft) {
  const { dataset, model } = trainJob.spec.initializer ?? {};
  return [
    ...(dataset
      ? [{ step: STEPS.datasetInitializer, config: dataset, field: "dataset" } as const]
      : []),
    ...(model ? [{ step: STEPS.modelInitializer, config: model, field: "model" } as const] : []),
  ];
}

function initialize(container: Container, { storageUri, env, secretRef }: InitializerStep): void {
  if (storageUri !== undefined) {
    upsertEnv(container, [{ name: STORAGE_URI_ENV, value: storageUri }]);
  }
  upsertEnv(container, env ?? []);
  if (secretRef) {
    container.envFrom = [...container.envFrom ?? [], { secretRef: unshared(secretRef) }];
  }
}

/** Sets variables and secret of the initializers. */
export const initializers: Stage = {
  name: "initializers",
  admit: (draft) =>
    initializersOf(draft).flatMap(({ config, field }) =>
      reservedEnvProblems(config.env, RESERVED_STATUS_ENV, `spec.initializer.${field}.env`)
    ),
  apply(draft) {
    for (const { step, config } of initializersOf(draft)) {
      for (const container of stepContainers(draft, step)) initialize(container, config);
    }
  },
};

const REF = "spec.runtimeRef";

/** Jobs are found by their label; a job of the step's name without it is reported as such. */
function initializerProblems(draft: Draft, { step, field }: Initializer): FieldProblem[] {
  const problem = (message: string) => [invalid(REF, runtimeRefOf(draft.trainJob), message)];
  const labelled = jobsOfStep(draft, step);
  const job = labelled[0] ?? jobsOf(draft).find(({ name }) => name === step);
  if (job === undefined) {
    return problem(`must have ${step} job when trainJob is configured with input ${field}Config`);
  }
  const jobs = labelled.length > 0 ? labelled : [job];
  if (jobs.some((one) => !hasNamed(containersOf(one), step))) {
    return problem(`must have container with name - ${step} in the ${step} job`);
  }
  return labelled.length > 0
    ? []
    : problem(`must have label ${LABELS.ancestorStep}: ${step} on the template of job ${step}`);
}

/** Reports whether the job's container mounts the shared volume, by the runtime or by a patch. */
function mountsInitializer({ trainJob }: Draft, job: ReplicatedJob, container: string): boolean {
  const patched = (trainJob.spec.runtimePatches ?? [])
    .flatMap((patch) => patch.trainingRuntimeSpec?.template?.spec?.replicatedJobs ?? [])
    .filter((patch) => patch.name === job.name)
    .flatMap((patch) => patch.template?.spec?.template?.spec?.containers ?? []);
  return [...containersOf(job), ...patched]
    .some((one) => one.name === container && hasNamed(one.volumeMounts ?? [], INITIALIZER_VOLUME));
}

function mountProblems(draft: Draft, { step }: Initializer): FieldProblem[] {
  const job = jobsOfStep(draft, step)[0];
  if (job === undefined || !hasNamed(containersOf(job), step)) return [];
  const message =
    `must have volumeMount with name - ${INITIALIZER_VOLUME} in container ${step} of the ${step} job`;
  return mountsInitializer(draft, job, step)
    ? []
    : [invalid(REF, runtimeRefOf(draft.trainJob), message)];
}

/** A trainer that sets nothing needs no job; most of its fields need the container too. */
function trainerProblems(draft: Draft): FieldProblem[] {
  const { runtimeRef, trainer } = draft.trainJob.spec;
  if (!trainer || Object.keys(trainer).length === 0) return [];
  const jobs = jobsOfStep(draft, STEPS.trainer);
  if (jobs.length === 0) {
    const message = `must have a job with the label ${LABELS.ancestorStep}: ${STEPS.trainer} in ` +
      "the runtime, since the TrainJob configures that step";
    return [invalid(REF, runtimeRef.name, message)];
  }
  const { image, command, args, env, resourcesPerNode: resources } = trainer;
  const container = STEP_CONTAINERS[STEPS.trainer];
  const isMissing = jobs.some((job) => !hasNamed(containersOf(job), container));
  if (!isMissing || !(image || command || args || env || resources)) return [];
  const message = `must have container with name - ${container} in the ${STEPS.trainer} job`;
  return [invalid(REF, runtimeRef.name, message)];
}

/** Requires the steps that the TrainJob configures, which would be dropped in silence otherwise. */
export const stepsExist: Stage = {
  name: "stepsExist",
  validate: (draft) => [
    ...initializersOf(draft).flatMap((one) => initializerProblems(draft, one)),
    ...trainerProblems(draft),
  ],
  admit: (draft) => [
    ...initializersOf(draft).flatMap((one) => [
      ...initializerProblems(draft, one),
      ...mountProblems(draft, one),
    ]),
    ...trainerProblems(draft),
  ],
};
