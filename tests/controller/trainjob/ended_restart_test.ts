/** Tests of what ends a restart of a TrainJob in its middle: a suspension, its deadline, a stop, its deletion. */
import { deepEqual, equal, notEqual } from "node:assert/strict";
import { restartOf } from "../../../crds/job_state.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS } from "../../../crds/names.ts";
import { rfc3339 } from "../../../platform/base/timestamps.ts";
import { JOB, type RestartingCluster, running } from "./restarting_cluster.ts";
import { KEY } from "./world.ts";

Deno.test("a suspension in the middle ends the restart", async () => {
  const world = await running();
  world.isNodeDead = true;
  world.restart();
  await world.live();
  world.edit({ suspend: true });
  world.isNodeDead = false;
  await world.live();
  equal(world.trainJob.status?.state, "Suspended");
  equal(restartOf(world.trainJob)?.endTime, rfc3339(world.now));
  equal(world.living().length, 0);
  world.edit({ suspend: false });
  await world.live();
  equal(world.living().length, 1);
  deepEqual(world.events.map(({ reason }) => reason), ["Suspended", "Resumed", "Running"]);
});

/** Ends a restart by a suspension, while its pod is on a node that is dead, and lets the job go on. */
async function cutShort(): Promise<RestartingCluster> {
  const world = await running();
  world.isNodeDead = true;
  world.restart();
  await world.live();
  world.edit({ suspend: true });
  await world.live();
  equal(restartOf(world.trainJob)?.endTime, rfc3339(world.now));
  equal(world.trainJob.status?.state, "Suspended");
  world.now += 60_000;
  world.edit({ suspend: false });
  return world;
}

Deno.test("a job that goes on after a suspension that ended its restart has no pod beside those before", async () => {
  const world = await cutShort();
  for (let minute = 0; minute < 3; minute++) {
    await world.live();
    world.now += 60_000;
  }
  equal(world.made, 1, "the pod before still runs");
  equal(world.jobSet?.spec?.suspend, true);
  deepEqual(world.warnings.map(({ reason, message }) => `${reason}: ${message}`), [
    'RestartWaits: Restart 1 waits: pod "tj-node-0-0" on node "n1" does not go; is the node dead?',
  ]);
  world.cluster.edit(KINDS.job, JOB, { status: { succeeded: 1 } });
  const { uid } = world.job()?.metadata ?? {};
  world.isNodeDead = false;
  await world.live();
  equal(world.made, 2);
  notEqual(world.job()?.metadata?.uid, uid, "what has succeeded runs again");
  equal(world.jobSet?.spec?.suspend, false);
  equal(world.jobSet?.metadata.annotations?.[ANNOTATIONS.restartCount], undefined);
  equal(world.trainJob.status?.state, "Running");
  equal(world.trainJob.status?.startTime, rfc3339(world.now), "the run began anew");
  deepEqual(world.restarted, []);
});

Deno.test("a job whose restart was ended goes on when killed at any write, and may be suspended again", async () => {
  const undisturbed = await cutShort();
  const from = undisturbed.cluster.writes.length;
  undisturbed.isNodeDead = false;
  await undisturbed.live();
  const { length } = undisturbed.cluster.writes.slice(from);
  for (const when of ["before", "after"] as const) {
    for (let n = 1; n <= length; n++) {
      const world = await cutShort();
      world.killAt(when, n);
      await world.live();
      world.edit({ suspend: true });
      await world.live();
      equal(world.made, 1);
      world.edit({ suspend: false });
      world.isNodeDead = false;
      await world.live();
      equal(world.made, 2, `killed ${when} write ${n}`);
      equal(world.living().length, 1);
    }
  }
});

Deno.test("a suspension long after a restart is one like any other", async () => {
  const world = await running();
  world.restart();
  await world.live();
  world.edit({ suspend: true });
  await world.reconcile();
  equal(world.jobSet?.spec?.suspend, true);
  equal(world.jobSet?.metadata.annotations?.[ANNOTATIONS.restartCount], undefined);
});

Deno.test("a suspension before a restart has begun leaves it nothing to do", async () => {
  const world = await running();
  world.restart();
  world.edit({ suspend: true });
  await world.live();
  equal(restartOf(world.trainJob)?.endTime, rfc3339(world.now));
  equal(world.jobSet?.metadata.annotations?.[ANNOTATIONS.restartCount], undefined);
  deepEqual(world.restarted, []);
});

Deno.test("the deadline fires while a restart waits, and ends it", async () => {
  const world = await running({ activeDeadlineSeconds: 100 });
  world.isNodeDead = true;
  world.restart();
  await world.live();
  world.now += 100_001;
  await world.reconcile();
  equal(world.trainJob.status?.state, "Failed");
  await world.reconcile();
  equal(restartOf(world.trainJob)?.endTime, rfc3339(world.now));
  deepEqual(world.restarted, []);
});

Deno.test("a stop ends a restart, and nothing is started again", async () => {
  const world = await running();
  world.isNodeDead = true;
  world.restart();
  await world.live();
  world.isStopping = true;
  world.isNodeDead = false;
  await world.live();
  equal(world.trainJob.status?.state, "Running");
  equal(world.living().length, 0);
  equal(restartOf(world.trainJob)?.endTime, rfc3339(world.now));
  deepEqual(world.restarted, []);
});

Deno.test("a job that is deleted is not restarted", async () => {
  const world = await running();
  world.restart();
  world.cluster.edit(KINDS.trainJob, KEY, {
    metadata: { deletionTimestamp: rfc3339(world.now), finalizers: ["foregroundDeletion"] },
  });
  for (let round = 0; round < 5; round++) {
    await world.reconcile();
    world.turn();
  }
  equal(world.jobSet?.metadata.annotations?.[ANNOTATIONS.restartCount], undefined);
});
