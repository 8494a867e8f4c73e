/** Test of the events of TrainJobs on a real control plane: what `kubectl describe trainjob` answers. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { shellRuntime, trainJob, trainJobThat } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { shareCluster } from "./support/shared_cluster.ts";

const withSharedCluster = shareCluster();

/** The events about a TrainJob in the order of their arrival, once `last` is among them. */
function eventsOf(client: KubeClient, name: string, last: string): Promise<string[]> {
  return until(`the event ${last} of ${name}`, async () => {
    const { items } = await client.list(KINDS.event, { namespace: "default" });
    const told = items.filter(({ involvedObject }) =>
      involvedObject.kind === "TrainJob" && involvedObject.name === name
    );
    if (!told.some(({ reason }) => reason === last)) return undefined;
    return told.map(({ type, reason, message, count }) => `${type} ${reason} ${count}: ${message}`);
  }, { timeoutMs: 90_000 });
}

Deno.test("events say what happened to TrainJobs, and are not repeated by another manager", () =>
  withSharedCluster(async ({ plane: { client }, manager, kubectl }) => {
    const crashes = 'sleep 1; echo "no data" > /dev/termination-log; exit 3';
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("quick", "sleep 1"));
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("crashes", crashes));
    const nowhere = {
      manager: "example.com/queue",
      trainingRuntimeSpec: {
        template: {
          spec: {
            replicatedJobs: [{
              name: "node",
              template: { spec: { template: { spec: { nodeSelector: { is: "nowhere" } } } } },
            }],
          },
        },
      },
    };
    await client.create(KINDS.trainJob, trainJob("good", "quick"));
    await client.create(
      KINDS.trainJob,
      trainJob("bad", "crashes", { spec: { trainer: { numNodes: 3 } } }),
    );
    await client.create(
      KINDS.trainJob,
      trainJob("stuck", "quick", {
        spec: { activeDeadlineSeconds: 8, runtimePatches: [nowhere] },
      }),
    );
    assert.deepEqual((await eventsOf(client, "good", "Completed")).sort(), [
      "Normal Completed 1: jobset completed successfully",
      'Normal JobSetCreated 1: Created JobSet "good"',
      "Normal Running 1: The first pod of the trainer step runs",
    ]);
    const failed = (await eventsOf(client, "bad", "Failed")).filter((it) => /Failed/.test(it));
    assert.equal(failed.length, 1);
    assert.match(
      failed[0] ?? "",
      /first failure: node-\d exited 3: no data \(pod "bad-node-0-\d-\w+", on node "[\w-]+", container "node"\)$/,
    );
    const late = (await eventsOf(client, "stuck", "Failed")).filter((it) => /Failed/.test(it));
    assert.match(
      late[0] ?? "",
      /^Warning Failed 1: TrainJob exceeded its active deadline; first failure: pod "stuck-node-0-0-\w+" is not scheduled: 0\/1 nodes are available: 1 node\(s\) didn't match/,
    );
    const described = await kubectl(["describe", "trainjob", "bad"]);
    assert.match(described, /Warning +Failed .*first failure: node-\d exited 3/);

    await manager.restart();
    await client.create(KINDS.trainJob, trainJob("later", "quick"));
    await trainJobThat(
      client,
      "later",
      "is complete",
      ({ status }) => status?.state === "Complete",
    );
    await eventsOf(client, "later", "Completed");
    assert.equal((await eventsOf(client, "good", "Completed")).length, 3);
    const again = await eventsOf(client, "bad", "Failed");
    assert.deepEqual(again.filter((it) => /Failed/.test(it)), failed);
  }));
