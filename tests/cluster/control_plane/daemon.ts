/** A long-running program of the control plane: its log in a file, and it never outlives the test. */
import { isInstalled } from "../../support/command.ts";
import { until } from "../../support/until.ts";

/** Options of a daemon. */
export interface DaemonOptions {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** File of its output; a restart appends to it. */
  readonly logFile: string;
  /** Resolves or answers true once it serves; asked again and again. */
  readonly isReady: () => Promise<boolean>;
  /** Time limit in milliseconds. Default 60000. */
  readonly readyMs?: number;
}

/** A program that can be stopped and started again. */
export interface Daemon {
  readonly name: string;
  readonly logFile: string;
  /** Its process, while it runs. */
  readonly pid: number | undefined;
  /** Starts it and waits until it serves. Throws with the end of its log. Nothing where it runs. */
  start(): Promise<void>;
  /** Ends it and waits for its end. SIGTERM becomes SIGKILL after 5 s. Nothing where it does not run. */
  stop(signal?: Deno.Signal): Promise<void>;
}

/** Where Linux ends a program together with the thread that started it. */
const dyingWithParent = await isInstalled("setpriv");
const TERM_MS = 5_000;

/** The last lines of a log. */
export async function endOfLog(file: string, lines = 15): Promise<string> {
  const text = await Deno.readTextFile(file).catch(() => "");
  return text.trimEnd().split("\n").slice(-lines).join("\n");
}

/** A daemon that is not started yet. */
export function createDaemon(options: DaemonOptions): Daemon {
  const { name, program, args, env = {}, logFile, isReady, readyMs = 60_000 } = options;
  let child: Deno.ChildProcess | undefined;

  function spawn(): Deno.ChildProcess {
    const bound = dyingWithParent ? ["setpriv", "--pdeathsig", "KILL", "--"] : [];
    // The shell becomes the program, whose log is written also while this process is busy.
    const script = 'exec "$@" 2>>"$0"';
    return new Deno.Command("sh", {
      args: ["-c", script, logFile, ...bound, program, ...args],
      env,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
  }

  async function stop(signal: Deno.Signal = "SIGTERM"): Promise<void> {
    const one = child;
    if (one === undefined) return;
    child = undefined;
    const kill = (how: Deno.Signal) => {
      try {
        one.kill(how);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error; // It had ended by itself.
      }
    };
    kill(signal);
    const timer = setTimeout(() => kill("SIGKILL"), TERM_MS);
    await one.status;
    clearTimeout(timer);
  }

  return {
    name,
    logFile,
    get pid() {
      return child?.pid;
    },
    stop,
    async start() {
      if (child !== undefined) return;
      const one = child = spawn();
      let code: number | undefined;
      one.status.then((status) => code = status.code);
      try {
        const look = async () => code !== undefined || await isReady();
        await until(`${name} to serve`, look, { timeoutMs: readyMs });
        if (code !== undefined) throw new Error(`it ended with ${code}`);
      } catch (cause) {
        await stop("SIGKILL");
        throw new Error(`${name} did not start:\n${await endOfLog(logFile)}`, { cause });
      }
    },
  };
}
