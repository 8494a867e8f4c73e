/** Tests of two replicas on a real control plane with the shipped times: the other takes over when one dies. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { CA_KEY, childNames, MANAGER } from "../../crds/names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { shellRuntime, trainJob } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { assertConserved, assertCreatedOnce } from "./support/conserved.ts";
import { type TestManager } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";
import { type Reporter, reporterOf, statusOf } from "./support/pushing.ts";
import { metricOf } from "./support/way.ts";

const withSharedCluster = shareCluster();

/** `--lease-duration` and what a takeover may take beyond it, in milliseconds. */
const LEASE_MS = 15_000;
const BEYOND_MS = 2_000;

async function holder(client: KubeClient): Promise<string | undefined> {
  const key = { namespace: MANAGER.namespace, name: MANAGER.lease };
  return (await client.get(KINDS.lease, key)).spec?.holderIdentity;
}

const leads = async (manager: TestManager) => await metricOf(manager, "milepost_leader") === 1;

async function shown(client: KubeClient, name: string): Promise<number | undefined> {
  const job = await client.get(KINDS.trainJob, { namespace: "default", name });
  return job.status?.trainerStatus?.progressPercentage;
}

/** A push is accepted, or answered with 503. */
async function pushed(reporter: Reporter, manager: TestManager, percentage: number) {
  const code = await reporter.send(manager.statusUrl, statusOf(percentage));
  if (code !== 200) {
    assert.equal(code, 503, reporter.lastAnswer);
    assert.match(reporter.retryAfter ?? "", /^\d+$/);
  }
  return code === 200;
}

Deno.test("the other replica leads within the lease duration and 2 s after kill -9 of the leader", () =>
  withSharedCluster(async ({ plane, installation, manager: first }) => {
    const { client } = plane;
    const second = await installation.startManager({ env: { POD_NAME: "second", POD_UID: "2" } });
    assert.deepEqual([await leads(first), await leads(second)], [true, false]);
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("ha", "true"));
    await client.create(KINDS.trainJob, trainJob("before", "ha"));
    const reporter = await until(
      "a pod that reports",
      () => reporterOf(client, { trainJob: "before" }),
    );
    assert.ok(await pushed(reporter, second, 10), "the follower forwards");
    await until("the push shows", async () => await shown(client, "before") === 10);
    assert.equal(
      await metricOf(second, 'milepost_forwarded_pushes_total{result="accepted"}'),
      1,
    );

    const names = Array.from({ length: 20 }, (_, index) => `ha-${index}`);
    // What asks the dead replica's webhook fails; users try again.
    const creating = Promise.allSettled(
      names.map((name) => client.create(KINDS.trainJob, trainJob(name, "ha"))),
    );
    await first.kill("SIGKILL");
    const killed = performance.now();
    await creating;
    const taken = (async () => {
      await until(
        "the second replica leads",
        async () => (await holder(client))?.startsWith("second_2_"),
        { timeoutMs: 40_000 },
      );
      return performance.now() - killed;
    })();
    await until("a push is accepted", () => pushed(reporter, second, 20), { timeoutMs: 40_000 });
    const tookMs = await taken;
    assert.ok(tookMs <= LEASE_MS + BEYOND_MS, `took ${Math.round(tookMs)} ms`);
    await until("the push shows", async () => await shown(client, "before") === 20);
    for (const name of names) {
      await until(`${name} is taken`, async () => {
        const found = await client.get(KINDS.trainJob, { namespace: "default", name })
          .catch(() => client.create(KINDS.trainJob, trainJob(name, "ha")));
        return found !== undefined;
      });
    }
    await until("every TrainJob has its Job", async () => {
      const { items } = await client.list(KINDS.job, { namespace: "default" });
      return items.length >= names.length + 1;
    });
    await assertConserved(plane, names);
    await assertCreatedOnce(plane, names);
    reporter[Symbol.dispose]();
  }, { node: false }));

Deno.test("a deleted Secret comes back with both CAs everywhere, and neither replica fails", () =>
  withSharedCluster(async ({ plane, installation, manager: first }) => {
    const { client } = plane;
    const second = await installation.startManager();
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("ca", "true"));
    await client.create(KINDS.trainJob, trainJob("rotated", "ca"));
    const old = await until(
      "a pod that reports",
      () => reporterOf(client, { trainJob: "rotated" }),
    );
    const secret = { namespace: MANAGER.namespace, name: MANAGER.certificateSecret };
    const before = await client.get(KINDS.secret, secret);
    await client.delete(KINDS.secret, secret);
    for (const manager of [first, second]) assert.ok(await pushed(old, manager, 1));
    await client.create(KINDS.trainJob, trainJob("meanwhile", "ca"));
    const after = await until("the Secret is there again", () => client.get(KINDS.secret, secret));
    assert.equal(
      after.data?.[CA_KEY],
      before.data?.[CA_KEY],
      "the CA stays until the next is known",
    );
    const config = { namespace: "default", name: childNames.tlsConfig("rotated") };
    await until("the job's ConfigMap has both CAs", async () => {
      const { data } = await client.get(KINDS.configMap, config);
      return data?.[CA_KEY]?.match(/BEGIN CERTIFICATE/g)?.length === 2;
    });
    const fresh = await reporterOf(client, { trainJob: "rotated" });
    for (const reporter of [old, fresh]) {
      for (const manager of [first, second]) assert.ok(await pushed(reporter, manager, 2));
      reporter[Symbol.dispose]();
    }
  }, { node: false }));
