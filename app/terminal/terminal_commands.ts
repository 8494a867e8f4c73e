/** Entries of the commands of the terminal. What runs them is loaded when it is needed. */
import { type CommandEntry, entryOf } from "../command_entry.ts";
import {
  getSettings,
  logsSettings,
  optimizeSettings,
  restartSettings,
  stopSettings,
  topSettings,
} from "../configuration/terminal_settings.ts";
import { type LogLevel, startLogging, stopLogging } from "../logging.ts";
import { printIfRead, warn } from "../output.ts";
import { stopSignal } from "../signals.ts";
import type { CommandIo } from "./run_terminal.ts";

/** The exit code of what Ctrl-C ended before it was done, as shells have it. */
const INTERRUPTED = 130;

/** `[KIND/]NAME`, as its error says, and what is said without it. */
const JOB = { argument: "job", question: "Which job? `milepost get` lists them" };

type Commands = typeof import("./run_terminal.ts");

/** Returns what runs a command with its logging, its output and its end. */
const withIo = <V extends { readonly logLevel: LogLevel }>(
  run: (commands: Commands, values: V, io: CommandIo, argument: string) => Promise<void>,
) =>
async (values: V, argument: string): Promise<void> => {
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
};

const FILE = { argument: "file", question: "Which file? `-` is standard input" };

/** The entries. */
export const TERMINAL_COMMANDS: readonly CommandEntry[] = [
  entryOf(
    { name: "top", description: "show jobs as they train", settings: topSettings },
    withIo((commands, values, io) => commands.runTopCommand(values, io)),
  ),
  entryOf(
    {
      name: "get",
      description: "list jobs and searches, or show one: state, curves, ranks and events",
      settings: getSettings,
      argument: `[${JOB.argument}]`,
    },
    withIo((commands, values, io, job) =>
      job === "" ? commands.runListCommand(values, io) : commands.runGetCommand(job, values, io)
    ),
  ),
  entryOf(
    {
      name: "logs",
      description: "print the logs of a job, all ranks of it",
      settings: logsSettings,
      ...JOB,
    },
    withIo((commands, values, io, job) => commands.runLogsCommand(job, values, io)),
  ),
  entryOf(
    { name: "stop", description: "stop a job early", settings: stopSettings, ...JOB },
    withIo((commands, values, io, job) => commands.runStopCommand(job, values, io)),
  ),
  entryOf(
    {
      name: "restart",
      description: "start the pods of a job again, from its last checkpoint",
      settings: restartSettings,
      ...JOB,
    },
    withIo((commands, values, io, job) => commands.runRestartCommand(job, values, io)),
  ),
  entryOf(
    {
      name: "optimize",
      description: "apply the OptimizationJob of a file (-: standard input), and follow it",
      settings: optimizeSettings,
      ...FILE,
    },
    withIo(async (_, values, io, file) => {
      const { runOptimizeCommand } = await import("./run_optimize.ts");
      await runOptimizeCommand(file, values, io);
    }),
  ),
];
