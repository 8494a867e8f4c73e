/** Test of the policy tensorflow where upstream's definitions of runtimes drop its field. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { crdManifests } from "../../crds/manifests.ts";
import { EVENT_REASONS } from "../../crds/names.ts";
import { TENSORFLOW_ENV } from "../../crds/policy_names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { until } from "../support/until.ts";
import { readManifests } from "./parity/loopback_webhooks.ts";
import { upstreamTrainerSources } from "./parity/upstream_trainer.ts";
import { crdsServed, kubectl } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";
import { trainJob, trainJobThat } from "../support/standalone.ts";
import type { ControlPlane } from "./control_plane/control_plane.ts";

const withSharedCluster = shareCluster();

const RUNTIME = "tensorflow-distributed";
const PLURALS = ["trainingruntimes", "clustertrainingruntimes"];
const MESSAGE =
  /spec\.mlPolicy\.tensorflow: the definition of ClusterTrainingRuntimes in this cluster drops this field/;

/** Replaces the definitions of runtimes, and waits until the API server describes them. */
async function define(plane: ControlPlane, crds: readonly unknown[], has: boolean): Promise<void> {
  const list = { apiVersion: "v1", kind: "List", items: crds };
  await kubectl(plane, ["replace", "-f", "-"], JSON.stringify(list));
  await crdsServed(plane, PLURALS.map((plural) => `crd/${plural}.trainer.kubeflow.org`));
  await until("the definitions are published", async () => {
    const { text } = await plane.client.read("/openapi/v3/apis/trainer.kubeflow.org/v1alpha1");
    return text.includes('"tensorflow"') === has;
  }, { timeoutMs: 60_000 });
}

async function applyRuntime(plane: ControlPlane): Promise<void> {
  const file = new URL(`../../deploy/runtimes/${RUNTIME}.yaml`, import.meta.url);
  const text = await Deno.readTextFile(file);
  await kubectl(plane, ["apply", "--validate=false", "-f", "-"], text);
}

async function eventsAbout(client: KubeClient, job: string) {
  const { items } = await client.list(KINDS.event, { namespace: "default" });
  return items.filter(({ involvedObject }) => involvedObject.name === job);
}

Deno.test("a runtime whose policy tensorflow the definitions dropped never runs as plain, and runs once they have it", async () => {
  const base = `${await upstreamTrainerSources()}/manifests/base/crds`;
  const upstreams = await Promise.all(
    PLURALS.map((plural) => readManifests(`${base}/trainer.kubeflow.org_${plural}.yaml`)),
  );
  await withSharedCluster(async ({ plane }) => {
    const { client } = plane;
    const job = await trainJobThat(
      client,
      "before",
      "has failed",
      ({ status }) => status?.state === "Failed",
    );
    const [condition] = job.status?.conditions ?? [];
    assert.partialDeepStrictEqual(condition, {
      type: "Failed",
      reason: "TrainingRuntimeNotSupported",
    });
    assert.match(condition?.message ?? "", MESSAGE);
    await until(
      "there is an event",
      async () =>
        (await eventsAbout(client, "before")).some(({ reason, message = "" }) =>
          reason === EVENT_REASONS.resourcesCreationFailed && MESSAGE.test(message)
        ),
    );
    assert.deepEqual((await client.list(KINDS.jobSet, { namespace: "default" })).items, []);
    await assert.rejects(client.create(KINDS.trainJob, trainJob("refused", RUNTIME)), MESSAGE);

    const ours = crdManifests().filter(({ spec }) => PLURALS.includes(spec.names.plural));
    await define(plane, ours, true);
    await applyRuntime(plane);
    const jobSet = await until(
      "the JobSet is there",
      async () => (await client.list(KINDS.jobSet, { namespace: "default" })).items[0],
    );
    const [node] = jobSet.spec?.replicatedJobs?.[0]?.template.spec?.template.spec?.containers ?? [];
    assert.deepEqual(node?.env?.map(({ name }) => name), [
      TENSORFLOW_ENV.taskIndex,
      TENSORFLOW_ENV.config,
    ]);
    await trainJobThat(client, "before", "is as new", ({ status }) => status?.state !== "Failed");
  }, {
    node: false,
    beforeManager: async ({ plane }) => {
      await define(plane, upstreams.flat(), false);
      await applyRuntime(plane);
      await plane.client.create(KINDS.trainJob, trainJob("before", RUNTIME));
    },
  });
});
