/** Processes of containers: each in a session of its own, ended with all its descendants. */
import { getLogger } from "@logtape/logtape";
import { CONTAINER_MARK_ENV } from "../../../crds/pod_names.ts";
import type { Clock } from "../../../platform/base/clock.ts";
import { answerInTime } from "../../../platform/base/deadline.ts";
import {
  findProcesses,
  outputPipes,
  processFacts,
  type ProcessTraits,
  signal,
} from "./process_table.ts";
import { removeIfThere } from "./removal.ts";

const logger = getLogger(["milepost", "standalone"]);

/** A program to start. */
export interface ProcessSpec {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Names the container; every descendant bears it in its environment. */
  readonly mark: string;
  /** Its output is not read on before the result of the last call resolves. */
  readonly onOutput: (stream: "stdout" | "stderr", chunk: Uint8Array) => void | Promise<void>;
  /** Its input. Default: none. */
  readonly stdin?: ReadableStream<Uint8Array>;
  /** Whether descendants may outlive it; they end with the container. */
  readonly leavesDescendants?: boolean;
}

/** A program that runs. */
export interface RunningProcess {
  readonly pid: number;
  /** Resolves with the exit code once all output was delivered, and all descendants are gone unless they may stay. */
  readonly ended: Promise<number>;
  /** SIGTERM to the process group, then after `graceMs` SIGKILL to all. Resolves when it ended. */
  stop(graceMs: number): Promise<void>;
}

/** The program cannot be started; the message says why. */
export class StartProblem extends Error {
  override name = "StartProblem";
}

/** Starts programs and records them, so that a later kubelet finds leftover processes. */
export type Processes = ReturnType<typeof createProcesses>;

/** Options of {@link createProcesses}. */
export interface ProcessesOptions {
  readonly clock: Clock;
  /** Folder of the book: one file for each program that runs, by its id. It exists. */
  readonly bookFolder: string;
  /** Prefix of every mark of this kubelet, unique to it. */
  readonly markPrefix: string;
  /** Looks processes up. Default: {@link findProcesses}. */
  readonly find?: (traits: ProcessTraits) => number[];
}

/** Rounds in which processes are expected to end, 20 ms apart, and the pause between later ones. */
const SWEEP = { rounds: 100, everyMs: 20, laterMs: 500 } as const;

/**
 * Kills the processes with these traits until none is left. A process that releases a GPU's memory may take
 * longer than expected; `mayGiveUp` says whether those that survive are left alone then.
 */
async function sweep(
  { clock, find = findProcesses }: Pick<ProcessesOptions, "clock" | "find">,
  traits: ProcessTraits,
  mayGiveUp: () => boolean,
): Promise<number> {
  const killed = new Set<number>();
  for (let round = 0;; round++) {
    const pids = find(traits);
    if (pids.length === 0) return killed.size;
    if (round === SWEEP.rounds) {
      logger.error("Processes survive SIGKILL", { pids: pids.join(" ") });
    }
    if (round >= SWEEP.rounds && mayGiveUp()) return killed.size;
    for (const pid of pids) {
      signal(pid, "SIGKILL");
      killed.add(pid);
    }
    await clock.sleep(round < SWEEP.rounds ? SWEEP.everyMs : SWEEP.laterMs);
  }
}

/** Matches the mark of a container and of the commands run in it: `<mark>/…`. */
function isOf(owner: string): (mark: string) => boolean {
  return (mark) => mark === owner || mark.startsWith(`${owner}/`);
}

/** Passes a stream on, chunk by chunk, until it ends. */
async function deliver(
  stream: ReadableStream<Uint8Array>,
  onChunk: (chunk: Uint8Array) => void | Promise<void>,
): Promise<void> {
  try {
    for await (const chunk of stream) await onChunk(chunk);
  } catch (error) {
    logger.error("Cannot read a program's output", { error });
  }
}

function spawn(spec: ProcessSpec): Deno.ChildProcess {
  const [program = "", ...args] = spec.command;
  try {
    return new Deno.Command(program, {
      args,
      cwd: spec.cwd,
      env: { ...spec.env, [CONTAINER_MARK_ENV]: spec.mark },
      clearEnv: true,
      detached: true,
      stdin: spec.stdin ? "piped" : "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new StartProblem(`cannot start "${program}": ${why}`, { cause });
  }
}

/** Writes a program's entry in the book: its start. If that fails, a later kubelet still finds the process by its mark. */
function writeEntry(path: string, startTicks: string): void {
  try {
    Deno.writeTextFileSync(path, startTicks, { mode: 0o600 });
  } catch (error) {
    logger.error("Cannot record a process", { path, error });
  }
}

/** Sessions in the book whose leader is still the process that was written down, or is gone. */
function leftoverSessions(bookFolder: string): Set<number> {
  const sessions = new Set<number>();
  for (const { name } of Deno.readDirSync(bookFolder)) {
    const startTicks = Deno.readTextFileSync(`${bookFolder}/${name}`);
    // If the leader is gone, its id may belong to a foreign session by now: marks find the processes.
    if (startTicks && processFacts(Number(name))?.startTicks === startTicks) {
      sessions.add(Number(name));
    }
  }
  return sessions;
}

/** Programs of one kubelet. */
export function createProcesses(options: ProcessesOptions) {
  const { clock, bookFolder, markPrefix, find = findProcesses } = options;
  const running = new Set<RunningProcess>();
  let closing = false;

  async function finish(
    child: Deno.ChildProcess,
    spec: ProcessSpec,
    traits: ProcessTraits,
  ): Promise<number> {
    const output = Promise.all([
      deliver(child.stdout, (chunk) => spec.onOutput("stdout", chunk)),
      deliver(child.stderr, (chunk) => spec.onOutput("stderr", chunk)),
    ]);
    // A program that does not read its input to the end is no failure.
    spec.stdin?.pipeTo(child.stdin).catch(() => {});
    const status = await child.status;
    if (!spec.leavesDescendants) await sweep(options, traits, () => closing);
    await output;
    await removeIfThere(`${bookFolder}/${child.pid}`);
    return status.code;
  }

  function start(spec: ProcessSpec): RunningProcess {
    const child = spawn(spec);
    writeEntry(`${bookFolder}/${child.pid}`, processFacts(child.pid)?.startTicks ?? "");
    const traits = {
      sessions: new Set([child.pid]),
      isMine: isOf(spec.mark),
      pipes: new Set(outputPipes(child.pid)),
    };
    let over = false;
    const ended = finish(child, spec, traits).finally(() => {
      over = true;
      running.delete(process);
    });
    const process: RunningProcess = {
      pid: child.pid,
      ended,
      async stop(graceMs) {
        if (over) return;
        signal(-child.pid, "SIGTERM");
        await answerInTime(clock, graceMs, undefined, () => ended);
        if (!over) await sweep(options, traits, () => closing);
        await ended;
      },
    };
    running.add(process);
    return process;
  }

  const isMine = (mark: string) => mark.startsWith(markPrefix);
  return {
    start,
    /** Kills leftover processes of an earlier kubelet of this folder. Returns their number. */
    async endLeftovers(): Promise<number> {
      const sessions = leftoverSessions(bookFolder);
      const count = await sweep(options, { sessions, isMine, pipes: new Set() }, () => true);
      for (const { name } of Deno.readDirSync(bookFolder)) {
        await removeIfThere(`${bookFolder}/${name}`);
      }
      return count;
    },
    /** Ends all that runs: SIGTERM, and after `graceMs` SIGKILL. */
    async close(graceMs: number): Promise<void> {
      closing = true;
      await Promise.all([...running].map((process) => process.stop(graceMs)));
    },
    /** Sends SIGKILL to all that runs, and does not wait. */
    killAll(): void {
      const sessions = new Set([...running].map(({ pid }) => pid));
      for (const pid of find({ sessions, isMine, pipes: new Set() })) signal(pid, "SIGKILL");
    },
  };
}
