/** Tests of the definition of OptimizationJobs: it is upstream's. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { crdManifests } from "../../crds/manifests.ts";
import { isObject } from "../../platform/base/json.ts";

/** SHA-256 of the schema of upstream's definition as it was merged, and of what it is without the spec of a TrainJob. */
const UPSTREAM = {
  whole: "cb66733bff44ffe926d6d5c832379f4ebcc9531b2823fc0f759fae53758038ef",
  withoutTemplate: "e87874f1a90eeaf4579e899dd69869fd9a60259532605ac6b23310067e51ae4c",
};

/** Returns a schema without descriptions, with its keys sorted; a property may be called description. */
function comparable(node: unknown, isProperties = false): unknown {
  if (Array.isArray(node)) return node.map((it) => comparable(it));
  if (!isObject(node)) return node;
  return Object.fromEntries(
    Object.entries(node)
      .filter(([key]) => isProperties || key !== "description")
      .map(([key, it]) => [key, comparable(it, key === "properties" && !isProperties)] as const)
      .sort(([a], [b]) => a < b ? -1 : 1),
  );
}

const hashOf = (schema: unknown) =>
  createHash("sha256").update(JSON.stringify(comparable(schema))).digest("hex");

function definition() {
  const found = crdManifests().find(({ spec }) => spec.names.kind === "OptimizationJob");
  assert.ok(found);
  return structuredClone(found);
}

Deno.test("the schema of an OptimizationJob is upstream's", () => {
  const schema = definition().spec.versions[0]?.schema.openAPIV3Schema;
  assert.equal(hashOf(schema), UPSTREAM.whole);
});

Deno.test("the schema of an OptimizationJob is upstream's, apart from that of a TrainJob", () => {
  const schema = definition().spec.versions[0]?.schema.openAPIV3Schema;
  const template = ["spec", "trainJobTemplate"].reduce<unknown>(
    (node, name) => Object(Object(node).properties)[name],
    schema,
  );
  Object(Object(template).properties).spec = {};
  assert.equal(hashOf(schema), UPSTREAM.withoutTemplate);
});

Deno.test("the definition of OptimizationJobs has upstream's names, version and subresource, and no column", () => {
  const { metadata, spec } = definition();
  const [version, ...others] = spec.versions;
  assert.ok(version);
  const { schema: _, ...rest } = version;
  assert.deepEqual([metadata, { ...spec, versions: rest }, others], [
    { name: "optimizationjobs.trainer.kubeflow.org" },
    {
      group: "trainer.kubeflow.org",
      names: {
        kind: "OptimizationJob",
        listKind: "OptimizationJobList",
        plural: "optimizationjobs",
        singular: "optimizationjob",
      },
      scope: "Namespaced",
      versions: { name: "v1alpha1", served: true, storage: true, subresources: { status: {} } },
    },
    [],
  ]);
});
