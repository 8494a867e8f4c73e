/** `deno task bench search`: pruners beside Optuna's, what their stops cost and save, and how late a stream tells of pushes. */
import { parseArgs } from "node:util";
import type { Benchmark } from "../result.ts";
import { comparePruners } from "./pruners.ts";
import { measureSavings } from "./savings.ts";
import { measureStops } from "./stops.ts";
import { measureStream } from "./stream.ts";

export const search: Benchmark = {
  about:
    "searches: pruners beside Optuna itself, --pruners [--histories N] [--seed N]; what stops " +
    "cost, --stops [--trials N]; what pruning saves, --savings; how late a stream of many jobs is, " +
    "--stream [--jobs N]; all without any",
  takesOptions: true,
  async run(say, options) {
    const { values } = parseArgs({
      args: [...options],
      options: {
        pruners: { type: "boolean", default: false },
        stops: { type: "boolean", default: false },
        savings: { type: "boolean", default: false },
        stream: { type: "boolean", default: false },
        jobs: { type: "string", default: "1000" },
        trials: { type: "string", default: "1200" },
        histories: { type: "string", default: "1000" },
        seed: { type: "string", default: "1" },
      },
    });
    const { pruners, stops, savings, stream, seed, histories, trials, jobs } = values;
    const isAll = !pruners && !stops && !savings && !stream;
    return [
      ...pruners || isAll
        ? await comparePruners({ seed: Number(seed), histories: Number(histories), say })
        : [],
      ...stops || isAll ? await measureStops({ trials: Number(trials), say }) : [],
      ...savings || isAll ? await measureSavings({ say }) : [],
      ...stream || isAll ? await measureStream({ jobs: Number(jobs), say }) : [],
    ];
  },
};
