/** Benchmark of stalls: 1,000 made-up jobs for 24 hours under a false clock; what was found, and what was called stalled and was not. */
import { type Benchmark, type Measure, quantile } from "../result.ts";
import { ALLOWED, killedAt } from "../../tests/owner/stalls/killed_owner.ts";
import { type Month, noticedAfter, noticedByStalls } from "./stall_month.ts";
import { type FalseStall, type Hang, simulate } from "./stall_world.ts";

const JOBS = 1000;
const HOURS = 24;
const HANGS = 100;
/** Jobs of one world: an owner in a small cluster, so that a storm is told from a few jobs, too. */
const WORLDS = 4;

function foundOf(hangs: readonly Hang[], programs: readonly string[]): number[] {
  return hangs.filter(({ program }) => programs.includes(program))
    .flatMap(({ foundMs }) => foundMs === undefined ? [] : [foundMs / 1000]);
}

function measuresOf(hangs: readonly Hang[], falseStalls: readonly FalseStall[]): Measure[] {
  const missed = hangs.filter(({ foundMs }) => foundMs === undefined);
  const cold = foundOf(hangs.filter(({ isCold }) => isCold), ["phases"]);
  const withPhases = foundOf(hangs.filter((it) => !it.isSlow && !it.isCold), ["phases"]);
  const slow = foundOf(hangs.filter((it) => it.isSlow && !it.isCold), ["phases"]);
  const median = (of: readonly number[]) => of.length === 0 ? 0 : quantile(of, 0.5);
  const without = foundOf(hangs, ["epochs", "plain"]);
  return [
    {
      name: "false stalls, but of jobs whose reports were lost",
      value: falseStalls.filter(({ isCut }) => !isCut).length,
      unit: "",
      goal: { is: "at most", limit: JOBS * HOURS / 24 / 1000 },
      note: falseStalls.map(({ job, program, message }) => `${job}, ${program}: ${message}`)
        .join("; "),
    },
    {
      name: "hangs that were not found",
      value: missed.length,
      unit: "",
      note: `of ${hangs.length}; each hangs for an hour`,
    },
    {
      name: "time to stalled, steps of at most 3 s, p95",
      value: quantile(withPhases, 0.95),
      unit: "s",
      goal: { is: "at most", limit: 30 },
      note: `${withPhases.length} hangs`,
    },
    {
      name: "the same, within two minutes of a start, or of another owner, median",
      value: median(cold),
      unit: "s",
      note: `${cold.length} hangs`,
    },
    {
      name: "the same, once steps were ten times slower for a while, median",
      value: median(slow),
      unit: "s",
      note: `${slow.length} hangs`,
    },
    { name: "the same, median", value: quantile(withPhases, 0.5), unit: "s" },
    {
      name: "time to stalled, programs without phases, median",
      value: quantile(without, 0.5),
      unit: "s",
      note: "five times their longest silence, which is an evaluation",
    },
  ];
}

const percent = ({ goodput }: Month) => 100 * goodput;

/** Goodput of a month with a hang each three hours. */
async function monthMeasures(seed: number): Promise<Measure[]> {
  const ours = await noticedByStalls(seed);
  const [truth, late] = [noticedAfter(0, seed), noticedAfter(600_000, seed)];
  const text = ({ hangs, restarts }: Month) => `${hangs} hangs, ${restarts} restarts`;
  const name = "goodput of a month, a hang each 3 h";
  return [
    {
      name,
      value: percent(ours),
      unit: "%",
      goal: { is: "at least", limit: 95 },
      note: text(ours),
    },
    { name: `${name}, each known at once`, value: percent(truth), unit: "%", note: text(truth) },
    { name: `${name}, noticed after 600 s`, value: percent(late), unit: "%", note: text(late) },
    {
      name: "what is lost beside knowing at once",
      value: percent(truth) - percent(ours),
      unit: "points",
      goal: { is: "at most", limit: 1 },
    },
  ];
}

/** Lives of a job whose owner is killed once, at each write before and after it. */
async function killedMeasure(): Promise<Measure> {
  let [lives, exceeded] = [0, 0];
  for (const when of ["before", "after"] as const) {
    for (let at = 1;; at++) {
      const { wasKilled, restarts, spent, counted } = await killedAt(when, at);
      if (!wasKilled) break;
      lives += 1;
      if (Math.max(restarts, spent, counted) > ALLOWED || restarts !== counted) exceeded += 1;
    }
  }
  return {
    name: "budgets that are exceeded, the owner killed at each write",
    value: exceeded,
    unit: "",
    goal: { is: "at most", limit: 0 },
    note: `${lives} lives of a job that may be restarted twice`,
  };
}

export const stalls: Benchmark = {
  about: "jobs that hang, and jobs that only seem to, for a day; --seed N",
  takesOptions: true,
  async run(say, options) {
    const at = options.indexOf("--seed");
    const seed = at < 0 ? 1 : Number(options[at + 1]);
    if (!Number.isSafeInteger(seed)) throw new Error("--seed takes a whole number");
    const results = [];
    for (let world = 0; world < WORLDS; world++) {
      say(`world ${world + 1} of ${WORLDS}`);
      results.push(
        await simulate({
          seed: seed * WORLDS + world,
          jobs: JOBS / WORLDS,
          hours: HOURS,
          hangs: HANGS / WORLDS,
          troubled: true,
        }),
      );
    }
    say("a month");
    const restarts = results.map((it) => it.restarts);
    return [
      ...measuresOf(
        results.flatMap(({ hangs }) => hangs),
        results.flatMap(({ falseStalls }) => falseStalls),
      ),
      {
        name: "restarts of jobs that did not hang",
        value: restarts.reduce((sum, { wrong }) => sum + wrong, 0),
        unit: "",
        goal: { is: "at most", limit: 0 },
        note: `beside ${restarts.reduce((sum, { right }) => sum + right, 0)} of jobs that did`,
      },
      await killedMeasure(),
      ...await monthMeasures(seed),
    ];
  },
};
