/** Handlers of the admission webhook, with the caches and the rules of rendering that they use. */
import {
  changedTrainJobProblems,
  runtimeProblems,
  trainJobProblems,
} from "../../controller/runtime/validation.ts";
import {
  changedV1JobProblems,
  v1JobProblems,
  v1JobWarnings,
} from "../../controller/jobs/validation.ts";
import { createChildConfigMaps } from "../../controller/trainjob/child_config_maps.ts";
import type { RuntimeDefinitions } from "../../controller/trainjob/runtime_definitions.ts";
import { readSnapshot } from "../../controller/trainjob/snapshot.ts";
import { POLICIES } from "../../controller/runtime/policies/table.ts";
import { priorityClassesOf } from "../../controller/runtime/policy.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { allowsLastWords } from "../../crds/job_failure.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { PriorityClass } from "../../platform/kube/kubernetes.ts";
import { childNames } from "../../crds/names.ts";
import type { AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import type { Trial } from "../../crds/trial.ts";
import { createReadBudget } from "../../platform/http/limits/read_budget.ts";
import { createLookup, type Lookup } from "../../platform/kube/watching/cached_lookup.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import type { AdmissionHandlers } from "../../webhook/admission_http.ts";
import type { ReviewContext } from "../../webhook/admission_review.ts";
import { createAdmissionHandlers } from "../../webhook/admission_handlers.ts";
import type { PodEndpoint, PodsJob } from "../../webhook/pod_injection.ts";
import { trialOfPod } from "../../webhook/trial_injection.ts";
import type { ManagerConfiguration } from "../configuration/configuration.ts";
import type { Caches } from "./caches.ts";
import { createObjectLookup, READ_BOUNDS } from "./object_lookup.ts";
import type { V1Settings } from "../../controller/jobs/v1_settings.ts";
import type { Executor } from "../../controller/runtime/draft.ts";

/** Time for which an object that does not exist is not looked for again, in milliseconds. */
const ABSENT_FOR_MS = 1_000;

/** Dependencies of admission. */
export interface AdmissionParts {
  readonly kinds: JobKinds;
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly clock: Clock;
  /** The status endpoint for pods; undefined with the gate off. */
  readonly endpoint: () => PodEndpoint | undefined;
  readonly executor: () => Executor;
  /** What bounds jobs, makes the pods of v1 jobs, and says what is told of failures. */
  readonly configuration: V1Settings & Pick<ManagerConfiguration, "failureMessages">;
  readonly runtimeDefinitions: RuntimeDefinitions;
  /** The Trials that are watched. Absent: each is read. */
  readonly trials?: Pick<Informer<Trial>, "get">;
}

const NO_TRIALS = { get: () => undefined };

/**
 * Creates the lookups of objects that reviews name, with a budget of their own. What no cache holds yet is read: a
 * runtime that was just created must not be missed.
 */
function createLookups({ client, caches, clock, trials = NO_TRIALS }: AdmissionParts) {
  const budget = createReadBudget({ clock });
  const parts = { client, clock, budget, absentForMs: ABSENT_FOR_MS };
  return {
    configMaps: createChildConfigMaps({ client, cache: caches.configMaps, budget }),
    trainingRuntime: createObjectLookup(parts, KINDS.trainingRuntime, caches.trainingRuntimes),
    clusterTrainingRuntime: createObjectLookup(
      parts,
      KINDS.clusterTrainingRuntime,
      caches.clusterTrainingRuntimes,
    ),
    trial: createObjectLookup(parts, KINDS.trial, trials),
    // Few jobs name one, so no cache holds them.
    priorityClass: createLookup<PriorityClass>({
      ...parts,
      cached: () => undefined,
      read: ({ name }) => getOrUndefined(client, KINDS.priorityClass, { name }, READ_BOUNDS),
    }),
  };
}

/** Looks for the priority classes that the runtime needs. Returns those that do not exist, in the API server's words. */
async function missingOf(
  lookup: Lookup<PriorityClass>,
  runtime: AnyTrainingRuntime | undefined,
): Promise<ReadonlyMap<string, string>> {
  const missing = new Map<string, string>();
  const { group, kind } = KINDS.priorityClass;
  for (const name of priorityClassesOf(POLICIES, runtime?.spec ?? {})) {
    const found = await lookup({ namespace: "", name });
    if (found === undefined) missing.set(name, `${kind}.${group} "${name}" not found`);
  }
  return missing;
}

/** The handlers of every webhook path. */
export function createAdmission(parts: AdmissionParts): AdmissionHandlers {
  const { caches, clock, endpoint, executor, runtimeDefinitions, configuration } = parts;
  // The names come from whoever can reach the port: others do not take the reads of API servers.
  const lookups = { ofApiServers: createLookups(parts), ofOthers: createLookups(parts) };
  const lookupsFor = ({ isReserved }: ReviewContext) =>
    isReserved ? lookups.ofApiServers : lookups.ofOthers;
  const jobOf = ({ kind, namespace, name }: PodsJob) =>
    caches.byKind.get(kind)?.jobs.get({ namespace, name });
  return createAdmissionHandlers({
    kinds: parts.kinds,
    clock,
    endpoint,
    jobOf,
    tellsLastWords(job) {
      return !job.kind.isForeign && configuration.failureMessages &&
        allowsLastWords(jobOf(job)?.metadata.annotations);
    },
    runtime({ kind, name }, namespace, context) {
      const { trainingRuntime, clusterTrainingRuntime } = lookupsFor(context);
      return kind === KINDS.trainingRuntime.kind
        ? trainingRuntime({ namespace, name })
        : clusterTrainingRuntime({ namespace: "", name });
    },
    jobSet: (key) => caches.jobSets.get({ namespace: key.namespace, name: key.name }),
    snapshot: async ({ namespace, name }, context) => {
      const trainJob = caches.trainJobs.get({ namespace, name });
      if (trainJob === undefined) return undefined;
      const { configMaps } = lookupsFor(context);
      const stored = await configMaps.read(trainJob, childNames.runtimeSnapshot(name), {
        ...READ_BOUNDS,
        signal: context.signal,
        data: true,
        unlabelled: caches.jobSets.get({ namespace, name }) !== undefined,
      });
      if (stored === undefined) return undefined;
      const read = readSnapshot(trainJob, stored);
      return "runtime" in read ? read.runtime : undefined;
    },
    trial: async (key, context) => trialOfPod(await lookupsFor(context).trial(key)),
    async trainJobRules(runtime, context) {
      const { priorityClass } = lookupsFor(context);
      const missingPriorityClasses = await missingOf(priorityClass, runtime);
      const droppedPolicies = await runtimeDefinitions.droppedFor(runtime);
      return (trainJob, runtime, old) => {
        const input = {
          trainJob,
          runtime,
          executor: executor(),
          maxPods: configuration.maxPodsPerJob,
          missingPriorityClasses,
          droppedPolicies,
        };
        return old === undefined ? trainJobProblems(input) : changedTrainJobProblems(input, old);
      };
    },
    runtimeRules: (spec) => runtimeProblems(spec, { executor: executor() }),
    v1JobRules: {
      problems: (kind, job, old) =>
        old === undefined
          ? v1JobProblems(kind, job, configuration)
          : changedV1JobProblems(kind, job, old, configuration),
      warnings: v1JobWarnings,
    },
  });
}
