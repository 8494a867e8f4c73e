/** Tests of TrainJobs while the definition of a child's kind is removed. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { runtime, trainJob } from "../builders.ts";
import { KEY, World } from "./world.ts";

const PROBLEM = "the API server does not serve JobSet of jobset.x-k8s.io/v1alpha2: install the " +
  "CRD jobsets.jobset.x-k8s.io, which JobSet brings and `milepost crds` prints; the TrainJob then starts";

/** The answer of an API server that knows no such path. */
const NO_SUCH_PATH = new KubeError("404 page not found", { code: 404, reason: "Unknown" });

/** A job that runs, whose JobSet goes with the definition of JobSets. */
async function withoutDefinition(): Promise<World> {
  const world = new World();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob());
  await world.settle();
  world.events.length = 0;
  world.cluster.remove(KINDS.jobSet, KEY);
  world.cluster.faults.push(({ kind }) => kind === "JobSet" ? NO_SUCH_PATH : undefined);
  return world;
}

Deno.test("a job whose JobSet has no definition says so, and goes on when it is back", async () => {
  const world = await withoutDefinition();
  await world.reconcile();
  await world.reconcile();
  deepEqual(world.conditions, [
    `ResourcesCreated=False/TrainJobResourcesCreationFailed: ${PROBLEM}`,
  ]);
  deepEqual(world.events.map(({ message }) => message), [
    `TrainJob resources reconciliation failed: ${PROBLEM}`,
  ]);
  world.cluster.faults.length = 0;
  await world.settle();
  ok(world.jobSet);
  deepEqual(world.conditions, []);
});

Deno.test("a job whose JobSet has no definition costs a few calls a minute", async () => {
  const world = await withoutDefinition();
  await world.reconcile();
  const before = world.cluster.calls.length;
  let passes = 0;
  for (let at = 0; at < 600_000; passes++) {
    const { error, requeueAfterMs = NaN } = await world.pass() ?? {};
    equal(error, undefined);
    ok(requeueAfterMs > 0);
    at += requeueAfterMs;
  }
  const calls = world.cluster.calls.length - before;
  ok(calls <= 10 * 12, `${calls} calls in ten minutes, ${passes} passes`);
});
