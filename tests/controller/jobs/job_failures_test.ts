/** Tests of what a v1 job says of the failures of its pods. */
import { deepEqual, equal, match } from "node:assert/strict";
import { ANNOTATIONS } from "../../../crds/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { runJob, testInWorld } from "./every_kind.ts";
import type { JobWorld } from "./job_world.ts";

const RUNNING = { phase: "Running" };
const told = (world: JobWorld, reason: string) =>
  world.events.filter((it) => it.reason === reason).map(({ message }) => message);

testInWorld(
  "a job that fails says why in its status and in one event beside the operator's",
  async (world) => {
    await runJob(world, "PyTorchJob", {}, { restartPolicy: "Never" });
    world.report("j-worker-1", { phase: "Failed", exitCode: 3 });
    await world.settle();
    const { failure, conditions } = world.job("PyTorchJob").status ?? {};
    deepEqual(failure, {
      headline: "worker-1 exited 3",
      ...{ replica: "worker-1", pod: "j-worker-1", container: "pytorch", exitCode: 3 },
      time: "2026-01-01T00:00:00Z",
    });
    equal(
      conditions?.find(({ type }) => type === "Failed")?.message,
      "PyTorchJob j is failed because 1 Worker replica(s) failed.",
    );
    const message = 'worker-1 exited 3 (pod "j-worker-1", container "pytorch")';
    deepEqual(told(world, "Failed"), [message]);
    await world.stop();
    world.start();
    await world.settle();
    deepEqual(told(world, "Failed"), [message]);
  },
);

testInWorld(
  "a job whose pod is made again and again says so from the second time on, until it has recovered",
  async (world) => {
    await runJob(world, "PyTorchJob", {}, { restartPolicy: "OnFailure" });
    const status = () => world.job("PyTorchJob").status;
    for (let time = 1; time <= 3; time++) {
      await world.settle(30_000);
      world.report("j-worker-1", { phase: "Failed", exitCode: 1 });
      await world.settle();
      equal(status()?.failure?.restarts, time < 2 ? undefined : time);
    }
    equal(told(world, "Restarting").length, 1);
    match(told(world, "Restarting")[0] ?? "", /^worker-1 exited 1 \(.*\); started again 2 times$/);
    const startTime = "2026-01-01T00:01:30Z";
    world.report("j-worker-1", { ...RUNNING, startTime });
    await world.settle(59_000);
    equal(status()?.failure?.recoveredTime, undefined);
    await world.settle(1_000);
    equal(status()?.failure?.recoveredTime, "2026-01-01T00:02:30Z");
  },
);

testInWorld("a container that is started again in its pod counts, too", async (world) => {
  await runJob(world, "PyTorchJob", {}, { restartPolicy: "OnFailure" });
  world.report("j-master-0", { phase: "Running", exitCode: 1, restarts: 2 });
  await world.settle();
  equal(world.job("PyTorchJob").status?.failure?.restarts, 2);
});

testInWorld("a job with a back-off limit says after how many restarts it fails", async (world) => {
  await runJob(world, "PyTorchJob", { backoffLimit: 5 }, { restartPolicy: "OnFailure" });
  world.report("j-master-0", { phase: "Running", exitCode: 1, restarts: 2 });
  await world.settle();
  equal(world.job("PyTorchJob").status?.failure?.restartLimit, 5);
});

testInWorld("a definition that drops the field gets the annotation, once", async (world) => {
  world.cluster.dropped.add("failure");
  await runJob(world, "PyTorchJob", {}, { restartPolicy: "Never" });
  world.report("j-worker-1", { phase: "Failed", exitCode: 3 });
  await world.settle();
  const { metadata, status } = world.job("PyTorchJob");
  equal(status?.failure, undefined);
  const text = metadata.annotations?.[ANNOTATIONS.failure] ?? "";
  equal(JSON.parse(text).exitCode, 3);
  const writes = () =>
    world.cluster.calls.filter(({ verb, kind }) => verb === "patch" && kind === "PyTorchJob");
  const { length } = writes();
  world.cluster.edit(V1_RESOURCES.PyTorchJob, "ml/j", { metadata: { labels: { a: "b" } } });
  await world.settle();
  equal(writes().length, length);
  deepEqual(told(world, "Failed").length, 1);
});
