/** `milepost standalone`: the embedded control plane with the manager in it. */
import { getLogger } from "@logtape/logtape";
import { formatTrialResource, type TrialResource } from "../../crds/trial_resource.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { STANDALONE } from "../../crds/names.ts";
import type { JobRow } from "../../crds/wire/row.ts";
import { listedJobs } from "../../terminal/listed_jobs.ts";
import type { RequestReport } from "../../platform/kube/client.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { onAbort } from "../../platform/base/aborted.ts";
import { systemClock } from "../../platform/base/clock.ts";
import { createListeners } from "../../platform/base/listeners.ts";
import { type PageServer, startPageServer } from "../../page/server/page_server.ts";
import { createProxiedView } from "../../page/server/proxied_view.ts";
import { createKeptPods } from "../../views/details/kept_pods.ts";
import { readConfiguration } from "../configuration/configuration.ts";
import { sinkAt } from "../configuration/notifications_file.ts";
import type { HistoryBounds } from "../../katib/log/kept_ages.ts";
import { findJobKinds, type Manager, startManager } from "../manager/manager.ts";
import { createMetrics } from "../manager/metrics.ts";
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from "./control_plane.ts";
import { createManagerAccess, type ManagerAccess } from "../../page/user_cluster/manager_access.ts";
import { portOfUrl, startAt } from "./last_port.ts";
import { grantTrialResources, publishStatusPort } from "./prerequisites.ts";
import { installRuntimes } from "./runtimes.ts";

const HOST = "127.0.0.1";
/** For requests of the page at the end, in milliseconds. */
const PAGE_DRAIN_MS = 500;
/** For the jobs that are named at the end, in milliseconds. */
const JOBS_MS = 1_000;
const logger = getLogger(["milepost", "standalone"]);

/** How to start. */
export interface StandaloneOptions
  extends Omit<ControlPlaneOptions, "onManagerRequest">, HistoryBounds {
  /** Port of the status endpoint; 0: one that is free. */
  readonly statusPort: number;
  /** Port of the page; 0: that of the last start on the data folder, or one that is free. Absent: there is no page. */
  readonly uiPort?: number;
  /** Kinds of other operators that are jobs of Katib's Trials. Default: none. */
  readonly trialResource?: readonly TrialResource[];
  /** Address that is told what becomes of jobs. */
  readonly notify?: string;
  /** More settings of the manager, by their camelCase names. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A standalone that is ready. */
export type Standalone = Awaited<ReturnType<typeof startStandalone>>;

/** Starts the page, which reads this control plane, and asks its manager, as the administrator. */
function startPageOf(
  { server, client }: ControlPlane,
  manager: ManagerAccess,
  { port, kinds }: { readonly port: number; readonly kinds: JobKinds },
): Promise<PageServer> {
  return startPageServer({
    port,
    client,
    clock: systemClock,
    kinds,
    server,
    user: STANDALONE.kubeconfigName,
    view: createProxiedView(manager.client),
    manager: () => manager.client,
    keptPods: createKeptPods(),
  });
}

/** Starts it, and resolves when it is ready. Leaves nothing running if it throws. */
export async function startStandalone(options: StandaloneOptions, signal: AbortSignal) {
  const { statusPort, uiPort, notify, settings = {}, trialResource = [], ...others } = options;
  const { historyBytes, historyAge, ...controlPlane } = others;
  const metrics = createMetrics();
  const listeners = createListeners<RequestReport>();
  await using cleanup = new AsyncDisposableStack();
  const plane = await startControlPlane({
    ...controlPlane,
    logBounds: { bytes: historyBytes, ageMs: historyAge },
    onManagerRequest: (report) => {
      const { verb, resource, code, seconds } = report;
      metrics.apiRequests.inc({ verb, resource, code });
      metrics.apiRequestSeconds.observe({ verb }, seconds);
      listeners.notify(report);
    },
  });
  cleanup.defer(() => plane.stop());
  const configurationAt = (statusPort: number) =>
    readConfiguration({
      environment: {},
      flags: {
        bindAddress: HOST,
        webhookPort: "0",
        statusPort: String(statusPort),
        metricsPort: "0",
        healthPort: "0",
        leaderElect: "false",
        featureGates: "TrainJobProgress=true",
        apiServerAddresses: HOST,
        trialResource: trialResource.map(formatTrialResource).join(","),
        readWithApiTokens: "true",
        // There is no Katib DB manager here, even if Katib's CRDs are installed.
        observationSink: options.dataDir === undefined
          ? "memory"
          : `sqlite:${plane.folder}/observations.sqlite`,
        ...(historyBytes !== undefined && { historyBytes: String(historyBytes) }),
        ...(historyAge !== undefined && { historyAge: `${historyAge}ms` }),
        ...settings,
      },
    });
  const kinds = await findJobKinds(configurationAt(statusPort), plane.client);
  await grantTrialResources(plane.client, kinds);
  const startManagerAt = (port: number) =>
    startManager(configurationAt(port), {
      kinds,
      client: plane.managerClient,
      metrics,
      host: HOST,
      sinks: notify === undefined ? [] : [sinkAt(notify)],
    });
  const fileOf = (server: string) => options.dataDir && `${plane.folder}/${server}-port`;
  // Pods that run again after a restart push where they were told to.
  const portOf = ({ ports }: Manager) => ports.status;
  const manager = await startAt(statusPort, fileOf("status"), startManagerAt, portOf);
  cleanup.defer(() => manager.stop());
  const forget = onAbort(signal, () => void manager.stop());
  await manager.whenReady();
  forget();
  await installRuntimes(plane.client);
  await publishStatusPort(plane.client, HOST, manager.ports.status ?? statusPort);
  const status = `https://${HOST}:${manager.ports.status}`;
  const { caBundle } = manager;
  const access = createManagerAccess({ url: status, token: plane.adminToken, caBundle });
  cleanup.defer(() => access.close());
  const startPage = (port: number) => startPageOf(plane, access, { port, kinds });
  const page = uiPort === undefined
    ? undefined
    : await startAt(uiPort, fileOf("page"), startPage, portOfUrl);
  cleanup.defer(() => page?.close(PAGE_DRAIN_MS));
  const started = cleanup.move();
  return {
    ...plane,
    /** Base URL of the status endpoint. */
    status,
    /** That endpoint, as the administrator. */
    manager: access.client,
    /** The page, if there is one. */
    page,
    /** Every CA that the status endpoint may be signed by, PEM. */
    caBundle,
    /** Calls the listener after each request of the manager to the API server; returns how to stop it. */
    onManagerRequest: listeners.add,
    /** Returns the jobs of all kinds; undefined if they cannot be had soon, and why is logged. */
    async jobs(): Promise<readonly JobRow[] | undefined> {
      const soon = AbortSignal.timeout(JOBS_MS);
      const { client } = plane;
      try {
        return (await listedJobs({ client, namespaces: [] }, kinds.all, soon)).rows;
      } catch (error) {
        logger.debug("The jobs that end with the control plane are not known", {
          error: messageOf(error),
        });
        return undefined;
      }
    },
    /** Stops the manager, then the pods, then the API server. */
    stop: () => started.disposeAsync(),
  };
}
