/** Made-up histories of searches, judged here and by Optuna itself, decision for decision. */
import { z } from "zod";
import { run } from "../../tests/support/command.ts";
import { failureOf, pythonEnvironment } from "../../tests/support/python_environment.ts";
import type { Measure } from "../result.ts";
import { historyBy, prunedOf } from "./histories.ts";

const PROGRAM = new URL("./optuna_histories.py", import.meta.url).pathname;

const answer = z.object({ version: z.string(), pruned: z.array(z.array(z.number())) });

/** Returns how many histories of these end in another way than under Optuna. */
export async function comparePruners(
  { seed, histories, say }: {
    readonly seed: number;
    readonly histories: number;
    readonly say: (text: string) => void;
  },
): Promise<Measure[]> {
  const environment = await pythonEnvironment("optuna==5.0.0");
  if ("missing" in environment) throw new Error(environment.missing);
  const all = Array.from({ length: histories }, (_, index) => historyBy(seed + index));
  const file = await Deno.makeTempFile({ suffix: ".json" });
  try {
    await Deno.writeTextFile(file, JSON.stringify(all));
    const program = `${environment.bin}/python`;
    const result = await run(program, { args: [PROGRAM, file], timeoutMs: 600_000 });
    if (result.code !== 0) throw new Error(failureOf(PROGRAM, result));
    const { version, pruned } = answer.parse(JSON.parse(result.stdout));
    const differing = all.flatMap((history, index) => {
      const [ours, theirs] = [prunedOf(history), pruned[index]];
      if (JSON.stringify(ours) === JSON.stringify(theirs)) return [];
      say(
        `seed ${seed + index}: ${
          JSON.stringify(history.pruner)
        }: here at ${ours}, Optuna at ${theirs}`,
      );
      return [seed + index];
    });
    const told = all.flatMap(({ told }) => told).length;
    const count = pruned.flat().length;
    return [{
      name: "search: histories that end in another way than under Optuna",
      value: differing.length,
      unit: "",
      goal: { is: "at most", limit: 0 },
      note: `${histories} from seed ${seed} on; ${told} reports and ends, ${count} pruned; ` +
        `Optuna ${version}${
          differing.length > 0 ? `; seeds ${differing.slice(0, 20).join(", ")}` : ""
        }`,
    }];
  } finally {
    await Deno.remove(file);
  }
}
