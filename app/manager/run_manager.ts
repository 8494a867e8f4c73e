/** The manager as a process: settings, logging, permissions, and the end by a signal. */
import { getLogger } from "@logtape/logtape";
import { createClient } from "../../platform/kube/connection/connected_client.ts";
import { systemClock } from "../../platform/base/clock.ts";
import { answerInTime } from "../../platform/base/deadline.ts";
import { ifThere } from "../../platform/base/if_there.ts";
import { loadKubeconfig } from "../../platform/kube/connection/kubeconfig.ts";
import { type ConfigurationSources, readConfiguration } from "../configuration/configuration.ts";
import { readSinks } from "../configuration/notifications_file.ts";
import { capsWithin } from "../../platform/http/limits/serving_caps.ts";
import { memoryLimitHere } from "../memory_limit.ts";
import { startLogging, stopLogging } from "../logging.ts";
import { giveUpPermissions } from "../permissions.ts";
import { aborted } from "../../platform/base/aborted.ts";
import { stopSignal } from "../signals.ts";
import { readFlagFile } from "../tls_files.ts";
import { type Manager, startManager } from "./manager.ts";
import { createMetrics } from "./metrics.ts";

const log = getLogger(["milepost", "manager"]);

type Flags = ConfigurationSources["flags"];

const configFile = (name: Flags[string]): ConfigurationSources["file"] =>
  typeof name === "string" ? { name, text: readFlagFile("--config", name) } : undefined;

/** File in which Kubernetes gives a pod its namespace. */
const POD_NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/** Longest time that a manager takes to stop, even if something hangs, in milliseconds. */
const STOP_WITHIN_MS = 9_500;

function podNamespace(): { podNamespace?: string } {
  // It is not there outside of pods, and in one without a service account.
  const text = ifThere(() => Deno.readTextFileSync(POD_NAMESPACE_FILE))?.trim() ?? "";
  return text === "" ? {} : { podNamespace: text };
}

/** Runs the manager from its start to its end; an interrupted start is no error. */
async function runUntilStopped(
  start: () => Promise<Manager>,
  signal: AbortSignal,
): Promise<void> {
  try {
    const manager = await start();
    await aborted(signal);
    const outcome = await answerInTime(systemClock, STOP_WITHIN_MS, "late", manager.stop);
    if (outcome === "late") {
      log.warn("shutdown did not finish in time", { withinMs: STOP_WITHIN_MS });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    log.warn("stopped while starting", { error });
  }
}

/** Runs the manager with the options of the command line until its signal aborts. */
export async function runManagerUntilStopped({ config, ...flags }: Flags): Promise<void> {
  const signal = stopSignal();
  const environment = Deno.env.toObject();
  const file = configFile(config ?? environment.MILEPOST_CONFIG);
  const configuration = readConfiguration({
    flags,
    environment,
    ...podNamespace(),
    ...(file === undefined ? {} : { file }),
  });
  const sinks = readSinks(configuration.notifications);
  const connection = loadKubeconfig(configuration.kubeconfig);
  const { logFormat: format, logLevel: level } = configuration;
  await startLogging({ level, ...(format === undefined ? {} : { format }) });
  log.info("settings", { ...configuration });
  const limit = memoryLimitHere(configuration.memoryLimit);
  const caps = capsWithin(limit.bytes, configuration);
  log.info("memory limit", { ...limit, ...caps });
  const gaveUp = await giveUpPermissions({
    runsCredentialPlugin: connection.user?.exec !== undefined,
    writesFiles: configuration.observationSink?.kind === "sqlite",
  });
  log.debug("gave up permissions", { gaveUp });
  const metrics = createMetrics();
  const client = createClient({
    connection,
    onRequest: ({ verb, resource, code, seconds }) => {
      metrics.apiRequests.inc({ verb, resource, code });
      metrics.apiRequestSeconds.observe({ verb }, seconds);
    },
  });
  const options = { client, metrics, caps, environment, sinks, signal };
  await runUntilStopped(() => startManager(configuration, options), signal);
  await stopLogging();
}
