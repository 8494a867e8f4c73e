/** The command line. The commands themselves are in `app/`. */
import { Command, CommanderError } from "commander";
import { COMMANDS } from "./app/commands.ts";
import type { CommandEntry } from "./app/command_entry.ts";
import { settingEntries } from "./app/configuration/setting_entries.ts";
import { logsDebug } from "./app/logging.ts";
import { warn } from "./app/output.ts";
import { VERSION } from "./app/version.ts";
import { LAUNCH_AGENT } from "./crds/pod_names.ts";
import { ConfigurationError, messageOf, stackOf } from "./platform/kube/errors.ts";

/** Exit codes. */
const EXIT = { failure: 1, wrongUse: 2 } as const;

const FILE_OF_MANAGER = [
  "--config <file>",
  "settings as YAML, by their camelCase names; $MILEPOST_CONFIG (default: none)",
] as const;

/** Joins the values of a flag that is repeated. */
const joined = (value: string, before?: string) =>
  before === undefined ? value : `${before},${value}`;

/** Adds a command with its flags. */
function addCommand(root: Command, entry: CommandEntry): void {
  const { name, description, settings, argument, question, run } = entry;
  const command = root.command(name).description(description);
  if (argument !== undefined) {
    command.argument(argument.startsWith("[") ? argument : `<${argument}>`);
  }
  if (name === "manager") command.option(...FILE_OF_MANAGER);
  const entries = settingEntries(settings, name);
  for (const { usage, description, default: otherwise, isList } of entries) {
    const text = `${description} (default: ${otherwise})`;
    if (isList) command.option(usage, text, joined);
    else command.option(usage, text);
  }
  if (entries[0] !== undefined) {
    const { flag, variable } = entries[0];
    command.addHelpText(
      "after",
      `\nEach can be given as a variable, such as ${variable} for ${flag}.`,
    );
  }
  command.exitOverride((error) => {
    const isLacking = error.code === "commander.missingArgument" && question !== undefined;
    throw isLacking ? new ConfigurationError(question) : error;
  }).configureOutput({ outputError: () => {}, writeErr: () => {} })
    .allowExcessArguments(false)
    .action(async (...given) => {
      const flags = command.opts();
      const [first] = given;
      const argument = typeof first === "string" ? { argument: first } : {};
      await run({ flags, environment: Deno.env.toObject(), ...argument });
    });
}

/** All commands with their options. */
export function program(): Command {
  const root = new Command("milepost")
    .description("Runs TrainJobs on Kubernetes, and shows how they are doing.")
    .version(`milepost ${VERSION}`, "--version", "print the version")
    .exitOverride()
    .configureOutput({ outputError: () => {}, writeErr: () => {} });
  for (const entry of COMMANDS) addCommand(root, entry);
  return root;
}

const oneLine = (text: string) => text.replace(/^error: /, "").replaceAll(/\s*\n\s*/g, " ").trim();

/** Runs the command line. Returns the exit code. */
async function main(args: string[]): Promise<number> {
  // mpirun gives it the arguments of ssh, so it is none of the commands that are listed.
  if (args[0] === LAUNCH_AGENT.command) {
    const { runLaunchAgent } = await import("./standalone/kubelet/launch_agent/agent.ts");
    return await runLaunchAgent(args.slice(1));
  }
  try {
    const root = program();
    if (args.length === 0) root.outputHelp();
    else await root.parseAsync(args, { from: "user" });
    return Deno.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      warn(oneLine(error.message));
      return EXIT.wrongUse;
    }
    if (error instanceof ConfigurationError) {
      warn(oneLine(error.message));
      return EXIT.wrongUse;
    }
    warn(logsDebug() ? stackOf(error) : oneLine(messageOf(error)));
    return EXIT.failure;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
