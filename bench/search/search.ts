/** `deno task bench search`: pruners beside Optuna's, and what the stops of pruned trials cost. */
import { parseArgs } from "node:util";
import type { Benchmark } from "../result.ts";
import { comparePruners } from "./pruners.ts";
import { measureStops } from "./stops.ts";

export const search: Benchmark = {
  about:
    "searches: pruners beside Optuna itself, --pruners [--histories N] [--seed N]; and what stops " +
    "cost, --stops [--trials N]; both without either",
  takesOptions: true,
  async run(say, options) {
    const { values } = parseArgs({
      args: [...options],
      options: {
        pruners: { type: "boolean", default: false },
        stops: { type: "boolean", default: false },
        trials: { type: "string", default: "1200" },
        histories: { type: "string", default: "1000" },
        seed: { type: "string", default: "1" },
      },
    });
    const { pruners, stops, seed, histories, trials } = values;
    const compared = pruners || !stops
      ? await comparePruners({ seed: Number(seed), histories: Number(histories), say })
      : [];
    const measured = stops || !pruners ? await measureStops({ trials: Number(trials), say }) : [];
    return [...compared, ...measured];
  },
};
