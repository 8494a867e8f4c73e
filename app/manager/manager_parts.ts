/** Parts of every replica, built from its settings; nothing runs yet. */
import type { JobKind, JobRef } from "../../crds/job_kind.ts";
import { type JobKinds, TRAINJOB } from "../../crds/job_kinds.ts";
import { V1_KIND_LIST, v1KindOf } from "../../crds/v1/kinds.ts";
import { ANNOTATIONS, EVENT_REASONS, MANAGER } from "../../crds/names.ts";
import { runtimeRefOf, runtimeScope } from "../../crds/trainjob.ts";
import { createFairShare } from "../../platform/http/limits/fair_share.ts";
import { createLoadShedding } from "../../platform/http/limits/load_shedding.ts";
import type { ServingCaps } from "../../platform/http/limits/serving_caps.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { createEventRecorder, type EventRecorder } from "../../platform/kube/events.ts";
import { fencedClient } from "../../platform/kube/leading/fence.ts";
import { createLeadership, type Leadership } from "../../platform/kube/leading/leadership.ts";
import { createCertificateManager } from "../../webhook/certificate_manager.ts";
import type { CertificatePolicy } from "../../webhook/certificate_decision.ts";
import { type Caches, createCaches } from "./caches.ts";
import type { ManagerConfiguration } from "../configuration/configuration.ts";
import { createV1Kinds, type V1Kinds } from "../../controller/jobs/v1_kinds.ts";
import type { Sink } from "../../controller/notifications/notified_sink.ts";
import { executorOf } from "../../controller/jobset/executor_choice.ts";
import { createRuntimeDefinitions } from "../../controller/trainjob/runtime_definitions.ts";
import { type Metrics, sinkMetrics } from "./metrics.ts";
import { partsOf } from "./rights.ts";
import { createSink } from "../../katib/log/sink_choice.ts";
import { createOwnedState } from "../../owner/owned_state.ts";
import { createTrialResources, type TrialResources } from "../../katib/trials/trial_resources.ts";
import { createTrialRecording, SINK_MS } from "../../katib/trials/trial_recording.ts";
import { katibIsKeptOut } from "../../webhook/katib_webhook_watch.ts";
import { getLogger } from "@logtape/logtape";

const log = getLogger(["milepost", "manager"]);

/** Context of a manager: settings, client, clock and metrics. */
export interface ManagerContext {
  /** The kinds of jobs that it serves. */
  readonly kinds: JobKinds;
  readonly configuration: ManagerConfiguration;
  /** The client for the API server, as the manager's own user. */
  readonly client: KubeClient;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** Caps of the ports. */
  readonly caps: ServingCaps;
  /**
   * Host under which the API server and pods reach the manager if no base URL is set and there is
   * no Service: base URLs are made of it and of the ports that were taken.
   */
  readonly host: string | undefined;
  /** Who is told what becomes of jobs. */
  readonly sinks: readonly Sink[];
  /** Times at which certificates are replaced, if not the usual ones. */
  readonly certificatePolicy?: CertificatePolicy | undefined;
}

function cachesOf(
  { kinds, client, clock, configuration, metrics }: ManagerContext,
  v1Kinds: V1Kinds,
  trialResources: TrialResources,
): Caches {
  return createCaches({
    kinds,
    v1Kinds,
    trialResources,
    client,
    clock,
    parts: partsOf(configuration),
    namespace: configuration.namespace,
    onRestart: (resource, cause) => {
      metrics.watchRestarts.inc({ resource });
      log.debug("restarting a watch", { resource, cause });
    },
    onSkipped: (resource) => metrics.skippedObjects.inc({ resource }),
  });
}

/** Leadership by the Lease of the manager's namespace, or without one. */
function leadershipOf(
  { client, clock, configuration }: ManagerContext,
  identity: string,
): Leadership {
  if (!configuration.leaderElect) return createLeadership(undefined);
  return createLeadership({
    client,
    clock,
    identity,
    namespace: configuration.namespace,
    name: MANAGER.lease,
    addressAnnotation: MANAGER.forwardAddressAnnotation,
    leaseMs: configuration.leaseDuration,
    renewMs: configuration.renewDeadline,
    retryMs: configuration.retryPeriod,
  });
}

function certificatesOf(
  context: ManagerContext,
  caches: Caches,
  events: EventRecorder,
  leadership: Leadership,
) {
  const { client, clock, configuration, host } = context;
  const { webhookBaseUrl, statusBaseUrl, serviceName: service, namespace } = configuration;
  const own = host === undefined ? undefined : `https://${host}`;
  const baseUrls = [webhookBaseUrl, statusBaseUrl, own].filter((it) => it !== undefined);
  return createCertificateManager({
    store: client,
    address: { service, namespace, baseUrls },
    clock,
    ...(context.certificatePolicy === undefined ? {} : { policy: context.certificatePolicy }),
    mayChange: () => leadership.active || !configuration.leaderElect,
    changes: (listener) => {
      const stops = [caches.secrets.onChange(listener), leadership.onChange(listener)];
      return () => stops.forEach((stop) => stop());
    },
    rotated: (message) =>
      events.record(
        { apiVersion: "v1", kind: "Secret", namespace, name: MANAGER.certificateSecret },
        { type: "Normal", reason: EVENT_REASONS.certificateRotated, message },
      ),
  });
}

/** The sink and the recording of trials; undefined if the feature gate is off. */
async function recordingOf(
  context: ManagerContext,
  { caches, events, certificates, leadership, leaderClient }: {
    readonly caches: Caches;
    readonly events: EventRecorder;
    readonly certificates: ReturnType<typeof certificatesOf>;
    readonly leadership: Leadership;
    readonly leaderClient: KubeClient;
  },
) {
  const { client, configuration, clock, kinds, metrics } = context;
  const { serviceName, namespace, observationSink, katibDbManager } = configuration;
  if (!configuration.featureGates.trainJobProgress) return undefined;
  const sink = await createSink({
    setting: observationSink,
    katibDbManager,
    trialsExist: () => caches.trials.synced && !caches.trials.resting,
    clock,
    metrics: sinkMetrics(metrics),
    deadlineMs: leadership.deadlineMs(SINK_MS),
    tls: () => ({
      ...certificates.current().replica,
      serverName: `${serviceName}.${namespace}.svc`,
    }),
    mayWrite: () => leadership.leading,
    bounds: configuration,
  });
  const adopted: ReadonlySet<string> = new Set(configuration.adoptCollectors);
  const none: ReadonlySet<string> = new Set();
  const trials = createTrialRecording({
    kinds,
    client,
    leaderClient,
    jobs: caches.byKind,
    trials: caches.trials,
    jobSets: caches.jobSets,
    clock,
    adopted: () =>
      adopted.size > 0 && katibIsKeptOut(caches.mutatingConfigurations) ? adopted : none,
    events,
    leadership,
    sink,
  });
  return { sink, trials };
}

/** The policy of stalls of the runtime of a TrainJob, as it is now. */
function runtimePolicy(caches: Caches, { kind, namespace, name }: JobRef): string | undefined {
  const job = kind === TRAINJOB ? caches.trainJobs.get({ namespace, name }) : undefined;
  const scope = job && runtimeScope(job);
  if (job === undefined || scope === undefined) return undefined;
  const key = { name: runtimeRefOf(job).name };
  const { metadata } =
    (scope === "cluster"
      ? caches.clusterTrainingRuntimes.get(key)
      : caches.trainingRuntimes.get({ namespace, ...key })) ?? {};
  return metadata?.annotations?.[ANNOTATIONS.stallPolicy];
}

/** Whether the definition of a kind keeps the field that shows progress; only those of v1 kinds may be upstream's. */
function keepsProgress(v1Kinds: Pick<V1Kinds, "keepsProgress">, kind: JobKind): boolean {
  const v1 = v1KindOf(kind);
  return v1 === undefined || v1Kinds.keepsProgress(v1.kind);
}

/**
 * Builds everything that needs no port. `identity` is unique to this process. Rejects with a
 * ConfigurationError if the observation log cannot be opened.
 */
export async function createManagerParts(context: ManagerContext, identity: string) {
  const { client, clock, configuration, metrics } = context;
  const v1Kinds = createV1Kinds({
    client,
    clock,
    named: configuration.v1Jobs,
    left: V1_KIND_LIST.map(({ kind }) => kind).filter((name) =>
      !context.kinds.all.some((it) => v1KindOf(it)?.kind === name)
    ),
  });
  const trialResources = createTrialResources({
    client,
    clock,
    kinds: context.kinds.all,
    account: `the service account of the manager in namespace ${configuration.namespace}`,
  });
  const caches = cachesOf(context, v1Kinds, trialResources);
  const events = createEventRecorder({ client, clock, component: MANAGER.name });
  const leadership = leadershipOf(context, identity);
  const leaderClient = fencedClient(client, leadership.fence);
  const certificates = certificatesOf(context, caches, events, leadership);
  const recording = await recordingOf(context, {
    caches,
    events,
    certificates,
    leadership,
    leaderClient,
  });
  return {
    v1Kinds,
    trialResources,
    caches,
    events,
    leadership,
    /** For what only the leader may do. */
    leaderClient,
    certificates,
    recording,
    bodyBudget: createFairShare(context.caps.maxBodyBytes),
    shedding: createLoadShedding({ clock, onRefused: () => metrics.connectionsShed.inc() }),
    executor: () => executorOf(configuration.jobset, caches.mutatingConfigurations),
    runtimeDefinitions: createRuntimeDefinitions({ client, clock }),
    owned: createOwnedState({
      client: leaderClient,
      jobs: caches.byKind,
      jobSets: caches.jobSets,
      optimizationJobs: caches.optimizationJobs,
      clock,
      leadership,
      curveBytes: configuration.curveMemory,
      intervalMs: configuration.statusWriteInterval,
      writesPerSecond: configuration.statusWritesQps,
      keepsProgress: (kind) => keepsProgress(v1Kinds, kind),
      events,
      stallPolicy: configuration.stallPolicy,
      runtimePolicy: (job) => runtimePolicy(caches, job),
      onWrite: (result) => metrics.ledgerWrites.inc({ result }),
      onDrop: (cause, count) => metrics.ledgerDropped.inc({ cause }, count),
      recording: recording?.trials.parts,
      onStopped: () => metrics.trialsStopped.inc(),
      onSpent: (phase, seconds) => metrics.jobSeconds.inc({ phase }, seconds),
      onRestart: (cause, times) => metrics.restarts.inc({ cause }, times),
    }),
  };
}

/** The parts by name. */
export type ManagerParts = Awaited<ReturnType<typeof createManagerParts>>;
