/** Measures of the honest and of attackers whose goals are missed where nothing was answered or nothing attacked. */
import type { HoldResult } from "../generator/holds.ts";
import type { Load } from "../generator/plan.ts";
import { type Measure, quantile } from "../result.ts";

/** A quantile of the answers after the warm-up, in milliseconds; infinite if there are none. */
export function warmOf(load: Pick<Load, "warm"> | undefined, part: "p50" | "p99"): number {
  return load === undefined || load.warm.count === 0 ? Infinity : load.warm[part];
}

/** The median over turns of such a quantile. */
export function medianOf(loads: readonly (Load | undefined)[], part: "p50" | "p99"): number {
  return quantile(loads.map((load) => warmOf(load, part)), 0.5);
}

/** The goal of a p99 under attack: at most three times the quiet one, if that one exists. */
export function atMostThrice(quiet: number): NonNullable<Measure["goal"]> {
  return { is: "at most", limit: Number.isFinite(quiet) ? 3 * quiet : 0 };
}

/** Sums of what happened, by what, as text. */
export function tally(all: readonly Readonly<Record<string, number>>[]): string {
  const sums: Record<string, number> = {};
  for (const one of all) {
    for (const [what, times] of Object.entries(one)) sums[what] = (sums[what] ?? 0) + times;
  }
  return Object.entries(sums).map(([what, times]) => `${times} × ${what}`).join(", ") || "nothing";
}

/**
 * Honest requests that failed. A latency does not show them: those that were refused have a short one,
 * and those that were cut have none. The goal is missed if there were no requests at all.
 */
export function failures(name: string, loads: readonly (Load | undefined)[]): Measure {
  const made = loads.filter((it) => it !== undefined);
  const sum = (of: (load: Load) => number) => made.reduce((total, load) => total + of(load), 0);
  const isIdle = made.length < loads.length || made.some(({ sent }) => sent === 0);
  return {
    name,
    value: isIdle ? Infinity : sum((load) => load.sent - load.ok + load.unsent),
    unit: "",
    goal: { is: "at most", limit: 0 },
    note: `of ${sum((load) => load.sent)}: ` +
      tally(made.flatMap(({ byStatus, errors }) => [byStatus, errors])),
  };
}

/** Attacks that never reached the manager in any turn: connections without a handshake, holds without a word. */
export function idleAttacks(
  turns: readonly { readonly hostile: readonly Load[]; readonly held: readonly HoldResult[] }[],
): Measure {
  const reached = new Map<string, number>();
  const add = (name: string, times: number) => reached.set(name, (reached.get(name) ?? 0) + times);
  for (const { hostile, held } of turns) {
    for (const { name, handshakes } of hostile) add(name, handshakes);
    for (const { name, said } of held) add(name, said);
  }
  const idle = [...reached].filter(([, times]) => times === 0).map(([name]) => name);
  return {
    name: "attacks that did not reach the manager",
    value: reached.size === 0 ? Infinity : idle.length,
    unit: "",
    goal: { is: "at most", limit: 0 },
    note: `of ${reached.size}${idle.length > 0 ? `: ${idle.join(", ")}` : ""}`,
  };
}
