/** Test of 500 TrainJobs at once while five managers are killed: all converge, nothing is made twice. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { isAlreadyExists } from "../../platform/kube/errors.ts";
import { shellRuntime, trainJob } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { assertConserved, assertCreatedOnce, AUDIT_WRITES } from "./support/conserved.ts";
import { withCluster } from "./support/installation.ts";

const COUNT = 500;
const KILLS = 5;
const NAMES = Array.from({ length: COUNT }, (_, index) => `crowd-${index}`);

/** Creates as a user's script does: while the webhook is away it tries again. */
async function createTrainJob(client: KubeClient, name: string): Promise<void> {
  await until(`TrainJob ${name} to be taken`, async () => {
    try {
      await client.create(KINDS.trainJob, trainJob(name, "crowd"));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    return true;
  }, { timeoutMs: 120_000, everyMs: 500 });
}

async function jobSetsOf(client: KubeClient): Promise<number> {
  return (await client.list(KINDS.jobSet, { namespace: "default" })).items.length;
}

async function jobsOf(client: KubeClient): Promise<number> {
  return (await client.list(KINDS.job, { namespace: "default" })).items.length;
}

Deno.test("500 TrainJobs created at once converge although five managers are killed, and nothing is made twice", () =>
  withCluster(async ({ plane, manager }) => {
    const { client } = plane;
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("crowd", "true"));
    const creating = Promise.all(NAMES.map((name) => createTrainJob(client, name)));
    for (let kill = 1; kill <= KILLS; kill++) {
      const mark = COUNT * kill / (KILLS + 2);
      await until(`${mark} JobSets`, async () => await jobSetsOf(client) >= mark, {
        timeoutMs: 120_000,
        everyMs: 50,
      });
      await manager.kill("SIGKILL");
      assert.ok(await jobsOf(client) < COUNT, "the manager was killed at work");
      await manager.restart();
    }
    await creating;
    await until("every TrainJob to have its Job", async () => await jobsOf(client) >= COUNT, {
      timeoutMs: 120_000,
      everyMs: 250,
    });
    await until("every TrainJob to say that it is there", async () => {
      const { items } = await client.list(KINDS.trainJob, { namespace: "default" });
      return items.every(({ status }) => status?.jobsStatus?.length === 1);
    }, { timeoutMs: 60_000, everyMs: 250 });
    await assertConserved(plane, NAMES);
    await assertCreatedOnce(plane, NAMES);
  }, {
    node: false,
    // Waiting for the lease of the dead is tried elsewhere; here it would be most of the time.
    flags: { leaderElect: "false" },
    // Who makes pods is not what is tried here, and takes the processor from who is.
    plane: { audit: AUDIT_WRITES, controllerManager: false, scheduler: false },
  }));
