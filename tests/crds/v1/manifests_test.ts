/** Tests of the CRDs of the v1 kinds: the fields of upstream's, subresources, columns, and the patches. */
import assert from "node:assert/strict";
import { isObject } from "../../../platform/base/json.ts";
import type { CustomResourceDefinition } from "../../../crds/manifests.ts";
import { statusParts } from "../../../crds/trainjob.ts";
import { V1_KINDS, type V1KindName } from "../../../crds/v1/kinds.ts";
import { v1CrdManifests, v1CrdPatch, v1PatchCommands } from "../../../crds/v1/manifests.ts";

/** Bound of the annotation in which client-side `kubectl apply` keeps the object. */
const ANNOTATION_LIMIT = 262_144;

const CRDS = new Map(v1CrdManifests().map((crd) => [crd.spec.names.kind, crd]));

function crd(kind: V1KindName): CustomResourceDefinition {
  const found = CRDS.get(kind);
  assert.ok(found, `no CRD of ${kind}`);
  return found;
}

function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((node, key) => isObject(node) ? node[key] : undefined, value);
}

/** The schema at a path of fields; `[]` is the value of a map or list. */
function schemaAt(kind: V1KindName, ...path: readonly string[]): unknown {
  let node: unknown = crd(kind).spec.versions[0]?.schema.openAPIV3Schema;
  for (const name of path) {
    node = name === "[]"
      ? at(node, "items") ?? at(node, "additionalProperties")
      : at(node, "properties", name);
  }
  return node;
}

const fieldsAt = (kind: V1KindName, ...path: readonly string[]) =>
  Object.keys(Object(at(schemaAt(kind, ...path), "properties"))).sort();

/** Fields of the specs of upstream's definitions: v1.9.0, of MXJob v1.8.1. */
const UPSTREAM: Readonly<Record<V1KindName, readonly string[]>> = {
  TFJob: ["enableDynamicWorker", "runPolicy", "successPolicy", "tfReplicaSpecs"],
  PyTorchJob: ["elasticPolicy", "nprocPerNode", "pytorchReplicaSpecs", "runPolicy"],
  XGBoostJob: ["runPolicy", "xgbReplicaSpecs"],
  MXJob: ["jobMode", "mxReplicaSpecs", "runPolicy"],
  MPIJob: ["cleanPodPolicy", "mainContainer", "mpiReplicaSpecs", "runPolicy", "slotsPerWorker"],
  PaddleJob: ["elasticPolicy", "paddleReplicaSpecs", "runPolicy"],
  JAXJob: ["jaxReplicaSpecs", "runPolicy"],
};

/** Of all kinds alike. */
const RUN_POLICY = [
  "activeDeadlineSeconds",
  "backoffLimit",
  "cleanPodPolicy",
  "managedBy",
  "schedulingPolicy",
  "suspend",
  "ttlSecondsAfterFinished",
];
const SCHEDULING_POLICY = [
  "minAvailable",
  "minResources",
  "priorityClass",
  "queue",
  "scheduleTimeoutSeconds",
];
const STATUS = [
  "completionTime",
  "conditions",
  "lastReconcileTime",
  "replicaStatuses",
  "startTime",
];

for (const { kind, plural, singular, specsKey } of Object.values(V1_KINDS)) {
  Deno.test(`v1CrdManifests() have every field of upstream's ${kind}`, () => {
    assert.deepEqual(fieldsAt(kind, "spec"), UPSTREAM[kind]);
    assert.deepEqual(fieldsAt(kind, "spec", "runPolicy"), RUN_POLICY);
    assert.deepEqual(fieldsAt(kind, "spec", "runPolicy", "schedulingPolicy"), SCHEDULING_POLICY);
    assert.deepEqual(fieldsAt(kind, "spec", specsKey, "[]"), [
      "replicas",
      "restartPolicy",
      "template",
    ]);
    assert.deepEqual(fieldsAt(kind, "spec", specsKey, "[]", "template"), ["metadata", "spec"]);
    assert.deepEqual(
      fieldsAt(kind, "status"),
      [...STATUS, "completedIndexes", ...Object.keys(statusParts)].sort(),
    );
    assert.deepEqual(fieldsAt(kind, "status", "conditions", "[]"), [
      "lastTransitionTime",
      "lastUpdateTime",
      "message",
      "reason",
      "status",
      "type",
    ]);
    assert.deepEqual(fieldsAt(kind, "status", "replicaStatuses", "[]"), [
      "active",
      "failed",
      "labelSelector",
      "selector",
      "succeeded",
    ]);
  });

  Deno.test(`v1CrdManifests() name ${kind} as upstream does, and say that Milepost runs it`, () => {
    const { metadata, spec } = crd(kind);
    assert.deepEqual(metadata, {
      name: `${plural}.kubeflow.org`,
      annotations: { "trainer.kubeflow.org/run-by": "milepost" },
    });
    assert.deepEqual(spec.names, { kind, listKind: `${kind}List`, plural, singular });
    assert.deepEqual([spec.group, spec.scope], ["kubeflow.org", "Namespaced"]);
    assert.deepEqual(spec.versions.map(({ name, served, storage }) => [name, served, storage]), [
      ["v1", true, true],
    ]);
    const required = kind === "MXJob" ? ["jobMode", specsKey] : [specsKey];
    assert.deepEqual(at(schemaAt(kind, "spec"), "required"), required);
    assert.equal(at(schemaAt(kind), "required"), undefined);
  });
}

Deno.test("v1CrdManifests() fit into the annotation of client-side apply", () => {
  for (const it of v1CrdManifests()) {
    assert.ok(JSON.stringify(it).length < ANNOTATION_LIMIT, it.metadata.name);
  }
});

Deno.test("v1CrdManifests() are structural: no references, no alternatives of types", () => {
  for (const it of v1CrdManifests()) {
    const text = JSON.stringify(it);
    for (const word of ['"$ref"', '"allOf"', '"oneOf"', '"const"', '"$schema"', '"type":[']) {
      assert.ok(!text.includes(word), `${it.metadata.name} has ${word}`);
    }
  }
});

Deno.test("v1CrdManifests() show State, Progress % and Age; an MPIJob its age first", () => {
  const columns = (kind: V1KindName) =>
    crd(kind).spec.versions[0]?.additionalPrinterColumns?.map((it) => [it.name, it.jsonPath]);
  const state = ["State", ".status.conditions[-1:].type"];
  const progress = ["Progress %", ".status.trainerStatus.progressPercentage"];
  const age = ["Age", ".metadata.creationTimestamp"];
  assert.deepEqual(columns("TFJob"), [state, progress, age]);
  assert.deepEqual(columns("MPIJob"), [age, state, progress]);
});

Deno.test("v1CrdManifests() scale the workers of PyTorchJob, PaddleJob and JAXJob alone", () => {
  const scales = v1CrdManifests().map(({ spec }) =>
    [spec.names.kind, spec.versions[0]?.subresources?.scale] as const
  );
  const paths = (specs: string) => ({
    specReplicasPath: `.spec.${specs}.Worker.replicas`,
    statusReplicasPath: ".status.replicaStatuses.Worker.active",
    labelSelectorPath: ".status.replicaStatuses.Worker.selector",
  });
  assert.deepEqual(scales.filter(([, scale]) => scale !== undefined), [
    ["PyTorchJob", paths("pytorchReplicaSpecs")],
    ["PaddleJob", paths("paddleReplicaSpecs")],
    ["JAXJob", paths("jaxReplicaSpecs")],
  ]);
});

Deno.test("v1CrdManifests() default suspend, and keep the queue of a gang as it is", () => {
  const runPolicy = ["spec", "runPolicy"];
  assert.partialDeepStrictEqual(schemaAt("TFJob", ...runPolicy), { default: { suspend: false } });
  assert.partialDeepStrictEqual(schemaAt("TFJob", ...runPolicy, "suspend"), {
    type: "boolean",
    default: false,
  });
  assert.partialDeepStrictEqual(schemaAt("TFJob", ...runPolicy, "schedulingPolicy", "queue"), {
    type: "string",
    "x-kubernetes-validations": [
      { rule: "self == oldSelf", message: "spec.runPolicy.schedulingPolicy.queue is immutable" },
    ],
  });
});

Deno.test("v1CrdManifests() let a PaddleJob have the four fields of its elastic policy", () => {
  assert.deepEqual(fieldsAt("PaddleJob", "spec", "elasticPolicy"), [
    "maxReplicas",
    "maxRestarts",
    "metrics",
    "minReplicas",
  ]);
  assert.deepEqual(fieldsAt("PyTorchJob", "spec", "elasticPolicy"), [
    "maxReplicas",
    "maxRestarts",
    "metrics",
    "minReplicas",
    "nProcPerNode",
    "rdzvBackend",
    "rdzvConf",
    "rdzvHost",
    "rdzvId",
    "rdzvPort",
    "standalone",
  ]);
  assert.deepEqual(fieldsAt("PyTorchJob", "spec", "elasticPolicy", "metrics", "[]"), [
    "containerResource",
    "external",
    "object",
    "pods",
    "resource",
    "type",
  ]);
});

Deno.test("v1CrdManifests() explain every field of a spec and of its run policy", () => {
  for (const { kind } of Object.values(V1_KINDS)) {
    for (const path of [["spec"], ["spec", "runPolicy"]]) {
      for (const field of fieldsAt(kind, ...path)) {
        assert.match(String(at(schemaAt(kind, ...path, field), "description")), /\.$/, field);
      }
    }
  }
});

Deno.test("v1CrdManifests() take a quantity as text and as an integer", () => {
  const path = ["spec", "runPolicy", "schedulingPolicy", "minResources", "[]"];
  const { pattern, ...quantity } = Object(schemaAt("TFJob", ...path));
  assert.equal(typeof pattern, "string");
  assert.deepEqual(quantity, {
    anyOf: [{ type: "integer" }, { type: "string" }],
    "x-kubernetes-int-or-string": true,
  });
});

Deno.test("v1CrdPatch() adds our fields and the column to a definition whose first version is v1", () => {
  const patch = v1CrdPatch(V1_KINDS.PyTorchJob);
  const status = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties";
  assert.deepEqual(patch.map(({ op, path }) => [op, path]), [
    ["test", "/spec/versions/0/name"],
    ["add", `${status}/trainerStatus`],
    ["add", `${status}/stop`],
    ["add", `${status}/failure`],
    ["add", `${status}/stalled`],
    ["add", `${status}/pace`],
    ["add", `${status}/timeSpent`],
    ["add", `${status}/checkpoint`],
    ["add", `${status}/restart`],
    ["add", "/spec/versions/0/additionalPrinterColumns"],
  ]);
  assert.equal(patch[0]?.value, "v1");
  assert.deepEqual(patch[1]?.value, schemaAt("PyTorchJob", "status", "trainerStatus"));
  assert.deepEqual(
    patch.at(-1)?.value,
    crd("PyTorchJob").spec.versions[0]?.additionalPrinterColumns,
  );
});

Deno.test("v1PatchCommands() have a line for each kind, which a shell can run", () => {
  const [comment, ...lines] = v1PatchCommands().trimEnd().split("\n");
  assert.match(comment ?? "", /^# /);
  assert.deepEqual(
    lines.map((line) => line.split(" ")[3]),
    Object.values(V1_KINDS).map(({ plural }) => `${plural}.kubeflow.org`),
  );
  for (const line of lines) {
    const [, text = ""] = /--patch='(.*)'$/.exec(line) ?? [];
    assert.doesNotThrow(() => JSON.parse(text.replaceAll("'\\''", "'")), line);
  }
});
