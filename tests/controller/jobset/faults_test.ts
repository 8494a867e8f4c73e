/** Tests of the executor under faults: killed anywhere, refused once everywhere, with stale caches. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { conflict, notFound } from "../memory_cluster.ts";
import { killAt } from "../../support/kill.ts";
import { jobSet, World } from "./world.ts";

const ALL = ["t-a-0", "t-b-0", "t-b-1", "t-b-2"];

/** Suspended, resumed, failed once, restarted, completed. */
async function run(world: World): Promise<void> {
  world.cluster.put(
    KINDS.jobSet,
    jobSet({ suspend: true, failurePolicy: { maxRestarts: 1 } }),
  );
  await world.settle();
  await world.edit({ suspend: false });
  await world.fail("t-b-1");
  await world.ready(...ALL);
  await world.complete(...ALL);
}

function check(world: World): void {
  deepEqual(world.attempts, { "1": 4 });
  equal(world.restarts, "1/1");
  equal(world.jobSet.status?.terminalState, "Completed");
  deepEqual(world.counters, ["b 0/3/0/0/0", "a 0/1/0/0/0"]);
  equal(world.cluster.all(KINDS.service).length, 1);
}

for (const phase of ["before", "after"] as const) {
  Deno.test(`\`createJobSetReconciler()\` killed ${phase} each write converges`, async () => {
    for (let write = 0;; write++) {
      const world = new World();
      const killed = killAt(world, { write, phase });
      await run(world);
      check(world);
      if (!killed()) {
        ok(write > 20);
        break;
      }
    }
  });
}

Deno.test("`createJobSetReconciler()` with every write refused once converges", async () => {
  const world = new World();
  const refused = new Set<string>();
  world.cluster.faults.push(({ verb, kind, key, subresource }, phase) => {
    const call = `${verb} ${kind} ${key} ${subresource}`;
    if (phase === "after" || verb === "get" || refused.has(call)) return;
    refused.add(call);
    return conflict(key);
  });
  await run(world);
  check(world);
  ok(refused.size > 10);
});

Deno.test("`createJobSetReconciler()` writes no status of a JobSet that is gone, and that is no error", async () => {
  const world = new World();
  await world.create(jobSet());
  world.cluster.hold();
  world.cluster.faults.push(({ kind, subresource }) =>
    kind === "JobSet" && subresource === "status" ? notFound(KINDS.jobSet, "t") : undefined
  );
  world.cluster.edit(KINDS.job, "default/t-a-0", { status: world.finished("Failed") });
  world.cluster.catchUp();
  await world.settle();
  deepEqual(world.driver.errors, []);
  equal(world.jobSet.status?.terminalState, undefined);
});

Deno.test("`createJobSetReconciler()` with a cache that does not update creates nothing twice", async () => {
  const world = new World();
  world.cluster.put(KINDS.jobSet, jobSet());
  world.cluster.hold();
  for (let pass = 0; pass < 3; pass++) {
    world.driver.enqueue("default/t");
    await world.settle();
  }
  deepEqual(world.jobs, ALL);
  const creations = world.cluster.writes.filter(({ verb, kind }) =>
    verb === "create" && kind === "Job"
  );
  equal(creations.length, 4);
  world.cluster.catchUp();
  await world.settle();
  deepEqual(world.driver.errors, []);
});

Deno.test("`createJobSetReconciler()` with a cache that does not update counts a restart once", async () => {
  const world = new World();
  await world.create(jobSet({ failurePolicy: { maxRestarts: 5 } }));
  world.holdJobs(...ALL);
  world.cluster.edit(KINDS.job, "default/t-a-0", { status: world.finished("Failed") });
  world.cluster.hold();
  for (let pass = 0; pass < 5; pass++) {
    world.driver.enqueue("default/t");
    await world.settle();
  }
  equal(world.restarts, "1/1");
  const deletions = world.cluster.writes.filter(({ verb }) => verb === "delete");
  equal(deletions.length, 4);
  world.cluster.catchUp();
  await world.release(...ALL);
  deepEqual(world.attempts, { "1": 4 });
  equal(world.restarts, "1/1");
});

Deno.test("`createJobSetReconciler()` makes no Jobs for a JobSet that is being deleted, whatever its cache says", async () => {
  const world = new World();
  await world.create(jobSet());
  world.cluster.edit(KINDS.jobSet, "default/t", {
    metadata: { finalizers: ["foregroundDeletion"] },
  });
  await world.settle();
  world.cluster.hold();
  await world.cluster.client().delete(KINDS.jobSet, { namespace: "default", name: "t" });
  world.cluster.catchUp();
  world.cluster.remove(KINDS.job, "default/t-b-0");
  await world.settle();
  deepEqual(world.jobs, ["t-a-0", "t-b-1", "t-b-2"]);
});

for (
  const [what, change] of [
    ["is being deleted", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }],
    ["has restarted", { status: { restarts: 1, restartsCountTowardsMax: 1 } }],
  ] as const
) {
  Deno.test(`\`createJobSetReconciler()\` makes no Jobs for a JobSet that ${what}, before its cache says so`, async () => {
    const world = new World();
    await world.create(jobSet());
    world.cluster.hold(KINDS.jobSet);
    world.cluster.edit(KINDS.jobSet, "default/t", change);
    world.cluster.remove(KINDS.job, "default/t-b-0");
    await world.driver.pass();
    deepEqual(world.jobs, ["t-a-0", "t-b-1", "t-b-2"]);
    equal(world.driver.requeues.get("default/t"), 500);
  });
}

Deno.test("`createJobSetReconciler()` asks before it makes Jobs again: the JobSet may be gone", async () => {
  const world = new World();
  await world.create(jobSet());
  world.cluster.remove(KINDS.job, "default/t-b-0");
  world.cluster.hold();
  world.cluster.remove(KINDS.jobSet, "default/t");
  await world.settle();
  deepEqual(world.jobs, []);
  equal(world.driver.requeues.get("default/t"), 500);
  world.cluster.catchUp();
  await world.settle();
  deepEqual(world.jobs, []);
});

Deno.test("`createJobSetReconciler()` refuses a Job of its name that is another's, by event", async () => {
  const world = new World();
  world.cluster.put(KINDS.job, {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "t-a-0", namespace: "default" },
  });
  world.cluster.put(KINDS.jobSet, jobSet());
  await world.driver.pass();
  equal(world.driver.errors.length, 1);
  match(
    world.events.join(),
    /JobCreationFailed: job "t-a-0" creation failed with error: .*already exists/,
  );
  equal(world.job("t-a-0").metadata?.ownerReferences, undefined);
  deepEqual(world.jobs, ["t-a-0"]);
});

Deno.test("`createJobSetReconciler()` adopts its own Job whose creation was never acknowledged", async () => {
  const world = new World();
  let lost = true;
  world.cluster.faults.push(({ verb, kind }, phase) => {
    if (phase !== "after" || verb !== "create" || kind !== "Job" || !lost) return;
    lost = false;
    return new Error("connection reset");
  });
  world.cluster.hold();
  world.cluster.put(KINDS.jobSet, jobSet());
  world.cluster.catchUp();
  world.cluster.hold();
  await world.settle();
  deepEqual(world.jobs, ALL);
  equal(world.driver.errors.length, 1);
});

Deno.test("`createJobSetReconciler()` waits for the Jobs of a JobSet that had its name, without a warning", async () => {
  const world = new World();
  await world.create(jobSet());
  world.holdJobs(...ALL);
  world.cluster.remove(KINDS.jobSet, "default/t");
  await world.settle();
  await world.create(jobSet());
  deepEqual(world.events, []);
  await world.release(...ALL);
  deepEqual(world.jobs, ALL);
  const uids = world.cluster.all(KINDS.job).map(({ metadata }) =>
    metadata?.ownerReferences?.[0]?.uid
  );
  deepEqual([...new Set(uids)], [world.jobSet.metadata.uid]);
  deepEqual(world.events, []);
  deepEqual(world.driver.errors, []);
});

for (const [finalizer, does] of [["foregroundDeletion", "ends"], ["orphan", "keeps"]] as const) {
  Deno.test(`\`createJobSetReconciler()\` ${does} the pods of a JobSet that is being deleted with ${finalizer}`, async () => {
    const world = new World();
    await world.create(jobSet());
    await world.complete("t-a-0");
    world.cluster.edit(KINDS.jobSet, "default/t", {
      metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [finalizer] },
    });
    await world.settle();
    const suspended = ALL.filter((name) => world.job(name).spec?.suspend === true);
    deepEqual(suspended, does === "ends" ? ["t-b-0", "t-b-1", "t-b-2"] : []);
  });
}
