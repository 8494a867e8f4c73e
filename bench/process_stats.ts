/** Processor time and memory of a process, from `/proc`. Linux. */

/** Ticks a second in `/proc`: a constant of Linux's interface. */
const TICKS_PER_SECOND = 100;

/** Processor time that the process has used so far, in seconds. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  // The name of the program, in parentheses, may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

async function statusKb(pid: number, field: "VmRSS" | "VmHWM"): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1]);
}

/** Memory that the process has now, in megabytes. */
export async function rssMb(pid: number): Promise<number> {
  return await statusKb(pid, "VmRSS") / 1024;
}

/** The most memory that the process had, in megabytes. */
export async function peakRssMb(pid: number): Promise<number> {
  return await statusKb(pid, "VmHWM") / 1024;
}
