/** Test of a manager that is killed repeatedly while 50 TrainJobs run: all converge, nothing is made twice. */
import assert from "node:assert/strict";
import { startControlPlane } from "../../app/standalone/control_plane.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KubeError, TransportError } from "../../kube/errors.ts";
import { createInformer } from "../../kube/informer.ts";
import type { KubeObject, ResourceKind } from "../../kube/resource.ts";
import { managerLauncher } from "../support/manager_process.ts";
import { shellRuntime, trainJob } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { SIGNING_KEY } from "../support/signing_key.ts";

const JOBS = 50;
const KILLS = 6;

/** Collects the UIDs that each name of a kind has had. */
function recordUids<T extends KubeObject>(
  client: KubeClient,
  kind: ResourceKind<T>,
  signal: AbortSignal,
) {
  const uids = new Map<string, Set<string>>();
  const informer = createInformer({ client, kind, namespace: "default" });
  informer.onChange(({ object }) => {
    const { name = "", uid = "" } = object.metadata ?? {};
    uids.set(name, (uids.get(name) ?? new Set()).add(uid));
  });
  return { uids, done: informer.run(signal) };
}

/** While no manager serves the webhook, the API server refuses TrainJobs: try again, as users would. */
async function createPatiently(client: KubeClient, name: string): Promise<void> {
  await until(`TrainJob ${name} is taken`, async () => {
    try {
      await client.create(KINDS.trainJob, trainJob(name, "short"));
      return true;
    } catch (error) {
      if (error instanceof TransportError) return false;
      if (error instanceof KubeError && error.code === 409) return true;
      if (error instanceof KubeError && (error.code === 429 || error.code >= 500)) return false;
      throw error;
    }
  }, { timeoutMs: 60_000, everyMs: 100 });
}

Deno.test("a manager killed at random points loses nothing and makes nothing twice", async () => {
  const plane = await startControlPlane({ port: 0, signingKey: SIGNING_KEY });
  const watching = new AbortController();
  const { client } = plane;
  const records = [
    recordUids(client, KINDS.jobSet, watching.signal),
    recordUids(client, KINDS.job, watching.signal),
    recordUids(client, KINDS.service, watching.signal),
    recordUids(client, KINDS.configMap, watching.signal),
    recordUids(client, KINDS.pod, watching.signal),
  ];
  const launcher = managerLauncher(plane.kubeconfig);
  let manager = launcher.start();
  try {
    await until("the first manager is ready", launcher.isReady);
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("short", "true"));
    const creating = (async () => {
      for (let i = 0; i < JOBS; i++) await createPatiently(client, `job-${i}`);
    })();
    for (let kill = 0; kill < KILLS; kill++) {
      await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 700));
      await manager.end("SIGKILL");
      manager = launcher.start();
      await until("the next manager is ready", launcher.isReady);
    }
    await creating;
    await until("every TrainJob completes", async () => {
      const { items } = await client.list(KINDS.trainJob, { namespace: "default" });
      return items.length === JOBS && items.every((it) => it.status?.state === "Complete");
    }, { timeoutMs: 120_000 });
    for (const { uids } of records) {
      const doubled = [...uids].filter(([, seen]) => seen.size > 1).map(([name]) => name);
      assert.deepEqual(doubled, []);
    }
    const [jobSets, jobs, , , pods] = records.map(({ uids }) => uids.size);
    assert.deepEqual([jobSets, jobs, pods], [JOBS, JOBS, JOBS]);
    assert.equal(await manager.end("SIGTERM"), 0, manager.log());
  } finally {
    await manager.end("SIGKILL");
    watching.abort();
    await Promise.all(records.map(({ done }) => done));
    await plane.stop();
  }
});
