/** Tests of `standalone/jobs/job_controller.ts`. */
import { equal } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { createJobController, jobPodIndexes } from "../../../standalone/jobs/job_controller.ts";
import { MemoryCluster } from "../../controller/memory_cluster.ts";
import { FakeClock, until } from "../../support/fake_clock.ts";
import { indexed } from "./world.ts";

Deno.test("`createJobController()` works on what its caches show, and stops", async () => {
  const cluster = new MemoryCluster();
  const stop = new AbortController();
  const controller = createJobController({
    client: cluster.client(),
    informers: {
      jobs: cluster.informer(KINDS.job),
      pods: cluster.informer(KINDS.pod, jobPodIndexes),
    },
    events: { record: () => {} },
    clock: new FakeClock(),
    random: Math.random,
  });
  const running = controller.run(stop.signal);
  await cluster.client().create(KINDS.job, indexed(2));
  await until("two pods", () => cluster.all(KINDS.pod).length === 2);
  stop.abort();
  await running;
  cluster.put(KINDS.job, { ...indexed(1), metadata: { name: "k", namespace: "default" } });
  equal(cluster.all(KINDS.pod).length, 2);
});
