/** Tests of `controller/jobset/jobset_controller.ts`. */
import { equal } from "node:assert/strict";
import {
  createJobSetController,
  jobSetJobIndexes,
} from "../../../controller/jobset/jobset_controller.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { WATCHED } from "../../../crds/watched.ts";
import { FakeClock, until } from "../../support/fake_clock.ts";
import { MemoryCluster } from "../memory_cluster.ts";
import { jobSet } from "./world.ts";

Deno.test("`createJobSetController()` works on what its caches show, and stops", async () => {
  const cluster = new MemoryCluster();
  const stop = new AbortController();
  const controller = createJobSetController({
    client: cluster.client(),
    managerName: "manager",
    informers: {
      jobSets: cluster.informer(WATCHED.jobSet),
      jobs: cluster.informer(KINDS.job, jobSetJobIndexes),
      services: cluster.informer(KINDS.service),
    },
    events: { record: () => {} },
    clock: new FakeClock(),
  });
  const running = controller.run(stop.signal);
  await cluster.client().create(KINDS.jobSet, jobSet());
  await until("four Jobs", () => cluster.all(KINDS.job).length === 4);
  stop.abort();
  await running;
  cluster.put(KINDS.jobSet, jobSet({}, { name: "u" }));
  equal(cluster.all(KINDS.job).length, 4);
});
