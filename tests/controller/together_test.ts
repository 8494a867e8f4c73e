/** Tests of the TrainJob controller and the built-in JobSet executor on one cluster: a job's whole life. */
import { deepEqual, equal, ok } from "node:assert/strict";
import {
  createJobSetController,
  jobSetJobIndexes,
} from "../../controller/jobset/jobset_controller.ts";
import { createTrainJobController } from "../../controller/trainjob/trainjob_controller.ts";
import { KINDS } from "../../crds/kinds.ts";
import { LABELS } from "../../crds/names.ts";
import { WATCHED } from "../../crds/watched.ts";
import { FakeClock, until } from "../support/fake_clock.ts";
import { runtime, trainJob } from "./builders.ts";
import { MemoryCluster } from "./memory_cluster.ts";

const KEY = "ml/tj";
const JOB = "ml/tj-node-0";

async function together(play: (cluster: MemoryCluster) => Promise<void>): Promise<void> {
  const cluster = new MemoryCluster();
  const clock = new FakeClock();
  cluster.now = () => clock.now();
  const informers = {
    trainJobs: cluster.informer(KINDS.trainJob),
    trainingRuntimes: cluster.informer(KINDS.trainingRuntime),
    clusterTrainingRuntimes: cluster.informer(KINDS.clusterTrainingRuntime),
    jobSets: cluster.informer(WATCHED.jobSet),
    jobs: cluster.informer(KINDS.job, jobSetJobIndexes),
    services: cluster.informer(KINDS.service),
    configMaps: cluster.informer(WATCHED.configMap, {}, LABELS.trainJobName),
    pods: cluster.informer(KINDS.pod),
  };
  const events = {
    record: () => {},
  };
  const client = cluster.client();
  const shared = { client, managerName: "milepost", informers, events, clock };
  const stop = new AbortController();
  const running = Promise.all([
    createTrainJobController({
      ...shared,
      executor: () => "builtin",
      runtimeDefinitions: { droppedFor: () => Promise.resolve([]) },
      progress: undefined,
    }).run(stop.signal),
    createJobSetController(shared).run(stop.signal),
  ]);
  try {
    await play(cluster);
  } finally {
    stop.abort();
    await running;
  }
}

function stateOf(cluster: MemoryCluster): string | undefined {
  return cluster.peek(KINDS.trainJob, KEY)?.status?.state;
}

function suspendOf(cluster: MemoryCluster): boolean | undefined {
  return cluster.peek(KINDS.job, JOB)?.spec?.suspend;
}

Deno.test("a job runs, is paused, changed, resumed, and completes", async () => {
  await together(async (cluster) => {
    cluster.put(KINDS.clusterTrainingRuntime, runtime());
    cluster.put(KINDS.trainJob, trainJob());
    await until("the Job is there", () => suspendOf(cluster) === false);
    cluster.edit(KINDS.job, JOB, { status: { active: 1, ready: 1 } });
    await until("the job runs", () => stateOf(cluster) === "Running");

    cluster.edit(KINDS.trainJob, KEY, { spec: { suspend: true } });
    await until("the Job is paused", () => suspendOf(cluster) === true);
    cluster.edit(KINDS.job, JOB, { status: { active: null, ready: null } });
    await until("the job is paused", () => stateOf(cluster) === "Suspended");

    const spec = { serviceAccountName: "sa", nodeSelector: { a: "b" } };
    const replicatedJobs = [{ name: "node", template: { spec: { template: { spec } } } }];
    const template = { spec: { replicatedJobs } };
    cluster.edit(KINDS.trainJob, KEY, {
      spec: {
        suspend: false,
        runtimePatches: [{ manager: "acme.io/x", trainingRuntimeSpec: { template } }],
      },
    });
    const pod = () => cluster.peek(KINDS.job, JOB)?.spec?.template.spec;
    await until(
      "the Job goes on, changed",
      () => suspendOf(cluster) === false && pod()?.serviceAccountName === "sa",
    );
    deepEqual(pod()?.nodeSelector, { a: "b" });
    await until(
      "the pause is forgotten",
      () => cluster.peek(KINDS.trainJob, KEY)?.status?.conditions === undefined,
    );

    const lastTransitionTime = "2026-01-01T00:00:00Z";
    const end = { type: "Complete", status: "True", reason: "R", message: "m", lastTransitionTime };
    cluster.edit(KINDS.job, JOB, { status: { conditions: [end], succeeded: 1 } });
    await until("the job is complete", () => stateOf(cluster) === "Complete");
    const [condition] = cluster.peek(KINDS.trainJob, KEY)?.status?.conditions ?? [];
    equal(condition?.message, "jobset completed successfully");
  });
});

Deno.test("a job that begins paused starts when it is resumed", async () => {
  await together(async (cluster) => {
    cluster.put(KINDS.clusterTrainingRuntime, runtime());
    cluster.put(KINDS.trainJob, trainJob({ suspend: true }));
    await until("the Job is there, paused", () => suspendOf(cluster) === true);
    await until("the job is paused", () => stateOf(cluster) === "Suspended");
    cluster.edit(KINDS.trainJob, KEY, { spec: { suspend: false } });
    await until("the Job goes on", () => suspendOf(cluster) === false);
    await until("the job is created", () => stateOf(cluster) === "Created");
    const jobSet = cluster.peek(KINDS.jobSet, KEY);
    ok(
      jobSet?.status?.conditions?.some(({ type, status }) =>
        type === "Suspended" && status === "False"
      ),
    );
  });
});
