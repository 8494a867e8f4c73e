/** The parts of a manager, built from its settings and handed to each other; nothing runs yet. */
import { createJobSetController } from "../controller/jobset/controller.ts";
import { createTrainJobController } from "../controller/trainjob/controller.ts";
import { EVENT_REASONS, MANAGER } from "../crds/names.ts";
import type { KubeClient } from "../kube/client.ts";
import type { Clock } from "../kube/clock.ts";
import type { ControllerMetrics } from "../kube/controller.ts";
import { createEventRecorder, type EventRecorder } from "../kube/events.ts";
import { createCertificateManager } from "../webhook/certificate_manager.ts";
import { type ConfigurationSync, createConfigurationSync } from "../webhook/configuration_sync.ts";
import { type Caches, createCaches } from "./caches.ts";
import type { ManagerConfiguration } from "./configuration.ts";
import { webhookTarget } from "./endpoints.ts";
import { executorOf } from "./jobset_executor.ts";
import type { Metrics } from "./metrics.ts";
import { createStatusEndpoint } from "./status_endpoint.ts";
import { getLogger } from "@logtape/logtape";

const log = getLogger(["milepost", "manager"]);

/** TrainJobs and JobSets that are worked on at a time, each. */
const WORKERS = 8;

/** What a manager is built of. */
export interface Foundation {
  readonly configuration: ManagerConfiguration;
  /** The client for the API server, as the manager's own user. */
  readonly client: KubeClient;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /**
   * Host under which the API server and pods reach the manager where no base URL is set and there is
   * no Service: base URLs are made of it and of the ports that were taken.
   */
  readonly host: string | undefined;
}

function cachesOf({ client, clock, configuration, metrics }: Foundation): Caches {
  return createCaches({
    client,
    clock,
    namespace: configuration.namespace,
    onRestart: (resource, cause) => {
      metrics.watchRestarts.inc({ resource });
      log.debug("a watch begins again", { resource, cause });
    },
  });
}

function certificatesOf(foundation: Foundation, caches: Caches, events: EventRecorder) {
  const { client, clock, configuration, host } = foundation;
  const { webhookBaseUrl, statusBaseUrl, serviceName: service, namespace } = configuration;
  const own = host === undefined ? undefined : `https://${host}`;
  const baseUrls = [webhookBaseUrl, statusBaseUrl, own].filter((it) => it !== undefined);
  return createCertificateManager({
    store: client,
    address: { service, namespace, baseUrls },
    clock,
    changes: (listener) => caches.secrets.onChange(listener),
    rotated: (message) =>
      events.record(
        { apiVersion: "v1", kind: "Secret", namespace, name: MANAGER.certificateSecret },
        { type: "Normal", reason: EVENT_REASONS.certificateRotated, message },
      ),
  });
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

/** Builds everything that needs no port. */
export function createManagerParts(foundation: Foundation) {
  const { client, clock, configuration, metrics } = foundation;
  const caches = cachesOf(foundation);
  const events = createEventRecorder({ client, clock, component: MANAGER.name });
  const certificates = certificatesOf(foundation, caches, events);
  const executor = () => executorOf(configuration.jobset, caches.mutatingConfigurations);
  const withProgress = configuration.featureGates.trainJobProgress;
  const controllers = [
    createTrainJobController({
      client,
      informers: caches,
      events,
      clock,
      executor,
      progress: withProgress
        ? {
          caBundle: () => certificates.current().caBundle,
          onCaChange: (listener) => certificates.onChange(listener),
        }
        : undefined,
      workers: WORKERS,
      metrics: controllerMetricsOf(metrics),
    }),
    createJobSetController({
      client,
      informers: caches,
      events,
      clock,
      workers: WORKERS,
      metrics: controllerMetricsOf(metrics),
    }),
  ];
  return {
    caches,
    certificates,
    events,
    executor,
    controllers,
    status: withProgress
      ? createStatusEndpoint({ client, caches, clock, configuration, metrics })
      : undefined,
  };
}

/** The parts by name. */
export type ManagerParts = ReturnType<typeof createManagerParts>;

/** Keeps the webhook configurations, which name the port that admission is served on. */
export function createWebhookSync(
  { client, clock, configuration, host }: Foundation,
  { caches, certificates, status }: ManagerParts,
  port: number,
): ConfigurationSync {
  const webhookBaseUrl = configuration.webhookBaseUrl ??
    (host === undefined ? undefined : `https://${host}:${port}`);
  return createConfigurationSync({
    store: client,
    desired: () => ({
      target: webhookTarget({ ...configuration, webhookBaseUrl }),
      caBundle: certificates.current().caBundle,
      injectPods: status !== undefined,
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
}
