/** A control group whose memory is limited, for the manager; where none can be made, only its RSS counts. */

/** A place for a process with a limit of memory. */
export interface LimitedMemory {
  /** What the limit is kept by. */
  readonly by: "cgroup v2" | "cgroup v1" | "--memory-limit and sampled RSS";
  /** Program and arguments before those of the process. */
  readonly wrapper: readonly string[];
  /** Flags of the manager, which finds the limit of a control group by itself. */
  readonly flags: readonly string[];
  remove(): Promise<void>;
}

const GROUPS = [
  { by: "cgroup v2", root: "/sys/fs/cgroup", file: "memory.max" },
  { by: "cgroup v1", root: "/sys/fs/cgroup/memory", file: "memory.limit_in_bytes" },
] as const;

/** Removes the group; its processes may take a moment to go. */
async function removeGroup(folder: string): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt++) {
    try {
      return await Deno.remove(folder);
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Makes a group with this limit, or does without. */
export async function limitMemory(bytes: number): Promise<LimitedMemory> {
  for (const { by, root, file } of GROUPS) {
    const folder = `${root}/milepost-bench-${Deno.pid}`;
    try {
      await Deno.mkdir(folder);
    } catch {
      continue; // Not mounted, or not ours to change.
    }
    try {
      await Deno.writeTextFile(`${folder}/${file}`, String(bytes), { create: false });
    } catch {
      await Deno.remove(folder);
      continue; // The controller is not delegated.
    }
    const script = 'echo $$ > "$0" && exec "$@"';
    return {
      by,
      wrapper: ["sh", "-c", script, `${folder}/cgroup.procs`],
      flags: [],
      remove: () => removeGroup(folder),
    };
  }
  return {
    by: "--memory-limit and sampled RSS",
    wrapper: [],
    flags: [`--memory-limit=${bytes}`],
    remove: () => Promise.resolve(),
  };
}
