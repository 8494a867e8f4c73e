/**
 * `deno task bench reconcile`: from TrainJob to JobSet, in turns with upstream's Trainer v2.3.0. With `--gangs`: in
 * gangs, in turns with TrainJobs in none.
 */
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

const WRITES: readonly string[] = ["create", "patch", "update", "delete"];

/** Writes for each TrainJob. */
function writesOf({ requests }: Turn): number {
  return Object.entries(requests)
    .filter(([what]) => WRITES.some((verb) => what.startsWith(`${verb} `)))
    .reduce((sum, [, each]) => sum + each, 0);
}

/** The rows of the table with gangs: writes a second, since a TrainJob in a gang has one more. */
export function compareGangs(gangs: readonly Turn[], plain: readonly Turn[]): Measure[] {
  const rate = (turns: readonly Turn[]) =>
    turns.reduce((sum, turn) => sum + turn.jobsPerSecond * writesOf(turn), 0) / turns.length;
  const row = (name: string, key: Key, unit: string): Measure => ({
    name,
    value: mean(gangs, key),
    unit,
    beside: { name: "without", value: mean(plain, key) },
  });
  return [
    {
      name: "writes, in gangs",
      value: rate(gangs),
      unit: "/s",
      goal: { is: "at least", limit: 0.9 * rate(plain) },
      beside: { name: "without", value: rate(plain) },
      note: `gangs: ${requestsOf(gangs[0])}; without: ${requestsOf(plain[0])}`,
    },
    row("TrainJob to JobSet, in gangs", "jobsPerSecond", "/s"),
    row("processor time a TrainJob, in gangs", "cpuMsPerJob", "ms"),
    row(`memory with ${JOBS} jobs in gangs`, "loadedMb", "MB"),
    row("memory at rest", "restingMb", "MB"),
  ];
}

async function measureGangs(say: (text: string) => void): Promise<Measure[]> {
  const turns: Record<"gangs" | "without", Turn[]> = { gangs: [], without: [] };
  for (let round = 1; round <= ROUNDS; round++) {
    for (const name of ["without", "gangs"] as const) {
      say(`round ${round} of ${ROUNDS}: ${name}`);
      const options = { gang: name === "gangs" };
      const turn = await withSide("milepost", (side) => measureSide(side, JOBS), options);
      say(JSON.stringify(turn));
      turns[name].push(turn);
    }
  }
  return compareGangs(turns.gangs, turns.without);
}

export const reconcile: Benchmark = {
  about: `TrainJob to JobSet, ${JOBS} at once, beside upstream v2.3.0 on a real control plane; ` +
    "--gangs: in gangs, beside none",
  takesOptions: true,
  async run(say, options) {
    const unknown = options.filter((it) => it !== "--gangs");
    if (unknown.length > 0) throw new Error(`unknown option ${unknown.join(" ")}; known: --gangs`);
    if (options.includes("--gangs")) return await measureGangs(say);
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
