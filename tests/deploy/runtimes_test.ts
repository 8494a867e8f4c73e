/** Tests of the example runtimes: valid, and readable by the SDK. */
import assert from "node:assert/strict";
import { parse as parseYaml } from "yaml";
import { jobSetProblems } from "../../controller/jobset/problems.ts";
import { runtimeProblems, trainJobProblems } from "../../controller/runtime/validation.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { TrainingRuntimeSpec } from "../../crds/training_runtime.ts";
import { LABELS, LAUNCHER, NODE, STEPS } from "../../crds/names.ts";

const folder = new URL("../../deploy/runtimes/", import.meta.url);

const RUNTIMES = {
  "flux-distributed": "flux",
  "jax-distributed": "jax",
  "plain": "plain",
  "tensorflow-distributed": "tensorflow",
  "torch-distributed": "torch",
  "torchtune-llama3.2-1b": "torchtune",
  "torchtune-llama3.2-3b": "torchtune",
  "torchtune-qwen2.5-1.5b": "torchtune",
  "xgboost-distributed": "xgboost",
};
/** Policies of frameworks that have another name. */
const POLICY: Readonly<Record<string, TrainingRuntimeSpec["mlPolicy"]>> = {
  plain: {},
  torchtune: { torch: {} },
};

async function read(file: string) {
  const text = await Deno.readTextFile(new URL(`${file}.yaml`, folder));
  return KINDS.clusterTrainingRuntime.parse(parseYaml(text));
}

for (const [file, framework] of Object.entries(RUNTIMES)) {
  Deno.test(`the runtime ${file} is one that TrainJobs and the SDK can use`, async () => {
    const runtime = await read(file);
    assert.equal(runtime.metadata.name, file);
    assert.equal(runtime.metadata.labels?.[LABELS.framework], framework);
    const { mlPolicy, template } = runtime.spec ?? { template: {} };
    assert.partialDeepStrictEqual(mlPolicy, {
      numNodes: 1,
      ...POLICY[framework] ?? { [framework]: {} },
    });
    const jobs = template.spec?.replicatedJobs ?? [];
    assert.partialDeepStrictEqual(jobs.at(-1), {
      name: NODE,
      template: {
        metadata: { labels: { [LABELS.ancestorStep]: STEPS.trainer } },
        spec: { template: { spec: { containers: [{ name: NODE }] } } },
      },
    });
    assert.deepEqual(jobs.length, framework === "torchtune" ? 3 : 1);
  });
}

const MPI_RUNTIMES = { "deepspeed-distributed": "deepspeed", "mlx-distributed": "mlx" };

for (const [file, framework] of Object.entries(MPI_RUNTIMES)) {
  Deno.test(`the runtime ${file} has a launcher that is a node, and nodes that wait for it`, async () => {
    const runtime = await read(file);
    const mlPolicy = {
      numNodes: 1,
      mpi: {
        numProcPerNode: 1,
        mpiImplementation: "OpenMPI",
        sshAuthMountPath: "/home/mpiuser/.ssh",
        runLauncherAsNode: true,
      },
    };
    assert.partialDeepStrictEqual(runtime, {
      metadata: { name: file, labels: { [LABELS.framework]: framework } },
      spec: {
        mlPolicy,
        template: { spec: { replicatedJobs: [{ name: NODE }, { name: LAUNCHER }] } },
      },
    });
    assert.deepEqual(runtimeProblems(runtime.spec ?? assert.fail(), { executor: "builtin" }), []);
    const trainJob = KINDS.trainJob.parse({
      apiVersion: "trainer.kubeflow.org/v1alpha1",
      kind: "TrainJob",
      metadata: { name: "tj", namespace: "ml", uid: "1" },
      spec: { runtimeRef: { name: file }, trainer: { numNodes: 2 } },
    });
    assert.deepEqual(trainJobProblems({ trainJob, runtime, executor: "builtin" }), []);
  });
}

Deno.test("every JobSet of deploy/runtimes is one that the built-in executor executes", async () => {
  for (const file of Object.keys({ ...RUNTIMES, ...MPI_RUNTIMES })) {
    const { spec } = await read(file);
    const { spec: jobSet = {}, metadata } = spec?.template ?? {};
    assert.deepEqual(jobSetProblems(jobSet, { ...metadata, name: "job" }), [], file);
  }
});

Deno.test("kubectl apply -k deploy/runtimes creates every runtime", async () => {
  const text = await Deno.readTextFile(new URL("kustomization.yaml", folder));
  const names = Object.keys({ ...RUNTIMES, ...MPI_RUNTIMES }).toSorted();
  const files = names.map((name) => `${name}.yaml`);
  assert.deepEqual(parseYaml(text).resources, files);
});
