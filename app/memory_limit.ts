/** Memory limit of the process: as given, else the least of its control group's and the machine's. */
import { ifThere } from "../platform/base/if_there.ts";

/** A limit, and where it was found. */
export interface MemoryLimit {
  readonly bytes: number;
  readonly source: "--memory-limit" | "cgroup v2" | "cgroup v1" | "machine";
}

/** Where to look. */
export interface MemorySources {
  /** The setting. */
  readonly given?: number | undefined;
  /** Returns the text of a file; undefined if it cannot be read. */
  readonly read: (path: string) => string | undefined;
  readonly machineBytes: number;
}

const ROOT = "/sys/fs/cgroup";

/** Where the two versions keep their limits. */
const VERSIONS = [
  { source: "cgroup v2", line: /^0::(\/.*)$/m, root: ROOT, file: "memory.max" },
  {
    source: "cgroup v1",
    line: /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(\/.*)$/m,
    root: `${ROOT}/memory`,
    file: "memory.limit_in_bytes",
  },
] as const;

/** A group and the groups around it, such as `/a/b`, `/a` and the root, which is the empty text. */
function withParents(group: string): string[] {
  const names = group.split("/").filter((it) => it !== "" && it !== "..");
  return Array.from(
    { length: names.length + 1 },
    (_, dropped) => names.slice(0, names.length - dropped).map((name) => `/${name}`).join(""),
  );
}

/** Finds the limit. In a container the group is seen as the root, whatever its path is outside. */
export function findMemoryLimit({ given, read, machineBytes }: MemorySources): MemoryLimit {
  if (given !== undefined) return { bytes: given, source: "--memory-limit" };
  const groups = read("/proc/self/cgroup") ?? "";
  let least: MemoryLimit = { bytes: machineBytes, source: "machine" };
  for (const { source, line, root, file } of VERSIONS) {
    for (const group of withParents(line.exec(groups)?.[1] ?? "")) {
      const text = read(`${root}${group}/${file}`)?.trim() ?? "";
      const bytes = /^\d+$/.test(text) ? Number(text) : Infinity;
      if (bytes < least.bytes) least = { bytes, source };
    }
  }
  return least;
}

/** Finds the limit of this process. Call it before permissions are given up. */
export function memoryLimitHere(given: number | undefined): MemoryLimit {
  return findMemoryLimit({
    given,
    // One of the two versions is not mounted.
    read: (path) => ifThere(() => Deno.readTextFileSync(path)),
    machineBytes: Deno.systemMemoryInfo().total,
  });
}
