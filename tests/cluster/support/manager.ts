/** A manager under test: a process of its own, or in this one, on free ports of this machine. */
import { readConfiguration } from "../../../app/configuration/configuration.ts";
import { flagOf } from "../../../app/configuration/setting_entries.ts";
import { SETTINGS } from "../../../app/configuration/settings.ts";
import { startManager } from "../../../app/manager/manager.ts";
import { MANAGER } from "../../../crds/names.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import type { ControlPlane } from "../control_plane/control_plane.ts";
import { createDaemon, endOfLog } from "../control_plane/daemon.ts";
import { freePort } from "../../support/free_port.ts";

/** Options of a manager. */
export interface ManagerStart {
  /** In this process, else one of its own. Default false. */
  readonly inProcess?: boolean;
  /** Settings by their camelCase names, over those of the installation. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Arguments of Deno that run the program, before `manager`. Default: those for its source. */
  readonly program?: readonly string[];
  /** Environment of a process of its own. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default true: resolves when it is ready. */
  readonly waitUntilReady?: boolean;
}

/** A manager that runs. */
export interface TestManager {
  /** `https://127.0.0.1:PORT` of the status endpoint. */
  readonly statusUrl: string;
  /** `http://127.0.0.1:PORT`, where `/metrics` is, and where `/readyz` is. */
  readonly metricsUrl: string;
  readonly healthUrl: string;
  /** Its process; undefined when it is in this one. */
  readonly pid: number | undefined;
  isReady(): Promise<boolean>;
  /** Its log; empty if it runs in this process. */
  log(): Promise<string>;
  /** Ends it: as SIGTERM does, or with a signal. Safe to call again. */
  kill(signal?: Deno.Signal): Promise<void>;
  /** Starts a process again that was ended, on the same ports. */
  restart(): Promise<void>;
}

/** The settings of a manager on free ports of this machine. */
export function managerSettings(kubeconfig: string, more: Readonly<Record<string, string>> = {}) {
  const [webhook, status, metrics, health] = [freePort(), freePort(), freePort(), freePort()];
  return {
    kubeconfig,
    namespace: MANAGER.namespace,
    bindAddress: "127.0.0.1",
    webhookPort: String(webhook),
    statusPort: String(status),
    metricsPort: String(metrics),
    healthPort: String(health),
    webhookBaseUrl: `https://127.0.0.1:${webhook}`,
    statusBaseUrl: `https://127.0.0.1:${status}`,
    ...SETTINGS.includes("forwardPort") ? { forwardPort: String(freePort()) } : {},
    featureGates: "TrainJobProgress=true",
    logFormat: "json",
    ...more,
  };
}

const SOURCE = ["run", "-A", "--no-check", new URL("../../../main.ts", import.meta.url).pathname];

/** Settings of one manager. */
export type Settings = ReturnType<typeof managerSettings>;

function urlsOf({ statusBaseUrl, metricsPort, healthPort }: Settings) {
  const healthUrl = `http://127.0.0.1:${healthPort}`;
  return {
    statusUrl: statusBaseUrl,
    metricsUrl: `http://127.0.0.1:${metricsPort}`,
    healthUrl,
    async isReady() {
      const answer = await fetch(`${healthUrl}/readyz`, { signal: AbortSignal.timeout(2_000) });
      await answer.body?.cancel();
      return answer.ok;
    },
  };
}

/** A manager as a process of its own. */
export async function startManagerProcess(
  plane: ControlPlane,
  chosen: Settings,
  { env, program = SOURCE, waitUntilReady = true }: ManagerStart,
): Promise<TestManager> {
  const urls = urlsOf(chosen);
  const flags = Object.entries(chosen).map(([name, value]) => `${flagOf(name)}=${value}`);
  const logFile = `${plane.folder}/manager-${chosen.healthPort}.log`;
  const daemon = createDaemon({
    name: "milepost manager",
    program: Deno.execPath(),
    args: [...program, "manager", ...flags],
    env: { NO_COLOR: "1", ...env },
    logFile,
    isReady: waitUntilReady ? urls.isReady : () => Promise.resolve(true),
  });
  await daemon.start();
  return {
    ...urls,
    get pid() {
      return daemon.pid;
    },
    log: () => endOfLog(logFile, Infinity),
    kill: (signal) => daemon.stop(signal),
    restart: () => daemon.start(),
  };
}

/** A manager in this process. */
export async function startManagerHere(
  client: KubeClient,
  chosen: Settings,
  { waitUntilReady = true }: ManagerStart,
): Promise<TestManager> {
  const configuration = readConfiguration({ environment: {}, flags: chosen });
  const manager = await startManager(configuration, { client });
  if (waitUntilReady) await manager.whenReady();
  let stopped: Promise<void> | undefined;
  return {
    ...urlsOf(chosen),
    pid: undefined,
    isReady: () => Promise.resolve(manager.ready()),
    log: () => Promise.resolve(""),
    kill: () => stopped ??= manager.stop(),
    restart: () => Promise.reject(new Error("a manager in this process is not started again")),
  };
}
