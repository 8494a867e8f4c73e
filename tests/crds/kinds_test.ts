/** Tests of the parsers of objects: accepted, refused, and unknown fields that are kept. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { apiVersionOf } from "../../platform/kube/resource.ts";

const trainJob = {
  apiVersion: "trainer.kubeflow.org/v1alpha1",
  kind: "TrainJob",
  metadata: { name: "t", namespace: "n" },
  spec: { runtimeRef: { name: "plain" } },
};

Deno.test("parse() keeps fields that it does not know", () => {
  const withMore = { ...trainJob, spec: { ...trainJob.spec, later: { a: 1 } } };
  assert.deepEqual(KINDS.trainJob.parse(withMore), withMore);
});

const refused: Record<string, unknown> = {
  "an object of another kind": { ...trainJob, kind: "Job" },
  "a TrainJob without a spec": { ...trainJob, spec: undefined },
  "a runtimeRef without a name": { ...trainJob, spec: { runtimeRef: {} } },
  "a string": "TrainJob",
  "null": null,
  "a negative numNodes": {
    ...trainJob,
    spec: { ...trainJob.spec, trainer: { numNodes: -1 } },
  },
};
for (const [sentence, value] of Object.entries(refused)) {
  Deno.test(`parse() of a TrainJob refuses ${sentence}`, () => {
    assert.throws(() => KINDS.trainJob.parse(value));
  });
}

Deno.test("parse() of a built-in kind wants metadata", () => {
  assert.throws(() => KINDS.pod.parse({}), /must be a Pod with metadata/);
  assert.deepEqual(KINDS.pod.parse({ metadata: { name: "p" } }), { metadata: { name: "p" } });
});

Deno.test("apiVersionOf() leaves the empty group out", () => {
  assert.equal(apiVersionOf(KINDS.pod), "v1");
  assert.equal(apiVersionOf(KINDS.job), "batch/v1");
  assert.equal(apiVersionOf(KINDS.jobSet), "jobset.x-k8s.io/v1alpha2");
});
