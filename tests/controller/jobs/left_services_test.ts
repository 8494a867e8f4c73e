/** Tests of Services of a v1 job whose pods are gone: what ends, stops or cleans up the job takes them along. */
import { deepEqual, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { runJob, specOfKind, testInWorld } from "./every_kind.ts";
import type { JobWorld } from "./job_world.ts";

const KIND = "PyTorchJob";
const NAMES = ["j-master-0", "j-worker-0", "j-worker-1", "j-worker-2", "j-worker-3"];

/** Deletes pods, as somebody does who is quicker than the engine. */
function lose(world: JobWorld, names: readonly string[]): void {
  for (const name of names) world.cluster.remove(KINDS.pod, `ml/${name}`);
}

/** Pods that are gone when the engine looks: one, or all. */
const LOST: readonly (readonly string[])[] = [["j-worker-2"], NAMES];

const isLeft = (lost: readonly string[]) => (name: string) => !lost.includes(name);

for (const lost of LOST) {
  const what = lost.length === 1 ? "a Service without its pod" : "Services of which no pod is left";

  for (
    const [cleanPodPolicy, left] of [
      ["All", []],
      ["Running", ["j-master-0"].filter(isLeft(lost))],
      ["None", NAMES],
    ] as const
  ) {
    testInWorld(
      `${what}: ${left.length} Services stay at the end under ${cleanPodPolicy}`,
      async (world) => {
        await runJob(world, KIND);
        world.report("j-master-0", { phase: "Succeeded", exitCode: 0 });
        await world.settle();
        ok(world.conditions(KIND).includes("Succeeded"));
        lose(world, lost);
        await world.settle();
        deepEqual(world.services, NAMES, "by the default nothing is cleaned up");
        world.edit(KIND, { runPolicy: { cleanPodPolicy } });
        await world.settle();
        deepEqual(world.services, left);
        deepEqual(world.pods, left.filter(isLeft(lost)));
      },
    );
  }

  testInWorld(`${what} of a job that is suspended goes`, async (world) => {
    await runJob(world, KIND);
    lose(world, lost);
    world.edit(KIND, specOfKind(KIND, { suspend: true }));
    await world.settle();
    deepEqual([world.pods, world.services], [[], []]);
    ok(world.conditions(KIND).includes("Suspended"));
    ok(lost.every((name) => !world.creations().slice(NAMES.length).includes(`ml/${name}`)));
  });

  testInWorld(`${what} of a job at its deadline goes`, async (world) => {
    await runJob(world, KIND, { activeDeadlineSeconds: 60 });
    await world.stop();
    lose(world, lost);
    world.clock.advance(60_000);
    world.start();
    await world.settle();
    deepEqual([world.pods, world.services], [[], []]);
    ok(world.conditions(KIND).includes("Failed"));
    deepEqual(world.creations().length, NAMES.length);
  });
}

testInWorld(
  "a Service without its pod goes with a job whose restarts are too many",
  async (world) => {
    await runJob(world, KIND, { backoffLimit: 1 }, { restartPolicy: "OnFailure" });
    lose(world, ["j-worker-2"]);
    world.report("j-worker-0", { phase: "Running", restarts: 1 });
    await world.settle();
    deepEqual([world.pods, world.services], [[], []]);
    ok(world.conditions(KIND).includes("Failed"));
  },
);
