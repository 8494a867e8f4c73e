/** Tests of the children of a flux job: made before the JobSet, and kept. */
import { deepEqual, equal } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { runtime, trainJob } from "../builders.ts";
import { World } from "./world.ts";

const SCRIPTS = "ml/tj-flux-entrypoint";
const CURVE = "ml/tj-flux-curve";

function begin(): World {
  const world = new World();
  world.cluster.put(
    KINDS.clusterTrainingRuntime,
    runtime({ mlPolicy: { numNodes: 2, flux: { numProcPerNode: 1 } } }),
  );
  world.cluster.put(KINDS.trainJob, trainJob({ trainer: { command: ["lmp"] } }));
  return world;
}

Deno.test("a flux job has its scripts and its key before its JobSet", async () => {
  const world = begin();
  await world.settle();
  const created = world.cluster.writes.filter(({ verb }) => verb === "create");
  deepEqual(created.map(({ kind, key }) => `${kind} ${key}`), [
    "ConfigMap ml/tj-runtime-snapshot",
    `ConfigMap ${SCRIPTS}`,
    `Secret ${CURVE}`,
    "JobSet ml/tj",
  ]);
  deepEqual(Object.keys(world.cluster.peek(KINDS.configMap, SCRIPTS)?.data ?? {}), [
    "entrypoint.sh",
    "init.sh",
  ]);
});

Deno.test("the scripts of a running flux job are restored; its key is never made again", async () => {
  const world = begin();
  await world.settle();
  const data = world.cluster.peek(KINDS.configMap, SCRIPTS)?.data;
  world.cluster.edit(KINDS.configMap, SCRIPTS, { data: { "init.sh": "exit 1" } });
  await world.settle();
  deepEqual(world.cluster.peek(KINDS.configMap, SCRIPTS)?.data, data);
  world.cluster.remove(KINDS.secret, CURVE);
  await world.settle();
  equal(world.cluster.peek(KINDS.secret, CURVE), undefined);
});
