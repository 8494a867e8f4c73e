/** Tests of the reads of ConfigMaps: whose data is read, when, and how often. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { createChildConfigMaps } from "../../../controller/trainjob/child_config_maps.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS } from "../../../crds/names.ts";
import { WATCHED } from "../../../crds/watched.ts";
import { runtime, trainJob } from "../builders.ts";
import { KEY, World } from "./world.ts";

const SNAPSHOT = "ml/tj-runtime-snapshot";
const TLS = "ml/tj-tls-config";

/** A job whose JobSet runs, with a CA. */
async function running(): Promise<World> {
  const world = new World();
  world.ca = "PEM";
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob());
  await world.settle();
  ok(world.jobSet);
  return world;
}

/** The reads of ConfigMaps since the last call, such as `data NAME`; the cluster forgets them. */
function readsOf({ cluster }: World): string[] {
  const calls = cluster.calls.splice(0);
  return calls.filter(({ verb, kind }) => verb === "get" && kind === "ConfigMap")
    .map(({ key, metadataOnly }) => `${metadataOnly ? "metadata" : "data"} ${key}`);
}

/** A process that has started anew: it knows no data. */
function restarted(world: World): void {
  const { cluster } = world;
  const configMaps = createChildConfigMaps({
    client: cluster.client(),
    cache: cluster.informer(WATCHED.configMap, {}, LABELS.trainJobName),
  });
  Object.assign(world.options, { configMaps });
  readsOf(world);
}

Deno.test("reconcileTrainJob() reads none of the ConfigMaps that it wrote itself", async () => {
  const world = await running();
  deepEqual(readsOf(world), []);
  world.ca = "NEW";
  await world.settle();
  equal(world.cluster.peek(KINDS.configMap, TLS)?.data?.["ca.crt"], "NEW");
  deepEqual(readsOf(world), []);
});

Deno.test("reconcileTrainJob() reads after a restart the CA of a running job once, and not its snapshot", async () => {
  const world = await running();
  restarted(world);
  await world.reconcile();
  await world.reconcile();
  deepEqual(readsOf(world), [`data ${TLS}`]);
});

Deno.test("reconcileTrainJob() reads the snapshot of a job that does not run, once for each version", async () => {
  const world = await running();
  world.edit({ suspend: true });
  await world.settle();
  restarted(world);
  await world.settle();
  deepEqual(readsOf(world), [`data ${SNAPSHOT}`, `data ${TLS}`]);
  world.cluster.edit(KINDS.configMap, SNAPSHOT, { metadata: { labels: { changed: "yes" } } });
  await world.settle();
  deepEqual(readsOf(world), [`data ${SNAPSHOT}`]);
});

Deno.test("reconcileTrainJob() sees a CA that somebody else changed, and restores it", async () => {
  const world = await running();
  world.cluster.edit(KINDS.configMap, TLS, { data: { "ca.crt": "evil" } });
  await world.settle();
  equal(world.cluster.peek(KINDS.configMap, TLS)?.data?.["ca.crt"], "PEM");
});

Deno.test("reconcileTrainJob() reads no ConfigMap of a job that has ended", async () => {
  const world = await running();
  world.cluster.edit(KINDS.trainJob, KEY, {
    status: { conditions: [world.condition("Complete")] },
  });
  restarted(world);
  await world.settle();
  deepEqual(readsOf(world), []);
});

for (
  const [what, owner] of Object.entries({
    "no owner": undefined,
    "a made-up owner": { name: "tj", uid: "made-up" },
  })
) {
  for (const isLabelled of [true, false]) {
    const how = `${what} and ${isLabelled ? "our" : "no"} label`;
    const labels = isLabelled ? { [LABELS.trainJobName]: "tj" } : undefined;
    Deno.test(`reconcileTrainJob() reads the data of no ConfigMap with ${how}`, async () => {
      const world = new World();
      world.ca = "PEM";
      world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
      world.cluster.put(KINDS.trainJob, trainJob());
      const kind = { apiVersion: "trainer.kubeflow.org/v1alpha1", kind: "TrainJob" };
      const ownerReferences = owner && [{ ...kind, ...owner, controller: true }];
      for (const name of ["tj-runtime-snapshot", "tj-tls-config"]) {
        world.cluster.put(KINDS.configMap, {
          metadata: { name, namespace: "ml", labels, ownerReferences },
          data: { runtime: "<", "ca.crt": "<" },
        });
      }
      await world.settle();
      equal(world.jobSet, undefined);
      ok(world.conditions.join().includes("owned by another object"), world.conditions.join());
      world.cluster.remove(KINDS.configMap, SNAPSHOT);
      await world.settle();
      ok(world.jobSet);
      deepEqual(readsOf(world).filter((it) => it.startsWith("data")), []);
      equal(world.cluster.peek(KINDS.configMap, TLS)?.data?.["ca.crt"], "<");
    });
  }
}

Deno.test("reconcileTrainJob() finds the ConfigMaps of a job that upstream's controller began", async () => {
  const world = await running();
  const begun = world.jobSet;
  for (const key of [SNAPSHOT, TLS]) {
    world.cluster.edit(KINDS.configMap, key, {
      metadata: { labels: null },
      ...(key === TLS && { data: { "ca.crt": "UPSTREAM" } }),
    });
  }
  world.cluster.remove(KINDS.clusterTrainingRuntime, "rt");
  restarted(world);
  const writes = world.cluster.writes.length;
  await world.settle();
  const written = world.cluster.writes.slice(writes).map(({ verb, key }) => `${verb} ${key}`);
  deepEqual(written, [`patch ${TLS}`]);
  const tls = world.cluster.peek(KINDS.configMap, TLS);
  equal(tls?.data?.["ca.crt"], "PEM");
  equal(tls?.metadata?.labels?.[LABELS.trainJobName], "tj", "it is watched from now on");
  deepEqual(world.jobSet, begun);
  world.edit({ suspend: true });
  await world.settle();
  equal(world.jobSet?.spec?.suspend, true);
  deepEqual(world.conditions.filter((it) => it.startsWith("ResourcesCreated=False")), []);
});
