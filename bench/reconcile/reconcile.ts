/** `deno task bench reconcile`: from TrainJob to JobSet, in turns with upstream's Trainer v2.3.0. */
import type { Benchmark, Measure } from "../result.ts";
import { measureSide, type Turn } from "./measure_side.ts";
import { type SideName, withSide } from "./side.ts";

const JOBS = 1_000;
const ROUNDS = 2;
const ORDER: readonly SideName[] = ["upstream", "milepost"];

/** The numbers of a turn that are compared. */
type Key = Exclude<keyof Turn, "requests">;

function mean(turns: readonly Turn[], key: Key): number {
  return turns.reduce((sum, turn) => sum + turn[key], 0) / turns.length;
}

function requestsOf(turn: Turn | undefined): string {
  const entries = Object.entries(turn?.requests ?? {}).filter(([, each]) => each >= 0.05);
  return entries.map(([what, each]) => `${what}: ${each.toFixed(2)}`).join(", ");
}

/** The rows of the table: Milepost's number, with upstream's beside it. */
export function compare(turns: Readonly<Record<SideName, readonly Turn[]>>): Measure[] {
  const row = (name: string, key: Key, unit: string, more: Partial<Measure> = {}): Measure => ({
    name,
    value: mean(turns.milepost, key),
    unit,
    beside: { name: "upstream", value: mean(turns.upstream, key) },
    ...more,
  });
  const [requests, memory] = [
    mean(turns.upstream, "requestsPerJob"),
    mean(turns.upstream, "loadedMb"),
  ];
  const rate = row("TrainJob to JobSet", "jobsPerSecond", "/s");
  const goal = { is: "at least", limit: 2 * mean(turns.upstream, "jobsPerSecond") } as const;
  return [
    { ...rate, goal },
    row("requests a TrainJob", "requestsPerJob", "", {
      goal: { is: "below", limit: requests },
      note: `upstream: ${requestsOf(turns.upstream[0])}; milepost: ${
        requestsOf(turns.milepost[0])
      }`,
    }),
    row(`memory with ${JOBS} jobs`, "loadedMb", "MB", { goal: { is: "at most", limit: memory } }),
    row("memory, most", "peakMb", "MB"),
    row("memory at rest", "restingMb", "MB"),
    row("time to ready", "readySeconds", "s"),
    row("processor time a TrainJob", "cpuMsPerJob", "ms"),
    row("of the API server", "serverCpuMsPerJob", "ms"),
  ];
}

export const reconcile: Benchmark = {
  about: `TrainJob to JobSet, ${JOBS} at once, beside upstream v2.3.0 on a real control plane`,
  async run(say) {
    const turns: Record<SideName, Turn[]> = { upstream: [], milepost: [] };
    for (let round = 1; round <= ROUNDS; round++) {
      for (const name of ORDER) {
        say(`round ${round} of ${ROUNDS}: ${name}`);
        const turn = await withSide(name, (side) => measureSide(side, JOBS));
        say(JSON.stringify(turn));
        turns[name].push(turn);
      }
    }
    return compare(turns);
  },
};
