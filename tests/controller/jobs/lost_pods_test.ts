/** Tests of pods and Services of a v1 job that are not there: those that vanish, were never made, or are drained. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import type { V1Job } from "../../../crds/v1/job.ts";
import type { V1KindName } from "../../../crds/v1/kinds.ts";
import { RESTART_POLICIES, V1_LABELS } from "../../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { runJob, specOfKind, testInWorld } from "./every_kind.ts";
import type { JobWorld } from "./job_world.ts";

/** UIDs of all pods and Services by name. */
function uids(world: JobWorld): Record<string, string | undefined> {
  const named = [KINDS.pod, KINDS.service].flatMap((kind) =>
    world.cluster.all<{ metadata?: { name?: string; uid?: string } }>(kind)
      .map(({ metadata }): [string, string | undefined] => [
        `${kind.kind} ${metadata?.name}`,
        metadata?.uid,
      ])
  );
  return Object.fromEntries(named);
}

/** The writes of pods and Services from now on, when it is called. */
function writesFrom(world: JobWorld): () => string[] {
  const { length } = world.cluster.writes;
  return () =>
    world.cluster.writes.slice(length)
      .filter(({ kind }) => kind === "Pod" || kind === "Service")
      .map(({ verb, kind, key }) => `${verb} ${kind} ${key}`).sort();
}

/** The index that `TF_CONFIG` gives a pod. */
function taskOf(world: JobWorld, name: string): unknown {
  const { env = [] } = world.pod(name).spec?.containers[0] ?? {};
  return JSON.parse(env.find((it) => it.name === "TF_CONFIG")?.value ?? "{}").task;
}

testInWorld(
  "of six replicas three are there with their Services: the other pods and Services are made",
  async (world) => {
    world.put("TFJob", specOfKind("TFJob"));
    await world.settle();
    const kept = ["j-worker-0", "j-worker-1", "j-ps-0"];
    await world.stop();
    for (const name of world.pods.filter((it) => !kept.includes(it))) {
      world.cluster.remove(KINDS.pod, `ml/${name}`);
      world.cluster.remove(KINDS.service, `ml/${name}`);
    }
    deepEqual([world.pods.length, world.services.length], [3, 3]);
    const before = uids(world);
    const writes = writesFrom(world);
    world.start();
    await world.settle();
    deepEqual(writes(), [
      "create Pod ml/j-ps-1",
      "create Pod ml/j-worker-2",
      "create Pod ml/j-worker-3",
      "create Service ml/j-ps-1",
      "create Service ml/j-worker-2",
      "create Service ml/j-worker-3",
    ]);
    deepEqual({ ...uids(world), ...before }, uids(world), "what was there stays");
    deepEqual(world.services, world.pods);
    deepEqual(world.conditions("TFJob"), ["Created"]);
  },
);

for (const restartPolicy of RESTART_POLICIES) {
  testInWorld(
    `under ${restartPolicy} a worker that vanishes is made again, and nothing else`,
    async (world) => {
      await runJob(world, "TFJob", {}, { restartPolicy });
      const { "Pod j-worker-3": lost, ...others } = uids(world);
      const writes = writesFrom(world);
      world.cluster.remove(KINDS.pod, "ml/j-worker-3");
      await world.settle();
      deepEqual(writes(), ["create Pod ml/j-worker-3"]);
      const { "Pod j-worker-3": made, ...stayed } = uids(world);
      ok(made !== undefined && made !== lost);
      deepEqual(stayed, others, "the Service is the same, and so is every other pod");
      equal(world.pod("j-worker-3").metadata?.labels?.[V1_LABELS.replicaIndex], "3");
      deepEqual(taskOf(world, "j-worker-3"), { type: "worker", index: 3 });
      deepEqual(world.conditions("TFJob"), ["Created", "Running"]);
      equal(world.job("TFJob").status?.replicaStatuses?.Worker?.active, 3);
      world.report("j-worker-3", { phase: "Running" });
      await world.settle();
      equal(world.job("TFJob").status?.replicaStatuses?.Worker?.active, 4);
    },
  );
}

/** Types of conditions that a job ever has, from now on. */
function everTrue(world: JobWorld, kind: V1KindName): Set<string> {
  const types = new Set<string>();
  world.cluster.informer<V1Job>(V1_RESOURCES[kind]).onChange(({ object }) => {
    for (const { type, status } of object.status?.conditions ?? []) {
      if (status === "True") types.add(type);
    }
  });
  return types;
}

/** A pod of each kind whose end would be the job's, and one that is not alone. */
const DRAINED: readonly (readonly [V1KindName, string])[] = [
  ["TFJob", "j-worker-0"],
  ["TFJob", "j-ps-1"],
  ["PyTorchJob", "j-master-0"],
  ["PyTorchJob", "j-worker-2"],
  ["XGBoostJob", "j-master-0"],
  ["XGBoostJob", "j-worker-2"],
  ["MXJob", "j-scheduler-0"],
  ["MXJob", "j-server-1"],
  ["MXJob", "j-worker-2"],
  ["PaddleJob", "j-master-0"],
  ["JAXJob", "j-worker-2"],
];

for (const [kind, pod] of DRAINED) {
  for (const restartPolicy of RESTART_POLICIES) {
    testInWorld(
      `under ${restartPolicy} a ${kind} goes on whose ${pod} is drained`,
      async (world) => {
        await runJob(world, kind, {}, { restartPolicy });
        const types = everTrue(world, kind);
        const writes = writesFrom(world);
        const deletionTimestamp = "2026-01-01T00:00:30Z";
        world.cluster.edit(KINDS.pod, `ml/${pod}`, { metadata: { deletionTimestamp } });
        await world.settle();
        // A program that heeds SIGTERM may end with any code.
        world.report(pod, { phase: "Failed", exitCode: 1 });
        await world.settle();
        deepEqual(writes(), [], "its name is not free yet");
        world.cluster.remove(KINDS.pod, `ml/${pod}`);
        await world.settle();
        deepEqual(writes(), [`create Pod ml/${pod}`]);
        world.report(pod, { phase: "Running" });
        await world.settle();
        deepEqual(world.conditions(kind), ["Created", "Running"]);
        deepEqual([...types].sort(), ["Created", "Running"]);
        ok(world.reasons.every((it) => !/Failed|Restarting/.test(it)), String(world.reasons));
      },
    );
  }
}
