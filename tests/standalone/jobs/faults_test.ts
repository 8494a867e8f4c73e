/** Tests of the Job controller under faults: killed anywhere, refused once everywhere, with stale caches. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { JOB_KEYS } from "../../../crds/job_names.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { conflict } from "../../controller/memory_cluster.ts";
import { killAt } from "../../support/kill.ts";
import { indexed, job, World } from "./world.ts";

/** One pod fails, its successor and the others succeed; then the Job is looked at. */
async function run(world: World, isIndexed: boolean): Promise<void> {
  world.cluster.put(KINDS.job, isIndexed ? indexed(3) : job({ completions: 3, parallelism: 3 }));
  await world.settle();
  await world.fail(world.pod());
  await world.advance(10_000);
  for (let pods = 0; pods < 3; pods++) await world.succeed(world.pod());
  await world.settle();
}

function check(world: World, isIndexed: boolean): void {
  equal(world.counters, "0/0/3/1");
  equal(world.job.status?.completedIndexes, isIndexed ? "0-2" : undefined);
  deepEqual(world.conditions, [
    "SuccessCriteriaMet=True/CompletionsReached",
    "Complete=True/CompletionsReached",
  ]);
  deepEqual(world.job.status?.uncountedTerminatedPods, {});
  equal(world.pods.length, 4);
  for (const pod of world.pods) deepEqual(pod.metadata?.finalizers ?? [], []);
}

for (const isIndexed of [true, false]) {
  const kind = isIndexed ? "Indexed" : "NonIndexed";
  for (const phase of ["before", "after"] as const) {
    Deno.test(`\`createJobReconciler()\` ${kind}, killed ${phase} each write, counts each pod once`, async () => {
      for (let write = 0;; write++) {
        const world = new World();
        const killed = killAt(world, { write, phase });
        await run(world, isIndexed);
        check(world, isIndexed);
        if (!killed()) {
          ok(write > 10);
          break;
        }
      }
    });
  }

  Deno.test(`\`createJobReconciler()\` ${kind}, every write refused once, counts each pod once`, async () => {
    const world = new World();
    const refused = new Set<string>();
    world.cluster.faults.push(({ verb, kind, key, subresource }, phase) => {
      const call = `${verb} ${kind} ${verb === "create" ? "" : key} ${subresource}`;
      if (phase === "after" || verb === "get" || refused.has(call)) return;
      refused.add(call);
      return conflict(key);
    });
    await run(world, isIndexed);
    check(world, isIndexed);
    ok(refused.size > 3);
  });
}

Deno.test("`createJobReconciler()` with a cache that does not update creates no pod twice", async () => {
  const world = new World();
  world.cluster.put(KINDS.job, indexed(3));
  world.cluster.hold();
  for (let pass = 0; pass < 3; pass++) {
    world.driver.enqueue("default/j");
    await world.settle();
  }
  equal(world.pods.length, 3);
  world.cluster.catchUp();
  await world.settle();
  equal(world.pods.length, 3);
  equal(world.counters, "3/0/0/0");
});

Deno.test("`createJobReconciler()` with a cache that does not update deletes and counts once", async () => {
  const world = new World();
  world.cluster.put(KINDS.job, indexed(2));
  await world.settle();
  world.end(world.pod(0), 0);
  world.cluster.hold();
  for (let pass = 0; pass < 4; pass++) {
    world.driver.enqueue("default/j");
    await world.settle();
  }
  equal(world.counters, "1/0/1/0");
  world.cluster.edit(KINDS.job, "default/j", { spec: { suspend: true } });
  world.cluster.catchUp();
  await world.settle();
  equal(world.events.filter((event) => event.startsWith("SuccessfulDelete")).length, 1);
  equal(world.job.status?.failed, undefined);
  deepEqual(world.driver.errors, []);
});

Deno.test("`createJobReconciler()` forgets a pod that was deleted before its cache ever showed it", async () => {
  const world = new World();
  world.cluster.put(KINDS.job, indexed(1));
  world.cluster.hold();
  await world.settle();
  const name = world.pod(0);
  world.cluster.edit(KINDS.pod, name, { metadata: { finalizers: null } });
  world.cluster.remove(KINDS.pod, name);
  // The new process's caches never saw it; the old one's are created again, too.
  equal(world.driver.requeues.get("default/j"), 10_000);
  await world.advance(10_000);
  equal(world.active.length, 1);
});

Deno.test("`createJobReconciler()` comes back at the deadline although a pod cannot be created", async () => {
  const world = new World();
  world.cluster.faults.push(({ verb, kind }, phase) =>
    verb === "create" && kind === "Pod" && phase === "before" ? conflict("a pod") : undefined
  );
  world.cluster.put(KINDS.job, job({ activeDeadlineSeconds: 60 }));
  for (let pass = 0; pass < 3; pass++) await world.driver.pass();
  ok(world.driver.errors.length > 0);
  equal(world.driver.requeues.get("default/j"), 60_000);
});

Deno.test("`createJobReconciler()` deletes an expired Job although a pod cannot be released", async () => {
  const world = new World();
  world.cluster.put(KINDS.job, job({ ttlSecondsAfterFinished: 60 }));
  await world.settle();
  const pod = world.pod();
  await world.succeed(pod);
  world.cluster.faults.push(({ verb, kind }, phase) =>
    verb === "patch" && kind === "Pod" && phase === "before" ? conflict("a pod") : undefined
  );
  world.cluster.edit(KINDS.pod, pod, { metadata: { finalizers: [JOB_KEYS.trackingFinalizer] } });
  for (let pass = 0; pass < 5; pass++) await world.driver.pass();
  ok(world.driver.errors.length > 0);
  equal(world.job.metadata?.deletionTimestamp, undefined);
  await world.clock.advance(60_000);
  for (let pass = 0; pass < 5; pass++) await world.driver.pass();
  const deleted = world.cluster.peek(KINDS.job, "default/j");
  ok(deleted === undefined || deleted.metadata?.deletionTimestamp !== undefined);
});

Deno.test("`createJobReconciler()` makes no pod twice that its cache shows while it is looked up", async () => {
  const world = new World();
  world.cluster.put(KINDS.job, indexed(2));
  world.cluster.hold();
  await world.settle();
  world.cluster.faults.push(({ verb, kind }, phase) => {
    if (verb === "get" && kind === "Pod" && phase === "before") world.cluster.catchUp();
    return undefined;
  });
  await world.advance(10_000);
  equal(world.events.filter((event) => event.startsWith("SuccessfulCreate")).length, 2);
});
