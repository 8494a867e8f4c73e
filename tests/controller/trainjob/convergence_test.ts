/** Tests of the reconciler under faults: killed, in conflict, with caches that lag. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { createChildConfigMaps } from "../../../controller/trainjob/child_config_maps.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { Call } from "../memory_cluster.ts";
import { runtime, trainJob } from "../builders.ts";
import { KEY, START, World } from "./world.ts";

const WRITES = ["create", "patch", "delete"];

function isWrite({ verb }: Call): boolean {
  return WRITES.includes(verb);
}

/** Kills the process at the n-th write, before or after it takes effect. */
function killAt(world: World, n: number, when: "before" | "after"): () => boolean {
  let count = 0;
  let killed = false;
  world.cluster.faults.push((call, phase) => {
    if (phase !== when || !isWrite(call) || killed) return undefined;
    if (++count !== n) return undefined;
    killed = true;
    return new Error("killed");
  });
  return () => killed;
}

/** A life of a job: it starts, pauses, changes while paused, resumes, and ends. */
const LIFE: readonly ((world: World) => void)[] = [
  () => {},
  (world) => world.edit({ suspend: true }),
  (world) =>
    world.report({
      conditions: [world.condition("Suspended")],
      replicatedJobsStatus: [{
        name: "node",
        ready: 0,
        succeeded: 0,
        failed: 0,
        active: 0,
        suspended: 1,
      }],
    }),
  (world) =>
    world.edit({
      suspend: false,
      runtimePatches: [{
        manager: "acme.io/x",
        trainingRuntimeSpec: {
          template: {
            spec: {
              replicatedJobs: [{
                name: "node",
                template: { spec: { template: { spec: { serviceAccountName: "sa" } } } },
              }],
            },
          },
        },
      }],
    }),
  (world) => world.report({ conditions: [world.condition("Suspended")] }),
  (world) => world.report({ conditions: [world.condition("Completed", "True", "Done", "done")] }),
];

async function live(world: World): Promise<void> {
  world.ca = "PEM";
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob());
  for (const step of LIFE) {
    step(world);
    for (let left = 3; left > 0; left--) {
      try {
        await world.settle();
        break;
      } catch (error) {
        if (!(error instanceof Error) || error.message !== "killed" || left === 1) throw error;
      }
    }
  }
}

function withoutVersions(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (name, inner) => {
    return ["resourceVersion", "uid", "generation"].includes(name) ? undefined : inner;
  }));
}

function worldAtEnd({ cluster }: World): unknown {
  const all = [KINDS.trainJob, KINDS.jobSet, KINDS.configMap].flatMap((kind) =>
    cluster.all<unknown>(kind)
  );
  return withoutVersions(all);
}

Deno.test("reconcileTrainJob() converges when killed at any write, before or after it", async () => {
  const undisturbed = new World();
  await live(undisturbed);
  const want = worldAtEnd(undisturbed);
  const writes = undisturbed.cluster.writes.length;
  const created = undisturbed.cluster.writes.filter(({ verb }) => verb === "create").length;
  ok(writes > 8);
  for (const when of ["before", "after"] as const) {
    for (let n = 1; n <= writes; n++) {
      const world = new World();
      const killed = killAt(world, n, when);
      await live(world);
      ok(killed(), `write ${n} never came`);
      deepEqual(worldAtEnd(world), want, `killed ${when} write ${n}`);
      const again = world.cluster.writes.filter(({ verb }) => verb === "create").length;
      ok(again <= created + 1, `created ${again} instead of ${created}`);
    }
  }
});

Deno.test("reconcileTrainJob() converges with caches that know nothing of its own writes", async () => {
  const world = new World();
  world.ca = "PEM";
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob());
  world.cluster.hold();
  await world.reconcile();
  const { length } = world.cluster.writes;
  await world.reconcile();
  await world.reconcile();
  const later = world.cluster.writes.slice(length).filter(({ kind }) => kind !== "ConfigMap");
  deepEqual(later, []);
  world.cluster.catchUp();
  await world.settle();
  deepEqual(world.trainJob.status, { state: "Created" });
});

Deno.test("reconcileTrainJob() does not restart a job that its caches show as not started", async () => {
  const world = new World();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob());
  const { trainJobs, jobSets } = world.options.informers;
  const unbegun = trainJobs.get(KEY);
  await world.settle();
  const conditions = [world.condition("Complete")];
  world.cluster.edit(KINDS.trainJob, KEY, { status: { conditions } });
  await world.settle();
  world.cluster.remove(KINDS.jobSet, KEY);
  Object.assign(world.options, {
    informers: {
      ...world.options.informers,
      trainJobs: { ...trainJobs, get: () => unbegun },
      jobSets: { ...jobSets, get: () => undefined },
    },
    configMaps: createChildConfigMaps({
      client: world.cluster.client(),
      cache: { get: () => undefined },
    }),
  });
  await world.reconcile();
  equal(world.jobSet, undefined);
});

Deno.test("reconcileTrainJob() does not restart a job that a stale cache shows as unfinished", async () => {
  const world = new World();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob());
  await world.settle();
  world.cluster.hold();
  const conditions = [world.condition("Complete")];
  world.cluster.edit(KINDS.trainJob, KEY, { status: { conditions } });
  world.cluster.catchUp();
  await world.settle();
  world.cluster.edit(KINDS.trainJob, KEY, { status: { conditions: null } });
  world.cluster.hold();
  world.cluster.edit(KINDS.trainJob, KEY, { status: { conditions } });
  const jobSets = world.options.informers.jobSets;
  world.cluster.remove(KINDS.jobSet, KEY);
  const stale = { ...world.options.informers, jobSets: { ...jobSets, get: () => undefined } };
  Object.assign(world.options, { informers: stale });
  await world.reconcile();
  equal(world.jobSet, undefined);
});

Deno.test("reconcileTrainJob() writes its status over a ledger that writes at the same time", async () => {
  const world = new World();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob());
  let pushes = 2;
  world.cluster.faults.push((call, phase) => {
    if (call.subresource === "status" && phase === "before" && pushes-- > 0) {
      const trainerStatus = { progressPercentage: pushes, lastUpdatedTime: "2026-01-01T00:00:00Z" };
      world.cluster.edit(KINDS.trainJob, KEY, { status: { trainerStatus } });
    }
    return undefined;
  });
  await world.reconcile();
  equal(world.trainJob.status?.state, "Created");
  equal(world.trainJob.status?.trainerStatus?.progressPercentage, 0);
});

Deno.test("reconcileTrainJob() throws after too many conflicts", async () => {
  const world = new World();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob());
  let version = 0;
  world.cluster.faults.push((call, phase) => {
    if (call.subresource !== "status" || phase !== "before") return undefined;
    world.cluster.edit(KINDS.trainJob, KEY, { metadata: { labels: { v: String(++version) } } });
    return undefined;
  });
  await rejects(world.reconcile(), /the object has been modified/);
});

Deno.test("reconcileTrainJob() throws if the API server gave no answer", async () => {
  const world = new World();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob());
  world.cluster.faults.push((call) => isWrite(call) ? new Error("broken pipe") : undefined);
  await rejects(world.reconcile(), /broken pipe/);
  deepEqual(world.events, []);
});

async function withDeadline(): Promise<World> {
  const world = new World();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob({ activeDeadlineSeconds: 60 }));
  await world.settle();
  return world;
}

Deno.test("reconcileTrainJob() comes back for the deadline, then fails the job and deletes its JobSet", async () => {
  const world = await withDeadline();
  const counters = { name: "node", ready: 1, succeeded: 0, failed: 0, active: 1, suspended: 0 };
  world.report({ replicatedJobsStatus: [counters] });
  world.now = START + 20_000;
  deepEqual(await world.reconcile(), { requeueAfterMs: 40_001 });
  world.now = START + 60_000;
  deepEqual(await world.reconcile(), { requeueAfterMs: 1000 });
  world.now = START + 60_001;
  await world.reconcile();
  deepEqual(world.conditions, [
    "Failed=True/DeadlineExceeded: TrainJob exceeded its active deadline",
  ]);
  ok(world.jobSet, "the status is written first (G26)");
  await world.settle();
  equal(world.jobSet?.spec?.suspend, true, "its pods end without the garbage collector");
  world.report({
    conditions: [world.condition("Suspended")],
    replicatedJobsStatus: [{ ...counters, ready: 0, active: 0, suspended: 1 }],
  });
  await world.settle();
  equal(world.jobSet, undefined);
  equal(world.trainJob.status?.state, "Failed");
  deepEqual(world.trainJob.status?.jobsStatus, [{ ...counters, ready: 0, active: 0 }]);
});

Deno.test("reconcileTrainJob() stops the deadline's clock in a pause and starts it anew after", async () => {
  const world = await withDeadline();
  world.edit({ suspend: true });
  await world.settle();
  world.report({ conditions: [world.condition("Suspended")] });
  world.now = START + 3_600_000;
  await world.settle();
  deepEqual(world.trainJob.status?.state, "Suspended");
  world.edit({ suspend: false });
  await world.settle();
  equal(world.jobSet?.spec?.suspend, false);
  deepEqual(world.conditions, []);
  world.report({ conditions: [world.condition("Suspended", "False", "ResumeJobs")] });
  deepEqual(await world.reconcile(), { requeueAfterMs: 60_001 });
  world.now += 60_001;
  await world.settle();
  equal(world.trainJob.status?.state, "Failed");
});

Deno.test("reconcileTrainJob() does not count a pause when its JobSet is created again at its end", async () => {
  const world = new World();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob({ suspend: true, activeDeadlineSeconds: 60 }));
  await world.settle();
  world.report({ conditions: [world.condition("Suspended")] });
  await world.settle();
  world.cluster.remove(KINDS.jobSet, KEY);
  world.now = START + 3_600_000;
  world.edit({ suspend: false });
  await world.settle();
  equal(world.trainJob.status?.state, "Created");
  world.report({ conditions: [world.condition("Suspended")] });
  await world.settle();
  equal(world.jobSet?.spec?.suspend, false);
  world.report({ conditions: [world.condition("Suspended", "False", "ResumeJobs")] });
  deepEqual(await world.reconcile(), { requeueAfterMs: 60_001 });
});

Deno.test("reconcileTrainJob() keeps the end that came first", async () => {
  const world = await withDeadline();
  world.now = START + 61_000;
  world.report({ conditions: [world.condition("Completed", "True", "Done", "done")] });
  await world.settle();
  deepEqual(world.conditions, ["Complete=True/Done: done"]);
});
