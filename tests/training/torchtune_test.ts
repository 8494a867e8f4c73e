/**
 * Test of a shipped torchtune runtime with stand-ins for the programs of its images, which cannot be had: the trainer
 * finds in the claim what the initializers have left there.
 */
import { KINDS } from "../../crds/kinds.ts";
import type { ClusterTrainingRuntime } from "../../crds/training_runtime.ts";
import { isInstalled } from "../support/command.ts";
import { writeScript } from "./debian_packages.ts";
import { type Program, seeTraining, shippedRuntime } from "./seen_training.ts";

const NAME = "tune-digits";
const PROGRAM: Program = {
  job: "tests/training/programs/torchtune.yaml",
  files: [
    "examples/training/train.py",
    "examples/training/report.py",
    "examples/training/digits.txt",
  ],
};

/** Runs the model's program on the dataset, from the folder of the output. */
const TUNE = `#!/bin/bash
set -e
echo "stand-in of torchtune: tune $*"
for word; do
  case "$word" in
  output_dir=*) output=\${word#*=} ;;
  checkpointer.checkpoint_dir=*) model=\${word#*=} ;;
  esac
done
mkdir "$output"
cp "$model"/*.py "$model"/../dataset/data/digits.txt "$output"
exec python3 "$output/train.py"
`;

/** What an initializer downloads. */
const DOWNLOADS: Readonly<Record<string, string>> = {
  "dataset-initializer":
    "mkdir -p /workspace/dataset/data && cp /program/*.txt /workspace/dataset/data",
  "model-initializer": "mkdir /workspace/model && cp /program/*.py /workspace/model",
};

/** The shipped runtime without GPUs, whose initializers take what they would download from the job's ConfigMap. */
async function runtimeOf(): Promise<ClusterTrainingRuntime> {
  const runtime = await shippedRuntime("torchtune-llama3.2-1b");
  for (const { name, template } of runtime.spec?.template.spec?.replicatedJobs ?? []) {
    const pod = template.spec?.template.spec;
    for (const container of pod?.containers ?? []) delete container.resources;
    const download = DOWNLOADS[name];
    if (pod === undefined || download === undefined) continue;
    pod.volumes = [{ name: "program", configMap: { name: NAME } }];
    for (const container of pod.containers) {
      container.command = ["sh", "-c", download];
      container.volumeMounts?.push({ name: "program", mountPath: "/program" });
    }
  }
  return runtime;
}

let bin = "";
if (await isInstalled("python3")) bin = await Deno.makeTempDir({ prefix: "milepost-tune-" });
Deno.test.beforeAll(async () => {
  if (bin !== "") await writeScript(`${bin}/tune`, TUNE);
});
Deno.test.afterAll(async () => {
  if (bin !== "") await Deno.remove(bin, { recursive: true });
});

seeTraining({
  name: "a stand-in of torchtune trains on what the initializers have left in the claim",
  environment: bin === "" ? { missing: "python3 is not installed" } : { bin },
  program: PROGRAM,
  prints: /^stand-in of torchtune: tune run .*full_finetune_\w+ --config llama3_2\/1B_full/,
  accuracy: 0.5,
  prepare: async (client) => client.create(KINDS.clusterTrainingRuntime, await runtimeOf()),
});
