/** Entries of the commands of the terminal. What runs them is loaded when it is needed. */
import type { z } from "zod";
import type { CommandEntry } from "../command_entry.ts";
import type { logLevel } from "../configuration/setting_schemas.ts";
import { readSettings } from "../configuration/setting_sources.ts";
import {
  getSettings,
  logsSettings,
  stopSettings,
  topSettings,
} from "../configuration/terminal_settings.ts";
import { startLogging, stopLogging } from "../logging.ts";
import { printIfRead, warn } from "../output.ts";
import { stopSignal } from "../signals.ts";
import type { CommandIo } from "./run_terminal.ts";

/** The exit code of what Ctrl-C ended before it was done, as shells have it. */
const INTERRUPTED = 130;

/** `[KIND/]NAME`, as its error says, and what is said without it. */
const JOB = { argument: "job", question: "Which job? `milepost get` lists them" };

type Commands = typeof import("./run_terminal.ts");

function entryOf<S extends z.ZodObject<{ logLevel: ReturnType<typeof logLevel> }>>(
  shape: Omit<CommandEntry, "run" | "settings"> & { readonly settings: S },
  run: (commands: Commands, values: z.infer<S>, io: CommandIo, argument: string) => Promise<void>,
): CommandEntry {
  const { name: command, settings } = shape;
  return {
    ...shape,
    async run({ flags, environment, argument = "" }) {
      const values = readSettings(settings, { command, flags, environment });
      await startLogging({ level: values.logLevel });
      const interrupted = stopSignal();
      const unread = new AbortController();
      const io: CommandIo = {
        print(text) {
          if (!printIfRead(text)) unread.abort();
        },
        warn,
        signal: AbortSignal.any([interrupted, unread.signal]),
      };
      try {
        await run(await import("./run_terminal.ts"), values, io, argument);
      } catch (error) {
        // What was begun could not be finished, because its reader ended it.
        if (!io.signal.aborted) throw error;
        if (interrupted.aborted) Deno.exitCode = INTERRUPTED;
      }
      await stopLogging();
    },
  };
}

/** The entries. */
export const TERMINAL_COMMANDS: readonly CommandEntry[] = [
  entryOf(
    { name: "top", description: "show jobs as they train", settings: topSettings },
    (commands, values, io) => commands.runTopCommand(values, io),
  ),
  entryOf(
    {
      name: "get",
      description: "list jobs, or show one: state, curves, ranks and events",
      settings: getSettings,
      argument: `[${JOB.argument}]`,
    },
    (commands, values, io, job) =>
      job === "" ? commands.runListCommand(values, io) : commands.runGetCommand(job, values, io),
  ),
  entryOf(
    {
      name: "logs",
      description: "print the logs of a job, all ranks of it",
      settings: logsSettings,
      ...JOB,
    },
    (commands, values, io, job) => commands.runLogsCommand(job, values, io),
  ),
  entryOf(
    {
      name: "stop",
      description: "stop a job early",
      settings: stopSettings,
      ...JOB,
    },
    (commands, values, io, job) => commands.runStopCommand(job, values, io),
  ),
];
