/** Tests of how a job of each v1 kind ends: by its deadline, by an exit code, and after its time to live. */
import assert, { deepEqual, equal } from "node:assert/strict";
import { jobRefOf } from "../../../crds/job_kind.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { V1_JOB_KINDS } from "../../../crds/v1/v1_job_kinds.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { createStallEnd } from "../../../owner/stalls/stall_end.ts";
import { DECIDERS, KIND_NAMES, runJob, specOfKind, testInWorld } from "./every_kind.ts";
import type { JobWorld } from "./job_world.ts";

const DEADLINE = "Job j has failed because it was active longer than specified deadline";

/** Reasons of the events since they were forgotten, each once, sorted. */
const told = (world: JobWorld) => world.reasons.sort();

for (const kind of KIND_NAMES) {
  testInWorld(
    `the deadline of a ${kind} leaves nothing of it, and tells of that alone`,
    async (world) => {
      const runPolicy = { activeDeadlineSeconds: 2, cleanPodPolicy: "None" };
      await runJob(world, kind, runPolicy);
      const { events } = world;
      events.length = 0;
      await world.settle(1999);
      deepEqual([events.length, world.conditions(kind)], [0, ["Created", "Running"]]);
      await world.settle(1);
      deepEqual([world.pods, world.services], [[], []]);
      deepEqual(world.conditions(kind), ["Created", "Running=False", "Failed"]);
      const { status } = world.job(kind);
      const { reason, message } = status?.conditions?.at(-1) ?? {};
      deepEqual({ reason, message }, { reason: `${kind}Failed`, message: DEADLINE });
      equal(status?.completionTime, "2026-01-01T00:00:02Z");
      deepEqual(
        told(world),
        [
          ...["SuccessfulDeletePod", `${kind}Failed`],
          ...(kind === "MPIJob" ? [] : ["SuccessfulDeleteService"]),
        ].sort(),
      );
      deepEqual(
        events.filter((it) => it.reason === `${kind}Failed`).map((it) => [it.type, it.message]),
        [["Normal", DEADLINE]],
      );
      const { length } = world.cluster.calls;
      await world.settle(600_000);
      deepEqual(world.cluster.calls.slice(length), [], "nothing comes after it");
    },
  );

  testInWorld(
    `a ${kind} that its policy of stalls has failed leaves no pod`,
    async (world) => {
      await runJob(world, kind, { cleanPodPolicy: "None" });
      const jobKind = V1_JOB_KINDS.find((it) => it.kind === kind);
      assert(jobKind !== undefined);
      const ref = jobRefOf(jobKind, world.job(kind));
      const { clock } = world;
      const end = createStallEnd({ client: world.cluster.client(), clock, deadlineMs: 1000 });
      await end(ref, "no step after 8", new AbortController().signal);
      await world.settle();
      deepEqual(world.conditions(kind), ["Created", "Running=False", "Failed"]);
      const { reason, message } = world.job(kind).status?.conditions?.at(-1) ?? {};
      deepEqual({ reason, message }, { reason: "Stalled", message: "no step after 8" });
      deepEqual([world.pods, world.services], [[], []]);
      equal(world.job(kind).status?.completionTime !== undefined, true);
      const { length } = world.cluster.calls;
      await end(ref, "again", new AbortController().signal);
      await world.settle(600_000);
      deepEqual(
        world.cluster.calls.slice(length).filter((it) => !/get/i.test(JSON.stringify(it))),
        [],
        "nothing comes after it",
      );
    },
  );

  testInWorld(
    `a ${kind} that an exit code has failed has ended, and goes after its time to live`,
    async (world) => {
      const runPolicy = { ttlSecondsAfterFinished: 3 };
      await runJob(world, kind, runPolicy, { restartPolicy: "ExitCode" });
      world.clock.advance(60_000);
      world.report("j-worker-1", { phase: "Failed", exitCode: 1 });
      await world.settle();
      deepEqual(world.conditions(kind), ["Created", "Running=False", "Failed"]);
      equal(world.job(kind).status?.completionTime, "2026-01-01T00:01:00Z");
      equal(
        world.job(kind).status?.conditions?.at(-1)?.message,
        // Pods of an MPIJob are judged without regard to exit codes.
        kind === "MPIJob"
          ? "MPIJob j is failed because 1 Worker replica(s) failed."
          : 'job "j" is failing because "Worker" replica(s) failed.',
      );
      world.events.length = 0;
      await world.settle(2999);
      deepEqual([world.job(kind).metadata.name, told(world)], ["j", []]);
      await world.settle(1);
      equal(world.cluster.peek(V1_RESOURCES[kind], "ml/j"), undefined);
      deepEqual(told(world), ["SuccessfulDeleteJob"]);
    },
  );

  testInWorld(`a ${kind} says its reasons after its own name, once`, async (world) => {
    await runJob(world, kind);
    const suspend = (suspend: boolean) => world.edit(kind, specOfKind(kind, { suspend }));
    const reasons = new Set<string | undefined>();
    const look = () => {
      for (const { reason } of world.job(kind).status?.conditions ?? []) reasons.add(reason);
    };
    look();
    suspend(true);
    await world.settle();
    look();
    suspend(false);
    await world.settle();
    world.reportAll({ phase: "Running" });
    await world.settle();
    look();
    for (const name of DECIDERS[kind]) world.report(name, { phase: "Succeeded", exitCode: 0 });
    await world.settle();
    look();
    deepEqual(
      [...reasons].sort(),
      ["Created", "Resumed", "Running", "Succeeded", "Suspended"].map((it) => kind + it),
    );
    deepEqual(
      world.reasons.filter((it) => it.startsWith(kind)).sort(),
      ["Resumed", "Succeeded", "Suspended"].map((it) => kind + it),
    );
  });

  testInWorld(`a ${kind} that admission would refuse is told so by its own name`, async (world) => {
    world.put(kind, { ...specOfKind(kind), runPolicy: { cleanPodPolicy: "sometimes" } });
    await world.settle(60_000);
    deepEqual(world.reasons, [`${kind}FailedValidation`]);
    deepEqual(world.cluster.all(KINDS.pod), []);
    deepEqual(world.cluster.calls.map(({ verb, kind }) => `${verb} ${kind}`), [`patch ${kind}`]);
  });
}
