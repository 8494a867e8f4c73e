/** Made-up histories of searches: what trials report, in which order, and how they end. Pure. */
import { readPruner } from "../../crds/pruner.ts";
import { createSearchState } from "../../owner/searches/search_state.ts";

/** A report of a trial, or its end. Values are texts, since JSON has neither NaN nor infinities. */
type Told =
  | { readonly trial: number; readonly step: number; readonly value: string }
  | { readonly trial: number; readonly end: "complete" | "failed" };

/** One history. */
export interface History {
  readonly pruner: object;
  readonly direction: "minimize" | "maximize";
  readonly trials: number;
  readonly told: readonly Told[];
}

/** Whole numbers by a linear congruential generator: the same seed gives the same histories on each machine. */
function createChance(seed: number) {
  let state = (seed * 2_654_435_761) >>> 0;
  const below = (bound: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor(state / 2 ** 32 * bound);
  };
  return { below, isOne: (of: number) => below(of) === 0 };
}
type Chance = ReturnType<typeof createChance>;

function prunerBy({ below, isOne }: Chance): object {
  if (isOne(2)) {
    return {
      median: {
        n_startup_trials: below(5),
        n_warmup_steps: below(4),
        interval_steps: 1 + below(4),
        n_min_trials: 1 + below(3),
      },
    };
  }
  const isAuto = isOne(4);
  return {
    asha: {
      min_resource: isAuto ? "auto" : 1 + below(3),
      reduction_factor: 2 + below(3),
      min_early_stopping_rate: below(2),
      bootstrap_count: isAuto ? 0 : below(4),
    },
  };
}

/** Few values, so that many are equal. */
function valueBy({ below, isOne }: Chance): string {
  if (isOne(20)) return "NaN";
  if (isOne(60)) return isOne(2) ? "Infinity" : "-Infinity";
  return String(below(40) / 20 - 1);
}

/** The reports of one trial, whose steps may leave some out, come twice or in another order, and its end, if it has one. */
function trialBy(chance: Chance, trial: number): Told[] {
  const { below, isOne } = chance;
  const [stride, isOrdered] = [isOne(8) ? 60 : 1 + below(2), !isOne(3)];
  const told: Told[] = [];
  for (let count = below(16), step = below(3); count > 0; count--) {
    const at = isOrdered || isOne(2) ? step : Math.max(0, step - below(5));
    told.push({ trial, step: at, value: valueBy(chance) });
    step += isOrdered || !isOne(6) ? stride : 0;
  }
  if (isOne(8)) return told;
  return [...told, { trial, end: isOne(8) || told.length === 0 ? "failed" : "complete" }];
}

/** Returns the history of that seed: trials one after another, or some at a time. */
export function historyBy(seed: number): History {
  const chance = createChance(seed);
  const trials = 2 + chance.below(14);
  const left = Array.from({ length: trials }, (_, trial) => trialBy(chance, trial));
  const atOnce = 1 + chance.below(trials);
  const told: Told[] = [];
  const going = left.splice(0, atOnce);
  while (going.length > 0) {
    const at = chance.below(going.length);
    const next = going[at]?.shift();
    if (next !== undefined) told.push(next);
    else going.splice(at, 1, ...left.splice(0, 1));
  }
  const direction = chance.isOne(2) ? "maximize" : "minimize";
  return { pruner: prunerBy(chance), direction, trials, told };
}

/** Returns the places of the reports at which trials are pruned. */
export function prunedOf({ pruner, direction, told }: History): number[] {
  const read = readPruner(JSON.stringify(pruner));
  if (!read.ok) throw new Error(`a made-up pruner is invalid: ${JSON.stringify(read.problems)}`);
  const isMinimized = direction === "minimize";
  const state = createSearchState({ pruner: read.value, metric: "loss", isMinimized }, new Map());
  const over = new Set<number>();
  const pruned: number[] = [];
  for (const [place, event] of told.entries()) {
    const { trial } = event;
    if (over.has(trial)) continue;
    if ("end" in event) {
      over.add(trial);
      state.end(trial, event.end === "complete");
      continue;
    }
    state.add(trial, { step: event.step, value: Number(event.value), time: "" });
    state.judge(trial, "2026-01-01T00:00:00.000Z");
    if (state.changes().get(trial)?.pruned === undefined) continue;
    over.add(trial);
    pruned.push(place);
  }
  return pruned;
}
