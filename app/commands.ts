/**
 * Commands of the command line, from their options to their end. Each imports what only it needs, so
 * that the manager does not carry an API server, and a wrong flag is reported at once.
 */
import { dirname } from "node:path";
import { ConfigurationError } from "../kube/errors.ts";
import { startLogging, stopLogging } from "./logging.ts";
import { giveUpPermissions } from "./permissions.ts";
import { addressText } from "./manager/replica.ts";
import { aborted } from "../kube/aborted.ts";
import { stopSignal } from "./signals.ts";
import { versionText } from "./version.ts";

const encoder = new TextEncoder();

/** Writes to standard output; a reader that has gone is no error. */
function print(text: string): void {
  const bytes = encoder.encode(text);
  try {
    for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

type Options = Readonly<Record<string, string | undefined>>;

/** `milepost manager`: runs until it is stopped. */
export async function runManager(options: Options): Promise<void> {
  const { runManagerUntilStopped } = await import("./manager/run_manager.ts");
  await runManagerUntilStopped(options);
}

/** A port of the command line. */
function portOf(flag: string, text: string | undefined): number {
  const port = Number(text);
  if (!/^\d+$/.test(text ?? "") || port > 65_535) {
    throw new ConfigurationError(`${flag}: "${text}" must be a port from 0 to 65535`);
  }
  return port;
}

function levelOf(text: string | undefined): "debug" | "info" | "warning" | "error" {
  if (text === "debug" || text === "info" || text === "warning" || text === "error") return text;
  throw new ConfigurationError(`--log-level: "${text}" must be debug, info, warning or error`);
}

/** `milepost standalone`: the embedded control plane, until it is stopped. */
export async function runStandalone(options: Options & { json?: string }): Promise<void> {
  const ports = {
    port: portOf("--port", options.port),
    statusPort: portOf("--status-port", options.statusPort),
  };
  await startLogging({ level: levelOf(options.logLevel) });
  const signal = stopSignal();
  const { startStandalone } = await import("./standalone/standalone.ts");
  const standalone = await startStandalone({
    ...ports,
    ...(options.dataDir === undefined ? {} : { dataDir: options.dataDir }),
    ...(options.kubeconfig === undefined ? {} : { kubeconfig: options.kubeconfig }),
  }, signal);
  const { server, status, kubeconfig } = standalone;
  if (options.json) print(`${JSON.stringify({ ready: true, server, status, kubeconfig })}\n`);
  else print(`ready: ${server}\nexport KUBECONFIG=${kubeconfig}\n`);
  await aborted(signal);
  await standalone.stop();
  await stopLogging();
}

/** `milepost node`: the kubelet alone, against any API server. */
export async function runNode(options: Options): Promise<void> {
  const port = portOf("--port", options.port);
  await startLogging({ level: "info" });
  const signal = stopSignal();
  const { dataDir, tlsCert, tlsKey, clientCa } = options;
  const { startNode } = await import("./node/node.ts");
  const node = await startNode({
    kubeconfig: options.kubeconfig ?? "",
    nodeName: options.nodeName ?? Deno.hostname(),
    port,
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(tlsCert === undefined ? {} : { tlsCert }),
    ...(tlsKey === undefined ? {} : { tlsKey }),
    ...(clientCa === undefined ? {} : { clientCa }),
  });
  await aborted(signal);
  await node.stop();
  await stopLogging();
}

/** `milepost observation-log`: Katib's DB manager on SQLite, until it is stopped. */
export async function runObservationLog(options: Options): Promise<void> {
  const port = portOf("--port", options.port);
  const { dataDir, tlsCert, tlsKey, clientCa, bindAddress = "0.0.0.0" } = options;
  await startLogging({ level: levelOf(options.logLevel) });
  const signal = stopSignal();
  await giveUpPermissions({ runsCredentialPlugin: false, writesFiles: true });
  const { startObservationLog } = await import("./observation_log/observation_log.ts");
  const running = await startObservationLog({
    bindAddress,
    port,
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(tlsCert === undefined ? {} : { tlsCert }),
    ...(tlsKey === undefined ? {} : { tlsKey }),
    ...(clientCa === undefined ? {} : { clientCa }),
  });
  print(`ready: ${addressText(bindAddress, running.port)}\n`);
  await aborted(signal);
  await running.stop();
  await stopLogging();
}

/** The file for the curves; its folder is checked before the demo runs. */
function svgFile({ trials, svg }: { trials?: boolean; svg?: string }): string | undefined {
  if (!trials && svg !== undefined) throw new ConfigurationError("--svg requires --trials");
  if (!trials) return undefined;
  const file = svg ?? "milepost-trials.svg";
  const folder = dirname(file);
  if (!isFolder(folder)) {
    throw new ConfigurationError(`--svg ${file}: there is no folder ${folder}`);
  }
  return file;
}

function isFolder(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** `milepost demo`: trains on this machine and shows it. Throws if it did not go as planned. */
export async function runDemo(
  options: { json?: boolean; trials?: boolean; svg?: string },
): Promise<void> {
  const svg = svgFile(options);
  await startLogging({ level: "error" });
  const shared = { json: options.json === true, write: print, signal: stopSignal() };
  if (svg === undefined) {
    const { runDemoOnScreen } = await import("./demo/run_demo.ts");
    await runDemoOnScreen(shared);
  } else {
    const { runTrialsOnScreen } = await import("./demo/trials/run_trials.ts");
    await runTrialsOnScreen({ ...shared, svg });
  }
  await stopLogging();
}

/** `milepost crds`; with `--trials` that of Katib's Trials alone. */
export async function runCrds(options: { trials?: boolean }): Promise<void> {
  if (options.trials) {
    const { trialCrdYaml } = await import("../crds/trial_manifest.ts");
    return print(trialCrdYaml());
  }
  const { crdYaml } = await import("../crds/manifests.ts");
  print(crdYaml());
}

/** `milepost version`. */
export function runVersion(): void {
  print(`${versionText()}\n`);
}
