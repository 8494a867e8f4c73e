/** Tests of the right of an MPIJob's launcher to run commands in its workers: to which pods, and when. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import type { KubeObject } from "../../../platform/kube/resource.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { JobWorld, pyTorchSpec, replicas } from "./job_world.ts";

const RUNNING = { phase: "Running" };

/** The spec of an MPIJob with that many workers; undefined: it has no such type. */
const mpiSpec = (workers: number | undefined, more: Record<string, unknown> = {}) => ({
  mpiReplicaSpecs: {
    Launcher: replicas("mpi", 1),
    ...workers !== undefined && { Worker: replicas("mpi", workers) },
  },
  ...more,
});

/** Pods that the rules give exec into: their names, `all` for a rule without names, none without such a rule. */
function reached(role: unknown): readonly string[] | "all" {
  const rules: { resources: string[]; resourceNames?: string[] }[] = Object(role).rules ?? [];
  const names = rules.filter(({ resources }) => resources.includes("pods/exec"))
    .map(({ resourceNames = [] }) => resourceNames);
  return names.some((it) => it.length === 0) ? "all" : names.flat();
}

const roleOf = (world: JobWorld) => world.cluster.peek<unknown>(KINDS.role, "ml/j-launcher");
const reachedIn = (world: JobWorld) => reached(roleOf(world));

/** Runs the test in a world whose controllers work as soon as the test says so, and ends them. */
function test(name: string, body: (world: JobWorld) => Promise<void>): void {
  Deno.test(name, async () => {
    const world = new JobWorld();
    try {
      await body(world);
    } finally {
      await world.stop();
    }
  });
}

for (const workers of [undefined, 0]) {
  test(`a launcher of ${workers ?? "no type of"} workers reaches no pod`, async (world) => {
    world.start();
    world.put("MPIJob", mpiSpec(workers));
    await world.settle();
    deepEqual(world.pods, ["j-launcher"]);
    deepEqual(reachedIn(world), []);
  });
}

test("the role names the workers before the launcher's pod is created", async (world) => {
  world.start();
  world.put("MPIJob", mpiSpec(2));
  await world.settle();
  deepEqual(reachedIn(world), ["j-worker-0", "j-worker-1"]);
  const calls = world.cluster.calls.map(({ verb, kind, key, body }) => ({
    what: `${verb} ${kind} ${key}`,
    reached: kind === "Role" && verb !== "get" ? reached(body) : [],
  }));
  const named = calls.findIndex((it) => it.reached.length === 2);
  const created = calls.findIndex(({ what }) => what === "create Pod ml/j-launcher");
  ok(named >= 0 && named < created, JSON.stringify(calls.map(({ what }) => what)));
  deepEqual(calls.filter((it) => it.reached === "all"), []);
});

test("a pod of another job that has a worker's name is not named, and the launcher waits", async (world) => {
  world.start();
  world.put("PyTorchJob", pyTorchSpec(1, {}, { master: false }));
  await world.settle();
  deepEqual(world.pods, ["j-worker-0"]);
  world.put("MPIJob", mpiSpec(2));
  await world.settle();
  deepEqual(world.pods, ["j-worker-0", "j-worker-1"]);
  deepEqual(reachedIn(world), ["j-worker-1"]);
  ok(
    world.events.some(({ reason, component }) =>
      reason === "FailedCreatePod" && component === "mpijob-controller"
    ),
  );
});

/** A pod of somebody else. */
function foreign(name: string): Pod {
  return {
    metadata: { name, namespace: "ml", labels: { app: "theirs" } },
    spec: { containers: [{ name: "c", image: "i" }] },
  };
}

/** An MPIJob of two workers that runs. */
async function running(world: JobWorld): Promise<void> {
  world.start();
  world.put("MPIJob", mpiSpec(2));
  await world.settle();
  world.reportAll(RUNNING);
  await world.settle();
  deepEqual(reachedIn(world), ["j-worker-0", "j-worker-1"]);
}

test("a name that became another's is lost in the pass that finds it", async (world) => {
  await running(world);
  const { length } = world.cluster.calls;
  world.cluster.remove(KINDS.pod, "ml/j-worker-1");
  world.cluster.put(KINDS.pod, foreign("j-worker-1"));
  await world.settle();
  deepEqual(reachedIn(world), ["j-worker-0"]);
  const [first] = world.cluster.calls.slice(length).filter(({ verb }) => verb !== "get");
  equal(`${first?.verb} ${first?.kind}`, "patch Role");
});

test("a worker that is being deleted is named no more: its name may be another's next", async (world) => {
  await running(world);
  world.cluster.edit(KINDS.pod, "ml/j-worker-1", {
    metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["acme.io/wait"] },
  });
  await world.settle();
  deepEqual(reachedIn(world), ["j-worker-0"]);
});

test("a worker under another name is not reached: the launcher knows none such", async (world) => {
  await running(world);
  const worker = world.pod("j-worker-1");
  world.cluster.remove(KINDS.pod, "ml/j-worker-1");
  const { uid: _, resourceVersion: __, ...metadata } = worker.metadata ?? {};
  world.cluster.put(KINDS.pod, { ...worker, metadata: { ...metadata, name: "other" } });
  await world.settle();
  deepEqual(reachedIn(world), ["j-worker-0"]);
});

/** How a job may be that has pods of its own no more, or some that stay. */
const STATES: Readonly<Record<string, { spec: object; ends?: string; want: readonly string[] }>> = {
  "is suspended": { spec: { runPolicy: { suspend: true } }, want: [] },
  "has ended, with all its pods": { spec: {}, ends: "Succeeded", want: ["j-worker-0"] },
  "has ended, without its pods": {
    spec: { runPolicy: { cleanPodPolicy: "All" } },
    ends: "Succeeded",
    want: [],
  },
  "runs": { spec: {}, want: ["j-worker-0"] },
  "asks for too many pods": { spec: { workers: 2 ** 31 - 1 }, want: ["j-worker-0"] },
};

for (const [state, { spec, ends, want }] of Object.entries(STATES)) {
  test(`the role of former versions is rewritten, of a job that ${state}`, async (world) => {
    world.start();
    world.put("MPIJob", mpiSpec(1));
    await world.settle();
    world.reportAll(RUNNING);
    await world.settle();
    await world.stop();
    const { workers, ...others } = { workers: 1, ...spec };
    world.edit("MPIJob", mpiSpec(workers, others));
    const exec = {
      apiGroups: [""],
      resources: ["pods/exec"],
      resourceNames: [],
      verbs: ["create"],
    };
    const role = world.cluster.peek<KubeObject>(KINDS.role, "ml/j-launcher");
    world.cluster.put(KINDS.role, { ...role, rules: [exec] } as KubeObject);
    if (ends !== undefined) world.report("j-launcher", { phase: ends, exitCode: 0 });
    world.start();
    await world.settle();
    await world.settle();
    deepEqual(reachedIn(world), want);
  });
}

test("a job that ended gets no role, and another's role of that name stays as it is", async (world) => {
  await running(world);
  world.report("j-launcher", { phase: "Succeeded", exitCode: 0 });
  await world.settle();
  await world.stop();
  world.cluster.remove(KINDS.role, "ml/j-launcher");
  world.start();
  await world.settle();
  equal(roleOf(world), undefined);
  await world.stop();
  const theirs = { metadata: { name: "j-launcher", namespace: "ml" }, rules: [] };
  world.cluster.put(KINDS.role, theirs);
  world.start();
  await world.settle();
  deepEqual(Object(roleOf(world)).rules, []);
});

test("without the right to write its role the launcher does not start, and its workers do", async (world) => {
  world.start();
  let refused = true;
  world.fault(({ verb, kind }, phase) =>
    refused && phase === "before" && kind === "Role" && verb !== "get"
      ? new KubeError("roles is forbidden", { code: 403, reason: "Forbidden" })
      : undefined
  );
  world.put("MPIJob", mpiSpec(2));
  await world.settle(1_000);
  await world.settle(10_000);
  deepEqual(world.pods, ["j-worker-0", "j-worker-1"]);
  refused = false;
  await world.settle(60_000);
  deepEqual(world.pods, ["j-launcher", "j-worker-0", "j-worker-1"]);
});
