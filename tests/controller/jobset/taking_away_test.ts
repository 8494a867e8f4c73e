/** Tests of what the executor takes away while other calls of a pass fail, and of what it says then. */
import { deepEqual, equal, match } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { KubeError, messageOf } from "../../../platform/kube/errors.ts";
import type { Fault } from "../memory_cluster.ts";
import { jobSet, replicated, World } from "./world.ts";

const ALL = ["t-a-0", "t-b-0", "t-b-1", "t-b-2"];
const QUOTA = new KubeError("exceeded quota", { code: 403, reason: "Forbidden" });

const running = (world: World) => world.jobs.filter((name) => !world.job(name).spec?.suspend);

/** A JobSet whose Jobs run. */
async function begin(spec: Parameters<typeof jobSet>[0] = {}): Promise<World> {
  const world = new World();
  await world.create(jobSet(spec));
  await world.ready(...world.jobs);
  return world;
}

/** One pass. Returns the message of what went wrong. */
async function pass(world: World): Promise<string> {
  const { length } = world.driver.errors;
  world.driver.enqueue("default/t");
  await world.driver.pass();
  return messageOf(world.driver.errors[length] ?? "nothing");
}

const refuse = (verb: string, ...keys: readonly string[]): Fault => (call) =>
  call.verb === verb && call.kind !== "JobSet" &&
    (keys.length === 0 || keys.includes(call.key))
    ? QUOTA
    : undefined;

Deno.test("a JobSet is suspended while one of its Jobs cannot be created", async () => {
  const world = await begin();
  world.cluster.faults.push(refuse("create"));
  world.cluster.remove(KINDS.job, "default/t-b-2");
  world.cluster.edit(KINDS.jobSet, "default/t", { spec: { suspend: true } });
  match(await pass(world), /exceeded quota/);
  deepEqual(running(world), []);
  deepEqual(world.conditions, ["Suspended=True/SuspendedJobs"]);
  deepEqual(world.counters, ["b 2/0/0/2/2", "a 1/0/0/1/1"]);
});

Deno.test("counters follow while one Job cannot be created", async () => {
  const world = await begin();
  world.cluster.faults.push(refuse("create"));
  world.cluster.remove(KINDS.job, "default/t-b-2");
  match(await pass(world), /exceeded quota/);
  deepEqual(world.counters, ["b 2/0/0/2/0", "a 1/0/0/1/0"]);
});

Deno.test("a new JobSet gets no status in a pass that fails", async () => {
  const world = new World();
  world.cluster.faults.push(refuse("create", "default/t-b-2"));
  world.cluster.put(KINDS.jobSet, jobSet());
  match(await pass(world), /exceeded quota/);
  equal(world.jobSet.status, undefined);
  deepEqual(world.jobs, ["t-a-0", "t-b-0", "t-b-1"]);
});

Deno.test("a Job that cannot be suspended keeps no other running, and the JobSet is not called suspended", async () => {
  const world = await begin();
  world.cluster.faults.push(refuse("patch", "default/t-a-0"));
  world.cluster.edit(KINDS.jobSet, "default/t", { spec: { suspend: true } });
  match(await pass(world), /exceeded quota/);
  deepEqual(running(world), ["t-a-0"]);
  deepEqual(world.conditions, []);
  deepEqual(world.counters, ["b 3/0/0/3/3", "a 1/0/0/1/0"]);
  world.cluster.faults.length = 0;
  await world.settle();
  deepEqual(running(world), []);
  deepEqual(world.conditions, ["Suspended=True/SuspendedJobs"]);
});

Deno.test("a Job that cannot be resumed holds back no other, and the JobSet is not called resumed", async () => {
  const world = await begin({ suspend: true });
  world.cluster.faults.push(refuse("patch", "default/t-a-0"));
  world.cluster.edit(KINDS.jobSet, "default/t", { spec: { suspend: false } });
  match(await pass(world), /exceeded quota/);
  deepEqual(running(world), ["t-b-0", "t-b-1", "t-b-2"]);
  deepEqual(world.conditions, ["Suspended=True/SuspendedJobs"]);
  world.cluster.faults.length = 0;
  await world.settle();
  deepEqual(world.conditions, ["Suspended=False/ResumeJobs"]);
});

Deno.test("a Job that cannot be deleted holds back neither the others nor their next attempt", async () => {
  const world = await begin({ failurePolicy: { maxRestarts: 1 } });
  world.cluster.edit(KINDS.job, "default/t-a-0", { status: world.finished("Failed") });
  await pass(world);
  equal(world.restarts, "1/1");
  world.cluster.faults.push(refuse("delete", "default/t-b-0"));
  match(await pass(world), /exceeded quota/);
  deepEqual(world.jobs, ["t-b-0"]);
  match(await pass(world), /exceeded quota/);
  deepEqual(world.attempts, { "0": 1, "1": 3 });
});

Deno.test("a Job in the way keeps an ended JobSet from neither its status nor its deletion", async () => {
  const world = await begin({
    ttlSecondsAfterFinished: 0,
    successPolicy: { operator: "Any" },
  });
  world.cluster.faults.push(refuse("delete", "default/t-b-0"));
  world.cluster.edit(KINDS.job, "default/t-a-0", { status: world.finished("Complete") });
  await pass(world);
  deepEqual(world.conditions, ["Completed=True/AllJobsCompleted"]);
  match(await pass(world), /exceeded quota/);
  equal(world.cluster.peek(KINDS.jobSet, "default/t"), undefined);
});

Deno.test("a pass that fails comes back for the end of the time to live", async () => {
  const world = await begin({ ttlSecondsAfterFinished: 600, successPolicy: { operator: "Any" } });
  world.cluster.faults.push(refuse("delete", "default/t-b-0"));
  world.cluster.edit(KINDS.job, "default/t-a-0", { status: world.finished("Complete") });
  await pass(world);
  match(await pass(world), /exceeded quota/);
  equal(world.driver.requeues.get("default/t"), 600_000);
});

const CLAIM = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};

/** A replicated job whose container mounts the claim. */
function mounting() {
  const containers = [{
    name: "main",
    image: "image",
    volumeMounts: [{ name: "data", mountPath: "/data" }],
  }];
  return replicated("a", {
    replicas: 2,
    template: { spec: { template: { spec: { containers } } } },
  });
}

Deno.test("a JobSet is suspended while its claims cannot be read", async () => {
  const world = await begin({
    replicatedJobs: [mounting()],
    volumeClaimPolicies: [{ templates: [CLAIM] }],
  });
  await world.report(["t-a-0"], { active: 1, ready: 0 });
  world.cluster.faults.push(({ kind }) => kind === "PersistentVolumeClaim" ? QUOTA : undefined);
  world.cluster.edit(KINDS.jobSet, "default/t", { spec: { suspend: true } });
  match(await pass(world), /exceeded quota/);
  deepEqual(running(world), []);
  deepEqual(world.conditions, ["Suspended=True/SuspendedJobs"]);
});

Deno.test("no Job starts while its claims cannot be read or its Service cannot be made", async () => {
  const claims = { replicatedJobs: [mounting()], volumeClaimPolicies: [{ templates: [CLAIM] }] };
  for (const kind of ["PersistentVolumeClaim", "Service"]) {
    const world = await begin({ ...claims, suspend: true });
    world.cluster.remove(KINDS.service, "default/t");
    world.cluster.remove(KINDS.job, "default/t-a-1");
    world.cluster.faults.push((call) =>
      call.kind === kind && call.verb !== "delete" ? QUOTA : undefined
    );
    world.cluster.edit(KINDS.jobSet, "default/t", { spec: { suspend: false } });
    match(await pass(world), /exceeded quota/);
    deepEqual(running(world), [], kind);
    deepEqual(world.jobs, ["t-a-0"], kind);
    deepEqual(world.conditions, ["Suspended=True/SuspendedJobs"], kind);
    world.cluster.faults.length = 0;
    await world.settle();
    deepEqual(running(world), ["t-a-0", "t-a-1"], kind);
  }
});

Deno.test("a Job whose labels cannot be read keeps no other running", async () => {
  const world = await begin();
  world.cluster.edit(KINDS.job, "default/t-a-0", {
    metadata: { labels: { "jobset.sigs.k8s.io/restart-attempt": "x" } },
  });
  world.cluster.edit(KINDS.jobSet, "default/t", { spec: { suspend: true } });
  match(await pass(world), /must be a number/);
  deepEqual(running(world), []);
  equal(ALL.every((name) => world.jobs.includes(name)), true);
});
