/** Process table of `/proc`: processes with start time, session and mark. */
import { CONTAINER_MARK_ENV } from "../../../crds/pod_names.ts";
import { ifThere } from "../../../platform/base/if_there.ts";

const readText = (path: string) => ifThere(() => Deno.readTextFileSync(path));

/** The facts of `/proc/<pid>/stat`; undefined if there is no such process. */
export function processFacts(pid: number) {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return {
    session: Number(fields[3]),
    /** Start in clock ticks since boot: with the pid it names one process for ever. */
    startTicks: fields[19] ?? "",
    /** Ended, but its parent has not asked for the result. */
    zombie: fields[0] === "Z" || fields[0] === "X",
  };
}

/** The mark of a process; undefined if it has none or belongs to another user. */
function markOf(pid: number): string | undefined {
  const environ = readText(`/proc/${pid}/environ`);
  const start = `${CONTAINER_MARK_ENV}=`;
  return environ?.split("\0").find((entry) => entry.startsWith(start))?.slice(start.length);
}

/** The pipes to which a process writes its output and errors; none if it is gone or another user's. */
export function outputPipes(pid: number): string[] {
  return [1, 2].flatMap((fd) => {
    const target = ifThere(() => Deno.readLinkSync(`/proc/${pid}/fd/${fd}`));
    return target?.startsWith("pipe:") ? [target] : [];
  });
}

/** What tells the processes of a container from all others; one of them is enough. */
export interface ProcessTraits {
  readonly sessions: ReadonlySet<number>;
  readonly isMine: (mark: string) => boolean;
  /** {@link outputPipes} of its program: a daemon may have left the session, and overwritten its mark. */
  readonly pipes: ReadonlySet<string>;
}

/** Ids of the living processes that have one of the traits. */
export function findProcesses({ sessions, isMine, pipes }: ProcessTraits): number[] {
  const found: number[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === Deno.pid) continue;
    const facts = processFacts(pid);
    if (facts === undefined || facts.zombie) continue;
    if (sessions.has(facts.session)) found.push(pid);
    else {
      const mark = markOf(pid);
      const isFound = (mark !== undefined && isMine(mark)) ||
        (pipes.size > 0 && outputPipes(pid).some((pipe) => pipes.has(pipe)));
      if (isFound) found.push(pid);
    }
  }
  return found;
}

/** Sends a signal to a process, or with a negative id to a group, unless it is gone. */
export function signal(pid: number, name: Deno.Signal): void {
  ifThere(() => Deno.kill(pid, name));
}
