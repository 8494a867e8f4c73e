/** The manager: controllers, webhook and status endpoint, started in order and stopped in reverse. */
import { getLogger } from "@logtape/logtape";
import type { KubeClient } from "../kube/client.ts";
import { type Clock, systemClock } from "../kube/clock.ts";
import type { ConfigurationSync } from "../webhook/configuration_sync.ts";
import { createAdmission } from "./admission.ts";
import { allSynced, cachesSynced, runCaches } from "./caches.ts";
import type { ManagerConfiguration } from "./configuration.ts";
import { statusBaseUrl } from "./endpoints.ts";
import { type ReadinessCheck, startHealthServer, startMetricsServer } from "./health.ts";
import {
  createManagerParts,
  createWebhookSync,
  type Foundation,
  type ManagerParts,
} from "./manager_parts.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { serveAdmission, serveStatus } from "./serving.ts";

const log = getLogger(["milepost", "manager"]);

/** For what is pending in the ledger at the end, and for open connections, in milliseconds. */
const STOP = { flushMs: 5_000, drainMs: 2_000 } as const;
/** How often readiness is looked at while somebody waits for it, in milliseconds. */
const READY_POLL_MS = 10;
/** First and longest pause before webhook configurations are written again, in milliseconds. */
const SYNC_RETRY_MS = { first: 100, longest: 5_000 } as const;

/** What the manager is given besides its settings. */
export interface ManagerOptions {
  /** The client for the API server, as the manager's own user. */
  readonly client: KubeClient;
  readonly metrics?: Metrics;
  readonly clock?: Clock;
  /** Host under which it is reached from outside where no base URL is set (standalone). */
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
  /** Every CA that may have signed what it serves, PEM. */
  caBundle(): string;
  /** Whether it takes admissions and pushes, and its configurations are in the cluster. */
  ready(): boolean;
  /** Resolves when it is ready. Rejects where it stops before. */
  whenReady(): Promise<void>;
  /** Not ready, drains, writes what is pending, ends every loop. */
  stop(): Promise<void>;
}

/** What is true of a manager now. */
interface Phase {
  configured: boolean;
  stopping: boolean;
}

function readinessChecks(parts: ManagerParts, phase: Phase): ReadinessCheck[] {
  return [
    { name: "shutting down", ready: () => !phase.stopping },
    { name: "caches", ready: () => allSynced(parts.caches) },
    { name: "webhook configurations", ready: () => phase.configured },
    { name: "keys of the API server", ready: () => parts.status?.ready() ?? true },
  ];
}

function refreshGauges(parts: ManagerParts, metrics: Metrics, clock: Clock): void {
  const { expiry } = parts.certificates.current();
  for (const [name, time] of Object.entries(expiry)) {
    metrics.certificateExpiry.set({ name }, Math.round((time - clock.now()) / 1000));
  }
  metrics.ledgerPending.set(parts.status?.ledger.pending() ?? 0);
  metrics.ledgerOldestSeconds.set(parts.status?.ledger.oldestSeconds() ?? 0);
}

/** Writes the webhook configurations, again and again until it works. */
async function configure(sync: ConfigurationSync, clock: Clock, signal: AbortSignal) {
  for (
    let pause: number = SYNC_RETRY_MS.first;;
    pause = Math.min(2 * pause, SYNC_RETRY_MS.longest)
  ) {
    try {
      return await sync.sync(signal);
    } catch (error) {
      if (signal.aborted) throw error;
      log.warn("webhook configurations could not be written; trying again", { error });
      await clock.sleep(pause, signal);
    }
  }
}

/** Runs every loop until `signal` aborts. */
async function runLoops(parts: ManagerParts, signal: AbortSignal): Promise<void> {
  await Promise.all([
    runCaches(parts.caches, signal),
    parts.events.run(signal),
    parts.certificates.run(signal),
    parts.status?.run(signal),
    ...parts.controllers.map((it) => it.run(signal)),
  ]);
}

/** Waits for caches and keys, and configures the webhooks, which nobody may call before. */
async function becomeReady(
  parts: ManagerParts,
  sync: ConfigurationSync,
  checks: readonly ReadinessCheck[],
  phase: Phase,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  await cachesSynced(parts.caches, signal);
  if (!signal.aborted) await configure(sync, clock, signal);
  phase.configured = true;
  while (!checks.every((it) => it.ready()) && !signal.aborted) {
    await clock.sleep(READY_POLL_MS, signal);
  }
  if (signal.aborted) throw new Error("the manager was stopped before it was ready");
}

/**
 * Starts the manager; it becomes ready once the CRDs are there and its caches are filled. Throws a
 * ConfigurationError for a port that is taken, and leaves nothing running where it throws.
 */
export async function startManager(
  configuration: ManagerConfiguration,
  options: ManagerOptions,
): Promise<Manager> {
  const { client, clock = systemClock, metrics = createMetrics(), host } = options;
  const foundation: Foundation = { configuration, client, clock, metrics, host };
  const parts = createManagerParts(foundation);
  const phase: Phase = { configured: false, stopping: false };
  const checks = readinessChecks(parts, phase);
  const loops = new AbortController();
  await parts.certificates.ensure(loops.signal);

  // What is started is stopped in reverse: pushes first, then loops, then what is pending.
  await using cleanup = new AsyncDisposableStack();
  const listen = { hostname: configuration.bindAddress };
  const health = startHealthServer({ ...listen, port: configuration.healthPort, checks });
  cleanup.defer(() => health.close());
  const metricsServer = startMetricsServer({
    ...listen,
    port: configuration.metricsPort,
    registry: metrics.registry,
    refresh: () => refreshGauges(parts, metrics, clock),
  });
  cleanup.defer(() => metricsServer.close());
  const serving = { configuration, certificates: parts.certificates, clock };
  let podEndpoint: string | undefined;
  const admission = await serveAdmission(
    serving,
    createAdmission({ ...foundation, ...parts, endpoint: () => podEndpoint }),
  );
  cleanup.defer(() => admission.close(STOP.drainMs));
  cleanup.defer(() => parts.events.flush());
  cleanup.defer(() => parts.status?.close(STOP.flushMs));
  const sync = createWebhookSync(foundation, parts, admission.port);
  const running: Promise<unknown>[] = [];
  cleanup.defer(async () => {
    loops.abort();
    await Promise.all(running);
  });
  const status = parts.status && await serveStatus(serving, parts.status.handler);
  if (status !== undefined) {
    cleanup.defer(() => status.close(STOP.drainMs));
    const own = host === undefined ? undefined : `https://${host}:${status.port}`;
    podEndpoint = statusBaseUrl({
      ...configuration,
      statusBaseUrl: configuration.statusBaseUrl ?? own,
    });
  }
  running.push(runLoops(parts, loops.signal));
  const ready = becomeReady(parts, sync, checks, phase, clock, loops.signal);
  running.push(ready.then(() => sync.run(loops.signal), () => undefined));
  ready.then(
    () => log.info("ready", { webhook: admission.port, status: status?.port ?? "off" }),
    (error) => log.debug("did not become ready", { error }),
  );
  const started = cleanup.move();
  return {
    ports: {
      webhook: admission.port,
      status: status?.port,
      metrics: metricsServer.port,
      health: health.port,
    },
    caBundle: () => parts.certificates.current().caBundle,
    ready: () => checks.every((it) => it.ready()),
    whenReady: () => ready,
    stop: () => {
      phase.stopping = true;
      return started.disposeAsync();
    },
  };
}
