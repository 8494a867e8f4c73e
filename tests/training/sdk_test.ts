/** Tests of the Kubeflow SDK: it lists every shipped runtime, and trains with each that can run on a machine. */
import assert from "node:assert/strict";
import { z } from "zod";
import { KINDS } from "../../crds/kinds.ts";
import { LABELS } from "../../crds/names.ts";
import type { ClusterTrainingRuntime } from "../../crds/training_runtime.ts";
import { isAlreadyExists } from "../../platform/kube/errors.ts";
import { run } from "../support/command.ts";
import { type Environment, pythonEnvironment } from "../support/python_environment.ts";
import { shareStandalone } from "../support/standalone.ts";
import { debianTorch } from "./debian_torch.ts";
import { OPEN_MPI_HERE, OPEN_MPI_PACKAGES } from "./open_mpi.ts";
import {
  example,
  type Goal,
  shippedRuntime,
  SYSTEM_PATH,
  testWith,
  textsOf,
  trains,
} from "./seen_training.ts";

const SCRIPT = new URL("sdk_training.py", import.meta.url).pathname;
const RUNTIMES = new URL("../../deploy/runtimes/", import.meta.url);

const report = z.object({
  runtimes: z.array(z.tuple([z.string(), z.string()])),
  job: z.string(),
  status: z.string(),
});

/** Every runtime that is shipped. */
async function shipped(): Promise<ClusterTrainingRuntime[]> {
  const names = Array.from(Deno.readDirSync(RUNTIMES), ({ name }) => name.replace(/\.yaml$/, ""));
  return await Promise.all(
    names.filter((name) => name !== "kustomization").toSorted().map(shippedRuntime),
  );
}

const runtimes = await shipped();
const standalone = shareStandalone(async (client) => {
  for (const runtime of runtimes) {
    await client.create(KINDS.clusterTrainingRuntime, runtime).catch((error) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }
});

const sdk = await pythonEnvironment("kubeflow==0.5.0");

/** What is trained on a runtime. */
interface Row extends Goal {
  readonly environment: Environment;
  /** Files of the program, which comes first. */
  readonly files: readonly string[];
  readonly nodes: number;
  /** More variables of the trainer. */
  readonly env?: Readonly<Record<string, string>>;
}

const softmax = ["train.py", "report.py", "digits.txt"].map((name) => `examples/training/${name}`);

/** mpirun, which the SDK starts in the launcher. */
const MPI: Row = {
  environment: await pythonEnvironment(...OPEN_MPI_PACKAGES),
  files: example("mpi").files,
  nodes: 2,
  prints: /^Open MPI v5\S*, 2 processes on \S+-(launcher|node)-0-0, \S+-(launcher|node)-0-0:/,
  accuracy: 0.9,
  env: OPEN_MPI_HERE,
};

/** By the runtime. */
const ROWS: Readonly<Record<string, Row>> = {
  "deepspeed-distributed": MPI,
  "jax-distributed": {
    environment: await pythonEnvironment("jax==0.10.2"),
    files: example("jax").files,
    nodes: 2,
    prints: /^jax \S+, 2 processes/,
    accuracy: 0.8,
  },
  "mlx-distributed": MPI,
  "plain": {
    environment: sdk,
    files: softmax,
    nodes: 1,
    prints: /accuracy/,
    accuracy: 0.5,
  },
  "tensorflow-distributed": {
    environment: sdk,
    files: ["tests/training/programs/tf_config.py", ...softmax],
    nodes: 2,
    prints: /^TF_CONFIG: worker 0 of 2/,
    accuracy: 0.5,
  },
  "torch-distributed": {
    environment: await debianTorch(),
    files: example("torch").files,
    nodes: 2,
    prints: /^torch \S+, gloo, 2 processes/,
    accuracy: 0.9,
  },
  "xgboost-distributed": {
    environment: await pythonEnvironment("xgboost-cpu==3.2.0"),
    files: example("xgboost").files,
    nodes: 2,
    prints: /^xgboost \S+, 2 workers/,
    accuracy: 0.9,
  },
};

/** Writes files into a folder. Returns the path of the first. */
async function write(folder: string, files: readonly string[]): Promise<string> {
  const paths = [];
  for (const [name, text] of Object.entries(await textsOf(files))) {
    paths.push(`${folder}/${name}`);
    await Deno.writeTextFile(`${folder}/${name}`, text);
  }
  return paths[0] ?? "";
}

/** Lists and trains with the SDK. */
async function session(runtime: string, row: Row, bin: string) {
  if ("missing" in sdk) throw new Error(sdk.missing);
  const { kubeconfig } = standalone();
  const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
  try {
    const program = await write(folder, row.files);
    const variables = { PATH: `${bin}:${SYSTEM_PATH}`, ...row.env };
    const { stdout, stderr } = await run(`${sdk.bin}/python`, {
      args: [SCRIPT, runtime, program, String(row.nodes), JSON.stringify(variables)],
      env: { KUBECONFIG: kubeconfig, HOME: folder, PYTHONWARNINGS: "ignore" },
      timeoutMs: 540_000,
    });
    const line = stdout.split("\n").find((it) => it.startsWith("{"));
    if (line === undefined) throw new Error(`the SDK printed no report\n${stdout}${stderr}`);
    return report.parse(JSON.parse(line));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

for (const [runtime, row] of Object.entries(ROWS)) {
  const environment = "missing" in sdk ? sdk : row.environment;
  testWith(environment, `the Kubeflow SDK trains on ${runtime}`, async (bin) => {
    const seen = await session(runtime, row, bin);
    const labels = runtimes.map(({ metadata }) => [
      metadata.name ?? "",
      metadata.labels?.[LABELS.framework] ?? "",
    ]);
    assert.deepEqual(seen.runtimes, labels);
    await trains(standalone().client, seen.job, row);
    assert.equal(seen.status, "Complete");
  });
}
