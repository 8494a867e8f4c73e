/** Benchmark of names: `deno task bench naming`, jobs of PyTorch that hang, and which of their pods are said to be the cause. */
import { parseArgs } from "node:util";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { loadKubeconfig } from "../../../platform/kube/connection/kubeconfig.ts";
import { inParallel } from "../../../platform/base/parallel.ts";
import { debianTorch } from "../../../tests/training/debian_torch.ts";
import { type Benchmark, type Measure, quantile } from "../../result.ts";
import { inFolder, withStandaloneIn } from "../../standalone_folder.ts";
import { createRuntime, type Hang, letHang, type Told } from "./hanging_job.ts";

/** By what is measured: what happens, in turns, and the part of them that is told rightly. */
const CASES: Readonly<Record<string, { readonly hangs: readonly Hang[]; readonly part: number }>> =
  {
    "one process is frozen: its pod is named": { hangs: ["frozen"], part: 1 },
    "one waits for its data: its pod is named, with the place": {
      hangs: ["loader", "worker"],
      part: 0.9,
    },
    "all wait for the same: no pod is named": { hangs: ["storage", "store"], part: 1 },
    "one is killed: the failure is shown, and no stall": { hangs: ["killed"], part: 1 },
  };

function measuresOf(name: string, part: number, told: readonly Told[]): Measure[] {
  const right = told.filter(({ isRight }) => isRight);
  const seconds = told.map(({ afterMs }) => afterMs / 1000);
  const wrong = told.filter(({ isRight }) => !isRight)
    .map(({ hang, named, message }) => `${hang}, named ${named.join(", then ")}: ${message}`);
  return [
    {
      name,
      value: right.length,
      unit: `of ${told.length}`,
      goal: { is: "at least", limit: Math.floor(told.length * part) },
      ...(wrong.length > 0 && { note: wrong.join("; ") }),
    },
    { name: "told after, p95", value: quantile(seconds, 0.95), unit: "s" },
    { name: "told after, median", value: quantile(seconds, 0.5), unit: "s" },
  ];
}

export const naming: Benchmark = {
  about: "jobs of PyTorch that hang, and which pods are named; --runs N, --at-once N",
  takesOptions: true,
  async run(say, args) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        runs: { type: "string", default: "20" },
        "at-once": { type: "string", default: "3" },
      },
    });
    const [runs, limit] = [Number(values.runs), Number(values["at-once"])];
    const torch = await debianTorch();
    if ("missing" in torch) throw new Error(`there is no PyTorch: ${torch.missing}`);
    return await inFolder((folder) =>
      withStandaloneIn(`${folder}/data`, async ({ ready }) => {
        const client = createClient({ connection: loadKubeconfig(ready.kubeconfig) });
        const world = { client, bin: torch.bin, folder };
        await createRuntime(client);
        const all = new Map(Object.keys(CASES).map((name): [string, Told[]] => [name, []]));
        const jobs = Array.from({ length: runs }, (_, run) =>
          Object.entries(CASES).map(([about, { hangs }], at) => ({
            about,
            name: `hangs-${run}-${at}`,
            hang: hangs[run % hangs.length] ?? "frozen",
            rank: (run + at) % 4,
          }))).flat();
        const errors = await inParallel(jobs, async ({ about, ...job }) => {
          const told = await letHang(world, job).catch((error) => {
            say(`${job.hang} of rank ${job.rank}: ${error}`);
            throw error;
          });
          all.get(about)?.push(told);
          const { isRight, named, afterMs, message } = told;
          const words = `${named.join(", then ") || "-"} after ${(afterMs / 1000).toFixed(1)} s`;
          say(
            `${isRight ? "right" : "WRONG"}: ${job.hang} of rank ${job.rank}: ${words}; ${message}`,
          );
        }, { limit });
        errors.forEach((error) =>
          say(String(error))
        );
        if (errors.length > 0) throw new Error(`${errors.length} jobs did not come so far`);
        return [...all].flatMap(([name, told]) => measuresOf(name, CASES[name]?.part ?? 1, told));
      })
    );
  },
};
