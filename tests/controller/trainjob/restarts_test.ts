/** Tests of the restarts that a TrainJob counts: its JobSet's and those that were asked for. */
import { equal } from "node:assert/strict";
import { restartOf } from "../../../crds/job_state.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS } from "../../../crds/names.ts";
import { runtime, trainJob } from "../builders.ts";
import { KEY, World } from "./world.ts";

const ready = (ready: number) => [
  { name: "node", ready, succeeded: 0, failed: 0, active: 1, suspended: 0 },
];
const RESTART = {
  count: 2,
  reason: "ByHand",
  message: "",
  user: "ada",
  time: "2026-01-01T00:00:00Z",
};

async function running(): Promise<World> {
  const world = new World();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob());
  await world.settle();
  world.report({ replicatedJobsStatus: ready(1) });
  await world.settle();
  return world;
}

/** Sets the restart as the owner does, and lets the reconciler see it. */
async function restarted(world: World): Promise<void> {
  const status = { ...world.trainJob.status, restart: { ...RESTART, endTime: RESTART.time } };
  world.cluster.edit(KINDS.trainJob, KEY, { status });
  await world.settle();
}

Deno.test("a job without restarts does not speak of them", async () => {
  const world = await running();
  equal(world.trainJob.status?.restarts, undefined);
});

Deno.test("restarts by the JobSet's rules and those that were asked for are counted together, and never go back", async () => {
  const world = await running();
  world.report({ restarts: 3, replicatedJobsStatus: ready(0) });
  await world.settle();
  equal(world.trainJob.status?.restarts, 3);
  await restarted(world);
  world.report({ restarts: 3, replicatedJobsStatus: ready(1) });
  await world.settle();
  equal(world.trainJob.status?.restarts, 5);
  world.cluster.remove(KINDS.jobSet, KEY);
  await world.settle();
  world.report({ restarts: 0, replicatedJobsStatus: ready(1) });
  await world.settle();
  equal(world.trainJob.status?.restarts, 5);
});

Deno.test("a restart is counted with its end, though nothing else changes", async () => {
  const world = await running();
  world.cluster.edit(KINDS.trainJob, KEY, { status: { restart: RESTART } });
  const annotations = { [ANNOTATIONS.restartCount]: "2" };
  world.cluster.edit(KINDS.jobSet, KEY, { metadata: { annotations } });
  await world.settle();
  equal(typeof restartOf(world.trainJob)?.endTime, "string");
  equal(world.trainJob.status?.restarts, 2);
});

Deno.test("restarts are written with something else: a definition may drop them", async () => {
  const world = await running();
  world.report({ restarts: 1, replicatedJobsStatus: ready(1) });
  await world.settle();
  equal(world.trainJob.status?.restarts, undefined);
});
