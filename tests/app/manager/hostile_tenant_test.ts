/** Test of a replica that starts beside large ConfigMaps of a tenant that look like the manager's own. */
import assert from "node:assert/strict";
import { startControlPlane } from "../../../app/standalone/control_plane.ts";
import { createHostileConfigMaps } from "../../../bench/attack/hostile_objects.ts";
import { peakRssMb } from "../../../bench/process_stats.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { managerLauncher } from "../../support/manager_process.ts";
import { SIGNING_KEY } from "../../support/signing_key.ts";
import { shellRuntime, trainJob } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

/** 40 MB, of which nothing is to reach the manager. */
const ATTACK = { namespace: "default", count: 40, bytes: 1_000_000 };
/** By how much the peaks of two starts may differ: a manager that read them took 100 MB more. */
const SPARE_MB = 50;

Deno.test("a manager starts beside a tenant's large ConfigMaps with the memory that it takes without them", async () => {
  await using cleanup = new AsyncDisposableStack();
  const plane = await startControlPlane({ port: 0, kubelet: false, signingKey: SIGNING_KEY });
  cleanup.defer(() => plane.stop());
  const { client } = plane;
  const launcher = managerLauncher(plane.kubeconfig);

  async function start() {
    const manager = launcher.start();
    try {
      await until("the manager is ready", launcher.isReady, { timeoutMs: 120_000 });
    } catch (cause) {
      throw new Error(`the manager did not start: ${manager.log()}`, { cause });
    }
    return { manager, peakMb: await peakRssMb(manager.pid) };
  }
  const without = await start();
  await without.manager.end("SIGTERM");

  // Their owner exists, or the garbage collector would delete them.
  const owner = await client.create(KINDS.configMap, {
    metadata: { name: "owner", namespace: ATTACK.namespace },
  });
  await createHostileConfigMaps(client, { ...ATTACK, owner: owner.metadata });
  const beside = await start();
  cleanup.defer(async () => void await beside.manager.end("SIGTERM"));
  const { items } = await client.list(KINDS.configMap, { namespace: ATTACK.namespace });
  assert.ok(items.length > ATTACK.count, `${items.length} ConfigMaps are left`);
  assert.ok(
    beside.peakMb < without.peakMb + SPARE_MB,
    `${beside.peakMb} MB beside them, ${without.peakMb} MB without`,
  );

  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 600"));
  await client.create(KINDS.trainJob, trainJob("honest", "idle"));
  await until("an honest job begins", async () => {
    const job = await client.get(KINDS.trainJob, { namespace: "default", name: "honest" });
    return job.status?.state === "Created";
  });
});
