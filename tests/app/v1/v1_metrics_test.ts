/** Tests of the metrics of v1 jobs: named and counted as dashboards of the Training Operator have them. */
import assert from "node:assert/strict";
import { gangScheduler } from "../../../controller/jobs/gang.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { createMetrics, jobMetrics } from "../../../app/manager/metrics.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { JobWorld, pyTorchSpec } from "../../controller/jobs/job_world.ts";

const RUNNING = { phase: "Running" };

/** The lines of a scrape about v1 jobs that are not zero. */
async function scraped({ registry }: ReturnType<typeof createMetrics>): Promise<string[]> {
  const lines = (await registry.metrics()).split("\n");
  return lines.filter((it) => /^(training_operator_|\w+_(pods|creation|pod_groups)_total)/.test(it))
    .filter((it) => !it.endsWith(" 0")).sort();
}

Deno.test("a life of v1 jobs is counted in the Training Operator's series", async () => {
  const metrics = createMetrics();
  const world = new JobWorld();
  world.metrics = jobMetrics(metrics);
  world.gang = gangScheduler("volcano");
  world.start();
  try {
    const runPolicy = { ttlSecondsAfterFinished: 60, cleanPodPolicy: "All" };
    world.put("PyTorchJob", pyTorchSpec(1, { runPolicy }, { restartPolicy: "OnFailure" }));
    await world.settle();
    world.cluster.edit(KINDS.volcanoPodGroup, "ml/j", { status: { phase: "Inqueue" } });
    await world.settle(2000);
    world.reportAll(RUNNING);
    await world.settle();
    world.report("j-worker-0", { phase: "Failed", exitCode: 1 });
    await world.settle();
    world.reportAll(RUNNING);
    await world.settle();
    world.report("j-master-0", { phase: "Succeeded", exitCode: 0 });
    await world.settle();
    await world.settle(61_000);
    world.fault((call, phase) =>
      call.verb === "create" && call.kind === "Service" && phase === "before"
        ? new KubeError("no", { code: 403, reason: "Forbidden" })
        : undefined
    );
    world.put("PyTorchJob", pyTorchSpec(0), "refused");
    await world.settle();
    world.cluster.edit(KINDS.volcanoPodGroup, "ml/refused", { status: { phase: "Inqueue" } });
    await world.settle(2000);
  } finally {
    await world.stop();
  }
  const pytorch = '{job_namespace="ml",framework="pytorch"}';
  const lines = await scraped(metrics);
  const failed = lines.findIndex((it) => it.startsWith("failed_service_creation_total "));
  assert.ok(failed >= 0, lines.join("\n"));
  lines.splice(failed, 1);
  assert.deepEqual(lines, [
    "created_pod_groups_total 2",
    "created_pods_total 4",
    "deleted_pod_groups_total 1",
    "deleted_pods_total 3",
    "succeeded_service_creation_total 2",
    `training_operator_jobs_created_total${pytorch} 2`,
    `training_operator_jobs_deleted_total${pytorch} 1`,
    `training_operator_jobs_restarted_total${pytorch} 1`,
    `training_operator_jobs_successful_total${pytorch} 1`,
  ]);
});
