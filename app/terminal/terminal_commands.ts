/** Entries of the commands of the terminal. What runs them is loaded when it is needed. */
import type { z } from "zod";
import type { CommandEntry } from "../commands.ts";
import { readSettings } from "../configuration/setting_sources.ts";
import {
  getSettings,
  logsSettings,
  stopSettings,
  topSettings,
} from "../configuration/terminal_settings.ts";
import { startLogging, stopLogging } from "../logging.ts";
import { print, warn } from "../output.ts";
import { stopSignal } from "../signals.ts";
import type { Talk } from "./run_terminal.ts";

/** `[KIND/]NAME`, as its error says. */
const JOB = "job";

type Commands = typeof import("./run_terminal.ts");
type LogLevel = Parameters<typeof startLogging>[0]["level"];

function entryOf<S extends z.ZodObject>(
  shape: Pick<CommandEntry, "name" | "description" | "argument"> & { readonly settings: S },
  levelOf: (values: z.infer<S>) => LogLevel,
  run: (commands: Commands, values: z.infer<S>, talk: Talk, argument: string) => Promise<void>,
): CommandEntry {
  const { name: command, settings } = shape;
  return {
    ...shape,
    async run({ flags, environment, argument = "" }) {
      const values = readSettings(settings, { command, flags, environment });
      await startLogging({ level: levelOf(values) });
      const commands = await import("./run_terminal.ts");
      await run(commands, values, { print, warn, signal: stopSignal() }, argument);
      await stopLogging();
    },
  };
}

const levelOf = ({ logLevel }: { readonly logLevel: LogLevel }) => logLevel;

/** The entries. */
export const TERMINAL_COMMANDS: readonly CommandEntry[] = [
  entryOf(
    { name: "top", description: "show jobs as they train", settings: topSettings },
    levelOf,
    (commands, values, talk) => commands.runTopCommand(values, talk),
  ),
  entryOf(
    {
      name: "get",
      description: "show one job: state, curves, ranks and events",
      settings: getSettings,
      argument: JOB,
    },
    levelOf,
    (commands, values, talk, job) => commands.runGetCommand(job, values, talk),
  ),
  entryOf(
    {
      name: "logs",
      description: "print the logs of a job, all ranks of it",
      settings: logsSettings,
      argument: JOB,
    },
    levelOf,
    (commands, values, talk, job) => commands.runLogsCommand(job, values, talk),
  ),
  entryOf(
    {
      name: "stop",
      description: "stop a job early",
      settings: stopSettings,
      argument: JOB,
    },
    levelOf,
    (commands, values, talk, job) => commands.runStopCommand(job, values, talk),
  ),
];
