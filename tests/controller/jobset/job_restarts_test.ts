/** Tests of restarts of single Jobs (RestartJob), from the rule to the Job that is created again. */
import { deepEqual, equal, match } from "node:assert/strict";
import type { FailurePolicyRule, JobSetSpec } from "../../../crds/jobset.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { JOBSET_KEYS } from "../../../crds/jobset_names.ts";
import { jobSet, replicated, World } from "./world.ts";

type Action = FailurePolicyRule["action"];

const policy = (
  maxRestarts: number,
  ...actions: [Action, Partial<FailurePolicyRule>?][]
): JobSetSpec => ({
  failurePolicy: {
    maxRestarts,
    rules: actions.map(([action, more], index) => ({ name: `r${index}`, action, ...more })),
  },
});

/** `name jobRestarts/jobRestartsCountTowardsMax` of each replicated job. */
function listsOf(world: World): string[] {
  return (world.jobSet.status?.replicatedJobsStatus ?? []).map((each) =>
    `${each.name} ${each.jobRestarts ?? "-"}/${each.jobRestartsCountTowardsMax ?? "-"}`
  );
}

/** The attempt of a Job by its label; that of its pods and their annotation is the same. */
function attemptOf(world: World, name: string): string | undefined {
  const { metadata, spec } = world.job(name);
  const key = JOBSET_KEYS.jobRestartAttempt;
  const texts = [metadata, spec?.template.metadata]
    .flatMap((each) => [each?.labels?.[key], each?.annotations?.[key]]);
  equal(new Set(texts).size, 1);
  return texts[0];
}

const uidOf = (world: World, name: string) => world.job(name).metadata?.uid;

const CASES: Record<string, (world: World) => Promise<void>> = {
  "the failed Job alone is created again": async (world) => {
    await world.create(jobSet(policy(1, ["RestartJob"])));
    const others = ["t-a-0", "t-b-0", "t-b-2"];
    const before = others.map((name) => uidOf(world, name));
    const old = uidOf(world, "t-b-1");
    await world.fail("t-b-1");
    deepEqual(listsOf(world), ["b 0,1,0/0,1,0", "a -/-"]);
    equal(world.restarts, "0/0");
    deepEqual(others.map((name) => uidOf(world, name)), before);
    equal(uidOf(world, "t-b-1") === old, false);
    equal(attemptOf(world, "t-b-1"), "1");
    equal(attemptOf(world, "t-b-0"), "0");
    deepEqual(world.conditions, []);
    deepEqual(world.events, [
      "RestartJobFailurePolicyAction: applying RestartJob failure policy action (first failed job: t-b-1)",
    ]);
    deepEqual(world.warnings, ["RestartJobFailurePolicyAction"]);
  },
  "restarts that do not count": async (world) => {
    await world.create(jobSet(policy(0, ["RestartJobAndIgnoreMaxRestarts"])));
    for (let times = 0; times < 3; times++) await world.fail("t-a-0");
    deepEqual(listsOf(world), ["b -/-", "a 3/-"]);
    equal(attemptOf(world, "t-a-0"), "3");
    equal(world.jobSet.status?.terminalState, undefined);
  },
  "the maximum is one for the JobSet and its Jobs": async (world) => {
    await world.create(
      jobSet(policy(2, ["RestartJob", { targetReplicatedJobs: ["a"] }], ["RestartJobSet"])),
    );
    await world.fail("t-a-0");
    await world.fail("t-b-0");
    equal(world.restarts, "1/1");
    deepEqual(listsOf(world), ["b -/-", "a 1/1"]);
    await world.fail("t-a-0");
    deepEqual(world.conditions, [
      "RestartingJobSet=False/JobSetFailed",
      "Failed=True/ReachedMaxRestarts",
    ]);
    match(world.events.join(), /ReachedMaxRestarts: .*first failed job: t-a-0/);
  },
  "a restart of the JobSet keeps the counters of Jobs": async (world) => {
    await world.create(
      jobSet(policy(5, ["RestartJob", { targetReplicatedJobs: ["a"] }], ["RestartJobSet"])),
    );
    await world.fail("t-a-0");
    await world.fail("t-b-0");
    deepEqual(world.attempts, { "1": 4 });
    equal(attemptOf(world, "t-a-0"), "1");
    equal(attemptOf(world, "t-b-0"), "0");
  },
  "two Jobs that fail together are restarted one after the other": async (world) => {
    await world.create(jobSet(policy(5, ["RestartJob"])));
    await world.report(["t-b-0", "t-b-2"], world.finished("Failed"));
    deepEqual(listsOf(world), ["b 1,0,1/1,0,1", "a -/-"]);
    equal(world.warnings.length, 2);
  },
  "the name is free only when the old Job is gone": async (world) => {
    await world.create(jobSet(policy(5, ["RestartJob"])));
    const old = uidOf(world, "t-a-0");
    world.holdJobs("t-a-0");
    await world.fail("t-a-0");
    equal(uidOf(world, "t-a-0"), old);
    deepEqual(world.counters, ["b 0/0/0/0/0", "a 0/0/0/0/0"]);
    await world.release("t-a-0");
    equal(attemptOf(world, "t-a-0"), "1");
  },
  "a Job of before the rule, without the label, is not mistaken": async (world) => {
    await world.create(jobSet(policy(5, ["RestartJobSet"])));
    equal(attemptOf(world, "t-a-0"), undefined);
    const old = ["t-a-0", "t-b-0", "t-b-2"].map((name) => uidOf(world, name));
    world.cluster.edit(KINDS.jobSet, "default/t", { spec: policy(5, ["RestartJob"]) });
    world.cluster.remove(KINDS.job, "default/t-b-1");
    await world.settle();
    await world.fail("t-b-1");
    deepEqual(listsOf(world), ["b 0,1,0/0,1,0", "a -/-"]);
    deepEqual(["t-a-0", "t-b-0", "t-b-2"].map((name) => uidOf(world, name)), old);
  },
  "no label and no lists without such a rule": async (world) => {
    await world.create(jobSet(policy(5, ["RestartJobSet"])));
    await world.fail("t-b-1");
    equal(attemptOf(world, "t-a-0"), undefined);
    deepEqual(listsOf(world), ["b -/-", "a -/-"]);
  },
};

for (const [name, run] of Object.entries(CASES)) {
  Deno.test(`\`createJobSetReconciler()\` with RestartJob: ${name}`, async () => {
    const world = new World();
    await run(world);
    deepEqual(world.driver.errors, []);
    const writes = world.cluster.writes.length;
    world.driver.enqueue("default/t");
    await world.driver.settle();
    equal(world.cluster.writes.length, writes);
  });
}

Deno.test("`createJobSetReconciler()` with a cache that does not update counts the restart of a Job once", async () => {
  const world = new World();
  const jobs = [replicated("a"), replicated("b")];
  await world.create(jobSet({ replicatedJobs: jobs, ...policy(5, ["RestartJob"]) }));
  world.holdJobs("t-a-0");
  world.cluster.edit(KINDS.job, "default/t-a-0", { status: world.finished("Failed") });
  world.cluster.hold();
  for (let pass = 0; pass < 5; pass++) {
    world.driver.enqueue("default/t");
    await world.settle();
  }
  deepEqual(listsOf(world), ["b -/-", "a 1/1"]);
  world.cluster.catchUp();
  await world.release("t-a-0");
  equal(attemptOf(world, "t-a-0"), "1");
});
