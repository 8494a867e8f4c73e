/** `deno task bench search`: pruners beside Optuna's, what the stops of pruned trials cost, and what pruning saves. */
import { parseArgs } from "node:util";
import type { Benchmark } from "../result.ts";
import { comparePruners } from "./pruners.ts";
import { measureSavings } from "./savings.ts";
import { measureStops } from "./stops.ts";

export const search: Benchmark = {
  about:
    "searches: pruners beside Optuna itself, --pruners [--histories N] [--seed N]; what stops " +
    "cost, --stops [--trials N]; what pruning saves, --savings; all without any of these",
  takesOptions: true,
  async run(say, options) {
    const { values } = parseArgs({
      args: [...options],
      options: {
        pruners: { type: "boolean", default: false },
        stops: { type: "boolean", default: false },
        savings: { type: "boolean", default: false },
        trials: { type: "string", default: "1200" },
        histories: { type: "string", default: "1000" },
        seed: { type: "string", default: "1" },
      },
    });
    const { pruners, stops, savings, seed, histories, trials } = values;
    const isAll = !pruners && !stops && !savings;
    const compared = pruners || isAll
      ? await comparePruners({ seed: Number(seed), histories: Number(histories), say })
      : [];
    const measured = stops || isAll ? await measureStops({ trials: Number(trials), say }) : [];
    const saved = savings || isAll ? await measureSavings({ say }) : [];
    return [...compared, ...measured, ...saved];
  },
};
