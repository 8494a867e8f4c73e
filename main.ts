/** The command line of Milepost. What each command does lives in `app/`. */
import { Command, CommanderError } from "commander";
import { flagOf, SETTINGS, SWITCHES } from "./app/configuration/configuration.ts";
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

/** Exit codes (contract milepost.md, flags). */
const EXIT = { failure: 1, wrongUse: 2 } as const;

function program(): Command {
  const root = new Command("milepost")
    .description("Runs TrainJobs on Kubernetes, and shows how they are doing.")
    .exitOverride()
    .configureOutput({ outputError: () => {}, writeErr: () => {} });

  const manager = root.command("manager")
    .description("run controllers, webhook and status endpoint against an API server")
    .option("--config <file>", "settings as YAML, by their camelCase names")
    .action(runManager);
  for (const setting of SETTINGS) {
    // A switch without a value is on.
    manager.option(`${flagOf(setting)} ${SWITCHES.has(setting) ? "[value]" : "<value>"}`);
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
    .requiredOption("--kubeconfig <file>")
    .option("--node-name <name>")
    .option("--data-dir <folder>")
    .option("--port <port>", "port of the log endpoint", "0")
    .option("--tls-cert <file>", "certificate of the log endpoint; self-signed without it")
    .option("--tls-key <file>")
    .option("--client-ca <file>", "CA of clients of the log endpoint; tokens alone without it")
    .action(runNode);

  root.command("observation-log")
    .description("keep observations for Katib and for managers, without MySQL or Postgres")
    .option("--data-dir <folder>", "where the database is kept; in memory without it")
    .option("--bind-address <address>", "address to listen on", "0.0.0.0")
    .option("--port <port>", "port of the DBManager service, TLS and plaintext", "6789")
    .option("--tls-cert <file>", "certificate of the port; nobody can write without it")
    .option("--tls-key <file>")
    .option("--client-ca <files>", "CAs of clients that may write, by commas")
    .option("--log-level <level>", "debug, info, warning or error", "info")
    .action(runObservationLog);

  root.command("demo")
    .description("train on this machine, and watch")
    .option("--json", "print one JSON object a line")
    .option("--trials", "six trials by a trial controller, two of which stop early at least")
    .option("--svg <file>", "where the learning curves of the trials go")
    .action(runDemo);

  root.command("crds")
    .description("print the CustomResourceDefinitions")
    .option("--trials", "only that of Katib's Trials, for clusters without Katib")
    .action(runCrds);
  root.command("version").description("print versions").action(runVersion);
  for (const command of root.commands) {
    command.exitOverride().configureOutput({ outputError: () => {}, writeErr: () => {} })
      .allowExcessArguments(false);
  }
  return root;
}

/** Prints the one line that tells somebody what they did wrong. */
function complain(text: string): void {
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
      complain(error.code === "commander.help" ? "name a command; see --help" : error.message);
      return EXIT.wrongUse;
    }
    if (error instanceof ConfigurationError) {
      complain(error.message);
      return EXIT.wrongUse;
    }
    complain(error instanceof Error ? error.message : String(error));
    return EXIT.failure;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
