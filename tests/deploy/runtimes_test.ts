/** Tests of the example runtimes: valid, and readable by the SDK. */
import assert from "node:assert/strict";
import { parse as parseYaml } from "yaml";
import { runtimeProblems, trainJobProblems } from "../../controller/runtime/validation.ts";
import { KINDS } from "../../crds/kinds.ts";
import { LABELS, LAUNCHER, NODE, STEPS } from "../../crds/names.ts";

const folder = new URL("../../deploy/runtimes/", import.meta.url);

const RUNTIMES = {
  "flux-distributed": "flux",
  "jax-distributed": "jax",
  "plain": "plain",
  "tensorflow-distributed": "tensorflow",
  "torch-distributed": "torch",
  "xgboost-distributed": "xgboost",
};

for (const [file, framework] of Object.entries(RUNTIMES)) {
  Deno.test(`the runtime ${file} is one that TrainJobs and the SDK can use`, async () => {
    const text = await Deno.readTextFile(new URL(`${file}.yaml`, folder));
    const runtime = KINDS.clusterTrainingRuntime.parse(parseYaml(text));
    assert.equal(runtime.metadata.name, file);
    assert.equal(runtime.metadata.labels?.[LABELS.framework], framework);
    assert.partialDeepStrictEqual(runtime.spec, {
      mlPolicy: { numNodes: 1, ...framework === "plain" ? {} : { [framework]: {} } },
      template: {
        spec: {
          replicatedJobs: [{
            name: NODE,
            template: {
              metadata: { labels: { [LABELS.ancestorStep]: STEPS.trainer } },
              spec: { template: { spec: { containers: [{ name: NODE }] } } },
            },
          }],
        },
      },
    });
  });
}

const MPI_RUNTIMES = { "deepspeed-distributed": "deepspeed", "mlx-distributed": "mlx" };

for (const [file, framework] of Object.entries(MPI_RUNTIMES)) {
  Deno.test(`the runtime ${file} has a launcher that is a node, and nodes that wait for it`, async () => {
    const text = await Deno.readTextFile(new URL(`${file}.yaml`, folder));
    const runtime = KINDS.clusterTrainingRuntime.parse(parseYaml(text));
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

Deno.test("kubectl apply -k deploy/runtimes creates every runtime", async () => {
  const text = await Deno.readTextFile(new URL("kustomization.yaml", folder));
  const names = Object.keys({ ...RUNTIMES, ...MPI_RUNTIMES }).toSorted();
  const files = names.map((name) => `${name}.yaml`);
  assert.deepEqual(parseYaml(text).resources, files);
});
