/** Tests of the time to live of TrainJobs: which job goes, when, by whose annotation, and that nothing goes too early. */
import { deepEqual, equal } from "node:assert/strict";
import { expiryOf } from "../../../controller/trainjob/expiry.ts";
import { readTimeToLive } from "../../../crds/time_to_live.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS, KUEUE_PATCH_MANAGER, LABELS } from "../../../crds/names.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import { optimizationJob } from "../../trials/search/builders.ts";
import { runtime, trainJob } from "../builders.ts";
import { KEY, START, World } from "./world.ts";

const after = (seconds: string) => ({ [ANNOTATIONS.timeToLive]: seconds });
const withLife = (seconds: string) => ({
  ...runtime(),
  metadata: { ...runtime().metadata, annotations: after(seconds) },
});

/** The job, with a condition that became True at the start. */
function ended(
  { type = "Complete", ...metadata }: { type?: string } & TrainJob["metadata"] = {},
  spec: Partial<TrainJob["spec"]> = {},
): TrainJob {
  const lastTransitionTime = new Date(START).toISOString();
  const condition = { type, status: "True", reason: "R", message: "m", lastTransitionTime };
  return { ...trainJob(spec, metadata), status: { conditions: [condition] } } as TrainJob;
}

const TRIAL = {
  apiVersion: "kubeflow.org/v1beta1",
  kind: "Trial",
  name: "tj",
  uid: "t",
  controller: true,
};
const KUEUE = { runtimePatches: [{ manager: KUEUE_PATCH_MANAGER }] };

const cases: Record<
  string,
  [TrainJob, ReturnType<typeof runtime> | undefined, number | undefined]
> = {
  "its own time": [ended({ annotations: after("5") }), withLife("9"), 5],
  "its own time of none, before its runtime's": [
    ended({ annotations: after("0") }),
    withLife("9"),
    0,
  ],
  "its runtime's": [ended(), withLife("9"), 9],
  "its runtime's, if its own is none": [ended({ annotations: after("soon") }), withLife("9"), 9],
  "its failure": [ended({ type: "Failed", annotations: after("5") }), undefined, 5],
  "never without an annotation": [ended(), runtime(), undefined],
  "never while it runs": [trainJob({}, { annotations: after("0") }), undefined, undefined],
  "never before its end, whatever else is true": [
    ended({ type: "Suspended", annotations: after("0") }),
    undefined,
    undefined,
  ],
  "never below a Trial, with which it goes": [
    ended({ annotations: after("0"), ownerReferences: [TRIAL] }),
    undefined,
    undefined,
  ],
  "as any other below another owner": [
    ended({ annotations: after("5"), ownerReferences: [{ ...TRIAL, controller: false }] }),
    undefined,
    5,
  ],
  "never if MultiKueue sent it here": [
    ended({ annotations: after("0"), labels: { [LABELS.multiKueueOrigin]: "hub" } }),
    undefined,
    undefined,
  ],
  "never if MultiKueue sent it away": [
    ended({ annotations: after("0") }, { managedBy: "kueue.x-k8s.io/multikueue" }),
    undefined,
    undefined,
  ],
  "a minute at least, if Kueue reads its end": [
    ended({ annotations: after("5") }, KUEUE),
    undefined,
    60,
  ],
  "its own time, if that is longer than Kueue's": [
    ended({ annotations: after("90") }, KUEUE),
    undefined,
    90,
  ],
  "never again while it is being deleted": [
    ended({ annotations: after("0"), deletionTimestamp: new Date(START).toISOString() }),
    undefined,
    undefined,
  ],
};
for (const [sentence, [job, of, want]] of Object.entries(cases)) {
  Deno.test(`\`expiryOf()\` lets a job go after ${sentence}`, () => {
    const atMs = expiryOf(job, of);
    equal(atMs === undefined ? undefined : (atMs - START) / 1000, want);
  });
}

const texts: [string, number | undefined][] = [
  ["0", 0],
  ["2147483647", 2_147_483_647],
  ["2147483648", undefined],
  ["-1", undefined],
  ["1.5", undefined],
  ["5s", undefined],
  ["", undefined],
  ["0".repeat(100_000), undefined],
];
for (const [text, want] of texts) {
  Deno.test(`\`readTimeToLive()\` reads ${JSON.stringify(text.slice(0, 20))} as ${want}`, () => {
    const read = readTimeToLive(text);
    deepEqual(
      read.ok ? read.value : read.problems.map(({ message }) => message),
      want ?? ["must be a whole number of seconds from 0 to 2147483647"],
    );
  });
}

/** A job with that annotation whose JobSet has just ended. */
async function finished(seconds: string): Promise<World> {
  const world = new World();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime());
  world.cluster.put(KINDS.trainJob, trainJob({}, { annotations: after(seconds) }));
  await world.settle();
  world.report({ conditions: [world.condition("Completed")] });
  return world;
}
const deletions = ({ cluster }: World) =>
  cluster.writes.filter(({ verb }) => verb === "delete").map(({ kind, key, body }) => ({
    kind,
    key,
    body,
  }));

Deno.test("a job that has ended is deleted in the background when its time is over, and no other of its name", async () => {
  const world = await finished("30");
  equal((await world.reconcile())?.requeueAfterMs, 30_000);
  const { uid } = world.trainJob.metadata;
  world.now += 29_000;
  equal((await world.reconcile())?.requeueAfterMs, 1_000);
  deepEqual(deletions(world), []);
  world.now += 1_000;
  equal((await world.reconcile())?.requeueAfterMs, undefined);
  const [deletion, ...others] = deletions(world);
  deepEqual([deletion?.kind, deletion?.key, others], ["TrainJob", KEY, []]);
  const { propagationPolicy, preconditions } = Object(deletion?.body);
  deepEqual([propagationPolicy, preconditions], ["Background", { uid }]);
  deepEqual(world.events.filter(({ reason }) => reason === "Expired"), [{
    about: KEY,
    type: "Normal",
    reason: "Expired",
    message: `deleted after its time to live: ${ANNOTATIONS.timeToLive} of the job`,
  }]);
});

Deno.test("a job without time to live after its end goes in the pass that writes its end", async () => {
  const world = await finished("0");
  await world.reconcile();
  equal(deletions(world).length, 1);
  equal(world.events.some(({ reason }) => reason === "Completed"), true);
});

Deno.test("a trial stays until its search has ended", async () => {
  const world = await finished("0");
  const metadata = { namespace: "ml", name: "digits", uid: "s" };
  const owner = { apiVersion: "trainer.kubeflow.org/v1alpha1", kind: "OptimizationJob" };
  const ownerReferences = [{ ...owner, name: "digits", uid: "s", controller: true }];
  world.cluster.edit(KINDS.trainJob, KEY, { metadata: { ownerReferences } });
  world.cluster.put(KINDS.optimizationJob, optimizationJob({ metadata }));
  Object.assign(world.options, { searches: world.cluster.informer(KINDS.optimizationJob) });
  await world.settle();
  deepEqual(deletions(world), []);
  const lastTransitionTime = new Date(START).toISOString();
  const condition = { type: "Complete", status: "True", reason: "R", message: "m" };
  world.cluster.edit(KINDS.optimizationJob, "ml/digits", {
    status: { conditions: [{ ...condition, lastTransitionTime }] },
  });
  await world.reconcile();
  equal(deletions(world).length, 1);
});

Deno.test("a trial whose search was made anew goes after its time to live", async () => {
  const world = await finished("0");
  const owner = { apiVersion: "trainer.kubeflow.org/v1alpha1", kind: "OptimizationJob" };
  const ownerReferences = [{ ...owner, name: "digits", uid: "old", controller: true }];
  world.cluster.edit(KINDS.trainJob, KEY, { metadata: { ownerReferences } });
  const metadata = { namespace: "ml" };
  world.cluster.put(KINDS.optimizationJob, optimizationJob({ metadata }));
  Object.assign(world.options, { searches: world.cluster.informer(KINDS.optimizationJob) });
  await world.reconcile();
  equal(deletions(world).length, 1);
});

Deno.test("a job whose life was prolonged behind the cache's back stays", async () => {
  const world = await finished("30");
  await world.reconcile();
  const old = world.trainJob;
  const { get } = world.options.informers.trainJobs;
  world.cluster.edit(KINDS.trainJob, KEY, { metadata: { annotations: after("900") } });
  world.options.informers.trainJobs.get = () => old;
  world.now += 40_000;
  await world.reconcile();
  deepEqual(deletions(world), []);
  world.options.informers.trainJobs.get = get;
  equal((await world.reconcile())?.requeueAfterMs, 860_000);
});
