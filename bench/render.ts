/** Benchmark of rendering: a TrainJob of four nodes on every runtime of `deploy/`, beside plain. */
import { parse as parseYaml } from "yaml";
import { NO_PROGRESS } from "../tests/support/no_progress.ts";
import { renderJobSet } from "../controller/runtime/render.ts";
import { KINDS } from "../crds/kinds.ts";
import type { ClusterTrainingRuntime } from "../crds/training_runtime.ts";
import { trainJob } from "../tests/support/standalone.ts";
import { type Benchmark, type Measure, quantile } from "./result.ts";

const FOLDER = new URL("../deploy/runtimes/", import.meta.url);
const PLAIN = "plain";
/** Renderings in one sample; rounds of one sample of each runtime, and those before them that warm up. */
const BATCH = 100;
const ROUNDS = 60;
const WARM_UP = 20;

async function shippedRuntimes(): Promise<ClusterTrainingRuntime[]> {
  const runtimes: ClusterTrainingRuntime[] = [];
  for await (const { name } of Deno.readDir(FOLDER)) {
    if (!name.endsWith(".yaml") || name === "kustomization.yaml") continue;
    const text = await Deno.readTextFile(new URL(name, FOLDER));
    runtimes.push(KINDS.clusterTrainingRuntime.parse(parseYaml(text)));
  }
  return runtimes.toSorted((one, other) =>
    (one.metadata.name ?? "") < (other.metadata.name ?? "") ? -1 : 1
  );
}

/** Returns the microseconds of one rendering with its children, without a Secret's content. */
function sample(runtime: ClusterTrainingRuntime): number {
  const job = trainJob("tj", runtime.metadata.name ?? "", { spec: { trainer: { numNodes: 4 } } });
  const input = { trainJob: job, runtime, executor: "external" } as const;
  const start = performance.now();
  for (let count = 0; count < BATCH; count++) {
    const rendered = renderJobSet(input);
    if (!("jobSet" in rendered)) throw new Error(`${runtime.metadata.name} is not rendered`);
    rendered.children(NO_PROGRESS);
  }
  return (performance.now() - start) / BATCH * 1000;
}

/** Samples of every runtime in turn, so that other work on the machine disturbs all alike. */
function measured(runtimes: readonly ClusterTrainingRuntime[]): [name: string, value: number][] {
  const rounds = Array.from({ length: WARM_UP + ROUNDS }, () => runtimes.map(sample));
  return runtimes.map(({ metadata: { name = "" } }, index) => [
    name,
    quantile(rounds.slice(WARM_UP).map((round) => round[index] ?? 0), 0.25),
  ]);
}

export const render: Benchmark = {
  about: "rendering of a TrainJob on each shipped runtime, beside plain",
  async run() {
    const values = measured(await shippedRuntimes());
    const plain = values.find(([name]) => name === PLAIN)?.[1];
    if (plain === undefined) throw new Error(`deploy/runtimes has no ${PLAIN}`);
    const beside = { name: PLAIN, value: plain };
    return values.map(([name, value]): Measure => ({
      name: `render ${name}`,
      value,
      unit: "µs",
      beside,
    }));
  },
};
