/** Tests of what a reconciliation takes away while other calls of it fail, and of what it says then. */
import { deepEqual, equal, match } from "node:assert/strict";
import type { Child } from "../../../controller/runtime/child.ts";
import { plain } from "../../../controller/runtime/policies/plain.ts";
import type { Policies } from "../../../controller/runtime/policy.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { KubeError, messageOf } from "../../../platform/kube/errors.ts";
import { runtime, trainJob } from "../builders.ts";
import type { Fault } from "../memory_cluster.ts";
import { KEY, World } from "./world.ts";

const COUNTERS = { name: "node", ready: 0, succeeded: 0, failed: 0, active: 0, suspended: 0 };
const SUSPENDED = "Suspended=True/Suspended: TrainJob is suspended";
const ERRORS = {
  refused: new KubeError("denied", { code: 403, reason: "Forbidden" }),
  "without success": new KubeError("not well", { code: 500, reason: "InternalError" }),
};

/** A policy whose jobs have two ConfigMaps beside the JobSet. */
const POLICIES: Policies = {
  plain,
  ml: {
    rings: {
      apply: () => {},
      children: ({ trainJob: { metadata: { name } } }): Child[] =>
        ["one", "two"].map((which) => ({
          kind: KINDS.configMap,
          name: `${name}-${which}`,
          mode: "equal",
          content: { data: { which } },
        })),
    },
  },
  gangs: {},
};

/** A job that runs, with its ConfigMaps. */
async function running(spec: Parameters<typeof trainJob>[0] = {}): Promise<World> {
  const world = new World({ policies: POLICIES });
  world.ca = "PEM";
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime({ mlPolicy: { rings: {} } }));
  world.cluster.put(KINDS.trainJob, trainJob(spec));
  await world.settle();
  world.report({ replicatedJobsStatus: [{ ...COUNTERS, ready: 1, active: 1 }] });
  await world.settle();
  return world;
}

/** One reconciliation. Returns the message of what went wrong. */
const failureOf = (world: World): Promise<string> =>
  world.reconcile().then(() => "nothing", messageOf);

const beside = (error: Error): Fault => ({ kind }) =>
  kind === "TrainJob" || kind === "JobSet" ? undefined : error;

for (const [how, error] of Object.entries(ERRORS)) {
  Deno.test(`a job is suspended while its other calls are ${how}, which is told`, async () => {
    const world = await running();
    for (const name of ["one", "two"]) world.cluster.remove(KINDS.configMap, `ml/tj-${name}`);
    world.cluster.remove(KINDS.configMap, "ml/tj-runtime-snapshot");
    world.cluster.faults.push(beside(error));
    world.edit({ suspend: true });
    match(await failureOf(world), /denied|not well/);
    equal(world.jobSet?.spec?.suspend, true);
    equal(world.conditions.includes(SUSPENDED), true, world.conditions.join());
    equal(world.trainJob.status?.state, "Suspended");
    equal(world.warnings.length > 0, true);
    world.cluster.faults.length = 0;
    await world.settle();
    deepEqual(world.conditions, [SUSPENDED]);
  });

  Deno.test(`a job whose suspension is ${how} is not called suspended, and its counters follow`, async () => {
    const world = await running();
    const fault: Fault = ({ verb, kind }) =>
      verb === "patch" && kind === "JobSet" ? error : undefined;
    world.cluster.faults.push(fault);
    world.edit({ suspend: true });
    world.report({ replicatedJobsStatus: [{ ...COUNTERS, active: 1 }] });
    match(await failureOf(world), /denied|not well/);
    equal(world.jobSet?.spec?.suspend, false);
    equal(world.conditions.includes(SUSPENDED), false);
    equal(world.trainJob.status?.state, "Running");
    deepEqual(world.trainJob.status?.jobsStatus, [{ ...COUNTERS, active: 1 }]);
    equal(world.warnings.length > 0, true);
    world.cluster.faults.length = 0;
    await world.settle();
    equal(world.jobSet?.spec?.suspend, true);
    deepEqual(world.conditions, [SUSPENDED]);
    equal(world.trainJob.status?.state, "Suspended");
  });

  Deno.test(`a child whose write is ${how} holds back neither the others nor the counters`, async () => {
    const world = await running();
    for (const name of ["one", "two"]) {
      world.cluster.edit(KINDS.configMap, `ml/tj-${name}`, { data: { which: "none" } });
    }
    world.cluster.faults.push(({ verb, key }) =>
      verb === "patch" && key === "ml/tj-one" ? error : undefined
    );
    world.report({ replicatedJobsStatus: [{ ...COUNTERS, succeeded: 1 }] });
    match(await failureOf(world), /denied|not well/);
    deepEqual(world.cluster.peek(KINDS.configMap, "ml/tj-two")?.data, { which: "two" });
    deepEqual(world.trainJob.status?.jobsStatus, [{ ...COUNTERS, succeeded: 1 }]);
    equal(world.warnings.length, 1);
  });

  Deno.test(`a job that has not begun gets nothing after a child whose write is ${how}`, async () => {
    const world = new World({ policies: POLICIES });
    world.cluster.put(KINDS.clusterTrainingRuntime, runtime({ mlPolicy: { rings: {} } }));
    world.cluster.put(KINDS.trainJob, trainJob());
    world.cluster.faults.push(({ verb, key }) =>
      verb === "create" && key === "ml/tj-one" ? error : undefined
    );
    match(await failureOf(world), /denied|not well/);
    equal(world.jobSet, undefined);
    equal(world.cluster.peek(KINDS.configMap, "ml/tj-two"), undefined);
    equal(world.trainJob.status === undefined, how === "without success");
  });

  Deno.test(`the JobSet of a job that its deadline ended is suspended, then deleted while other calls are ${how}`, async () => {
    const world = await running({ activeDeadlineSeconds: 60 });
    world.now += 61_000;
    await world.reconcile();
    world.cluster.faults.push(beside(error));
    await failureOf(world);
    equal(world.jobSet?.spec?.suspend, true);
    world.now += 10_000;
    await failureOf(world);
    equal(world.jobSet, undefined);
  });
}

Deno.test("an error that says nothing about the children leaves what is known of them", async () => {
  const world = await running();
  world.cluster.edit(KINDS.configMap, "ml/tj-one", { data: { which: "none" } });
  let error = ERRORS.refused;
  world.cluster.faults.push(({ verb, key }) =>
    verb === "patch" && key === "ml/tj-one" ? error : undefined
  );
  await failureOf(world);
  const told = ["ResourcesCreated=False/TrainJobResourcesCreationFailed: denied"];
  deepEqual(world.conditions, told);
  error = ERRORS["without success"];
  world.report({ replicatedJobsStatus: [{ ...COUNTERS, succeeded: 1 }] });
  await failureOf(world);
  deepEqual(world.conditions, told);
  deepEqual(world.trainJob.status?.jobsStatus, [{ ...COUNTERS, succeeded: 1 }]);
});

Deno.test("a JobSet is suspended before anything is read or made", async () => {
  const world = await running();
  world.edit({ suspend: true });
  const { length } = world.cluster.calls;
  await world.reconcile();
  const [first] = world.cluster.calls.slice(length);
  deepEqual([first?.verb, first?.kind, first?.key], ["patch", "JobSet", KEY]);
});

Deno.test("a pass that fails comes back for the deadline, wherever it fails", async () => {
  const places: Record<string, Fault> = {
    "at a child": ({ key }) => key === "ml/tj-one" ? ERRORS["without success"] : undefined,
    "at the status": ({ subresource }) => subresource ? ERRORS["without success"] : undefined,
    "at each call": () => ERRORS["without success"],
  };
  for (const [where, fault] of Object.entries(places)) {
    const world = await running({ activeDeadlineSeconds: 600 });
    world.cluster.remove(KINDS.configMap, "ml/tj-one");
    world.report({ replicatedJobsStatus: [{ ...COUNTERS, active: 1 }] });
    world.cluster.faults.push(fault);
    world.now += 400_000;
    const { error, requeueAfterMs } = await world.pass() ?? {};
    equal(messageOf(error), "not well", where);
    equal(requeueAfterMs, 200_001, where);
  }
});

Deno.test("a job whose end is refused comes back when its JobSet is due to be deleted", async () => {
  const world = await running({ activeDeadlineSeconds: 60 });
  world.now += 61_000;
  await world.reconcile();
  world.cluster.faults.push(({ kind, verb }) =>
    kind === "JobSet" && verb === "patch" ? ERRORS.refused : undefined
  );
  world.now += 4_000;
  const { error, requeueAfterMs } = await world.pass() ?? {};
  equal(messageOf(error), "denied");
  equal(requeueAfterMs, 6_000);
});
