/** Benchmark of the processor time of an idle `standalone`. */
import { cpuSeconds, rssMb } from "./process_stats.ts";
import type { Benchmark } from "./result.ts";
import { inFolder, withStandaloneIn } from "./standalone_folder.ts";

/** Time after which the work of the start is over, in milliseconds. */
const SETTLE_MS = 5_000;
const WINDOW_MS = 30_000;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export const idle: Benchmark = {
  about: "standalone: processor time over 30 s without work",
  run: (say) =>
    inFolder((folder) =>
      withStandaloneIn(folder, async ({ pid }) => {
        say("watching for 30 s");
        await pause(SETTLE_MS);
        const [began, before] = [performance.now(), await cpuSeconds(pid)];
        await pause(WINDOW_MS);
        const used = await cpuSeconds(pid) - before;
        const share = 100_000 * used / (performance.now() - began);
        return [
          { name: "idle standalone", value: share, unit: "%", goal: { is: "below", limit: 1 } },
          { name: "idle standalone, memory", value: await rssMb(pid), unit: "MB" },
        ];
      })
    ),
};
