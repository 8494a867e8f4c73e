/** Benchmark of the start of `standalone` on a folder that it has used before. */
import { startStandaloneProcess } from "../tests/support/milepost_process.ts";
import { run } from "../tests/support/command.ts";
import { type Benchmark, quantile } from "./result.ts";
import { inFolder } from "./standalone_folder.ts";

const STARTS = 5;

async function bareStart(): Promise<number> {
  const began = performance.now();
  await run(Deno.execPath(), { args: ["eval", "0"] });
  return performance.now() - began;
}

export const warmStart: Benchmark = {
  about: "standalone: start on an existing folder to the ready line",
  run: (say) =>
    inFolder(async (folder) => {
      const times: number[] = [];
      const bare: number[] = [];
      for (let start = 0; start <= STARTS; start++) {
        say(`start ${start} of ${STARTS}`);
        const standalone = await startStandaloneProcess(["--data-dir", folder]);
        await standalone.stop();
        if (start > 0) times.push(standalone.startedInMs / 1000); // The first makes the folder.
        bare.push(await bareStart() / 1000);
      }
      return [{
        name: "warm start of standalone",
        value: quantile(times, 0.5),
        unit: "s",
        goal: { is: "below", limit: 2 },
        beside: { name: "bare runtime", value: quantile(bare, 0.5) },
        note: `median of ${STARTS} starts as a process`,
      }];
    }),
};
