/** Work of the leader: controllers, webhook configurations and the owned state, for one term. */
import { getLogger } from "@logtape/logtape";
import { createJobSetController } from "../../controller/jobset/jobset_controller.ts";
import { gangScheduler } from "../../controller/jobs/gang.ts";
import { createV1Controller } from "../../controller/jobs/v1_controller.ts";
import { type NotifierOptions, runNotifier } from "../../controller/notifications/sink_notifier.ts";
import { createOptimizationController } from "../../controller/optimization/optimization_controller.ts";
import { createTrainJobController } from "../../controller/trainjob/trainjob_controller.ts";
import type { LastValue } from "../../controller/optimization/trial_jobs.ts";
import type { TrialHooks } from "../../controller/trainjob/trials.ts";
import { jobRefOf } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { OPTIMIZATION } from "../../crds/names.ts";
import { V1_KIND_LIST, V1_KINDS } from "../../crds/v1/kinds.ts";
import type { Controller, ControllerMetrics } from "../../platform/kube/controller.ts";
import type { LeaderWork } from "../../platform/kube/leading/leadership.ts";
import {
  type ConfigurationSync,
  createConfigurationSync,
} from "../../webhook/configuration_sync.ts";
import { keepPublicAuthority } from "../../webhook/public_authority.ts";
import { webhookTarget } from "./endpoints.ts";
import { watchKatibsWebhook } from "../../webhook/katib_webhook_watch.ts";
import type { ManagerContext, ManagerParts } from "./manager_parts.ts";
import { jobMetrics, type Metrics } from "./metrics.ts";
import { partsOf } from "./rights.ts";
import { aborted } from "../../platform/base/aborted.ts";
import { retryUntilAborted } from "../../platform/base/backoff.ts";

const log = getLogger(["milepost", "manager"]);

/** Jobs of a kind, and JobSets, that are worked on at a time. */
const WORKERS = 8;
/** Pauses before webhook configurations are written again. */
const SYNC_RETRY = { firstMs: 100, longestMs: 5_000 } as const;
/** Longest time for writing pending progress at the end, in milliseconds. */
const FLUSH_MS = 5_000;

/** Dependencies of a term. */
export interface TermOptions {
  readonly context: ManagerContext;
  readonly parts: ManagerParts;
  /** The port that admission is served on. */
  readonly webhookPort: () => number;
  /** Called when the webhook configurations in the cluster are correct. */
  readonly onConfigured: () => void;
}

function controllerMetricsOf(metrics: Metrics): ControllerMetrics {
  return {
    reconciled: (controller, result, seconds) => {
      metrics.reconcileTotal.inc({ controller, result });
      metrics.reconcileSeconds.observe({ controller }, seconds);
    },
    depth: (controller, depth) => metrics.queueDepth.set({ controller }, depth),
  };
}

/** Calls of the TrainJob controller about trials, answered by the term that runs here. */
function trialHooksOf({ recording, owned }: ManagerParts): TrialHooks | undefined {
  return recording && {
    trialOf: recording.trials.trialOf,
    isStopping: ({ metadata: { uid = "" } }) => owned.term?.observations?.isStopping(uid) ?? false,
    settle: (trainJob, signal) =>
      owned.term?.observations?.settle(jobRefOf(TRAINJOB, trainJob), signal),
  };
}

/** Reads the last value of a metric from the log of a job, at the term that runs here. */
const lastValueIn =
  ({ recording, owned }: ManagerParts): LastValue => async (job, metric, signal) => {
    if (recording === undefined) return undefined;
    // Without its log a trial would have no objective.
    if (owned.term?.observations === undefined) throw new Error("no log can be read yet");
    const snapshot = await owned.term.observations.snapshotOf(jobRefOf(TRAINJOB, job), signal);
    return snapshot?.metrics.find(({ name }) => name === metric)?.latest;
  };

/** What pods need that push: the CA, and word of a change; undefined with the gate off. */
const progressOf = ({ context: { configuration }, parts: { certificates } }: TermOptions) =>
  configuration.featureGates.trainJobProgress
    ? { caBundle: () => certificates.current().caBundle, onCaChange: certificates.onChange }
    : undefined;

/** The controllers of one term; a controller runs once. */
function createControllers(options: TermOptions): Controller[] {
  const { context, parts } = options;
  const { clock, configuration } = context;
  const { caches, events, executor, runtimeDefinitions } = parts;
  const { leaderClient: client } = parts;
  const run = partsOf(configuration);
  const shared = {
    client,
    managerName: configuration.serviceName,
    informers: { ...caches, jobs: caches.batchJobs },
    events,
    clock,
    maxPods: configuration.maxPodsPerJob,
    failureMessages: configuration.failureMessages,
    workers: WORKERS,
    metrics: controllerMetricsOf(context.metrics),
  };
  return [
    createTrainJobController({
      ...shared,
      executor,
      createChildCache: caches.createChildCache,
      runtimeDefinitions,
      progress: progressOf(options),
      trials: trialHooksOf(parts),
      ...(run.has(OPTIMIZATION.role) && { searches: caches.optimizationJobs }),
    }),
    ...run.has("executor") ? [createJobSetController(shared)] : [],
    ...run.has(OPTIMIZATION.role)
      ? [createOptimizationController({ ...shared, lastValue: lastValueIn(parts) })]
      : [],
  ];
}

/** A controller for each v1 kind; one whose kind is not run has nothing to do. */
function createV1Controllers(options: TermOptions): Controller[] {
  const { clock, configuration, metrics } = options.context;
  const { gangSchedulerName } = configuration;
  const { leaderClient: client, caches, events, recording, v1Kinds } = options.parts;
  return [...caches.v1].map(([name, kindCaches]) =>
    createV1Controller({
      kind: V1_KINDS[name],
      runs: () => v1Kinds.runs(name),
      client,
      caches: kindCaches,
      events,
      clock,
      metrics: jobMetrics(metrics),
      workers: WORKERS,
      trialOf: recording?.trials.trialOf,
      settings: configuration,
      failureMessages: configuration.failureMessages,
      ...(gangSchedulerName !== "" && { gang: gangScheduler(gangSchedulerName) }),
      controllerMetrics: controllerMetricsOf(metrics),
      ...progressOf(options),
    })
  );
}

/** Keeps the webhook configurations, which name the port that admission is served on. */
function createWebhookSync({ context, parts, webhookPort }: TermOptions): ConfigurationSync {
  const { kinds, clock, configuration } = context;
  const { leaderClient: client, caches, certificates, v1Kinds } = parts;
  return createConfigurationSync({
    store: client,
    desired: () => ({
      kinds,
      v1Kinds: V1_KIND_LIST.filter(({ kind }) => v1Kinds.runs(kind)),
      optimizationJobs: configuration.optimizationJobs,
      target: webhookTarget(context, webhookPort()),
      caBundle: certificates.current().caBundle,
      injectPods: configuration.featureGates.trainJobProgress,
    }),
    clock,
    changes: (listener) => {
      const stops = [
        certificates.onChange(listener),
        caches.mutatingConfigurations.onChange(listener),
        caches.validatingConfigurations.onChange(listener),
        v1Kinds.onChange(listener),
      ];
      return () => stops.forEach((stop) => stop());
    },
  });
}

async function keepConfigured(options: TermOptions, signal: AbortSignal): Promise<void> {
  const sync = createWebhookSync(options);
  const { clock } = options.context;
  await retryUntilAborted((signal) => sync.sync(signal), {
    backoff: SYNC_RETRY,
    clock,
    signal,
    onFailure: (error) => log.warn("cannot write the webhook configurations; retrying", { error }),
  });
  if (signal.aborted) return;
  options.onConfigured();
  await sync.run(signal);
}

/** The work of one term. The owned state ends with nothing pending. */
export function createTermWorks(options: TermOptions): LeaderWork[] {
  const { context: { clock, configuration, metrics, sinks }, parts } = options;
  const { owned, recording, leaderClient: client, certificates, caches, events, leadership } =
    parts;
  const authority = {
    client,
    namespace: configuration.namespace,
    caBundle: () => certificates.current().caBundle,
    changes: certificates.onChange,
    clock,
  };
  const katibsWebhook = {
    configurations: caches.mutatingConfigurations,
    events,
    adopts: configuration.adoptCollectors,
  };
  const notifying: NotifierOptions = {
    jobs: caches.byKind,
    sinks,
    clock,
    request: fetch,
    leading: () => leadership.leading,
    onResult: (labels) => metrics.notifications.inc(labels),
  };
  return [
    (signal) => keepConfigured(options, signal),
    (signal) => keepPublicAuthority(authority, signal),
    (signal) => owned.run(signal, FLUSH_MS),
    (signal) => watchKatibsWebhook(katibsWebhook, signal),
    (signal) => runNotifier(notifying, signal),
    (signal) => recording?.trials.check(signal) ?? aborted(signal),
    ...[...createControllers(options), ...createV1Controllers(options)].map(
      (it) => (signal: AbortSignal) => it.run(signal),
    ),
  ];
}
