/** Benchmark of the Python client: how long a push holds a training loop up, while a thread sends what was pushed. */
import { z } from "zod";
import { run } from "../tests/support/command.ts";
import { type Benchmark, quantile } from "./result.ts";

const FOLDER = new URL("../clients/python/", import.meta.url).pathname;
const ROUNDS = 5;

const round = z.object({
  "push_p50_us": z.number(),
  "push_p99.9_us": z.number(),
  "beside_p50_us": z.number(),
  "beside_p99.9_us": z.number(),
});

async function oneRound(): Promise<z.infer<typeof round>> {
  const { code, stdout, stderr } = await run("python3", {
    args: ["bench/push_bench.py"],
    cwd: FOLDER,
    env: { PYTHONPATH: `${FOLDER}src`, PYTHONDONTWRITEBYTECODE: "1" },
    timeoutMs: 120_000,
  });
  if (code !== 0) throw new Error(`push_bench.py failed: ${stderr}`);
  return round.parse(JSON.parse(stdout));
}

export const pythonPush: Benchmark = {
  about: "a push of the Python client, beside the same loop outside of a job",
  async run(say) {
    const rounds: z.infer<typeof round>[] = [];
    for (let number = 1; number <= ROUNDS; number++) {
      say(`round ${number} of ${ROUNDS}`);
      rounds.push(await oneRound());
    }
    const median = (name: keyof z.infer<typeof round>) =>
      quantile(rounds.map((one) => one[name]), 0.5);
    const beside = "no job";
    const values = rounds.map((one) => one["push_p99.9_us"].toFixed(0)).join(", ");
    return [{
      name: "push in Python, p99.9",
      value: median("push_p99.9_us"),
      unit: "µs",
      goal: { is: "at most", limit: 50 },
      beside: { name: beside, value: median("beside_p99.9_us") },
      note: `median of ${ROUNDS} rounds of 20,000 pushes of three numbers: ${values}`,
    }, {
      name: "push in Python, median",
      value: median("push_p50_us"),
      unit: "µs",
      beside: { name: beside, value: median("beside_p50_us") },
    }];
  },
};
