/** Benchmark of the time of the default test suite. */
import { run } from "../tests/support/command.ts";
import type { Benchmark } from "./result.ts";

const LIMIT_MS = 30 * 60_000;

export const suite: Benchmark = {
  about: "deno task test, whole",
  async run(say) {
    say("running all tests");
    const began = performance.now();
    const root = new URL("../", import.meta.url).pathname;
    const { code, stdout } = await run(Deno.execPath(), {
      args: ["task", "test"],
      cwd: root,
      timeoutMs: LIMIT_MS,
    });
    const seconds = (performance.now() - began) / 1000;
    const cores = navigator.hardwareConcurrency;
    const last = stdout.trimEnd().split("\n").findLast((line) => line.includes("passed")) ?? "";
    return [{
      name: "default test suite",
      // A suite that failed may have ended early.
      value: code === 0 ? seconds : Infinity,
      unit: "s",
      goal: { is: "below", limit: 240 },
      note: `${seconds.toFixed(0)} s on ${cores} cores; exit code ${code}; ${last.trim()}`,
    }];
  },
};
