/** Test of a replica that starts on a real control plane beside large objects of a tenant that it watches. */
import assert from "node:assert/strict";
import { createHostileConfigMaps, createHostileJobs } from "../../bench/attack/hostile_objects.ts";
import { peakRssMb } from "../../bench/process_stats.ts";
import { KINDS } from "../../crds/kinds.ts";
import { CA_KEY, childNames } from "../../crds/names.ts";
import { shellRuntime, trainJob } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { startControlPlane } from "./control_plane/control_plane.ts";
import { install } from "./support/installation.ts";

/** The shipped memory limit, in megabytes. */
const MEMORY_LIMIT_MB = 512;
const TENANT = { namespace: "default", bytes: 1_000_000 } as const;

Deno.test("a replica leads and works beside a tenant's ConfigMaps and Jobs of 6 MB each, within its memory limit", async () => {
  await using cleanup = new AsyncDisposableStack();
  // Without the garbage collector, which would delete what has a made-up owner.
  const plane = await startControlPlane({ scheduler: false, controllerManager: false });
  cleanup.defer(() => plane.stop());
  const { client } = plane;
  const installation = await install(plane);
  cleanup.defer(() => installation.stop());
  await createHostileConfigMaps(client, { ...TENANT, count: 60 });
  await createHostileJobs(client, { ...TENANT, count: 20 });

  const manager = await installation.startManager();
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "true"));
  await client.create(KINDS.trainJob, trainJob("honest", "idle"));
  const key = (name: string) => ({ namespace: TENANT.namespace, name });
  const tls = key(childNames.tlsConfig("honest"));
  await until("the honest job has its JobSet and its CA", async () => {
    const job = await client.get(KINDS.trainJob, key("honest"));
    return job.status?.state === "Created" && await client.get(KINDS.configMap, tls);
  });

  // As upstream's controller leaves it: without our label, and so watched by nobody.
  const body = { metadata: { labels: null }, data: { [CA_KEY]: "upstream" } };
  await client.patch(KINDS.configMap, tls, { type: "merge", body });
  await manager.kill();
  await manager.restart();
  await until("the CA is the manager's again", async () => {
    const { data, metadata } = await client.get(KINDS.configMap, tls);
    return data?.[CA_KEY] !== "upstream" && metadata?.labels !== undefined;
  });
  const peakMb = await peakRssMb(manager.pid ?? 0);
  assert.ok(peakMb < MEMORY_LIMIT_MB, `${peakMb} MB`);
});
