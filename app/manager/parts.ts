/** The parts that every replica has, built from its settings; nothing runs yet. */
import { EVENT_REASONS, MANAGER } from "../../crds/names.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Clock } from "../../kube/clock.ts";
import { createEventRecorder, type EventRecorder } from "../../kube/events.ts";
import { createCertificateManager } from "../../webhook/certificate_manager.ts";
import type { CertificatePolicy } from "../../webhook/certificate_decision.ts";
import { type Caches, createCaches } from "./caches.ts";
import type { ManagerConfiguration } from "../configuration/configuration.ts";
import { executorOf } from "./jobset_executor.ts";
import type { Metrics } from "./metrics.ts";
import { createSink } from "./observation_sink.ts";
import { createOwnedState } from "./owned_state.ts";
import { createTrialAdapter, ownersDeadlineMs } from "./trial_adapter.ts";
import { getLogger } from "@logtape/logtape";

const log = getLogger(["milepost", "manager"]);

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
  /** When certificates are replaced, where that is not the usual time. */
  readonly certificatePolicy?: CertificatePolicy | undefined;
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

/** Whether this replica leads, for those that want to hear of it. */
export interface LeadSwitch {
  on: boolean;
  /** Sets it, and tells the listeners. */
  turn(on: boolean): void;
  onChange(listener: () => void): () => void;
}

function createSwitch(): LeadSwitch {
  const listeners = new Set<() => void>();
  return {
    on: false,
    turn(on) {
      this.on = on;
      for (const listener of listeners) listener();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function certificatesOf(
  foundation: Foundation,
  caches: Caches,
  events: EventRecorder,
  leads: LeadSwitch,
) {
  const { client, clock, configuration, host } = foundation;
  const { webhookBaseUrl, statusBaseUrl, serviceName: service, namespace } = configuration;
  const own = host === undefined ? undefined : `https://${host}`;
  const baseUrls = [webhookBaseUrl, statusBaseUrl, own].filter((it) => it !== undefined);
  return createCertificateManager({
    store: client,
    address: { service, namespace, baseUrls },
    clock,
    ...(foundation.certificatePolicy === undefined ? {} : { policy: foundation.certificatePolicy }),
    mayChange: () => leads.on || !configuration.leaderElect,
    changes: (listener) => {
      const stops = [caches.secrets.onChange(listener), leads.onChange(listener)];
      return () => stops.forEach((stop) => stop());
    },
    rotated: (message) =>
      events.record(
        { apiVersion: "v1", kind: "Secret", namespace, name: MANAGER.certificateSecret },
        { type: "Normal", reason: EVENT_REASONS.certificateRotated, message },
      ),
  });
}

/** What is recorded, and where; undefined with the gate off. */
async function recordingOf(
  foundation: Foundation,
  { caches, events, certificates }: {
    readonly caches: Caches;
    readonly events: EventRecorder;
    readonly certificates: ReturnType<typeof certificatesOf>;
  },
  mayWrite: () => boolean,
) {
  const { configuration, clock, metrics } = foundation;
  const { serviceName, namespace, observationSink, katibDbManager } = configuration;
  if (!configuration.featureGates.trainJobProgress) return undefined;
  const sink = await createSink({
    setting: observationSink,
    katibDbManager,
    trialsExist: () => caches.trials.synced && !caches.trials.resting,
    clock,
    metrics,
    deadlineMs: ownersDeadlineMs(configuration),
    tls: () => {
      const { replica, caBundle: ca } = certificates.current();
      const serverName = `${serviceName}.${namespace}.svc`;
      return { cert: replica.certificate, key: replica.key, ca, serverName };
    },
    mayWrite,
  });
  return { sink, adapter: createTrialAdapter({ ...foundation, caches, events, sink }) };
}

/**
 * Builds everything that needs no port. `mayWrite`: whether this replica may act as the leader. Rejects
 * with a ConfigurationError where the observation log cannot be opened.
 */
export async function createManagerParts(foundation: Foundation, mayWrite: () => boolean) {
  const { client, clock, configuration, metrics } = foundation;
  const caches = cachesOf(foundation);
  const events = createEventRecorder({ client, clock, component: MANAGER.name });
  const leads = createSwitch();
  const certificates = certificatesOf(foundation, caches, events, leads);
  const recording = await recordingOf(foundation, { caches, events, certificates }, mayWrite);
  return {
    caches,
    events,
    leads,
    certificates,
    recording,
    executor: () => executorOf(configuration.jobset, caches.mutatingConfigurations),
    owned: createOwnedState({
      client,
      caches,
      clock,
      configuration,
      metrics,
      trials: recording && { ...recording, cache: caches.trials },
    }),
  };
}

/** The parts by name. */
export type ManagerParts = Awaited<ReturnType<typeof createManagerParts>>;
