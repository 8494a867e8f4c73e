/** Benchmark of the demo's time, with everything downloaded before. */
import { milepost } from "../tests/support/milepost_process.ts";
import type { Benchmark } from "./result.ts";

export const demo: Benchmark = {
  about: "deno task demo, warm",
  async run(say) {
    let seconds = NaN;
    for (const which of ["first, to warm up", "second, measured"]) {
      say(which);
      const began = performance.now();
      const { code, stderr } = await milepost(["demo", "--json"], { timeoutMs: 120_000 });
      if (code !== 0) throw new Error(`the demo ended with ${code}: ${stderr}`);
      seconds = (performance.now() - began) / 1000;
    }
    return [{ name: "demo, warm", value: seconds, unit: "s", goal: { is: "below", limit: 30 } }];
  },
};
