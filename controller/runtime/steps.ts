/** Stages: what `spec.trainer` and `spec.initializer` set on their containers (contract 3.2 to 3.5). */
import type { FieldProblem } from "../../crds/field_problem.ts";
import type { Container, ResourceRequirements } from "../../crds/kubernetes.ts";
import { LABELS, type Step, STEP_CONTAINERS, STEPS, STORAGE_URI_ENV } from "../../crds/names.ts";
import type { InitializerStep } from "../../crds/trainjob.ts";
import {
  containerOf,
  type Draft,
  jobsOf,
  jobsOfStep,
  type Stage,
  stepContainers,
  stepOf,
} from "./draft.ts";
import { upsertEnv } from "./environment.ts";
import { byField, mergeLists, mergeMaps } from "./merge.ts";
import { unshared } from "./copy.ts";

/** A job that is a step of the TrainJob runs once, whatever its template says. */
export const singleReplica: Stage = {
  name: "singleReplica",
  apply(draft) {
    for (const job of jobsOf(draft)) if (stepOf(job)) job.replicas = 1;
    return undefined;
  },
};

function mergeResources(
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

/** `trainer.resourcesPerNode` over the runtime's, with or without an ML policy (gap G7). */
export const resourcesPerNode: Stage = {
  name: "resourcesPerNode",
  apply(draft) {
    const resources = draft.trainJob.spec.trainer?.resourcesPerNode;
    if (!resources) return undefined;
    for (const container of stepContainers(draft, STEPS.trainer)) {
      container.resources = mergeResources(container.resources, resources);
    }
    return undefined;
  },
};

/** Image, command and arguments of the trainer: replaced as a whole, by an empty list too. */
export const trainerOverrides: Stage = {
  name: "trainerOverrides",
  apply(draft) {
    const { image, args, command: wanted } = draft.trainJob.spec.trainer ?? {};
    const command = draft.trainerCommand ?? wanted;
    for (const container of stepContainers(draft, STEPS.trainer)) {
      if (image) container.image = image;
      if (command) container.command = [...command];
      if (args) container.args = [...args];
    }
    return undefined;
  },
};

/** `trainer.env`; it runs before the ML policy, which has the last word on its own variables. */
export const trainerEnv: Stage = {
  name: "trainerEnv",
  apply(draft) {
    for (const container of stepContainers(draft, STEPS.trainer)) {
      upsertEnv(container, draft.trainJob.spec.trainer?.env ?? []);
    }
    return undefined;
  },
};

function initialize(container: Container, step: InitializerStep): void {
  const { storageUri, env, secretRef } = step;
  if (storageUri !== undefined) {
    upsertEnv(container, [{ name: STORAGE_URI_ENV, value: storageUri }]);
  }
  upsertEnv(container, env ?? []);
  if (secretRef) {
    container.envFrom = [...container.envFrom ?? [], { secretRef: unshared(secretRef) }];
  }
}

/** Variables and secret of the initializers that the TrainJob configures. */
export const initializers: Stage = {
  name: "initializers",
  apply(draft) {
    const { dataset, model } = draft.trainJob.spec.initializer ?? {};
    for (
      const [step, config] of [
        [STEPS.datasetInitializer, dataset],
        [STEPS.modelInitializer, model],
      ] as const
    ) {
      if (!config) continue;
      for (const container of stepContainers(draft, step)) initialize(container, config);
    }
    return undefined;
  },
};

function missing(draft: Draft, step: Step, needsContainer: boolean): string | undefined {
  const container = STEP_CONTAINERS[step];
  const jobs = jobsOfStep(draft, step);
  if (jobs.length === 0) {
    return `must have a job with the label ${LABELS.ancestorStep}: ${step} in the runtime, ` +
      "since the TrainJob configures that step";
  }
  return needsContainer && jobs.some((job) => containerOf(job, container) === undefined)
    ? `must have container with name - ${container} in the ${step} job`
    : undefined;
}

function trainerMissing(draft: Draft): string | undefined {
  const { trainer } = draft.trainJob.spec;
  if (!trainer || Object.keys(trainer).length === 0) return undefined;
  const { image, command, args, env, resourcesPerNode: resources } = trainer;
  return missing(draft, STEPS.trainer, Boolean(image || command || args || env || resources));
}

/** What the TrainJob configures must exist in the runtime, or it would be dropped in silence. */
export const stepsExist: Stage = {
  name: "stepsExist",
  apply(draft): FieldProblem | undefined {
    const { initializer } = draft.trainJob.spec;
    const message = (initializer?.dataset && missing(draft, STEPS.datasetInitializer, true)) ??
      (initializer?.model && missing(draft, STEPS.modelInitializer, true)) ??
      trainerMissing(draft);
    return message === undefined ? undefined : { field: "spec.runtimeRef", message };
  },
};
