/**
 * Program that judges, stores and reconciles one object of each kind and policy with 2³¹-1 in every count, beside honest
 * ones, and prints its peak memory in MB. It is run with a bounded heap.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { parse as parseYaml } from "yaml";
import { gangScheduler } from "../../controller/jobs/gang.ts";
import { changedV1JobProblems, v1JobProblems } from "../../controller/jobs/validation.ts";
import {
  createJobSetController,
  jobSetJobIndexes,
} from "../../controller/jobset/jobset_controller.ts";
import { jobSetProblems } from "../../controller/jobset/problems.ts";
import { runtimeProblems, trainJobProblems } from "../../controller/runtime/validation.ts";
import { createTrainJobController } from "../../controller/trainjob/trainjob_controller.ts";
import { causeOf, type FieldProblem } from "../../crds/field_problem.ts";
import { MILEPOST_JOBSET_CONTROLLER } from "../../crds/jobset_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import { LABELS } from "../../crds/names.ts";
import { causesText } from "../../crds/status_cause.ts";
import type { ClusterTrainingRuntime } from "../../crds/training_runtime.ts";
import { V1_KINDS } from "../../crds/v1/kinds.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import { WATCHED } from "../../crds/watched.ts";
import { FakeClock, until } from "../support/fake_clock.ts";
import { jobSet, runtime, trainJob } from "./builders.ts";
import { MemoryCluster } from "./memory_cluster.ts";
import { KIND_NAMES, specOfKind } from "./jobs/every_kind.ts";
import { JobWorld } from "./jobs/job_world.ts";

const MOST = 2 ** 31 - 1;
const RUNTIMES = new URL("../../deploy/runtimes/", import.meta.url);
/** Counts of a Job's spec. */
const OF_JOB = {
  parallelism: MOST,
  completions: MOST,
  backoffLimit: MOST,
  ttlSecondsAfterFinished: MOST,
};

/** The value with the largest number instead of every number. */
function inflated(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, it) => typeof it === "number" ? MOST : it);
}

const textsOf = (problems: readonly FieldProblem[]) => causesText(problems.map(causeOf));

async function shippedRuntimes(): Promise<ClusterTrainingRuntime[]> {
  const all: ClusterTrainingRuntime[] = [];
  for await (const { name } of Deno.readDir(RUNTIMES)) {
    if (name === "kustomization.yaml") continue;
    const text = await Deno.readTextFile(new URL(name, RUNTIMES));
    all.push(KINDS.clusterTrainingRuntime.parse(parseYaml(text)));
  }
  return all;
}

/** The runtime with every count raised, its jobs and its gang too. */
function hostileRuntime({ metadata, spec, ...rest }: ClusterTrainingRuntime) {
  const jobs = (spec?.template.spec?.replicatedJobs ?? []).map((job) => ({
    ...job,
    replicas: 1,
    template: { ...job.template, spec: { ...job.template.spec, ...OF_JOB } },
  }));
  const side = {
    name: "ps",
    replicas: 1,
    template: { spec: { ...OF_JOB, template: { spec: { containers: [{ name: "ps" }] } } } },
  };
  return KINDS.clusterTrainingRuntime.parse({
    ...rest,
    metadata: { ...metadata, name: `hostile-${metadata.name}` },
    spec: inflated({
      mlPolicy: { numNodes: 1, ...spec?.mlPolicy },
      podGroupPolicy: { volcano: { networkTopology: { highestTierAllowed: 1 } } },
      template: {
        spec: {
          ...spec?.template.spec,
          replicatedJobs: [...jobs, side],
          failurePolicy: { maxRestarts: 1 },
        },
      },
    }),
  });
}

/** What reconciles TrainJobs and JobSets on one cluster. */
async function withControllers(play: (cluster: MemoryCluster) => Promise<void>): Promise<void> {
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
  const events = { record() {}, flush: () => Promise.resolve(), run: () => Promise.resolve() };
  const shared = { client: cluster.client(), managerName: "milepost", informers, events, clock };
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

/** Conditions of an object in the cluster, by type. */
function conditionOf(
  cluster: MemoryCluster,
  kind: typeof KINDS.trainJob | typeof KINDS.jobSet,
  key: string,
  type: string,
) {
  return cluster.peek<
    { status?: { conditions?: { type: string; status: string; message: string }[] } }
  >(kind, key)
    ?.status?.conditions?.find((it) => it.type === type);
}

/** TrainJobs of every shipped runtime, with the count in the job, and with it in the runtime; paused, too. */
async function trainJobs(): Promise<void> {
  const shipped = await shippedRuntimes();
  const trainer = { numNodes: MOST, numProcPerNode: MOST };
  await withControllers(async (cluster) => {
    const refused: [key: string, field: RegExp][] = [];
    for (const honest of shipped) {
      const hostile = hostileRuntime(honest);
      ok(Array.isArray(runtimeProblems(hostile.spec ?? { template: {} }, { executor: "builtin" })));
      for (const one of [honest, hostile]) cluster.put(KINDS.clusterTrainingRuntime, one);
      for (const suspend of [false, true]) {
        for (
          const [used, asked] of [[honest, trainer], [hostile, trainer], [hostile, {}]] as const
        ) {
          const name = `h${refused.length}`;
          const spec = { suspend, runtimeRef: { name: used.metadata.name ?? "" }, trainer: asked };
          const job = trainJob(spec, { name, uid: `uid-of-${name}` });
          for (const executor of ["builtin", "external"] as const) {
            const problems = trainJobProblems({ trainJob: job, runtime: used, executor });
            match(textsOf(problems), /makes \d+ pods of the job, at most 10000 are allowed/);
          }
          const field = asked === trainer && used === honest
            ? /^spec\.trainer\.numNodes: /
            : /^spec\./;
          refused.push([`ml/${name}`, field]);
          cluster.put(KINDS.trainJob, job);
        }
      }
    }
    cluster.put(KINDS.clusterTrainingRuntime, runtime());
    cluster.put(KINDS.trainJob, trainJob());
    await until(
      "the honest job has its Job",
      () => cluster.peek(KINDS.job, "ml/tj-node-0") !== undefined,
    );
    for (const [key, field] of refused) {
      const told = () => conditionOf(cluster, KINDS.trainJob, key, "ResourcesCreated");
      await until(`${key} is told`, () => told()?.status === "False");
      match(told()?.message ?? "", field);
    }
    deepEqual(cluster.all(KINDS.jobSet).map(({ metadata }) => metadata.name), ["tj"]);
    deepEqual(cluster.all(KINDS.configMap).map(({ metadata }) => metadata?.name), [
      "tj-runtime-snapshot",
    ]);
  });
}

/** JobSets, which no webhook of ours sees: new ones, and one that is raised while it runs. */
async function jobSets(): Promise<void> {
  const template = (spec: object) => ({
    spec: { ...spec, template: { spec: { containers: [{ name: "main", image: "i" }] } } },
  });
  const make = (name: string, replicatedJobs: object[], more: object = {}) =>
    KINDS.jobSet.parse({
      ...jobSet({}, { name }),
      spec: { managedBy: MILEPOST_JOBSET_CONTROLLER, replicatedJobs, ...more },
    });
  const failurePolicy = { maxRestarts: MOST, rules: [{ name: "r", action: "RestartJob" }] };
  const shapes: Readonly<Record<string, { jobs: object[]; more?: object }>> = {
    replicas: { jobs: [{ name: "a", replicas: MOST, template: template({}) }] },
    "jobs-without-pods": {
      jobs: [{ name: "a", replicas: MOST, template: template({ parallelism: 0 }) }],
    },
    parallelism: { jobs: [{ name: "a", template: template(OF_JOB) }] },
    everything: {
      jobs: [{ name: "a", replicas: MOST, template: template(OF_JOB) }],
      more: { failurePolicy, ttlSecondsAfterFinished: MOST },
    },
    together: {
      jobs: [{ name: "a", replicas: 5000, template: template({}) }, {
        name: "b",
        replicas: 5001,
        template: template({}),
      }],
    },
  };
  await withControllers(async (cluster) => {
    cluster.put(KINDS.jobSet, make("raised", [{ name: "a", replicas: 2, template: template({}) }]));
    await until("the Jobs are there", () => cluster.all(KINDS.job).length === 2);
    for (const [name, { jobs, more }] of Object.entries(shapes)) {
      const object = make(name, jobs, more);
      jobSetProblems(object.spec ?? {}, object.metadata);
      cluster.put(KINDS.jobSet, object);
    }
    cluster.edit(KINDS.jobSet, "ml/raised", {
      spec: { replicatedJobs: [{ name: "a", replicas: MOST, template: template({}) }] },
    });
    cluster.put(KINDS.jobSet, make("honest", [{ name: "a", template: template({}) }]));
    await until(
      "the honest Job is there",
      () => cluster.peek(KINDS.job, "ml/honest-a-0") !== undefined,
    );
    for (const name of ["raised", ...Object.keys(shapes)]) {
      const told = () => conditionOf(cluster, KINDS.jobSet, `ml/${name}`, "Refused");
      await until(`${name} is told`, () => told()?.status === "True");
      match(told()?.message ?? "", /pods of the job, at most 10000 are allowed|must be/);
    }
    const jobs = () =>
      cluster.all(KINDS.job).map(({ metadata, spec }) => `${metadata?.name} ${spec?.suspend}`)
        .sort();
    deepEqual(jobs(), ["honest-a-0 false", "raised-a-0 false", "raised-a-1 false"]);
    cluster.edit(KINDS.jobSet, "ml/raised", { spec: { suspend: true } });
    await until(
      "what runs can be suspended",
      () => jobs().join() === "honest-a-0 false,raised-a-0 true,raised-a-1 true",
    );
  });
}

/** v1 jobs of every kind: new ones, and one that is scaled while it runs; with and without a gang. */
async function v1Jobs(gang: boolean): Promise<void> {
  const world = new JobWorld();
  if (gang) world.gang = gangScheduler("coscheduling");
  world.start();
  try {
    for (const kind of KIND_NAMES) world.put(kind, specOfKind(kind), `runs-${kind.toLowerCase()}`);
    await world.settle();
    world.reportAll({ phase: "Running" });
    await world.settle();
    const before = [...world.pods];
    ok(before.length > KIND_NAMES.length);
    const numbers = {
      backoffLimit: MOST,
      ttlSecondsAfterFinished: MOST,
      activeDeadlineSeconds: MOST,
      schedulingPolicy: { minAvailable: MOST },
    };
    for (const kind of KIND_NAMES) {
      const { specsKey } = V1_KINDS[kind];
      const elastic = {
        elasticPolicy: { minReplicas: MOST, maxReplicas: MOST, maxRestarts: MOST },
        slotsPerWorker: MOST,
      };
      const all = { ...elastic, ...Object(inflated({ ...specOfKind(kind), runPolicy: numbers })) };
      const raised = JSON.parse(JSON.stringify({ ...elastic, ...specOfKind(kind, numbers) }));
      // The last type is the workers, of which there may be several.
      const worker = Object.keys(raised[specsKey]).at(-1) ?? "";
      raised[specsKey][worker].replicas = MOST;
      for (const [name, spec] of Object.entries({ all, workers: raised })) {
        const job = V1_RESOURCES[kind].parse({
          apiVersion: "kubeflow.org/v1",
          kind,
          metadata: { name, namespace: "ml" },
          spec,
        });
        const text = `spec.${specsKey}[${name === "all" ? "" : worker}`;
        ok(textsOf(v1JobProblems(V1_KINDS[kind], job)).includes(text));
        match(
          textsOf(v1JobProblems(V1_KINDS[kind], job)),
          /pods of the job, at most 10000 are allowed/,
        );
        // A larger job yet can be suspended.
        const suspended = V1_RESOURCES[kind].parse({
          ...job,
          spec: { ...spec, runPolicy: { ...spec.runPolicy, suspend: true } },
        });
        deepEqual(changedV1JobProblems(V1_KINDS[kind], suspended, job), []);
        world.put(kind, spec, `${name}-${kind.toLowerCase()}`);
      }
      world.edit(
        kind,
        { [specsKey]: { [worker]: { replicas: MOST } } },
        `ml/runs-${kind.toLowerCase()}`,
      );
    }
    await world.settle();
    deepEqual(world.pods, before);
    world.put("PyTorchJob", specOfKind("PyTorchJob"), "honest");
    await world.settle();
    deepEqual(world.pods.filter((it) => !before.includes(it)).length, 5);
    for (const kind of KIND_NAMES) {
      for (const name of ["all", "workers"]) {
        deepEqual(world.conditions(kind, `ml/${name}-${kind.toLowerCase()}`), ["Created=False"]);
      }
      const key = `ml/runs-${kind.toLowerCase()}`;
      const told = world.events.filter(({ about, reason }) =>
        about === key && reason === `${kind}FailedValidation`
      );
      equal(told.length, 1, kind);
      world.edit(kind, { runPolicy: { suspend: true } }, key);
    }
    await world.settle();
    // What runs can be suspended.
    deepEqual(world.pods.filter((it) => before.includes(it)), []);
  } finally {
    await world.stop();
  }
}

/** As many pods as are allowed, with names of a megabyte, which nobody has checked before. */
async function longNames(): Promise<void> {
  const long = "n".repeat(1_000_000);
  for (const used of await shippedRuntimes()) {
    const job = trainJob({ trainer: { numNodes: 9_000 } }, { name: long });
    ok(trainJobProblems({ trainJob: job, runtime: used, executor: "builtin" }).length > 0);
  }
  for (const kind of KIND_NAMES) {
    const { specsKey } = V1_KINDS[kind];
    const spec = JSON.parse(JSON.stringify(specOfKind(kind)));
    const worker = Object.keys(spec[specsKey]).at(-1) ?? "";
    spec[specsKey][worker].replicas = 9_000;
    for (const metadata of [{ name: long, namespace: "ml" }, { name: "j", namespace: long }]) {
      v1JobProblems(
        V1_KINDS[kind],
        V1_RESOURCES[kind].parse({ apiVersion: "kubeflow.org/v1", kind, metadata, spec }),
      );
    }
  }
}

await longNames();
await trainJobs();
await jobSets();
await v1Jobs(false);
await v1Jobs(true);
const status = await Deno.readTextFile("/proc/self/status");
const peakMb = Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024);
await Deno.stdout.write(new TextEncoder().encode(String(peakMb)));
