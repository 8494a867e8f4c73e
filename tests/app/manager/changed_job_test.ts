/** Test of the webhook's judgement of a changed TrainJob by the runtime that it began with, which is read by name. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { childNames, LABELS } from "../../../crds/names.ts";
import { shellRuntime, trainJob, trainJobThat, withStandalone } from "../../support/standalone.ts";

const key = (name: string) => ({ namespace: "default", name });

Deno.test("a paused TrainJob can be changed after its runtime was deleted, also if its snapshot has no label", () =>
  withStandalone(async ({ client }) => {
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("gone", "true"));
    await client.create(KINDS.trainJob, trainJob("tj", "gone", { spec: { suspend: true } }));
    await trainJobThat(client, "tj", "is paused", ({ status }) => status?.state === "Suspended");
    await client.delete(KINDS.clusterTrainingRuntime, { name: "gone" });
    const change = (manager: string) => {
      const trainingRuntimeSpec = {
        template: { spec: { replicatedJobs: [{ name: "node" }] } },
      };
      const body = { spec: { runtimePatches: [{ manager, trainingRuntimeSpec }] } };
      return client.patch(KINDS.trainJob, key("tj"), { type: "merge", body });
    };
    await change("example.com/first");
    const labels = { [LABELS.trainJobName]: null };
    const body = { metadata: { labels } };
    const snapshot = key(childNames.runtimeSnapshot("tj"));
    await client.patch(KINDS.configMap, snapshot, { type: "merge", body });
    const { spec } = await change("example.com/second");
    assert.equal(spec.runtimePatches?.[0]?.manager, "example.com/second");
    await client.delete(KINDS.trainJob, key("tj"));
  }));
