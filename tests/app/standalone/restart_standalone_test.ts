/** Test of restarts in `standalone`: with its own control plane, executor and kubelet. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { EVENT_REASONS, STEPS } from "../../../crds/names.ts";
import {
  halfDone,
  halfDoneRuntime,
  isOver,
  storeRestart,
  whileWatching,
} from "../../support/restarts.ts";
import { trainJob, trainJobThat, withStandalone } from "../../support/standalone.ts";

Deno.test("a TrainJob is restarted: all pods come again but for the initializer's, after the last old one", () =>
  withStandalone(async ({ client }) => {
    await client.create(KINDS.clusterTrainingRuntime, halfDoneRuntime());
    await client.create(KINDS.trainJob, trainJob("again", "half-done"));
    await whileWatching(client, "again", async (seen) => {
      await halfDone(client, "again");
      for (const count of [1, 2]) {
        seen.generation = count;
        await storeRestart(client, "again", count);
        const { status } = await trainJobThat(
          client,
          "again",
          "goes on",
          (job) => isOver(job, count),
        );
        await halfDone(client, "again");
        assert.deepEqual(seen.places(count), ["node 0", "node 1"]);
        assert.deepEqual([status?.state, status?.startTime], ["Running", undefined]);
      }
      assert.deepEqual(seen.beside, []);
      assert.deepEqual(seen.places(0), [`${STEPS.datasetInitializer} 0`, "node 0", "node 1"]);
    });
    const { items } = await client.list(KINDS.event, { namespace: "default" });
    const told = items.filter(({ involvedObject: { kind } }) => kind === "TrainJob")
      .map(({ reason }) => reason);
    assert.equal(told.includes(EVENT_REASONS.restarted), true);
    assert.equal(told.includes(EVENT_REASONS.suspended), false);
  }));
