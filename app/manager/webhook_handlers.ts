/** Handlers of the admission webhook, with the caches and the rules of rendering that they use. */
import {
  changedTrainJobProblems,
  runtimeProblems,
  trainJobProblems,
} from "../../controller/runtime/validation.ts";
import { readSnapshot } from "../../controller/trainjob/snapshot.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { KINDS } from "../../crds/kinds.ts";
import { childNames } from "../../crds/names.ts";
import type { RuntimeRef } from "../../crds/trainjob.ts";
import type { Trial } from "../../crds/trial.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Informer } from "../../kube/informer.ts";
import type { KubeObject, ObjectKey, ResourceKind } from "../../kube/resource.ts";
import { getOrUndefined } from "../../kube/upsert.ts";
import type { AdmissionHandlers } from "../../webhook/admission_http.ts";
import { createAdmissionHandlers } from "../../webhook/admission_handlers.ts";
import type { TrialOfPod } from "../../webhook/trial_injection.ts";
import type { Caches } from "./caches.ts";
import type { Executor } from "../../controller/runtime/draft.ts";

/** Deadline of a read of an object that a cache does not have, in milliseconds. */
const READ_DEADLINE_MS = 2_000;

/** Dependencies of admission. */
export interface AdmissionParts {
  readonly kinds: JobKinds;
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly clock: Clock;
  /** Base URL of the status endpoint for pods; undefined with the gate off. */
  readonly endpoint: () => string | undefined;
  readonly executor: () => Executor;
  /** The Trials that are watched. Absent: each is read. */
  readonly trials?: Pick<Informer<Trial>, "get">;
}

const NO_TRIALS = { get: () => undefined };

/** From the cache, else by one read: a runtime that was just created must not be missed. */
async function find<T extends KubeObject>(
  client: KubeClient,
  kind: ResourceKind<T>,
  cache: Pick<Informer<T>, "get">,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<T | undefined> {
  const held = cache.get(key);
  if (held !== undefined) return held;
  const bounds = { signal, deadlineMs: READ_DEADLINE_MS, honorRetryAfter: false };
  return await getOrUndefined(client, kind, key, bounds);
}

/** The fields of a Trial for its pods; read if no cache has it, because each pod is made once. */
async function findTrial(
  { client, trials = NO_TRIALS }: AdmissionParts,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<TrialOfPod | undefined> {
  const trial = await find(client, KINDS.trial, trials, key, signal);
  if (trial === undefined) return undefined;
  const { metadata: { labels }, spec } = trial;
  return { name: key.name, labels, primaryContainerName: spec?.primaryContainerName };
}

/** The handlers of every webhook path. */
export function createAdmission(parts: AdmissionParts): AdmissionHandlers {
  const { client, caches, clock, endpoint, executor } = parts;
  const runtime = (ref: RuntimeRef, namespace: string, signal: AbortSignal) =>
    ref.kind === KINDS.trainingRuntime.kind
      ? find(
        client,
        KINDS.trainingRuntime,
        caches.trainingRuntimes,
        { namespace, name: ref.name },
        signal,
      )
      : find(
        client,
        KINDS.clusterTrainingRuntime,
        caches.clusterTrainingRuntimes,
        { name: ref.name },
        signal,
      );
  return createAdmissionHandlers({
    kinds: parts.kinds,
    clock,
    endpoint,
    runtime,
    jobSet: (key) => caches.jobSets.get({ namespace: key.namespace, name: key.name }),
    snapshot: ({ namespace, name }) => {
      const trainJob = caches.trainJobs.get({ namespace, name });
      const stored = caches.configMaps.get({ namespace, name: childNames.runtimeSnapshot(name) });
      if (trainJob === undefined || stored === undefined) return undefined;
      const read = readSnapshot(trainJob, stored);
      return "runtime" in read ? read.runtime : undefined;
    },
    trial: (key, signal) => findTrial(parts, key, signal),
    trainJobRules(trainJob, runtime, old) {
      const input = { trainJob, runtime, executor: executor() };
      return old === undefined ? trainJobProblems(input) : changedTrainJobProblems(input, old);
    },
    runtimeRules: (spec) => runtimeProblems(spec, { executor: executor() }),
  });
}
