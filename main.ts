/** The command line. The commands themselves are in `app/`. */
import { Command, CommanderError } from "commander";
import { settingEntries, SWITCHES } from "./app/configuration/settings.ts";
import { ConfigurationError } from "./kube/errors.ts";
import {
  runCrds,
  runDemo,
  runManager,
  runNode,
  runObservationLog,
  runStandalone,
  runVersion,
} from "./app/commands.ts";

/** Exit codes. */
const EXIT = { failure: 1, wrongUse: 2 } as const;

/** All commands with their options. */
export function program(): Command {
  const root = new Command("milepost")
    .description("Runs TrainJobs on Kubernetes, and shows how they are doing.")
    .exitOverride()
    .configureOutput({ outputError: () => {}, writeErr: () => {} });

  const manager = root.command("manager")
    .description("run controllers, webhook and status endpoint against an API server")
    .option("--config <file>", "settings as YAML, by their camelCase names; $MILEPOST_CONFIG")
    .action(runManager);
  for (const setting of settingEntries()) {
    // A switch without a value is on.
    const value = SWITCHES.has(setting.name) ? "[value]" : "<value>";
    const otherwise = setting.default === undefined ? "" : ` (default: ${setting.default})`;
    manager.option(`${setting.flag} ${value}`, `${setting.description}${otherwise}`);
  }

  root.command("standalone")
    .description("run an embedded control plane on this machine, and the manager in it")
    .option("--data-dir <folder>", "where everything is kept; in memory without it")
    .option("--port <port>", "port of the API server", "0")
    .option("--status-port <port>", "port of the status endpoint", "0")
    .option("--kubeconfig <file>", "where to write the kubeconfig")
    .option("--json", "print one line of JSON when ready")
    .option("--log-level <level>", "debug, info, warning or error", "warning")
    .action(runStandalone);

  root.command("node")
    .description("run only the kubelet, against any API server; it isolates nothing")
    .requiredOption("--kubeconfig <file>", "the API server, and the node's user there")
    .option("--node-name <name>", "name of the node; the host's without it")
    .option("--data-dir <folder>", "folder of pods and logs; a temporary one without it")
    .option("--port <port>", "port of the log endpoint", "0")
    .option("--tls-cert <file>", "certificate of the log endpoint; self-signed without it")
    .option("--tls-key <file>", "its key")
    .option("--client-ca <file>", "CA of clients of the log endpoint; tokens alone without it")
    .action(runNode);

  root.command("observation-log")
    .description("keep observations for Katib and for managers, without MySQL or Postgres")
    .option("--data-dir <folder>", "where the database is kept; in memory without it")
    .option("--bind-address <address>", "address to listen on", "0.0.0.0")
    .option("--port <port>", "port of the DBManager service, TLS and plaintext", "6789")
    .option("--tls-cert <file>", "certificate of the port; no client can write without it")
    .option("--tls-key <file>", "its key")
    .option("--client-ca <files>", "CAs of clients that may write, separated by commas")
    .option("--log-level <level>", "debug, info, warning or error", "info")
    .action(runObservationLog);

  root.command("demo")
    .description("run example jobs on an embedded control plane, and show them")
    .option("--json", "print one JSON object for each change, and a summary")
    .option("--trials", "run six trials of a trial controller; at least two stop early")
    .option(
      "--svg <file>",
      "where to write the learning curves of the trials (default: milepost-trials.svg)",
    )
    .action(runDemo);

  root.command("crds")
    .description("print the CustomResourceDefinitions")
    .option("--trials", "only that of Katib's Trial, for clusters without Katib")
    .action(runCrds);
  root.command("version").description("print the version, and the API versions that are served")
    .action(runVersion);
  for (const command of root.commands) {
    command.exitOverride().configureOutput({ outputError: () => {}, writeErr: () => {} })
      .allowExcessArguments(false);
  }
  return root;
}

/** Prints the error as one line. */
function printError(text: string): void {
  const line = text.replace(/^error: /, "").replaceAll(/\s*\n\s*/g, " ").trim();
  Deno.stderr.writeSync(new TextEncoder().encode(`milepost: ${line}\n`));
}

/** Runs the command line. Returns the exit code. */
async function main(args: string[]): Promise<number> {
  try {
    const root = program();
    await root.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      printError(error.code === "commander.help" ? "name a command; see --help" : error.message);
      return EXIT.wrongUse;
    }
    if (error instanceof ConfigurationError) {
      printError(error.message);
      return EXIT.wrongUse;
    }
    printError(error instanceof Error ? error.message : String(error));
    return EXIT.failure;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
