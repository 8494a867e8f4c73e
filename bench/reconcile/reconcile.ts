/**
 * `deno task bench reconcile`: from TrainJob to JobSet, in turns with upstream's Trainer v2.3.0. With `--gangs`: in
 * gangs, in turns with TrainJobs in none. With `--v1`: from PyTorchJob to pods, in turns with the Training Operator.
 */
import type { Benchmark, Measure } from "../result.ts";
import { type Load, PYTORCH_JOBS, TRAIN_JOBS } from "./load.ts";
import { measureSide, type Turn } from "./measure_side.ts";
import { type SideName, type SideStart, trainJobSides, V1_SIDES, withSide } from "./side.ts";

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

/** Names and goals of the rows of a load. */
export interface Rows {
  /** Of the first row, such as `TrainJob to JobSet`. */
  readonly rate: string;
  /** Singular name of the jobs. */
  readonly job: string;
  /** Objects a job that the rate counts. */
  readonly made: number;
  /** Least rate, as a multiple of upstream's. */
  readonly least: number;
  /** Whether upstream's requests and memory are goals as well. */
  readonly boundsCosts: boolean;
}

const TRAIN_JOB_ROWS: Rows = {
  rate: "TrainJob to JobSet",
  job: "TrainJob",
  made: 1,
  least: 2,
  boundsCosts: true,
};
const PYTORCH_JOB_ROWS: Rows = {
  rate: "PyTorchJob to pods",
  job: "PyTorchJob",
  made: 3,
  least: 1,
  boundsCosts: false,
};

/** The rows of the table: Milepost's number, with upstream's beside it. */
export function compare(
  turns: Readonly<Record<SideName, readonly Turn[]>>,
  { rate, job, made, least, boundsCosts }: Rows = TRAIN_JOB_ROWS,
): Measure[] {
  const row = (name: string, key: Key, unit: string, more: Partial<Measure> = {}): Measure => ({
    name,
    value: mean(turns.milepost, key),
    unit,
    beside: { name: "upstream", value: mean(turns.upstream, key) },
    ...more,
  });
  const bounded = (is: "below" | "at most", key: Key): Partial<Measure> =>
    boundsCosts ? { goal: { is, limit: mean(turns.upstream, key) } } : {};
  const [ours, theirs] = [turns.milepost, turns.upstream].map((all) =>
    made * mean(all, "jobsPerSecond")
  );
  return [
    {
      name: rate,
      value: ours ?? 0,
      unit: "/s",
      beside: { name: "upstream", value: theirs ?? 0 },
      goal: { is: "at least", limit: least * (theirs ?? 0) },
    },
    row(`requests a ${job}`, "requestsPerJob", "", {
      ...bounded("below", "requestsPerJob"),
      note: `upstream: ${requestsOf(turns.upstream[0])}; milepost: ${
        requestsOf(turns.milepost[0])
      }`,
    }),
    row(`memory with ${JOBS} jobs`, "loadedMb", "MB", bounded("at most", "loadedMb")),
    row("memory, most", "peakMb", "MB"),
    row("memory at rest", "restingMb", "MB"),
    row("time to ready", "readySeconds", "s"),
    row(`processor time a ${job}`, "cpuMsPerJob", "ms"),
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

type Say = (text: string) => void;

async function measureGangs(say: Say): Promise<Measure[]> {
  const turns: Record<"gangs" | "without", Turn[]> = { gangs: [], without: [] };
  for (let round = 1; round <= ROUNDS; round++) {
    for (const name of ["without", "gangs"] as const) {
      say(`round ${round} of ${ROUNDS}: ${name}`);
      const start = trainJobSides({ gang: name === "gangs" }).milepost;
      const turn = await withSide(start, (side) => measureSide(side, TRAIN_JOBS, JOBS));
      say(JSON.stringify(turn));
      turns[name].push(turn);
    }
  }
  return compareGangs(turns.gangs, turns.without);
}

async function measureBoth(
  say: Say,
  sides: Readonly<Record<SideName, SideStart>>,
  load: Load,
): Promise<Record<SideName, Turn[]>> {
  const turns: Record<SideName, Turn[]> = { upstream: [], milepost: [] };
  for (let round = 1; round <= ROUNDS; round++) {
    for (const name of ORDER) {
      say(`round ${round} of ${ROUNDS}: ${name}`);
      const turn = await withSide(sides[name], (side) => measureSide(side, load, JOBS));
      say(JSON.stringify(turn));
      turns[name].push(turn);
    }
  }
  return turns;
}

const VARIANTS: Readonly<Record<string, (say: Say) => Promise<Measure[]>>> = {
  "": async (say) => compare(await measureBoth(say, trainJobSides(), TRAIN_JOBS)),
  "--gangs": measureGangs,
  "--v1": async (say) => compare(await measureBoth(say, V1_SIDES, PYTORCH_JOBS), PYTORCH_JOB_ROWS),
};

export const reconcile: Benchmark = {
  about: `TrainJob to JobSet, ${JOBS} at once, beside upstream v2.3.0 on a real control plane; ` +
    "--gangs: in gangs, beside none; --v1: PyTorchJob to pods, beside the Training Operator",
  takesOptions: true,
  async run(say, options) {
    const variant = VARIANTS[options.join(" ")];
    if (variant !== undefined) return await variant(say);
    const known = Object.keys(VARIANTS).filter((it) => it !== "").join(" or ");
    throw new Error(`unknown option ${options.join(" ")}; known: ${known}`);
  },
};
