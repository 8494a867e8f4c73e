/** Rows of the table of `deno task bench status`, with their goals, from its turns. Pure. */
import type { Measure } from "../result.ts";
import type { RowName, SideName } from "./options.ts";
import type { Turn } from "./turns.ts";

/** Turns of a row by who took them. */
export type TurnsOf = Readonly<Partial<Record<SideName, readonly Turn[]>>>;

const mean = (values: readonly number[]) =>
  values.length === 0 ? NaN : values.reduce((sum, it) => sum + it, 0) / values.length;
const rateOf = (turns: readonly Turn[]) => mean(turns.map(({ load }) => load.rate));
const p99Of = (turns: readonly Turn[]) => Math.max(...turns.map(({ load }) => load.warm.p99));
const atLeast = (limit: number) => ({ is: "at least", limit }) as const;
const atMost = (limit: number) => ({ is: "at most", limit }) as const;

/** Processor seconds of the endpoint for 100,000 pushes that were answered well. */
export function cpuFor100k(turns: readonly Turn[]): number {
  const seconds = turns.reduce((sum, { account }) => sum + (account.cpu.endpoint ?? 0), 0);
  const pushes = turns.reduce((sum, { load }) => sum + load.ok, 0);
  return pushes === 0 ? NaN : 100_000 * seconds / pushes;
}

/** Returns a line about the processes that used the processors during a load, and their shares of both. */
export function splitOf(turns: readonly Turn[]): string {
  const names = Object.keys(turns[0]?.account.cpu ?? {});
  const seconds = turns.reduce((sum, { account }) => sum + account.seconds, 0);
  const shares = names.map((name) => {
    const used = turns.reduce((sum, { account }) => sum + (account.cpu[name] ?? 0), 0);
    return `${name} ${(used / seconds).toFixed(2)}`;
  });
  return `cores used: ${shares.join(", ")}`;
}

/** Whatever was not a success, as text; empty where everything was. */
function failuresOf(turns: readonly Turn[]): string {
  const counts = new Map<string, number>();
  for (const { load } of turns) {
    for (const [what, count] of Object.entries({ ...load.byStatus, ...load.errors })) {
      if (what !== "200") counts.set(what, (counts.get(what) ?? 0) + count);
    }
  }
  const texts = [...counts].map(([what, count]) => `${count} × ${what}`);
  return texts.length === 0 ? "" : `; not answered with 200: ${texts.join(", ")}`;
}

/** What a row of the table asks of the rate, beside both peers, and of p99. */
interface RateGoals {
  readonly ofBare: number;
  readonly overUpstream: number;
  readonly p99Ms: number;
}

/** The rate and p99 of a row beside those of the other sides; none without Milepost's. */
export function rateRows(name: string, turns: TurnsOf, goals: RateGoals): Measure[] {
  const { milepost: own, bare, upstream, "upstream as shipped": shipped } = turns;
  if (own === undefined) return [];
  const pushes = { value: rateOf(own), unit: "/s" };
  const rows: Measure[] = [{
    ...pushes,
    name: `${name}: pushes`,
    ...bare && {
      goal: atLeast(goals.ofBare * rateOf(bare)),
      beside: { name: "bare endpoint", value: rateOf(bare) },
    },
    note: `${splitOf(own)}${failuresOf(own)}${bare ? `; bare: ${splitOf(bare)}` : ""}`,
  }];
  if (upstream) {
    rows.push({
      ...pushes,
      name: `${name}: over upstream`,
      goal: atLeast(goals.overUpstream * rateOf(upstream)),
      beside: { name: "upstream, limits lifted", value: rateOf(upstream) },
      note: `upstream: ${splitOf(upstream)}${failuresOf(upstream)}`,
    });
  }
  if (shipped) {
    rows.push({
      ...pushes,
      name: `${name}: over upstream as shipped`,
      beside: { name: "upstream as shipped", value: rateOf(shipped) },
      note: `upstream as shipped${failuresOf(shipped)}`,
    });
  }
  rows.push({
    name: `${name}: p99`,
    value: p99Of(own),
    unit: "ms",
    goal: { is: "below", limit: goals.p99Ms },
    ...bare && { beside: { name: "bare endpoint", value: p99Of(bare) } },
  });
  return rows;
}

/** The cost of a push, from connections that are kept; none without Milepost's turns. */
export function costRows({ milepost, upstream, bare }: TurnsOf): Measure[] {
  if (milepost === undefined) return [];
  const row = {
    name: "CPU seconds for 100,000 pushes",
    value: cpuFor100k(milepost),
    unit: "s",
    note: `kept connections${
      bare ? `; the bare endpoint took ${cpuFor100k(bare).toFixed(1)} s` : ""
    }`,
  };
  if (upstream === undefined) return [row];
  const value = cpuFor100k(upstream);
  return [{
    ...row,
    goal: atMost(value / 20),
    beside: { name: "upstream, limits lifted", value },
  }];
}

/** Writes of statuses that the API server has answered with success, a second. */
export function writesPerSecond({ account }: Turn): number {
  return (account.requests["status writes"] ?? 0) / account.seconds;
}

/** The rows of a large cluster. `budget` is the writes a second that are allowed. */
export function manyJobsRows(turn: Turn, budget: number): Measure[] {
  const { load, account } = turn;
  const name = "many jobs";
  const none = (what: string, value: number, note?: string): Measure => ({
    name: `${name}: ${what}`,
    value,
    unit: "",
    goal: atMost(0),
    ...note === undefined ? {} : { note },
  });
  const writes = { name: `${name}: writes`, value: writesPerSecond(turn), unit: "/s" };
  return [
    {
      name: `${name}: answered`,
      value: load.ok / load.seconds,
      unit: "/s",
      note: `${load.sent} pushes; ${splitOf([turn])}${failuresOf([turn])}`,
    },
    none("refused", load.refused, load.examples.join(" | ").slice(0, 300) || undefined),
    none("timed out", load.timeouts),
    none("offered but not sent", load.unsent),
    { name: `${name}: p99, cold`, value: load.latency.p99, unit: "ms" },
    {
      name: `${name}: p99, warm`,
      value: load.warm.p99,
      unit: "ms",
      goal: { is: "below", limit: 50 },
      note: `from the intended time; p50 ${load.warm.p50} ms, most ${load.warm.max} ms`,
    },
    { ...writes, goal: atLeast(0.9 * budget) },
    { ...writes, name: `${name}: writes, at most`, goal: atMost(1.05 * budget) },
    {
      name: `${name}: memory`,
      value: account.peakRssMb,
      unit: "MB",
      goal: { is: "below", limit: 200 },
      note: `the most since its start; ${account.rssMb.toFixed(0)} MB at the end`,
    },
    { name: `${name}: TokenReviews`, value: account.requests.TokenReviews ?? 0, unit: "" },
  ];
}

/** Writes for one job; none without Milepost's turns. */
export function oneJobRows({ milepost }: TurnsOf): Measure[] {
  if (milepost === undefined) return [];
  const value = Math.max(...milepost.map(writesPerSecond));
  return [{ name: "one-job: writes to the API server", value, unit: "/s", goal: atMost(1.2) }];
}

/** Two replicas beside the rate of one. */
export function replicasRows(two: Turn, one: number): Measure[] {
  return [
    {
      name: "two replicas: pushes",
      value: two.load.rate,
      unit: "/s",
      goal: atLeast(0.8 * one),
      beside: { name: "one replica", value: one },
      note: `${splitOf([two])}, the balancer apart${failuresOf([two])}`,
    },
    {
      name: "two replicas: lost or answered twice",
      value: Math.abs(two.accepted - two.load.ok),
      unit: "",
      goal: atMost(0),
      note: `${two.load.sent} sent, ${two.load.ok} answered with 200, ${two.accepted} accepted`,
    },
    { name: "two replicas: not answered", value: two.load.sent - two.load.ok, unit: "" },
  ];
}

/** The goals of the rows that all sides take. */
export const GOALS: Readonly<Partial<Record<RowName, RateGoals>>> = {
  "keep-alive": { ofBare: 0.6, overUpstream: 40, p99Ms: 10 },
  connections: { ofBare: 0.8, overUpstream: 6, p99Ms: 50 },
  "one-job": { ofBare: 0.6, overUpstream: 40, p99Ms: 10 },
};
