/** Tests of the resources of the v1 kinds: which objects their parsers accept. */
import assert from "node:assert/strict";
import { replicaSpecsOf } from "../../../crds/v1/job.ts";
import { V1_KINDS } from "../../../crds/v1/kinds.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";

const job = (spec: unknown) => ({
  apiVersion: "kubeflow.org/v1",
  kind: "PyTorchJob",
  metadata: { name: "a" },
  spec,
});
const template = { spec: { containers: [{ name: "pytorch", image: "a" }] } };

Deno.test("V1_RESOURCES are at the paths of upstream", () => {
  assert.deepEqual(
    Object.entries(V1_RESOURCES).map(([name, { group, version, kind, plural }]) => {
      assert.equal(name, kind);
      return `${group}/${version}/${plural}`;
    }),
    [
      "kubeflow.org/v1/tfjobs",
      "kubeflow.org/v1/pytorchjobs",
      "kubeflow.org/v1/xgboostjobs",
      "kubeflow.org/v1/mxjobs",
      "kubeflow.org/v1/mpijobs",
      "kubeflow.org/v1/paddlejobs",
      "kubeflow.org/v1/jaxjobs",
    ],
  );
});

Deno.test("parse() keeps what it does not know, and replicaSpecsOf() reads the types of the job", () => {
  const spec = { pytorchReplicaSpecs: { master: { template, later: 1 } }, later: { a: [1] } };
  const parsed = V1_RESOURCES.PyTorchJob.parse(job(spec));
  assert.deepEqual(parsed.spec, spec);
  assert.deepEqual(replicaSpecsOf(parsed, V1_KINDS.PyTorchJob), { master: { template, later: 1 } });
});

Deno.test("parse() accepts a job without a spec, for validation to name what is missing", () => {
  const { spec: _, ...bare } = job({});
  const parsed = V1_RESOURCES.PyTorchJob.parse(bare);
  assert.deepEqual(replicaSpecsOf(parsed, V1_KINDS.PyTorchJob), {});
});

const refused: Record<string, unknown> = {
  "a list of replica types": { pytorchReplicaSpecs: [] },
  "a replica type without fields": { pytorchReplicaSpecs: { Master: null } },
  "a number as text": { pytorchReplicaSpecs: { Master: { replicas: "1" } } },
  "a deadline as text": { runPolicy: { activeDeadlineSeconds: "1" } },
};

for (const [sentence, spec] of Object.entries(refused)) {
  Deno.test(`parse() refuses ${sentence}`, () => {
    assert.throws(() => V1_RESOURCES.PyTorchJob.parse(job(spec)));
  });
}
