/** The manager: controllers, webhook and status endpoint, put together, started and stopped. */
import { getLogger } from "@logtape/logtape";
import { createJobSetController } from "../controller/jobset/controller.ts";
import { createTrainJobController } from "../controller/trainjob/controller.ts";
import { MANAGER } from "../crds/names.ts";
import type { KubeClient } from "../kube/client.ts";
import { type Clock, systemClock } from "../kube/clock.ts";
import { createEventRecorder } from "../kube/events.ts";
import { startStatusServer } from "../status/server.ts";
import { startAdmissionServer } from "../webhook/admission_server.ts";
import { createCertificateManager } from "../webhook/certificate_manager.ts";
import { createConfigurationSync } from "../webhook/configuration_sync.ts";
import { createAdmission } from "./admission.ts";
import { allSynced, cachesSynced, createCaches, runCaches } from "./caches.ts";
import type { ManagerConfiguration } from "./configuration.ts";
import { statusBaseUrl, webhookTarget } from "./endpoints.ts";
import { startHealthServer, startMetricsServer } from "./health.ts";
import { executorOf } from "./jobset_executor.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { createStatusEndpoint } from "./status_endpoint.ts";

const log = getLogger(["milepost", "manager"]);

/** TrainJobs and JobSets that are worked on at a time, each. */
const WORKERS = 8;
/** For what is pending in the ledger at the end, and for open connections, in milliseconds. */
const STOP = { flushMs: 5_000, drainMs: 2_000 } as const;

/** What the manager is given besides its settings. */
export interface ManagerParts {
  /** The client for the API server, as the manager's own user. */
  readonly client: KubeClient;
  readonly metrics?: Metrics;
  readonly clock?: Clock;
  /**
   * Host under which the API server and pods reach the manager, where no base URL is set and no
   * Service exists: base URLs are then made of it and of the ports that were taken.
   */
  readonly host?: string;
}

/** A manager that runs. */
export interface Manager {
  readonly ports: {
    readonly webhook: number;
    readonly status: number | undefined;
    readonly metrics: number;
    readonly health: number;
  };
  /** Whether it takes admissions and pushes, and its configurations are in the cluster. */
  ready(): boolean;
  /** Resolves when it is ready. Rejects where it stops before. */
  whenReady(): Promise<void>;
  /** Not ready, drains, writes what is pending, ends every loop. May be called once. */
  stop(): Promise<void>;
}

/** Starts the manager; it becomes ready once the CRDs are there and the caches are filled. */
export async function startManager(
  configuration: ManagerConfiguration,
  parts: ManagerParts,
): Promise<Manager> {
  const { client, clock = systemClock, metrics = createMetrics() } = parts;
  const loops = new AbortController();
  const running: Promise<unknown>[] = [];
  let stopping = false;
  let configured = false;

  const caches = createCaches({
    client,
    clock,
    namespace: configuration.namespace,
    onRestart: (resource, cause) => {
      metrics.watchRestarts.inc({ resource });
      log.debug("a watch begins again", { resource, cause });
    },
  });
  const events = createEventRecorder({ client, clock, component: MANAGER.name });
  const executor = () => executorOf(configuration.jobset, caches.mutatingConfigurations);
  const progress = configuration.featureGates.trainJobProgress;
  const certificates = createCertificateManager({
    store: client,
    address: {
      service: configuration.serviceName,
      namespace: configuration.namespace,
      baseUrls: [
        configuration.webhookBaseUrl,
        configuration.statusBaseUrl,
        parts.host === undefined ? undefined : `https://${parts.host}`,
      ].filter((it) => it !== undefined),
    },
    clock,
    changes: (listener) => caches.secrets.onChange(listener),
  });
  await certificates.ensure(loops.signal);

  const listen = { hostname: configuration.bindAddress };
  const endpoint = progress
    ? createStatusEndpoint({ client, caches, clock, configuration, metrics })
    : undefined;
  const statusServer = endpoint && await startStatusServer({
    ...listen,
    port: configuration.statusPort,
    handler: endpoint.handler,
    tls: () => certificates.current(),
  });
  const ownUrl = (port: number) =>
    parts.host === undefined ? undefined : `https://${parts.host}:${port}`;
  const podEndpoint = statusServer && statusBaseUrl({
    ...configuration,
    statusBaseUrl: configuration.statusBaseUrl ?? ownUrl(statusServer.port),
  });
  const admissionServer = await startAdmissionServer({
    ...listen,
    port: configuration.webhookPort,
    tls: () => certificates.current(),
    handlers: createAdmission({ client, caches, clock, executor, endpoint: () => podEndpoint }),
  });
  const configurations = createConfigurationSync({
    store: client,
    desired: () => ({
      target: webhookTarget({
        ...configuration,
        webhookBaseUrl: configuration.webhookBaseUrl ?? ownUrl(admissionServer.port),
      }),
      caBundle: certificates.current().caBundle,
      injectPods: progress,
    }),
    clock,
    changes: (listener) => {
      const stops = [
        certificates.onChange(listener),
        caches.mutatingConfigurations.onChange(listener),
        caches.validatingConfigurations.onChange(listener),
      ];
      return () => stops.forEach((stop) => stop());
    },
  });
  const swap = certificates.onChange(() => {
    admissionServer.updateCertificate();
    statusServer?.updateCertificate();
  });

  const controllerMetrics = {
    reconciled: (controller: string, result: string, seconds: number) => {
      metrics.reconcileTotal.inc({ controller, result });
      metrics.reconcileSeconds.observe({ controller }, seconds);
    },
    depth: (controller: string, depth: number) => metrics.queueDepth.set({ controller }, depth),
  };
  const trainJobs = createTrainJobController({
    client,
    informers: caches,
    events,
    clock,
    executor,
    progress: progress
      ? {
        caBundle: () => certificates.current().caBundle,
        onCaChange: (listener) => certificates.onChange(listener),
      }
      : undefined,
    workers: WORKERS,
    metrics: controllerMetrics,
  });
  const jobSets = createJobSetController({
    client,
    informers: caches,
    events,
    clock,
    workers: WORKERS,
    metrics: controllerMetrics,
  });

  const checks = [
    { name: "not shutting down", ready: () => !stopping },
    { name: "caches", ready: () => allSynced(caches) },
    { name: "webhook configurations", ready: () => configured },
    { name: "keys of the API server", ready: () => endpoint?.ready() ?? true },
  ];
  const healthServer = startHealthServer({ ...listen, port: configuration.healthPort, checks });
  const metricsServer = startMetricsServer({
    ...listen,
    port: configuration.metricsPort,
    registry: metrics.registry,
    refresh: () => {
      const seconds = (time: number) => Math.round((time - clock.now()) / 1000);
      const { expiry } = certificates.current();
      metrics.certificateExpiry.set({ name: "serving" }, seconds(expiry.serving));
      metrics.certificateExpiry.set({ name: "authority" }, seconds(expiry.authority));
      metrics.ledgerPending.set(endpoint?.ledger.pending() ?? 0);
      metrics.ledgerOldestSeconds.set(endpoint?.ledger.oldestSeconds() ?? 0);
      metrics.leader.set(stopping ? 0 : 1);
    },
  });

  const { signal } = loops;
  running.push(
    runCaches(caches, signal),
    events.run(signal),
    certificates.run(signal),
    trainJobs.run(signal),
    jobSets.run(signal),
  );
  if (endpoint !== undefined) running.push(endpoint.run(signal));
  const ready = (async () => {
    if (!await cachesSynced(caches, signal)) throw new Error("stopped before it was ready");
    await retry(() => configurations.sync(signal), clock, signal);
    configured = true;
    while (!checks.every((it) => it.ready())) {
      if (signal.aborted) throw new Error("stopped before it was ready");
      await clock.sleep(20, signal);
    }
    log.info("ready", { webhook: admissionServer.port, status: statusServer?.port });
  })();
  ready.catch((error) => log.debug("not ready", { error }));
  running.push(ready.then(() => configurations.run(signal), () => {}));

  return {
    ports: {
      webhook: admissionServer.port,
      status: statusServer?.port,
      metrics: metricsServer.port,
      health: healthServer.port,
    },
    ready: () => checks.every((it) => it.ready()),
    whenReady: () => ready,
    async stop() {
      stopping = true;
      await statusServer?.close(STOP.drainMs);
      loops.abort();
      await Promise.all(running);
      await endpoint?.close(STOP.flushMs);
      swap();
      await events.flush();
      await admissionServer.close(STOP.drainMs);
      await Promise.all([healthServer.close(), metricsServer.close()]);
      log.info("stopped");
    },
  };
}

/** Tries until it works or `signal` aborts; what fails is logged. */
async function retry(work: () => Promise<void>, clock: Clock, signal: AbortSignal): Promise<void> {
  for (let wait = 100;; wait = Math.min(wait * 2, 5_000)) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) throw error;
      log.warn("webhook configurations could not be written; trying again", { error });
      await clock.sleep(wait, signal);
    }
  }
}
