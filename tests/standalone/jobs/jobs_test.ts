/** Tests of the embedded Job controller, as users of Jobs see it. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { JOB_KEYS } from "../../../crds/job_names.ts";
import { indexed, job, World } from "./world.ts";

const DONE = ["SuccessCriteriaMet=True/CompletionsReached", "Complete=True/CompletionsReached"];

const CASES: Record<string, (world: World) => Promise<void>> = {
  "runs one pod and completes": async (world) => {
    await world.create(job());
    equal(world.counters, "1/0/0/0");
    equal(world.job.status?.startTime, "2026-01-01T00:00:00Z");
    const pod = world.pod();
    match(pod, /^default\/j-[a-z0-9]{5}$/);
    world.move(pod, { phase: "Running", conditions: [{ type: "Ready", status: "True" }] });
    await world.driver.settle();
    equal(world.counters, "1/1/0/0");
    await world.succeed(pod);
    deepEqual(world.conditions, DONE);
    equal(world.counters, "0/0/1/0");
    equal(world.job.status?.completionTime, "2026-01-01T00:00:00Z");
    deepEqual(world.pods[0]?.metadata?.finalizers ?? [], []);
    equal(world.pods.length, 1);
    deepEqual(world.events, [
      `SuccessfulCreate: Created pod: ${pod.slice(8)}`,
      "Completed: Job completed",
    ]);
  },
  "an Indexed Job names its pods and counts its indexes": async (world) => {
    await world.create(indexed(4));
    deepEqual(world.activeIndexes, ["0", "1", "2", "3"]);
    match(world.pod(2), /^default\/j-2-[a-z0-9]{5}$/);
    await world.succeed(world.pod(3));
    await world.succeed(world.pod(1));
    await world.succeed(world.pod(2));
    equal(world.job.status?.completedIndexes, "1-3");
    equal(world.counters, "1/0/3/0");
    await world.succeed(world.pod(0));
    equal(world.job.status?.completedIndexes, "0-3");
    deepEqual(world.conditions, DONE);
  },
  "parallelism bounds the pods of an Indexed Job": async (world) => {
    await world.create(indexed(3, { parallelism: 2 }));
    deepEqual(world.activeIndexes, ["0", "1"]);
    await world.succeed(world.pod(0));
    deepEqual(world.activeIndexes, ["1", "2"]);
  },
  "less parallelism makes pods go uncounted": async (world) => {
    await world.create(indexed(3));
    await world.edit({ parallelism: 1 });
    equal(world.active.length, 1);
    equal(world.counters, "1/0/0/0");
    equal(world.job.status?.failed, undefined);
  },
  "a work queue is done when one has succeeded and none is left": async (world) => {
    await world.create(job({ parallelism: 2 }));
    equal(world.active.length, 2);
    await world.succeed(world.pod());
    equal(world.active.length, 1);
    deepEqual(world.conditions, []);
    await world.succeed(world.pod());
    deepEqual(world.conditions, DONE);
  },
  "a failed pod is replaced after a delay that doubles": async (world) => {
    await world.create(indexed(1));
    await world.fail(world.pod(0));
    equal(world.active.length, 0);
    equal(world.driver.requeues.get("default/j"), 10_000);
    await world.advance(10_000);
    equal(world.active.length, 1);
    await world.fail(world.pod(0));
    equal(world.driver.requeues.get("default/j"), 20_000);
    await world.advance(20_000);
    equal(world.active.length, 1);
    equal(world.counters, "1/0/0/2");
  },
  "a success ends the delay": async (world) => {
    await world.create(indexed(2));
    await world.fail(world.pod(0));
    await world.clock.advance(1000);
    await world.succeed(world.pod(1));
    deepEqual(world.activeIndexes, ["0"]);
  },
  "fails beyond the back-off limit, and the others go": async (world) => {
    await world.create(indexed(2, { backoffLimit: 0 }));
    await world.fail(world.pod(0));
    deepEqual(world.conditions, [
      "FailureTarget=True/BackoffLimitExceeded",
      "Failed=True/BackoffLimitExceeded",
    ]);
    equal(world.active.length, 0);
    equal(
      world.events.at(-1),
      "BackoffLimitExceeded: Job has reached the specified backoff limit",
    );
    equal(world.job.status?.failed, 2);
  },
  "waits for pods that take their time before it has failed": async (world) => {
    await world.create(indexed(2, { backoffLimit: 0 }));
    const slow = world.pod(1);
    world.cluster.edit(KINDS.pod, slow, {
      metadata: { finalizers: [JOB_KEYS.trackingFinalizer, "kubelet"] },
    });
    await world.fail(world.pod(0));
    deepEqual(world.conditions, ["FailureTarget=True/BackoffLimitExceeded"]);
    equal(world.job.status?.terminating, 1);
    await world.cluster.client().patch(KINDS.pod, { namespace: "default", name: slow.slice(8) }, {
      type: "merge",
      body: { metadata: { finalizers: null } },
    });
    await world.driver.settle();
    match(world.conditions.join(), /Failed=True\/BackoffLimitExceeded$/);
  },
  "restarts in place count with OnFailure": async (world) => {
    const template = {
      spec: { restartPolicy: "OnFailure", containers: [{ name: "main", image: "image" }] },
    };
    await world.create(indexed(1, { backoffLimit: 2, template }));
    const restarted = (restartCount: number) => ({
      phase: "Running",
      containerStatuses: [
        { name: "main", image: "", imageID: "", ready: true, restartCount, state: {} },
      ],
    });
    world.move(world.pod(0), restarted(1));
    await world.driver.settle();
    deepEqual(world.conditions, []);
    world.move(world.pod(0), restarted(2));
    await world.driver.settle();
    match(world.conditions.join(), /Failed=True\/BackoffLimitExceeded/);
  },
  "fails at its deadline": async (world) => {
    await world.create(job({ activeDeadlineSeconds: 5 }));
    equal(world.driver.requeues.get("default/j"), 5000);
    await world.advance(5000);
    deepEqual(world.conditions, [
      "FailureTarget=True/DeadlineExceeded",
      "Failed=True/DeadlineExceeded",
    ]);
    equal(world.active.length, 0);
    equal(world.events.at(-1), "DeadlineExceeded: Job was active longer than specified deadline");
  },
  "suspends and resumes, without counting the pods that go": async (world) => {
    await world.create(indexed(2));
    await world.edit({ suspend: true });
    equal(world.pods.length, 0);
    deepEqual(world.conditions, ["Suspended=True/JobSuspended"]);
    equal(world.counters, "0/0/0/0");
    equal(world.job.status?.startTime, undefined);
    await world.advance(60_000);
    await world.edit({ suspend: false });
    deepEqual(world.activeIndexes, ["0", "1"]);
    deepEqual(world.conditions, ["Suspended=False/JobResumed"]);
    equal(world.job.status?.startTime, "2026-01-01T00:01:00Z");
    const told = world.events.filter((event) => !event.startsWith("SuccessfulCreate"));
    deepEqual(told.map((event) => event.replace(/j-.*/, "")), [
      "SuccessfulDelete: Deleted pod: ",
      "SuccessfulDelete: Deleted pod: ",
      "Suspended: Job suspended",
      "Resumed: Job resumed",
    ]);
  },
  "created suspended it has no pod and no start": async (world) => {
    await world.create(indexed(1, { suspend: true }));
    equal(world.pods.length, 0);
    equal(world.job.status?.startTime, undefined);
    deepEqual(world.conditions, ["Suspended=True/JobSuspended"]);
  },
  "the deadline's clock stands still while suspended": async (world) => {
    await world.create(job({ activeDeadlineSeconds: 5, suspend: true }));
    await world.advance(60_000);
    await world.edit({ suspend: false });
    deepEqual(world.conditions, ["Suspended=False/JobResumed"]);
    equal(world.driver.requeues.get("default/j"), 5000);
  },
  "goes some time after it finished": async (world) => {
    await world.create(job({ ttlSecondsAfterFinished: 7 }));
    await world.succeed(world.pod());
    equal(world.driver.requeues.get("default/j"), 7000);
    await world.advance(7000);
    equal(world.cluster.peek(KINDS.job, "default/j"), undefined);
    equal(world.pods.length, 0);
  },
  "a deleted pod counts as failed and is replaced": async (world) => {
    await world.create(indexed(1));
    const pod = world.pod(0);
    await world.cluster.client().delete(KINDS.pod, { namespace: "default", name: pod.slice(8) });
    await world.driver.settle();
    equal(world.counters, "1/0/0/1");
    equal(world.pods.length, 1);
  },
  "podFailurePolicy FailJob names container and exit code": async (world) => {
    const rules = [{ action: "FailJob", onExitCodes: { operator: "In", values: [42] } }];
    await world.create(indexed(1, { podFailurePolicy: { rules } }));
    const pod = world.pod(0);
    await world.fail(pod, 42);
    match(world.conditions.join(), /Failed=True\/PodFailurePolicy/);
    equal(
      world.events.at(-1),
      `PodFailurePolicy: Container main for pod ${pod} failed with exit code 42 matching FailJob rule at index 0`,
    );
    equal(world.job.status?.failed, 1);
  },
  "podFailurePolicy Ignore counts nothing and waits for nothing": async (world) => {
    const rules = [{
      action: "Ignore",
      onPodConditions: [{ type: "DisruptionTarget", status: "True" }],
    }];
    await world.create(indexed(1, { backoffLimit: 0, podFailurePolicy: { rules } }));
    await world.fail(world.pod(0), 1, {
      conditions: [{ type: "DisruptionTarget", status: "True" }],
    });
    equal(world.counters, "1/0/0/0");
  },
  "podFailurePolicy replaces a pod only when it has ended": async (world) => {
    const rules = [{ action: "Count", onExitCodes: { operator: "NotIn", values: [42] } }];
    await world.create(indexed(1, { podFailurePolicy: { rules } }));
    const pod = world.pod(0);
    await world.cluster.client().delete(KINDS.pod, { namespace: "default", name: pod.slice(8) });
    await world.driver.settle();
    equal(world.active.length, 0);
    equal(world.job.status?.terminating, 1);
    await world.fail(pod, 1);
    equal(world.job.status?.failed, 1);
    equal(world.active.length, 1);
  },
  "successPolicy ends the Job and the other pods": async (world) => {
    const rules = [{ succeededIndexes: "0" }];
    await world.create(indexed(3, { successPolicy: { rules } }));
    await world.succeed(world.pod(0));
    deepEqual(world.conditions, [
      "SuccessCriteriaMet=True/SuccessPolicy",
      "Complete=True/SuccessPolicy",
    ]);
    equal(world.counters, "0/0/1/0");
  },
  "backoffLimitPerIndex is refused by name": async (world) => {
    await world.create(indexed(1, { backoffLimitPerIndex: 1 }));
    equal(world.pods.length, 0);
    match(world.conditions.join(), /Failed=True\/NotSupported/);
    match(world.events.join(), /spec.backoffLimitPerIndex: not supported/);
  },
  "FailIndex is refused by name": async (world) => {
    const rules = [{ action: "FailIndex", onExitCodes: { operator: "In", values: [1] } }];
    await world.create(indexed(1, { podFailurePolicy: { rules } }));
    match(world.events.join(), /spec.podFailurePolicy.rules\[0\].action FailIndex: not supported/);
  },
  "an Indexed Job without completions is refused": async (world) => {
    await world.create(job({ completionMode: "Indexed" }));
    match(world.events.join(), /spec.completions: required/);
  },
  "a Job that another controller manages is left alone": async (world) => {
    await world.create(indexed(1, { managedBy: "other.example/controller" }));
    equal(world.pods.length, 0);
    equal(world.job.status, undefined);
  },
  "pods of a deleted Job lose their finalizer and go": async (world) => {
    await world.create(indexed(2));
    await world.cluster.client().delete(KINDS.job, { namespace: "default", name: "j" });
    await world.driver.settle();
    equal(world.pods.length, 0);
  },
  "two active pods of one index: the second goes": async (world) => {
    await world.create(indexed(1));
    const pod = world.pods[0];
    ok(pod);
    const { uid: _uid, resourceVersion: _rv, ...metadata } = pod.metadata ?? {};
    world.cluster.put(KINDS.pod, { ...pod, metadata: { ...metadata, name: "j-0-twice" } });
    await world.driver.settle();
    equal(world.active.length, 1);
    equal(world.counters, "1/0/0/0");
  },
};

for (const [name, run] of Object.entries(CASES)) {
  Deno.test(`\`createJobReconciler()\` ${name}`, async () => {
    const world = new World();
    await run(world);
    deepEqual(world.driver.errors, []);
    // A reconciliation that changes nothing writes nothing.
    const writes = world.cluster.writes.length;
    world.driver.enqueue("default/j");
    await world.driver.settle();
    equal(world.cluster.writes.length, writes);
  });
}
