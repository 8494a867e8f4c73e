/** Manager: a replica that serves, and leads when it is elected; started in order, stopped in reverse. */
import { getLogger } from "@logtape/logtape";
import { JOB_KINDS, type JobKinds, withTrialResources } from "../../crds/job_kinds.ts";
import type { JobKind } from "../../crds/job_kind.ts";
import { v1KindOf } from "../../crds/v1/kinds.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { retry } from "../../platform/base/backoff.ts";
import { type Clock, systemClock } from "../../platform/base/clock.ts";
import { isTransient } from "../../platform/kube/errors.ts";
import type { Candidacy } from "../../platform/kube/leading/leadership.ts";
import { findTrialResources } from "../../katib/trials/trial_resources.ts";
import type { PodEndpoint } from "../../webhook/pod_injection.ts";
import { createAdmission } from "./webhook_handlers.ts";
import { cachesSynced, runCaches } from "./caches.ts";
import type { ManagerConfiguration } from "../configuration/configuration.ts";
import { statusBaseUrl } from "./endpoints.ts";
import { type ReadinessCheck, startHealthServer, startMetricsServer } from "./health.ts";
import { collectAfterFilling } from "./heap_collection.ts";
import { createTermWorks } from "./leading.ts";
import { createManagerParts, type ManagerContext, type ManagerParts } from "./manager_parts.ts";
import { createMetrics } from "./metrics.ts";
import { type PushServing, servePushes } from "./pushes.ts";
import { becomeReady, type Phase, readinessChecks, refreshGauges } from "./readiness.ts";
import { type ReplicaEnvironment, replicaHost, replicaIdentity, thisMachine } from "./replica.ts";
import { serveAdmission } from "./serving.ts";

const log = getLogger(["milepost", "manager"]);

/** For connections at the end, in milliseconds: with the ledger and the lease within ten seconds. */
const STOP = { drainMs: 1_500, closeMs: 500 } as const;
/** Pauses before certificates are asked for again. */
const START_RETRY = { firstMs: 250, longestMs: 5_000 } as const;

/**
 * Options of the manager besides its settings. By default it serves all kinds that Milepost knows, with the caps that the
 * settings say, whatever memory there is.
 */
export interface ManagerOptions
  extends
    Pick<ManagerContext, "client">,
    Partial<Pick<ManagerContext, "kinds" | "metrics" | "clock" | "caps" | "host" | "sinks">>,
    Pick<ManagerContext, "certificatePolicy"> {
  /** Identity of its pod. */
  readonly environment?: ReplicaEnvironment;
  /** Ends a start that waits for the API server. */
  readonly signal?: AbortSignal;
}

/** Makes or reads the certificates; waits for an API server that cannot be reached. */
async function certify(parts: ManagerParts, clock: Clock, signal: AbortSignal): Promise<void> {
  await retry((signal) => parts.certificates.ensure(signal), {
    backoff: START_RETRY,
    clock,
    signal,
    onFailure(error) {
      if (!isTransient(error)) throw error;
      log.warn("cannot reach the API server; retrying", { error });
    },
  });
}

/** Runs every loop until `signal` aborts. It does not lead before its caches are filled. */
async function runLoops(
  parts: ManagerParts,
  pushes: PushServing | undefined,
  candidacy: Candidacy,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all([
    parts.v1Kinds.run(signal),
    parts.trialResources.run(signal),
    runCaches(parts.caches, signal),
    parts.certificates.run(signal),
    parts.shedding.run(signal),
    pushes?.run(signal),
    cachesSynced(parts.caches, signal).then((synced) => {
      if (!synced) return undefined;
      collectAfterFilling(parts.caches.trainJobs.list().length);
      return parts.leadership.run(candidacy, signal);
    }),
  ]);
}

/** Whether a kind is run, or watched, now: of others there are no jobs to be seen. */
function isRun({ v1Kinds, trialResources }: ManagerParts, kind: JobKind): boolean {
  const v1 = v1KindOf(kind);
  if (v1 !== undefined) return v1Kinds.runs(v1.kind);
  return !kind.isForeign || trialResources.of(kind).on === true;
}

/** Starts the plain servers: health first, so that a start that waits shows what it waits for. */
async function startPlainServers(
  context: ManagerContext,
  parts: ManagerParts,
  phase: Phase,
  checks: readonly ReadinessCheck[],
  cleanup: AsyncDisposableStack,
) {
  const { configuration, metrics, clock } = context;
  const common = { hostname: configuration.bindAddress, clock };
  const health = await startHealthServer({ ...common, port: configuration.healthPort, checks });
  cleanup.defer(() => health.close(STOP.closeMs));
  const metricsServer = await startMetricsServer({
    ...common,
    port: configuration.metricsPort,
    registry: metrics.registry,
    refresh: () => refreshGauges(context, parts, phase),
  });
  cleanup.defer(() => metricsServer.close(STOP.closeMs));
  return { health: health.port, metrics: metricsServer.port };
}

/** The endpoint that pods are given; undefined with the gate off. */
function podEndpointOf(
  context: ManagerContext,
  { certificates }: ManagerParts,
  pushes: PushServing | undefined,
): PodEndpoint | undefined {
  return pushes && {
    url: statusBaseUrl(context, pushes.port),
    caBundle: certificates.current().caBundle,
  };
}

/** Returns the kinds that Milepost knows, with the trial resources that the settings name. */
export async function findJobKinds(
  { trialResource }: ManagerConfiguration,
  client: KubeClient,
): Promise<JobKinds> {
  if (trialResource.length === 0) return JOB_KINDS;
  return withTrialResources(await findTrialResources(client, trialResource));
}

/** A manager that runs. */
export type Manager = Awaited<ReturnType<typeof startManager>>;

/**
 * Starts the manager; it becomes ready once the CRDs are there and its caches are filled. Throws a
 * ConfigurationError if a port is in use, and leaves nothing running if it throws.
 */
export async function startManager(
  configuration: ManagerConfiguration,
  options: ManagerOptions,
) {
  const { clock = systemClock, metrics = createMetrics(), environment = {} } = options;
  const { client, host, certificatePolicy, caps = configuration, sinks = [] } = options;
  const kinds = options.kinds ?? await findJobKinds(configuration, client);
  const shared = { kinds, configuration, client, clock, metrics, caps, host };
  const context = { ...shared, certificatePolicy, sinks };
  const phase: Phase = {
    certified: false,
    configured: false,
    stopping: false,
    pushes: undefined,
  };
  const machine = thisMachine();
  const identity = replicaIdentity(environment, machine);
  const parts = await createManagerParts(context, identity);
  const checks = readinessChecks(context, parts, phase);
  const loops = new AbortController();

  // Parts are stopped in reverse order: pushes first, then the term with its pending progress.
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => parts.events.close());
  cleanup.defer(() => parts.recording?.sink.close());
  const plain = await startPlainServers(context, parts, phase, checks, cleanup);
  await certify(parts, clock, options.signal ?? loops.signal);
  phase.certified = true;
  const admission = await serveAdmission(
    { ...context, ...parts },
    createAdmission({
      ...context,
      ...parts,
      trials: parts.caches.trials,
      endpoint: () => podEndpointOf(context, parts, phase.pushes),
    }),
  );
  cleanup.defer(() => admission.close(STOP.closeMs));
  const pushes = configuration.featureGates.trainJobProgress
    ? await servePushes({
      ...context,
      ...parts,
      isRun: (kind) => isRun(parts, kind),
      replicaHost: replicaHost(configuration.bindAddress, environment, machine),
    })
    : undefined;
  cleanup.defer(() => pushes?.close(STOP.closeMs));
  phase.pushes = pushes;
  const candidacy = {
    address: pushes?.forwardAddress,
    works: () =>
      createTermWorks({
        context,
        parts,
        webhookPort: () => admission.port,
        onConfigured: () => phase.configured = true,
      }),
  };
  const running = runLoops(parts, pushes, candidacy, loops.signal);
  cleanup.defer(async () => {
    loops.abort();
    await running;
  });
  cleanup.defer(() => pushes?.drain(STOP.drainMs));
  const ready = becomeReady(checks, clock, loops.signal);
  ready.then(
    () => log.info("ready", { webhook: admission.port, status: pushes?.port ?? "off", identity }),
    (error) => log.debug("did not become ready", { error }),
  );
  const started = cleanup.move();
  let stopped: Promise<void> | undefined;
  return {
    ports: { webhook: admission.port, status: pushes?.port, ...plain },
    /** The `holderIdentity` that it leads under. */
    identity,
    /** Every CA that may have signed the serving certificate, as PEM. */
    caBundle: () => parts.certificates.current().caBundle,
    /** Whether it leads. */
    leading: () => parts.leadership.leading,
    /** Whether it takes admissions and pushes. */
    ready: () => checks.every((it) => it.ready()),
    /** Resolves when it is ready. Rejects if it stops before. */
    whenReady: () => ready,
    /** Becomes unready, drains, writes pending progress, releases the lease and ends every loop. */
    stop: () => {
      phase.stopping = true;
      return stopped ??= started.disposeAsync();
    },
  };
}
