/**
 * Commands of the command line, from their settings to their end. Each imports what only it needs, so
 * that the manager does not carry an API server, and a wrong flag is reported at once.
 */
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { aborted } from "../platform/base/aborted.ts";
import { ConfigurationError } from "../platform/kube/errors.ts";
import { SESSION_LIMITS } from "../page/server/browser_sessions.ts";
import { type CommandEntry, entryOf, type Given } from "./command_entry.ts";
import {
  crdsSettings,
  demoSettings,
  nodeSettings,
  observationLogSettings,
  standaloneSettings,
} from "./configuration/command_settings.ts";
import { uiSettings } from "./configuration/ui_settings.ts";
import { settings as managerSettings } from "./configuration/settings.ts";
import { EXAMPLE_PROGRAMS, runExampleProgram } from "./example/programs.ts";
import { givenText } from "./given_text.ts";
import { type LogLevel, startLogging, stopLogging } from "./logging.ts";
import { print } from "./output.ts";
import { addressText } from "./manager/replica.ts";
import { giveUpPermissions } from "./permissions.ts";
import { stopSignal } from "./signals.ts";
import { COMPLETIONS } from "./terminal/completion.ts";
import { TERMINAL_COMMANDS } from "./terminal/terminal_commands.ts";
import { followEnter } from "./ui/enter_key.ts";
import { versionText } from "./version.ts";

/** `milepost manager`: runs until it is stopped. */
async function runManager({ flags }: Given): Promise<void> {
  const { runManagerUntilStopped } = await import("./manager/run_manager.ts");
  await runManagerUntilStopped(flags);
}

/**
 * Follows Enter, while the process may still look at its terminal. Returns a function that prints the address of the
 * page with a code; from then on each Enter prints another.
 */
function addressPrinter(): (page: { newAddress: () => string }) => void {
  let printNew: (() => void) | undefined;
  const hint = followEnter(() => printNew?.()) === undefined ? "" : "; press Enter for another";
  return ({ newAddress }) => {
    printNew = () => print(`# page: ${newAddress()}\n`);
    printNew();
    const minutes = SESSION_LIMITS.codeMs / 60_000;
    print(`# good for ${minutes} minutes, and later in the browser that opened it${hint}\n`);
  };
}

/** Which of the two ways holds for mount paths and names of pods, and the reason for the second one. */
function pathsText(rewritingReason: string | undefined): string {
  return rewritingReason === undefined
    ? "real, in mount namespaces"
    : `rewritten in commands and variables: ${rewritingReason}`;
}

/** Runs what `start` starts, if it starts anything, until the process is asked to stop. */
async function runUntilStopped(
  level: LogLevel,
  start: (signal: AbortSignal) => Promise<{ stop(): Promise<void> } | undefined>,
): Promise<void> {
  await startLogging({ level });
  const signal = stopSignal();
  const running = await start(signal);
  if (running === undefined) return;
  await aborted(signal);
  await running.stop();
  await stopLogging();
}

/** `milepost standalone`: the embedded control plane, until it is stopped. */
async function runStandalone(
  { json, ui, uiPort, logLevel, ...options }: z.infer<typeof standaloneSettings>,
): Promise<void> {
  await runUntilStopped(logLevel, async (signal) => {
    const { startStandalone } = await import("./standalone/standalone.ts");
    const { closingWords } = await import("./standalone/closing_words.ts");
    const standalone = await startStandalone({ ...options, ...(ui && { uiPort }) }, signal);
    const { server, status, page, kubeconfig, rewritingReason } = standalone;
    if (json) {
      const mountNamespaces = rewritingReason === undefined;
      const ready = { ready: true, server, status, kubeconfig, mountNamespaces, rewritingReason };
      print(`${JSON.stringify({ ...ready, ui: page?.newAddress() })}\n`);
    } else {
      print(`ready: ${server}\nexport KUBECONFIG=${kubeconfig}\n`);
      print(`# mount paths and Service names of pods are ${pathsText(rewritingReason)}\n`);
      if (page !== undefined) addressPrinter()(page);
    }
    if (json) return standalone;
    return {
      async stop() {
        const { dataDir } = options;
        print(closingWords(await standalone.jobs(), dataDir));
        await standalone.stop();
      },
    };
  });
}

/** `milepost node`: only the kubelet, against any API server. */
async function runNode(
  { logLevel, nodeName = Deno.hostname(), ...options }: z.infer<typeof nodeSettings>,
): Promise<void> {
  await runUntilStopped(logLevel, async () => {
    const { startNode } = await import("./node/node.ts");
    return await startNode({ ...options, nodeName });
  });
}

/** `milepost ui`: the page for the user of a kubeconfig, or for everybody who has a token, until it is stopped. */
async function runUi(settings: z.infer<typeof uiSettings>): Promise<void> {
  const { inCluster, json, uiPort: port, namespace: namespaces, logLevel } = settings;
  await runUntilStopped(logLevel, async (signal) => {
    const printAddress = json || inCluster ? undefined : addressPrinter();
    const { connectAsReader } = await import("./reader_connection.ts");
    const connection = await connectAsReader(settings);
    if (inCluster) {
      const { startClusterUi } = await import("./ui/in_cluster/cluster_ui.ts");
      return await startClusterUi(settings, { connection });
    }
    const { startUserUi } = await import("./ui/user_ui.ts");
    const ui = await startUserUi({ ...settings, port, namespaces }, { connection, signal })
      .catch((error: unknown) => {
        // It was ended before it was open.
        if (!signal.aborted) throw error;
      });
    if (ui === undefined) return undefined;
    if (printAddress !== undefined) printAddress(ui.page);
    else print(`${JSON.stringify({ ready: true, server: ui.server, ui: ui.page.newAddress() })}\n`);
    return ui;
  });
}

/** `milepost observation-log`: Katib's DB manager on SQLite, until it is stopped. */
async function runObservationLog(
  { logLevel, ...options }: z.infer<typeof observationLogSettings>,
): Promise<void> {
  await runUntilStopped(logLevel, async () => {
    await giveUpPermissions({ runsCredentialPlugin: false, writesFiles: true });
    const { startObservationLog } = await import("./observation_log/observation_log.ts");
    const running = await startObservationLog(options);
    print(`ready: ${addressText(options.bindAddress, running.port)}\n`);
    return running;
  });
}

type DemoSettings = z.infer<typeof demoSettings>;

/** The file for the curves; its folder is checked before the demo runs. */
function svgFile({ search, svg }: DemoSettings): string | undefined {
  if (!search && svg !== undefined) throw new ConfigurationError("--svg requires --search");
  if (!search) return undefined;
  const file = svg ?? "milepost-search.svg";
  const folder = dirname(file);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ConfigurationError(`--svg ${file}: there is no folder ${folder}`);
  }
  return file;
}

/** `milepost demo`: trains on this machine and shows it. Throws if it did not go as planned. */
async function runDemo(settings: DemoSettings): Promise<void> {
  const svg = svgFile(settings);
  await startLogging({ level: settings.logLevel });
  const { json, seconds } = settings;
  const shared = { json, seconds, write: print, signal: stopSignal() };
  if (svg === undefined) {
    const { runDemoOnScreen } = await import("./demo/run_demo.ts");
    await runDemoOnScreen(shared);
  } else {
    const { runSearchOnScreen } = await import("./demo/search/run_search.ts");
    await runSearchOnScreen({ ...shared, svg });
  }
  await stopLogging();
}

type CrdsSettings = z.infer<typeof crdsSettings>;

/** Throws if flags of `milepost crds` contradict each other. */
function checkCrdsSettings({ trials, v1, withoutJobset, patch }: CrdsSettings): void {
  const others = { "--trials": trials, "--without-jobset": withoutJobset };
  for (const [flag, isGiven] of Object.entries(others)) {
    if (v1 && isGiven) throw new ConfigurationError(`--v1 and ${flag} exclude each other`);
  }
  if (patch && !v1) throw new ConfigurationError("--patch requires --v1");
}

/** `milepost crds`; with `--trials` only that of Katib's Trials, with `--v1` only those of the v1 kinds. */
async function runCrds(settings: CrdsSettings): Promise<void> {
  checkCrdsSettings(settings);
  const { trials, withoutJobset, v1, patch } = settings;
  if (trials) {
    const { trialCrdYaml } = await import("../crds/trial_manifest.ts");
    return print(trialCrdYaml());
  }
  const { crdManifests, crdsWithoutJobSet, crdYaml } = await import("../crds/manifests.ts");
  if (v1) {
    const { v1CrdManifests, v1PatchCommands } = await import("../crds/v1/manifests.ts");
    return print(patch ? v1PatchCommands() : crdYaml(v1CrdManifests()));
  }
  print(crdYaml(withoutJobset ? crdsWithoutJobSet() : crdManifests()));
}

/** `milepost convert`: former jobs of a file, or of standard input, as TrainJobs; prints nothing if one of them cannot be one. */
async function runConvert(file: string): Promise<void> {
  const { convertText } = await import("../controller/conversion/convert_text.ts");
  print(convertText(await givenText(file)));
}

/** `milepost version`. */
function runVersion(): Promise<void> {
  print(`${versionText()}\n`);
  return Promise.resolve();
}

/** `milepost completion`: a script for a shell. */
function runCompletion(shell: string): Promise<void> {
  const script = COMPLETIONS.get(shell);
  const known = [...COMPLETIONS.keys()].join(", ");
  if (script === undefined) {
    throw new ConfigurationError(`there is no completion for ${shell}; known: ${known}`);
  }
  print(script(COMMANDS));
  return Promise.resolve();
}

/** Of a command without flags. */
const NONE = z.strictObject({});

/** All commands, in the order in which `--help` shows them. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "manager",
    description: "run controllers, webhook and status endpoint against an API server",
    settings: managerSettings,
    run: runManager,
  },
  entryOf({
    name: "standalone",
    description: "run an embedded control plane on this machine, and the manager in it",
    settings: standaloneSettings,
  }, runStandalone),
  entryOf({
    name: "node",
    description: "run only the kubelet, against any API server; it isolates nothing",
    settings: nodeSettings,
  }, runNode),
  entryOf(
    { name: "ui", description: "serve the page for browsers", settings: uiSettings },
    runUi,
  ),
  ...TERMINAL_COMMANDS,
  entryOf({
    name: "observation-log",
    description: "keep observations for Katib and for managers, without MySQL or Postgres",
    settings: observationLogSettings,
  }, runObservationLog),
  entryOf({
    name: "demo",
    description: "run example jobs on an embedded control plane, and show them",
    settings: demoSettings,
  }, runDemo),
  entryOf({
    name: "crds",
    description: "print the CustomResourceDefinitions",
    settings: crdsSettings,
  }, runCrds),
  entryOf({
    name: "convert",
    description:
      "print TrainJobs and runtimes for the jobs of former operators in a file (-: standard input)",
    settings: NONE,
    argument: "file",
  }, (_, file) => runConvert(file)),
  entryOf({
    name: "example",
    description: `run one of the examples: ${
      EXAMPLE_PROGRAMS.join(", ")
    } (prints a TrainJob to copy)`,
    settings: NONE,
    argument: "name",
  }, (_, name) => runExampleProgram(name)),
  entryOf({
    name: "completion",
    description:
      "print the script that completes commands, flags and names of jobs: bash, zsh or fish",
    settings: NONE,
    argument: "shell",
  }, (_, shell) => runCompletion(shell)),
  entryOf({
    name: "version",
    description: "print the version, and the API versions that are served",
    settings: NONE,
  }, runVersion),
];
