/** Tests of pods of a v1 job that fail and are made again, and of codes that forbid it. */
import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import type { V1Job } from "../../../crds/v1/job.ts";
import type { V1KindName } from "../../../crds/v1/kinds.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { runJob, testInWorld } from "./every_kind.ts";
import { JobWorld, tfSpec } from "./job_world.ts";

const RUNNING = { phase: "Running" };

/** The lists of conditions that the job has from now on, each once in a row. */
function courseOf(world: JobWorld, kind: V1KindName): string[] {
  const course: string[] = [];
  world.cluster.informer<V1Job>(V1_RESOURCES[kind]).onChange(({ object }) => {
    const conditions = object.status?.conditions ?? [];
    const text = conditions.map(({ type, status }) => status === "True" ? type : `!${type}`).join();
    if (text !== course.at(-1)) course.push(text);
  });
  return course;
}

/** A pod that fails, and its type, beside one that runs on. */
const FAILING: readonly (readonly [V1KindName, string, string])[] = [
  ["XGBoostJob", "Worker", "j-worker-1"],
  ["XGBoostJob", "Master", "j-master-0"],
  ["MXJob", "Worker", "j-worker-1"],
  ["MXJob", "Server", "j-server-0"],
  ["MXJob", "Scheduler", "j-scheduler-0"],
  ["PyTorchJob", "Worker", "j-worker-1"],
  ["PaddleJob", "Worker", "j-worker-1"],
  ["JAXJob", "Worker", "j-worker-1"],
];

const POLICIES = [["OnFailure", 1], ["Always", 1], ["ExitCode", 137]] as const;

for (const [kind, type, pod] of FAILING) {
  for (const [restartPolicy, exitCode] of POLICIES) {
    testInWorld(
      `a ${kind}'s ${pod} that fails under ${restartPolicy} is made again, and never fails the job`,
      async (world) => {
        await runJob(world, kind, {}, { restartPolicy });
        for (let time = 1; time <= 3; time++) {
          const course = courseOf(world, kind);
          const { events } = world;
          events.length = 0;
          const { uid } = world.pod(pod).metadata ?? {};
          world.report(pod, { phase: "Failed", exitCode });
          await world.settle();
          notEqual(world.pod(pod).metadata?.uid, uid);
          world.report(pod, RUNNING);
          await world.settle();
          deepEqual(course, ["Created,Running", "Created,Restarting", "Created,Running"]);
          const who = kind === "MXJob" ? "mxjob" : kind;
          const ours = events.filter(({ reason }) => reason === "Restarting");
          equal(ours.length, time === 2 ? 1 : 0);
          deepEqual(
            events.filter((it) => !ours.includes(it)).map((it) =>
              `${it.type} ${it.reason}: ${it.message}`
            ).sort(),
            [
              `Normal ExitedWithCode: Pod: ml.${pod} exited with code ${exitCode}`,
              `Normal SuccessfulCreatePod: Created pod: ${pod}`,
              `Normal SuccessfulDeletePod: Deleted pod: ${pod}`,
              `Warning ${kind}Restarting: ${who} j is restarting because 1 ${type} replica(s) failed.`,
              `Warning ${kind}Restarting: job j is restarting because ${type} replica(s) failed.`,
            ].sort(),
            `time ${time}`,
          );
        }
        equal(world.job(kind).status?.completionTime, undefined);
      },
    );
  }
}

/**
 * Workers that come and go may fail, but a code that forbids another try is looked at before it is asked who may: the
 * operator does the same.
 */
for (
  const [restartPolicy, exitCode, conditions, made] of [
    ["ExitCode", 1, ["Created", "Running=False", "Failed"], 0],
    ["ExitCode", 137, ["Created", "Running"], 1],
    ["Never", 1, ["Created", "Running"], 0],
    ["OnFailure", 1, ["Created", "Running"], 1],
  ] as const
) {
  testInWorld(
    `a dynamic worker that ends with ${exitCode} under ${restartPolicy} leaves ${
      conditions.at(-1)
    }`,
    async (world) => {
      world.put("TFJob", tfSpec({ Worker: 2 }, { enableDynamicWorker: true }, { restartPolicy }));
      await world.settle();
      world.reportAll(RUNNING);
      await world.settle();
      const before = world.creations().length;
      world.report("j-worker-1", { phase: "Failed", exitCode });
      await world.settle();
      deepEqual(world.conditions("TFJob"), conditions);
      equal(world.creations().length - before, made);
      const last = world.job("TFJob").status?.conditions?.at(-1);
      if (last?.type === "Failed") {
        equal(last.message, 'job "j" is failing because "Worker" replica(s) failed.');
      }
      ok(world.cluster.peek(KINDS.pod, "ml/j-worker-1"), "it stays, or is there again");
    },
  );
}
