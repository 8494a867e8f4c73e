/** Tests of restarts of a TrainJob: its pods go before others come, once, whatever is killed, and what is said meanwhile. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { JobSet } from "../../../crds/jobset.ts";
import { restartOf } from "../../../crds/job_state.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS } from "../../../crds/names.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { rfc3339 } from "../../../platform/base/timestamps.ts";
import { JOB, running } from "./restarting_cluster.ts";
import { KEY } from "./world.ts";

Deno.test("a job is restarted: its pod goes before the next comes, and the job stays Running", async () => {
  const world = await running({ activeDeadlineSeconds: 3600 });
  world.now += 60_000;
  world.restart();
  const states = new Set<string>();
  for (let round = 0; round < 20; round++) {
    await world.reconcile();
    const { state, conditions = [], jobsStatus, startTime } = world.trainJob.status ?? {};
    states.add(`${state} ${conditions.length} ${jobsStatus?.[0]?.suspended} ${startTime}`);
    const { requeueAfterMs = 0 } = await world.reconcile() ?? {};
    ok(requeueAfterMs <= 3_540_001, "the deadline is counted from the start");
    if (!world.turn()) break;
  }
  await world.live();
  equal(world.made, 2);
  deepEqual([...states].filter((it) => !it.startsWith("Running 0 ")), []);
  ok([...states].every((it) => it.endsWith("undefined")), "the start does not move");
  const restart = restartOf(world.trainJob);
  equal(restart?.endTime, rfc3339(world.now));
  equal(restart?.count, 1);
  equal(world.trainJob.status?.restarts, 1, "it is counted with its end");
  equal(world.jobSet?.metadata.annotations?.[ANNOTATIONS.restartCount], "1");
  deepEqual(world.events.map(({ reason }) => reason), ["Restarted"]);
});

Deno.test("restarts follow one another, and the run begins anew with a resumption after one", async () => {
  const world = await running();
  for (const count of [1, 2, 3]) {
    world.restart(count);
    await world.live();
    equal(world.made, count + 1);
    equal(restartOf(world.trainJob)?.count, count);
    equal(world.trainJob.status?.restarts, count);
  }
  equal(world.restarted.length, 3);
  world.edit({ suspend: true });
  await world.live();
  equal(world.trainJob.status?.state, "Suspended");
  world.now += 60_000;
  world.edit({ suspend: false });
  await world.live();
  equal(world.jobSet?.metadata.annotations?.[ANNOTATIONS.restartCount], undefined);
  equal(world.trainJob.status?.startTime, rfc3339(world.now));
  world.now += 60_000;
  world.restart(4);
  await world.live();
  equal(world.made, 6);
  equal(world.trainJob.status?.startTime, rfc3339(world.now - 60_000), "it does not move");
});

Deno.test("a restart goes on when killed at any write, before or after it, and its pods are never beside others", async () => {
  const undisturbed = await running();
  const from = undisturbed.cluster.writes.length;
  undisturbed.restart();
  undisturbed.cluster.edit(KINDS.job, JOB, { status: { succeeded: 1 } });
  await undisturbed.live();
  const writes = undisturbed.cluster.writes.slice(from);
  deepEqual(writes.map(({ verb, kind }) => `${verb} ${kind}`), [
    "patch JobSet",
    "patch TrainJob",
    "delete Job",
    "patch JobSet",
    "patch TrainJob",
    "patch TrainJob",
  ]);
  for (const when of ["before", "after"] as const) {
    for (let n = 1; n <= writes.length; n++) {
      const world = await running();
      const writesSeen = world.killAt(when, n);
      world.restart();
      world.cluster.edit(KINDS.job, JOB, { status: { succeeded: 1 } });
      await world.live();
      ok(writesSeen() >= n, `write ${n} never came`);
      equal(world.made, 2, `killed ${when} write ${n}`);
      equal(world.living().length, 1);
      equal(restartOf(world.trainJob)?.endTime, rfc3339(world.now));
      ok(world.restarted.length <= 1);
    }
  }
});

Deno.test("a JobSet is not suspended again by a cache that has not seen the end of a restart", async () => {
  const world = await running();
  world.restart();
  await world.live();
  world.cluster.hold(KINDS.trainJob, KINDS.jobSet);
  world.restart(2);
  for (let round = 0; round < 30; round++) {
    await world.pass();
    world.turn();
  }
  equal(world.made, 2, "the cache shows no restart");
  world.cluster.catchUp();
  await world.reconcile();
  world.cluster.hold(KINDS.trainJob);
  for (let round = 0; round < 60; round++) {
    await world.pass();
    world.turn();
  }
  equal(world.made, 3, "the cache still shows the second one");
  equal(restartOf(world.trainJob)?.endTime, rfc3339(world.now));
});

Deno.test("pods of which the cache does not know hold the restart up", async () => {
  const world = await running();
  world.restart();
  await world.reconcile();
  world.cluster.hold(KINDS.pod);
  const hidden = world.putPod();
  world.isNodeDead = true;
  for (const pod of world.living()) {
    if (pod.metadata?.name !== hidden) world.cluster.remove(KINDS.pod, `ml/${pod.metadata?.name}`);
  }
  for (let round = 0; round < 10; round++) {
    await world.pass();
    world.turn();
  }
  equal(world.jobSet?.spec?.suspend, true);
  world.cluster.catchUp();
  world.cluster.remove(KINDS.pod, `ml/${hidden}`);
  world.isNodeDead = false;
  await world.live();
  equal(world.living().length, 1);
});

Deno.test("pods that do not go are told once, and waited for", async () => {
  const world = await running();
  world.isNodeDead = true;
  world.restart();
  await world.live();
  world.cluster.edit(KINDS.pod, "ml/tj-node-0-0", {
    metadata: { deletionTimestamp: rfc3339(world.now + 30_000) },
  });
  deepEqual(await world.reconcile(), { requeueAfterMs: 90_000 });
  for (let minute = 0; minute < 30; minute++) {
    world.now += 60_000;
    await world.live();
  }
  equal(world.made, 1);
  deepEqual(world.warnings.map(({ reason, message }) => `${reason}: ${message}`), [
    'RestartWaits: Restart 1 waits: pod "tj-node-0-0" on node "n1" does not go; is the node dead?',
  ]);
  equal(world.trainJob.status?.state, "Running");
  world.isNodeDead = false;
  await world.live();
  equal(world.made, 2);
});

Deno.test("finished pods are not waited for", async () => {
  const world = await running();
  world.putPod("Succeeded");
  world.putPod("Failed");
  world.restart();
  await world.live();
  equal(restartOf(world.trainJob)?.endTime, rfc3339(world.now));
});

const FORBIDDEN = new KubeError(
  'jobs.batch "tj-node-0" is forbidden: User "x" cannot delete resource "jobs" in API group "batch"',
  { code: 403, reason: "Forbidden" },
);

Deno.test("without the right to delete Jobs a restart waits and names the role, and all else goes on", async () => {
  const world = await running();
  world.cluster.faults.push(({ verb, kind }) =>
    verb === "delete" && kind === "Job" ? FORBIDDEN : undefined
  );
  world.restart();
  world.cluster.edit(KINDS.job, JOB, { status: { succeeded: 1 } });
  for (let round = 0; round < 20; round++) {
    await world.reconcile();
    world.turn();
  }
  deepEqual(await world.reconcile(), { requeueAfterMs: 60_000 });
  equal(world.warnings.length, 1);
  match(
    world.warnings[0]?.message ?? "",
    /^Restart 1 waits: .*is forbidden.*; bind the ClusterRole kubeflow-trainer-controller-manager-restarts to the manager's service account \(Helm: restarts=true\)$/,
  );
  equal(world.trainJob.status?.state, "Running");
  deepEqual(world.conditions, []);
  world.cluster.faults.length = 0;
  await world.live();
  equal(world.made, 2);
});

Deno.test("a job that another cluster runs is left alone", async () => {
  const world = await running();
  world.cluster.edit(KINDS.trainJob, KEY, { spec: { managedBy: "kueue.x-k8s.io/multikueue" } });
  world.restart();
  const before = world.cluster.writes.length;
  await world.reconcile();
  equal(world.cluster.writes.length, before);
});

Deno.test("a JobSet that goes in the middle is made again after the last pod, and that is the restart", async () => {
  const world = await running();
  world.isNodeDead = true;
  world.restart();
  await world.live();
  world.cluster.remove(KINDS.jobSet, KEY);
  await world.live();
  equal(world.jobSet, undefined, "a pod of it still runs");
  world.cluster.remove(KINDS.pod, "ml/tj-node-0-0");
  await world.live();
  equal(world.made, 2);
  equal(world.restarted.length, 1);
});

Deno.test("a new version of Milepost that renders otherwise neither replaces the JobSet of a restart nor holds it up", async () => {
  for (const executor of ["builtin", "external"] as const) {
    const world = await running();
    world.executor = executor;
    const annotations = { [ANNOTATIONS.templateHash]: "of an earlier version" };
    const { metadata: { uid } } = world.cluster.edit<JobSet>(KINDS.jobSet, KEY, {
      metadata: { annotations },
    });
    world.restart();
    await world.live();
    equal(world.made, 2);
    equal(world.jobSet?.metadata.uid, uid);
    deepEqual(world.conditions, []);
  }
});

Deno.test("what failed before a restart is history", async () => {
  const world = await running();
  const failure = {
    headline: "pod x failed again and again",
    pod: "x",
    message: "m",
    reason: "Error",
    time: rfc3339(world.now),
  };
  world.cluster.edit(KINDS.trainJob, KEY, { status: { failure } });
  world.restart();
  await world.live();
  equal(world.trainJob.status?.failure?.headline, undefined);
  equal(world.trainJob.status?.failure?.pod, "x");
});

Deno.test("an annotation restarts no TrainJob, whoever wrote it", async () => {
  const world = await running();
  const { uid } = world.trainJob.metadata;
  const restart = { count: 1, reason: "Asked", message: "m", time: rfc3339(world.now) };
  for (const text of ["x", "{}", JSON.stringify(restart), JSON.stringify({ ...restart, uid })]) {
    world.cluster.edit(KINDS.trainJob, KEY, {
      metadata: { annotations: { [ANNOTATIONS.restart]: text } },
    });
    await world.live();
  }
  equal(world.made, 1);
  deepEqual(world.events, []);
});
