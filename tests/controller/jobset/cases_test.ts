/** Tests of the built-in executor, by numbered cases that follow upstream's controller. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { JOBSET_KEYS } from "../../../crds/jobset_names.ts";
import { invalid } from "../memory_cluster.ts";
import { jobSet, replicated, World } from "./world.ts";

const ALL = ["t-a-0", "t-b-0", "t-b-1", "t-b-2"];
const B = ["t-b-0", "t-b-1", "t-b-2"];
const services = (world: World) =>
  world.cluster.all(KINDS.service).map(({ metadata }) => metadata?.name);
const unsuspended = (world: World) => world.jobs.filter((name) => !world.job(name).spec?.suspend);

const CASES: Record<string, (world: World) => Promise<void>> = {
  "1: creates every Job and the Service": async (world) => {
    await world.create(jobSet());
    deepEqual(world.jobs, ALL);
    deepEqual(unsuspended(world), ALL);
    deepEqual(services(world), ["t"]);
    equal(world.cluster.all(KINDS.service)[0]?.spec?.clusterIP, "None");
    deepEqual(world.counters, ["b 0/0/0/0/0", "a 0/0/0/0/0"]);
    deepEqual(world.conditions, []);
  },
  "2: completes when all Jobs are complete": async (world) => {
    await world.create(jobSet());
    await world.complete(...ALL);
    deepEqual(world.conditions, ["Completed=True/AllJobsCompleted"]);
    equal(world.jobSet.status?.terminalState, "Completed");
    deepEqual(world.counters, ["b 0/3/0/0/0", "a 0/1/0/0/0"]);
    deepEqual(world.events, ["AllJobsCompleted: jobset completed successfully"]);
  },
  "3: continues while one is active": async (world) => {
    await world.create(jobSet());
    await world.complete("t-a-0", "t-b-0", "t-b-1");
    await world.ready("t-b-2");
    deepEqual(world.conditions, []);
    deepEqual(world.counters, ["b 1/2/0/1/0", "a 0/1/0/0/0"]);
  },
  "4: All waits for every Job of the target": async (world) => {
    await world.create(
      jobSet({ successPolicy: { operator: "All", targetReplicatedJobs: ["b"] } }),
    );
    await world.complete("t-a-0", "t-b-0");
    deepEqual(world.conditions, []);
    await world.complete("t-b-1", "t-b-2");
    deepEqual(world.conditions, ["Completed=True/AllJobsCompleted"]);
  },
  "5: Any is content with one, and the unfinished Jobs go": async (world) => {
    await world.create(
      jobSet({ successPolicy: { operator: "Any", targetReplicatedJobs: ["b"] } }),
    );
    await world.complete("t-b-1");
    deepEqual(world.conditions, ["Completed=True/AllJobsCompleted"]);
    deepEqual(world.jobs, ["t-b-1"]);
  },
  "6: fails with the first failed Job's name, which stays": async (world) => {
    await world.create(jobSet());
    await world.fail("t-b-1");
    deepEqual(world.conditions, ["Failed=True/FailedJobs"]);
    equal(world.jobSet.status?.terminalState, "Failed");
    equal(
      world.jobSet.status?.conditions?.[0]?.message,
      "jobset failed due to one or more job failures (first failed job: t-b-1)",
    );
    deepEqual(world.jobs, ["t-b-1"]);
    equal(world.restarts, "0/0");
  },
  "7: restarts once, then fails": async (world) => {
    await world.create(jobSet({ failurePolicy: { maxRestarts: 1 } }));
    await world.fail("t-a-0");
    equal(world.restarts, "1/1");
    deepEqual(world.attempts, { "1": 4 });
    await world.fail("t-b-0");
    equal(world.jobSet.status?.terminalState, "Failed");
    match(world.conditions.join(), /Failed=True\/ReachedMaxRestarts/);
    equal(
      world.jobSet.status?.conditions?.find(({ type }) => type === "Failed")?.message,
      "jobset failed due to reaching max number of restarts (first failed job: t-b-0)",
    );
    equal(world.restarts, "1/1");
  },
  "8: a restart creates completed Jobs again, too": async (world) => {
    await world.create(jobSet({ failurePolicy: { maxRestarts: 1 } }));
    world.cluster.edit(KINDS.job, "default/t-b-0", { status: world.finished("Complete") });
    await world.fail("t-a-0");
    deepEqual(world.attempts, { "1": 4 });
    await world.complete(...ALL);
    equal(world.jobSet.status?.terminalState, "Completed");
  },
  "9: FailJobSet fails at once": async (world) => {
    const rules = [{ name: "r", action: "FailJobSet" as const }];
    await world.create(jobSet({ failurePolicy: { maxRestarts: 3, rules } }));
    await world.fail("t-a-0", "PodFailurePolicy");
    deepEqual(world.conditions, ["Failed=True/FailJobSetFailurePolicyAction"]);
    equal(
      world.jobSet.status?.conditions?.[0]?.message,
      "applying FailJobSet failure policy action (first failed job: t-a-0)",
    );
    equal(world.restarts, "0/0");
  },
  "16: RestartingJobSet ends when all Jobs are ready": async (world) => {
    const rules = [{ name: "Rule1", action: "RestartJobSet" as const }];
    await world.create(jobSet({ failurePolicy: { maxRestarts: 1, rules } }));
    await world.fail("t-a-0");
    deepEqual(world.conditions, ["RestartingJobSet=True/FailurePolicy_Rule1"]);
    const message = "applying RestartJobSet failure policy action (first failed job: t-a-0)";
    deepEqual(world.events, [
      `FailurePolicy_Rule1: ${message}`,
      `RestartJobSetFailurePolicyAction: ${message}`,
    ]);
    await world.ready(...ALL);
    deepEqual(world.conditions, ["RestartingJobSet=False/JobsReady"]);
    equal(world.events.at(-1), "JobsReady: all jobs are ready");
  },
  "17: Recreate creates each Job again as soon as its old one is gone": async (world) => {
    await world.create(jobSet({ failurePolicy: { maxRestarts: 1 } }));
    world.holdJobs("t-b-2");
    await world.fail("t-a-0");
    deepEqual(world.attempts, { "0": 1, "1": 3 });
    await world.release("t-b-2");
    deepEqual(world.attempts, { "1": 4 });
  },
  "18: BlockingRecreate waits until all old Jobs are gone": async (world) => {
    await world.create(
      jobSet({ failurePolicy: { maxRestarts: 1, restartStrategy: "BlockingRecreate" } }),
    );
    world.holdJobs("t-b-2");
    await world.fail("t-a-0");
    deepEqual(world.attempts, { "0": 1 });
    await world.release("t-b-2");
    deepEqual(world.attempts, { "1": 4 });
  },
  "19: a suspended JobSet has suspended Jobs": async (world) => {
    await world.create(jobSet({ suspend: true }));
    deepEqual(world.jobs, ALL);
    deepEqual(unsuspended(world), []);
    deepEqual(world.conditions, ["Suspended=True/SuspendedJobs"]);
    deepEqual(world.counters, ["b 0/0/0/0/3", "a 0/0/0/0/1"]);
    deepEqual(world.events, ["SuspendedJobs: jobset is suspended"]);
  },
  "20: resuming brings the template's five fields": async (world) => {
    await world.create(jobSet({ suspend: true }));
    world.cluster.edit(KINDS.job, "default/t-a-0", {
      status: { startTime: "2026-01-01T00:00:00Z" },
      spec: { template: { spec: { tolerations: [{ key: "present" }, { key: "k" }] } } },
    });
    const template = {
      spec: {
        template: {
          metadata: { labels: { l: "1" }, annotations: { an: "2" } },
          spec: {
            containers: [{ name: "main", image: "image" }],
            nodeSelector: { n: "3" },
            tolerations: [{ key: "k" }],
            schedulingGates: [{ name: "g" }],
          },
        },
      },
    };
    await world.edit({
      suspend: false,
      replicatedJobs: [
        replicated("a", { template }),
        replicated("b", { replicas: 3, template }),
      ],
    });
    deepEqual(unsuspended(world), ALL);
    const { metadata, spec } = world.job("t-a-0").spec?.template ?? {};
    equal(metadata?.labels?.l, "1");
    equal(metadata?.labels?.[JOBSET_KEYS.jobSetName], "t");
    equal(metadata?.annotations?.an, "2");
    deepEqual(spec?.nodeSelector, { n: "3" });
    deepEqual(spec?.tolerations, [{ key: "present" }, { key: "k" }]);
    deepEqual(spec?.schedulingGates, [{ name: "g" }]);
    equal(world.job("t-a-0").status?.startTime, undefined);
    deepEqual(world.conditions, ["Suspended=False/ResumeJobs"]);
    equal(world.events.at(-1), "ResumeJobs: jobset is resumed");
    await world.complete(...ALL);
    equal(world.jobSet.status?.terminalState, "Completed");
  },
  "21: suspending suspends every Job": async (world) => {
    await world.create(jobSet());
    await world.edit({ suspend: true });
    deepEqual(unsuspended(world), []);
    deepEqual(world.conditions, ["Suspended=True/SuspendedJobs"]);
  },
  "22: InOrder resumes one replicated job after the other": async (world) => {
    await world.create(
      jobSet({ suspend: true, startupPolicy: { startupPolicyOrder: "InOrder" } }),
    );
    deepEqual(world.jobs, ALL);
    await world.edit({ suspend: false });
    deepEqual(unsuspended(world), ["t-a-0"]);
    deepEqual(world.conditions, [
      "Suspended=True/SuspendedJobs",
      "StartupPolicyInProgress=True/InOrderStartupPolicyInProgress",
    ]);
    await world.ready("t-a-0");
    deepEqual(unsuspended(world), ALL);
    await world.ready(...B);
    deepEqual(world.conditions, [
      "Suspended=False/ResumeJobs",
      "StartupPolicyInProgress=False/InOrderStartupPolicyInProgress",
      "StartupPolicyCompleted=True/InOrderStartupPolicyCompleted",
    ]);
  },
  "23: InOrder creates one replicated job after the other": async (world) => {
    await world.create(jobSet({ startupPolicy: { startupPolicyOrder: "InOrder" } }));
    deepEqual(world.jobs, ["t-a-0"]);
    await world.ready("t-a-0");
    deepEqual(world.jobs, ALL);
    await world.active(...B);
    match(world.conditions.join(), /StartupPolicyInProgress=True/);
    await world.ready(...B);
    match(world.conditions.join(), /StartupPolicyCompleted=True/);
  },
  "24: a restart replays the order": async (world) => {
    await world.create(jobSet({
      startupPolicy: { startupPolicyOrder: "InOrder" },
      failurePolicy: { maxRestarts: 1 },
    }));
    await world.ready("t-a-0");
    await world.ready(...B);
    await world.fail("t-b-0");
    deepEqual(world.attempts, { "1": 1 });
    match(world.conditions.join(), /StartupPolicyInProgress=True/);
    match(world.conditions.join(), /StartupPolicyCompleted=False/);
    await world.ready("t-a-0");
    deepEqual(world.attempts, { "1": 4 });
    await world.ready(...B);
    match(world.conditions.join(), /StartupPolicyCompleted=True/);
  },
  "25: dependsOn Ready": async (world) => {
    const b = replicated("b", { replicas: 3, dependsOn: [{ name: "a", status: "Ready" }] });
    await world.create(jobSet({ replicatedJobs: [replicated("a"), b] }));
    deepEqual(world.jobs, ["t-a-0"]);
    await world.ready("t-a-0");
    deepEqual(world.jobs, ALL);
  },
  "26: dependsOn in a chain": async (world) => {
    await world.create(jobSet({
      replicatedJobs: [
        replicated("a"),
        replicated("b", { dependsOn: [{ name: "a", status: "Complete" }] }),
        replicated("c", { replicas: 3, dependsOn: [{ name: "b", status: "Ready" }] }),
      ],
    }));
    await world.ready("t-a-0");
    equal(world.jobs.length, 1);
    await world.complete("t-a-0");
    equal(world.jobs.length, 2);
    await world.ready("t-b-0");
    equal(world.jobs.length, 5);
  },
  "27: dependsOn two others": async (world) => {
    await world.create(jobSet({
      replicatedJobs: [
        replicated("a"),
        replicated("b"),
        replicated("c", {
          replicas: 3,
          dependsOn: [{ name: "a", status: "Ready" }, { name: "b", status: "Complete" }],
        }),
      ],
    }));
    await world.ready("t-a-0");
    equal(world.jobs.length, 2);
    await world.complete("t-b-0");
    equal(world.jobs.length, 5);
  },
  "28: dependsOn while suspended": async (world) => {
    const b = replicated("b", { replicas: 3, dependsOn: [{ name: "a", status: "Ready" }] });
    await world.create(jobSet({ suspend: true, replicatedJobs: [replicated("a"), b] }));
    deepEqual([world.jobs, unsuspended(world)], [["t-a-0"], []]);
    await world.edit({ suspend: false });
    deepEqual(unsuspended(world), ["t-a-0"]);
    match(world.conditions.join(), /Suspended=False/);
    await world.ready("t-a-0");
    deepEqual(unsuspended(world), ALL);
  },
  "32: a Job of another JobSet of the same name is not ours": async (world) => {
    const owner = {
      apiVersion: "jobset.x-k8s.io/v1alpha2",
      kind: "JobSet",
      name: "t",
      uid: "other",
      controller: true,
    };
    world.cluster.put(KINDS.job, {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "foreign", namespace: "default", ownerReferences: [owner] },
      status: { conditions: [{ type: "Failed", status: "True" }] },
    });
    await world.create(jobSet());
    await world.complete(...ALL);
    equal(world.jobSet.status?.terminalState, "Completed");
  },
  "33: a deleted Service comes again": async (world) => {
    await world.create(jobSet());
    world.cluster.remove(KINDS.service, "default/t");
    await world.driver.settle();
    deepEqual(services(world), ["t"]);
  },
  "34: the network's fields": async (world) => {
    await world.create(jobSet({ network: { subdomain: "s", publishNotReadyAddresses: false } }));
    deepEqual(services(world), ["s"]);
    equal(world.cluster.all(KINDS.service)[0]?.spec?.publishNotReadyAddresses, false);
    equal(world.job("t-a-0").spec?.template.spec?.subdomain, "s");
  },
  "34: without host names there is no Service": async (world) => {
    await world.create(jobSet({ network: { enableDNSHostnames: false } }));
    deepEqual(services(world), []);
    equal(world.job("t-a-0").spec?.template.spec?.subdomain, undefined);
  },
  "35: the coordinator's address is on every Job": async (world) => {
    const a = replicated("a");
    const spec = { ...a.template.spec, completions: 1, parallelism: 1 };
    await world.create(jobSet({
      replicatedJobs: [
        { ...a, template: { spec: { template: {}, ...spec } } },
        replicated("b", { replicas: 3 }),
      ],
      coordinator: { replicatedJob: "a" },
    }));
    for (const name of ALL) {
      const { labels, annotations } = world.job(name).metadata ?? {};
      equal(labels?.[JOBSET_KEYS.coordinator], "t-a-0-0.t");
      equal(annotations?.[JOBSET_KEYS.coordinator], "t-a-0-0.t");
    }
  },
  "37: a JobSet that another controller manages is left alone": async (world) => {
    await world.create(jobSet({ managedBy: "other.example/controller", suspend: true }));
    await world.edit({ suspend: false });
    deepEqual(world.cluster.calls.length, 1);
    equal(world.jobSet.status, undefined);
  },
  "37: so is one of upstream's controller, and one without a manager": async (world) => {
    await world.create(jobSet({ managedBy: "jobset.sigs.k8s.io/jobset-controller" }));
    await world.create(jobSet({ managedBy: undefined }, { name: "u" }));
    deepEqual(world.jobs, []);
  },
  "38: a finished JobSet goes after its time": async (world) => {
    await world.create(jobSet({ ttlSecondsAfterFinished: 5 }));
    await world.complete(...ALL);
    equal(world.driver.requeues.get("default/t"), 5000);
    await world.clock.advance(2000);
    world.driver.enqueue("default/t");
    await world.driver.settle();
    equal(world.driver.requeues.get("default/t"), 3000);
    await world.clock.advance(3000);
    world.driver.enqueue("default/t");
    await world.driver.settle();
    equal(world.cluster.peek(KINDS.jobSet, "default/t"), undefined);
  },
  "38: ttl 0 means at once": async (world) => {
    await world.create(jobSet({ ttlSecondsAfterFinished: 0 }));
    await world.complete(...ALL);
    equal(world.cluster.peek(KINDS.jobSet, "default/t"), undefined);
    ok(world.events.includes("AllJobsCompleted: jobset completed successfully"));
  },
  "40: a template that the API server refuses is reported by name": async (world) => {
    let refusals = 2;
    world.cluster.admission.push((_verb, kind, object) =>
      kind === "Job" && object.metadata.name === "t-a-0" && refusals-- > 0
        ? invalid("spec.template: 100% wrong")
        : undefined
    );
    await world.create(jobSet());
    const event =
      'JobCreationFailed: job "t-a-0" creation failed with error: spec.template: 100% wrong';
    deepEqual(world.events, [event, event]);
    deepEqual(world.warnings, ["JobCreationFailed", "JobCreationFailed"]);
    deepEqual(world.jobs, ALL);
  },
  "41: pending pods count as active": async (world) => {
    await world.create(jobSet());
    await world.active(...ALL);
    deepEqual(world.counters, ["b 0/0/0/3/0", "a 0/0/0/1/0"]);
  },
  "48: no replicated jobs: nothing happens, and it never finishes": async (world) => {
    await world.create(jobSet({ replicatedJobs: [] }));
    deepEqual(world.conditions, []);
  },
  "48: AnyOrder goes with dependsOn": async (world) => {
    await world.create(jobSet({
      startupPolicy: { startupPolicyOrder: "AnyOrder" },
      replicatedJobs: [
        replicated("a"),
        replicated("b", { dependsOn: [{ name: "a", status: "Ready" }] }),
      ],
    }));
    deepEqual(world.jobs, ["t-a-0"]);
  },
  "49: suspended, resumed, suspended, resumed": async (world) => {
    await world.create(jobSet({ suspend: true }));
    for (const suspend of [false, true, false]) {
      await world.edit({ suspend });
      deepEqual(unsuspended(world), suspend ? [] : ALL);
    }
    await world.complete(...ALL);
    equal(world.jobSet.status?.terminalState, "Completed");
  },
};

for (const [name, run] of Object.entries(CASES)) {
  Deno.test(`\`createJobSetReconciler()\` case ${name}`, async () => {
    const world = new World();
    await run(world);
    const errors = world.driver.errors.length;
    equal(errors, name.startsWith("40") ? 2 : 0);
    // A reconciliation that changes nothing writes nothing.
    const writes = world.cluster.writes.length;
    world.driver.enqueue("default/t");
    await world.driver.settle();
    equal(world.cluster.writes.length, writes);
  });
}
