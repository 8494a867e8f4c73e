/** Savings of pruned searches by Optuna: the epochs of the digits, beside the same search that prunes nothing. */
import { z } from "zod";
import { run } from "../../tests/support/command.ts";
import { failureOf, pythonEnvironment } from "../../tests/support/python_environment.ts";
import type { Measure } from "../result.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const PROGRAM = `${ROOT}bench/search/savings.py`;
/** How much worse the best loss may be, and how much of the epochs may be trained. */
const GOAL = { loss: 1.02, epochs: 0.4, ofTen: 9 } as const;

const searched = z.object({
  seed: z.int(),
  pruner: z.enum(["full", "asha", "hyperband"]),
  loss: z.number(),
  epochs: z.int(),
});

/** Returns of each pruner in how many seeds of ten it reaches the goal. */
export async function measureSavings(
  { say }: { readonly say: (text: string) => void },
): Promise<Measure[]> {
  const environment = await pythonEnvironment(
    "optuna==5.0.0",
    "kubernetes==35.0.0",
    "cmaes==0.13.1",
    "scipy==1.17.1",
  );
  if ("missing" in environment) throw new Error(environment.missing);
  const result = await run(`${environment.bin}/python`, {
    args: [PROGRAM, `${ROOT}examples/training/digits.txt`, "0", "10"],
    env: {
      PYTHONPATH: `${ROOT}clients/python/src:${ROOT}clients/python`,
      PYTHONDONTWRITEBYTECODE: "1",
    },
    timeoutMs: 1_200_000,
  });
  if (result.code !== 0) throw new Error(failureOf(PROGRAM, result));
  const all = result.stdout.trim().split("\n").map((it) => searched.parse(JSON.parse(it)));
  const full = new Map(all.filter((it) => it.pruner === "full").map((it) => [it.seed, it]));
  return (["asha", "hyperband"] as const).map((pruner) => {
    const parts = all.filter((it) => it.pruner === pruner).map(({ seed, loss, epochs }) => {
      const whole = full.get(seed);
      const part = { loss: loss / (whole?.loss ?? NaN), epochs: epochs / (whole?.epochs ?? NaN) };
      const [more, kept] = [(part.loss - 1) * 100, part.epochs * 100];
      say(
        `${pruner}, seed ${seed}: loss +${more.toFixed(2)} %, ${kept.toFixed(1)} % of the epochs`,
      );
      return part;
    });
    const met = parts.filter((it) => it.loss <= GOAL.loss && it.epochs <= GOAL.epochs).length;
    const most = Math.max(...parts.map((it) => it.epochs));
    return {
      name: `search: seeds of 10 in which ${pruner} has a loss within 2 % at 40 % of the epochs`,
      value: met,
      unit: "",
      goal: { is: "at least", limit: GOAL.ofTen },
      note: `40 trials, 8 at a time, of 81 epochs; at most ${(most * 100).toFixed(1)} %`,
    };
  });
}
