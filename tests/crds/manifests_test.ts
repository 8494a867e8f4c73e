/** Tests of the CRDs: the fields of upstream's, and a size that client-side apply accepts. */
import assert from "node:assert/strict";
import { parseAllDocuments } from "yaml";
import {
  crdManifests,
  crdsWithoutJobSet,
  crdYaml,
  type CustomResourceDefinition,
} from "../../crds/manifests.ts";
import { openApiSchema } from "../../crds/openapi_schema.ts";
import { z } from "zod";
import { kubernetesSchema } from "../../platform/kube/kubernetes.ts";

/** Bound of the annotation in which client-side `kubectl apply` keeps the object. */
const ANNOTATION_LIMIT = 262_144;

function crd(kind: string): CustomResourceDefinition {
  const found = crdManifests().find((it) => it.spec.names.kind === kind);
  assert.ok(found, `no CRD of ${kind}`);
  return found;
}

/** The value at a path of keys, for reading deep into a schema. */
function at(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce<unknown>(
    (node, key) => (typeof node === "object" && node !== null ? Reflect.get(node, key) : undefined),
    value,
  );
}

function schemaAt(kind: string, ...path: string[]): unknown {
  const root = crd(kind).spec.versions[0]?.schema.openAPIV3Schema;
  return at(root, ...path.flatMap((name) => name === "[]" ? ["items"] : ["properties", name]));
}

/** Every node of a schema, with its path. */
function* nodes(node: unknown, path = ""): Generator<[string, Record<string, unknown>]> {
  if (typeof node !== "object" || node === null) return;
  if (!Array.isArray(node)) yield [path, { ...node }];
  for (const [key, value] of Object.entries(node)) yield* nodes(value, `${path}.${key}`);
}

Deno.test("crdManifests() has the five kinds with scope, version and status", () => {
  assert.deepEqual(
    crdManifests().map((it) => [
      it.metadata.name,
      it.spec.scope,
      it.spec.versions[0]?.name,
      it.spec.versions[0]?.subresources !== undefined,
    ]),
    [
      ["trainjobs.trainer.kubeflow.org", "Namespaced", "v1alpha1", true],
      ["trainingruntimes.trainer.kubeflow.org", "Namespaced", "v1alpha1", false],
      ["clustertrainingruntimes.trainer.kubeflow.org", "Cluster", "v1alpha1", false],
      ["optimizationjobs.trainer.kubeflow.org", "Namespaced", "v1alpha1", true],
      ["jobsets.jobset.x-k8s.io", "Namespaced", "v1alpha2", true],
    ],
  );
});

Deno.test("crdManifests() shows STATE, PROGRESS %, LAST ETA and FAILURE (wide) and AGE of a TrainJob", () => {
  assert.deepEqual(
    crd("TrainJob").spec.versions[0]?.additionalPrinterColumns?.map((it) => [
      it.name,
      it.jsonPath,
      it.priority ?? 0,
    ]),
    [
      ["State", ".status.state", 0],
      ["Progress %", ".status.trainerStatus.progressPercentage", 0],
      ["Last ETA", ".status.trainerStatus.estimatedRemainingSeconds", 1],
      ["Failure", ".status.failure.headline", 1],
      ["Age", ".metadata.creationTimestamp", 0],
    ],
  );
});

Deno.test("crdManifests() fit into the annotation of client-side apply", () => {
  for (const it of crdManifests()) {
    assert.ok(JSON.stringify(it).length < ANNOTATION_LIMIT, it.metadata.name);
  }
});

Deno.test("crdManifests() are structural: no references, every node typed", () => {
  for (const it of crdManifests()) {
    const text = JSON.stringify(it);
    for (const word of ['"$ref"', '"allOf"', '"oneOf"', '"const"', '"$schema"']) {
      assert.ok(!text.includes(word), `${it.metadata.name} has ${word}`);
    }
    for (const [path, node] of nodes(it.spec.versions[0]?.schema.openAPIV3Schema)) {
      if (!("properties" in node) && !("items" in node)) continue;
      const isNameOfField = path.endsWith(".properties");
      if (!isNameOfField) assert.equal(typeof node.type, "string", `${it.metadata.name}${path}`);
    }
  }
});

Deno.test("crdManifests() give every key of a list map that is not required a default", () => {
  for (const it of crdManifests()) {
    for (const [path, node] of nodes(it.spec.versions[0]?.schema.openAPIV3Schema)) {
      const keys = node["x-kubernetes-list-map-keys"];
      if (!Array.isArray(keys)) continue;
      const required = at(node, "items", "required");
      for (const key of keys) {
        const property = at(node, "items", "properties", key);
        assert.ok(property !== undefined, `${it.metadata.name}${path}: no property ${key}`);
        const isRequired = Array.isArray(required) && required.includes(key);
        const hasDefault = typeof property === "object" && property !== null &&
          "default" in property;
        assert.ok(isRequired || hasDefault, `${it.metadata.name}${path}: key ${key}`);
      }
    }
  }
});

const fields: Record<string, { kind: string; path: string[]; want: Record<string, unknown> }> = {
  "a runtime's kind defaults to the cluster's": {
    kind: "TrainJob",
    path: ["spec", "runtimeRef", "kind"],
    want: { type: "string", maxLength: 253, default: "ClusterTrainingRuntime" },
  },
  "a deadline is at least a second": {
    kind: "TrainJob",
    path: ["spec", "activeDeadlineSeconds"],
    want: { type: "integer", format: "int64", minimum: 1 },
  },
  "suspend defaults to false": {
    kind: "TrainJob",
    path: ["spec", "suspend"],
    want: { type: "boolean", default: false },
  },
  "numNodes may be 0 and is never negative": {
    kind: "TrainJob",
    path: ["spec", "trainer", "numNodes"],
    want: { type: "integer", format: "int32", minimum: 0 },
  },
  "patches are distinguished by their manager": {
    kind: "TrainJob",
    path: ["spec", "runtimePatches"],
    want: {
      type: "array",
      maxItems: 16,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["manager"],
    },
  },
  "progress is a percentage": {
    kind: "TrainJob",
    path: ["status", "trainerStatus", "progressPercentage"],
    want: { type: "integer", format: "int32", minimum: 0, maximum: 100 },
  },
  "metrics are one list of at most 256": {
    kind: "TrainJob",
    path: ["status", "trainerStatus", "metrics"],
    want: { type: "array", maxItems: 256, "x-kubernetes-list-type": "atomic" },
  },
  "replicas of a JobSet default to one": {
    kind: "JobSet",
    path: ["spec", "replicatedJobs", "[]", "replicas"],
    want: { type: "integer", format: "int32", minimum: 0, default: 1 },
  },
  "the restart strategy of a JobSet defaults to Recreate": {
    kind: "JobSet",
    path: ["spec", "failurePolicy", "restartStrategy"],
    want: { type: "string", default: "Recreate" },
  },
  "a runtime's numProcPerNode defaults to one": {
    kind: "TrainingRuntime",
    path: ["spec", "mlPolicy", "mpi", "numProcPerNode"],
    want: { default: 1, format: "int32" },
  },
};

for (const [sentence, { kind, path, want }] of Object.entries(fields)) {
  Deno.test(`crdManifests() say that ${sentence}`, () => {
    const node = schemaAt(kind, ...path);
    for (const [key, value] of Object.entries(want)) {
      assert.deepEqual(at(node, key), value, `${path.join(".")}.${key}`);
    }
  });
}

Deno.test("crdManifests() explain every field of a TrainJob's spec", () => {
  const spec = Object(at(schemaAt("TrainJob", "spec"), "properties"));
  for (const [field, node] of Object.entries(spec)) {
    assert.match(String(at(node, "description")), /\.$/, field);
  }
});

Deno.test("crdManifests() keep only five keys of metadata inside a template", () => {
  const template = schemaAt("JobSet", "spec", "replicatedJobs", "[]", "template", "metadata");
  assert.deepEqual(Object.keys(Object(at(template, "properties"))).sort(), [
    "annotations",
    "finalizers",
    "labels",
    "name",
    "namespace",
  ]);
});

Deno.test("crdYaml() is a stream of the same objects", () => {
  const documents = parseAllDocuments(crdYaml()).map((it) => it.toJS());
  assert.deepEqual(documents, JSON.parse(JSON.stringify(crdManifests())));
});

Deno.test("openApiSchema() names a schema that Kubernetes does not have", () => {
  assert.throws(
    () => openApiSchema(z.object({ x: kubernetesSchema("io.k8s.Nothing") })),
    /no schema of Kubernetes is named io\.k8s\.Nothing/,
  );
});

Deno.test("crdsWithoutJobSet() are all but upstream's JobSet", () => {
  assert.deepEqual(crdsWithoutJobSet().map((it) => it.spec.names.kind), [
    "TrainJob",
    "TrainingRuntime",
    "ClusterTrainingRuntime",
    "OptimizationJob",
  ]);
});
