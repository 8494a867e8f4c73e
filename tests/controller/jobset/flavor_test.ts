/** Tests of Jobs that are resumed with another template, as Kueue does for another flavor. */
import { deepEqual, equal } from "node:assert/strict";
import type { PodSpec, PodTemplateSpec } from "../../../platform/kube/kubernetes.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { jobSet, replicated, World } from "./world.ts";

const SPOT = { key: "spot", operator: "Exists" };
const OTHERS = { key: "others", operator: "Exists" };

/** What a flavor gives to pods. */
interface Placement {
  readonly metadata?: PodTemplateSpec["metadata"];
  readonly spec?: Partial<PodSpec>;
}

/** The template of a replicated job with that placement. */
function placed({ metadata, spec }: Placement) {
  const containers = [{ name: "main", image: "image" }];
  return [replicated("a", {
    template: {
      spec: { template: { ...(metadata && { metadata }), spec: { containers, ...spec } } },
    },
  })];
}

const template = (world: World) => world.job("t-a-0").spec?.template;

/** Suspends the JobSet, and resumes it with that placement. */
async function move(world: World, to: Placement): Promise<void> {
  await world.edit({ suspend: true });
  await world.edit({ suspend: false, replicatedJobs: placed(to) });
}

/** On the first flavor: with a gate, and labels of the queue. */
const FIRST: Placement = {
  metadata: { labels: { podset: "a", queue: "x" }, annotations: { workload: "w", level: "rack" } },
  spec: {
    nodeSelector: { gpu: "old", pool: "spot" },
    tolerations: [SPOT],
    schedulingGates: [{ name: "topology" }],
  },
};

for (const how of ["created", "resumed"]) {
  Deno.test(`a Job that was ${how} on one flavor and is resumed on another has nothing of the former`, async () => {
    const world = new World();
    await world.create(
      jobSet(
        how === "created"
          ? { replicatedJobs: placed(FIRST) }
          : { suspend: true, replicatedJobs: placed({}) },
      ),
    );
    if (how === "resumed") await move(world, FIRST);
    deepEqual(template(world)?.spec?.nodeSelector, { gpu: "old", pool: "spot" });
    deepEqual(template(world)?.spec?.schedulingGates, [{ name: "topology" }]);
    world.cluster.edit(KINDS.job, "default/t-a-0", {
      spec: {
        template: {
          metadata: { labels: { theirs: "1" } },
          spec: {
            nodeSelector: { arch: "arm64" },
            tolerations: [SPOT, OTHERS],
            schedulingGates: [{ name: "topology" }, { name: "theirs" }],
          },
        },
      },
    });
    await move(world, {
      metadata: { labels: { podset: "a" }, annotations: { workload: "w" } },
      spec: { nodeSelector: { pool: "demand" } },
    });
    const { metadata, spec } = template(world) ?? {};
    deepEqual(spec?.nodeSelector, { pool: "demand", arch: "arm64" });
    deepEqual(spec?.tolerations, [OTHERS]);
    deepEqual(spec?.schedulingGates, [{ name: "theirs" }]);
    equal(metadata?.labels?.queue, undefined);
    equal(metadata?.annotations?.level, undefined);
    deepEqual([metadata?.labels?.podset, metadata?.labels?.theirs], ["a", "1"]);
    equal(metadata?.annotations?.workload, "w");
    equal(metadata?.labels?.["jobset.sigs.k8s.io/jobset-name"], "t");
    await move(world, {});
    deepEqual(template(world)?.spec?.nodeSelector, { arch: "arm64" });
    equal(
      world.job("t-a-0").metadata?.annotations?.["trainer.kubeflow.org/from-template"],
      undefined,
    );
    equal(world.job("t-a-0").spec?.suspend, false);
  });
}

Deno.test("a Job whose record cannot be read loses nothing", async () => {
  for (const record of ["{", '{"nodeSelector": 1}', "x".repeat(20_000)]) {
    const world = new World();
    await world.create(jobSet({ replicatedJobs: placed(FIRST) }));
    world.cluster.edit(KINDS.job, "default/t-a-0", {
      metadata: { annotations: { "trainer.kubeflow.org/from-template": record } },
    });
    await move(world, {});
    deepEqual(template(world)?.spec?.nodeSelector, { gpu: "old", pool: "spot" });
    deepEqual(world.driver.errors, []);
  }
});

Deno.test("a Job without placement has no record", async () => {
  const world = new World();
  await world.create(jobSet({ suspend: true }));
  await world.edit({ suspend: false });
  equal(
    world.job("t-a-0").metadata?.annotations?.["trainer.kubeflow.org/from-template"],
    undefined,
  );
});
