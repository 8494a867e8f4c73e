/** Tests of `controller/trainjob/runtime_definitions.ts`, and of jobs whose runtime lost its policy. */
import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import {
  createRuntimeDefinitions,
  droppedPolicies,
} from "../../../controller/trainjob/runtime_definitions.ts";
import { POLICIES } from "../../../controller/runtime/policies/table.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { crdManifests } from "../../../crds/manifests.ts";
import { LABELS } from "../../../crds/names.ts";
import type { ClusterTrainingRuntime, MlPolicy } from "../../../crds/training_runtime.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { runtime, trainJob } from "../builders.ts";
import { World } from "./world.ts";
import { answeringClient, silent } from "../../support/answering_client.ts";

/** A runtime with the label of TensorFlow, and with or without the policy. */
function labelled(mlPolicy: MlPolicy = { numNodes: 1 }): ClusterTrainingRuntime {
  const from = runtime({ mlPolicy });
  const metadata = { ...from.metadata, labels: { [LABELS.framework]: "tensorflow" } };
  return { ...from, metadata };
}

/** A document of the API server with the definitions of this build, each changed by `change`. */
function documentOf(change: (mlPolicy: Record<string, unknown>) => void = () => {}): unknown {
  const schemas = crdManifests().map(({ spec }) => {
    const schema = structuredClone(spec.versions[0]?.schema.openAPIV3Schema);
    const at = (value: unknown, ...path: string[]): unknown =>
      path.reduce<unknown>(
        (node, key) => typeof node === "object" && node !== null ? Reflect.get(node, key) : node,
        value,
      );
    const mlPolicy = at(schema, "properties", "spec", "properties", "mlPolicy", "properties");
    if (typeof mlPolicy === "object" && mlPolicy !== null) change(Object(mlPolicy));
    return [`org.kubeflow.trainer.v1alpha1.${spec.names.kind}`, schema] as const;
  });
  return { components: { schemas: Object.fromEntries(schemas) } };
}

const withoutTensorflow = documentOf((mlPolicy) => void delete mlPolicy.tensorflow);

Deno.test("droppedPolicies() finds none in the definitions of this build", () => {
  deepEqual(droppedPolicies(documentOf(), Object.keys(POLICIES.ml)), []);
});

Deno.test("droppedPolicies() finds what upstream's definitions do not have", () => {
  deepEqual(droppedPolicies(withoutTensorflow, ["torch", "tensorflow"]), ["tensorflow"]);
});

Deno.test("droppedPolicies() takes fields for kept where everything is", () => {
  const schema = {
    properties: { spec: { "x-kubernetes-preserve-unknown-fields": true, type: "object" } },
  };
  const schemas = { "a.TrainingRuntime": schema, "a.ClusterTrainingRuntime": schema };
  deepEqual(droppedPolicies({ components: { schemas } }, ["tensorflow"]), []);
});

Deno.test("droppedPolicies() throws for a document without the kinds", () => {
  throws(() => droppedPolicies({}, ["tensorflow"]), /no schema of TrainingRuntime/);
});

/** Definitions of a server that sends these documents, the last one for ever. */
function reading(...documents: unknown[]) {
  const paths: string[] = [];
  const clock = new FakeClock();
  const definitions = createRuntimeDefinitions({
    clock,
    client: answeringClient(({ path }) => {
      paths.push(path);
      const document = documents.length > 1 ? documents.shift() : documents[0];
      return document instanceof Response ? document : Response.json(document);
    }, clock),
  });
  return { paths, clock, definitions };
}

Deno.test("droppedFor() asks the API server only for a runtime whose label asks for a policy of ours", async () => {
  const { paths, definitions } = reading(documentOf());
  const others = [undefined, runtime(), labelled({ torch: {} }), labelled({ tensorflow: {} })];
  for (const other of others) deepEqual(await definitions.droppedFor(other), []);
  deepEqual(paths, []);
  const all = await Promise.all([labelled(), labelled()].map((it) => definitions.droppedFor(it)));
  deepEqual(all, [[], []]);
  deepEqual(paths, ["/openapi/v3/apis/trainer.kubeflow.org/v1alpha1"]);
});

Deno.test("droppedFor() reads again after a minute while something is dropped, or nothing could be read", async () => {
  const failed = new Response("no", { status: 403 });
  const { paths, clock, definitions } = reading(failed, withoutTensorflow, documentOf());
  const dropped = () => definitions.droppedFor(labelled());
  deepEqual(await dropped(), ["tensorflow"]);
  await clock.advance(59_999);
  deepEqual(await dropped(), ["tensorflow"]);
  equal(paths.length, 1);
  await clock.advance(1);
  deepEqual(await dropped(), ["tensorflow"]);
  await clock.advance(60_000);
  deepEqual(await dropped(), []);
  await clock.advance(3_600_000);
  deepEqual(await dropped(), []);
  equal(paths.length, 3);
});

Deno.test("droppedFor() keeps nobody waiting for an answer that falls silent", async () => {
  const { clock, definitions } = reading(silent());
  let dropped: readonly string[] | undefined;
  void definitions.droppedFor(labelled()).then((it) => dropped = it);
  await clock.advance(10_000);
  deepEqual(dropped, ["tensorflow"]);
});

Deno.test("a job whose runtime lost its policy never runs as plain: condition and event say why", async () => {
  const world = new World();
  world.droppedPolicies = ["tensorflow"];
  world.cluster.put(KINDS.clusterTrainingRuntime, labelled());
  world.cluster.put(KINDS.trainJob, trainJob());
  await world.settle();
  const [condition = ""] = world.conditions;
  match(
    condition,
    /^Failed=True\/TrainingRuntimeNotSupported: unsupported runtime: spec\.mlPolicy/,
  );
  match(
    condition,
    /the definition of ClusterTrainingRuntimes in this cluster drops this field, which the label trainer\.kubeflow\.org\/framework: tensorflow asks for; install Milepost's definitions/,
  );
  deepEqual(world.events.map(({ type }) => type), ["Warning"]);
  equal(world.jobSet, undefined);
  world.droppedPolicies = [];
  await world.settle();
  deepEqual(world.conditions, []);
  ok(world.jobSet);
  world.droppedPolicies = ["tensorflow"];
  await world.settle();
  deepEqual(world.conditions, [], "a job that has begun goes on as it began");
});
