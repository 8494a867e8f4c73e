/** Tests of the example runtimes: valid, and readable by the SDK. */
import assert from "node:assert/strict";
import { parse as parseYaml } from "yaml";
import { KINDS } from "../../crds/kinds.ts";
import { LABELS, NODE, STEPS } from "../../crds/names.ts";

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

Deno.test("kubectl apply -k deploy/runtimes creates every runtime", async () => {
  const text = await Deno.readTextFile(new URL("kustomization.yaml", folder));
  const files = Object.keys(RUNTIMES).map((name) => `${name}.yaml`);
  assert.deepEqual(parseYaml(text).resources, files);
});
