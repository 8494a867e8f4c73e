/** Tests of the TrainJob controller with trials: the label of pods, the end of jobs, stops. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { createSettling } from "../../../controller/trainjob/settling.ts";
import { SETTLE_MS } from "../../../controller/trainjob/trials.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS } from "../../../crds/names.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { until } from "../../support/until.ts";
import { replicatedJob, runtime, trainJob } from "../builders.ts";
import { KEY, START, World } from "./world.ts";

const EARLY_STOPPED = [
  { type: "EarlyStopped", status: "True", reason: "RulesMet", message: "loss greater 0.5" },
  { type: "Complete", status: "True", reason: "EarlyStopped", message: "loss greater 0.5" },
].map((condition) => ({ ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" }));

function begin(spec: Parameters<typeof trainJob>[0] = {}): World {
  const world = new World();
  const jobs = [
    replicatedJob("model-initializer", "model-initializer"),
    replicatedJob("node", "trainer"),
  ];
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime({}, { replicatedJobs: jobs }));
  world.cluster.put(KINDS.trainJob, trainJob(spec));
  return world;
}

/** The label of the trial on the pods of each replicated job. */
function labels({ jobSet }: World): (string | undefined)[] {
  return (jobSet?.spec?.replicatedJobs ?? []).map(({ template }) =>
    template.spec?.template.metadata?.labels?.[LABELS.trial]
  );
}

Deno.test("reconcileTrainJob() puts the trial's name on all pods, initializers included", async () => {
  const world = begin();
  world.trial = "trial-1";
  await world.settle();
  deepEqual(labels(world), ["trial-1", "trial-1"]);
});

Deno.test("reconcileTrainJob() removes a trial's label that no Trial confirms", async () => {
  const labelled = replicatedJob("node", "trainer");
  const pod = labelled.template.spec?.template;
  ok(pod);
  pod.metadata = { labels: { [LABELS.trial]: "somebody-else", app: "a" } };
  const world = new World();
  world.cluster.put(KINDS.clusterTrainingRuntime, runtime({}, { replicatedJobs: [labelled] }));
  world.cluster.put(KINDS.trainJob, trainJob());
  await world.settle();
  deepEqual(labels(world), [undefined]);
  const metadata = world.jobSet?.spec?.replicatedJobs?.[0]?.template.spec?.template.metadata;
  equal(metadata?.labels?.app, "a");
});

Deno.test("reconcileTrainJob() makes no pods while their trial is unknown", async () => {
  const world = begin();
  Object.assign(world.options, {
    trials: {
      trialOf: () => Promise.reject(new Error("the Trial cannot be read")),
      isStopping: () => false,
    },
  });
  await world.reconcile().then(() => ok(false, "no error"), (error) => {
    equal(error.message, "the Trial cannot be read");
  });
  equal(world.jobSet, undefined);
});

Deno.test("reconcileTrainJob() does not look up the trial of a running job", async () => {
  const world = begin();
  await world.settle();
  world.cluster.edit(KINDS.jobSet, KEY, { spec: { suspend: false } });
  Object.assign(world.options, {
    trials: {
      trialOf: () => Promise.reject(new Error("asked")),
      isStopping: () => false,
    },
  });
  await world.settle();
});

Deno.test("reconcileTrainJob() gives a paused job's pods the label that was not known before", async () => {
  const world = begin({ suspend: true });
  await world.settle();
  deepEqual(labels(world), [undefined, undefined]);
  world.trial = "trial-1";
  await world.settle();
  deepEqual(labels(world), ["trial-1", "trial-1"]);
});

for (const [type, want] of [["Completed", "Complete"], ["Failed", "Failed"]] as const) {
  Deno.test(`reconcileTrainJob() reports ${want} only when the log has every accepted push`, async () => {
    const world = begin();
    await world.settle();
    world.settled = false;
    world.report({ conditions: [world.condition(type, "True", "Done", "done")] });
    await world.settle();
    deepEqual(world.conditions, []);
    world.settled = true;
    await world.settle();
    deepEqual(world.conditions, [`${want}=True/Done: done`]);
  });
}

Deno.test("reconcileTrainJob() does not let the deadline overtake an end that waits for the log", async () => {
  const world = begin({ activeDeadlineSeconds: 1 });
  await world.settle();
  world.settled = false;
  world.report({ conditions: [world.condition("Completed", "True", "Done", "done")] });
  world.now = START + 3_000;
  await world.settle();
  deepEqual(world.conditions, []);
  world.settled = true;
  await world.settle();
  deepEqual(world.conditions, ["Complete=True/Done: done"]);
});

Deno.test("reconcileTrainJob() deletes the JobSet of a job that was stopped early, and keeps the job", async () => {
  const world = begin();
  await world.settle();
  const counters = { name: "node", ready: 1, succeeded: 0, failed: 0, active: 1, suspended: 0 };
  world.report({ replicatedJobsStatus: [counters] });
  await world.settle();
  world.cluster.edit(KINDS.trainJob, KEY, { status: { conditions: EARLY_STOPPED } });
  await world.settle();
  equal(world.jobSet?.spec?.suspend, true, "its pods end without the garbage collector");
  const suspended = { conditions: [world.condition("Suspended")] };
  world.report({ ...suspended, replicatedJobsStatus: [{ ...counters, suspended: 1 }] });
  await world.settle();
  ok(world.jobSet, "a pod is left");
  deepEqual(world.trainJob.status?.jobsStatus, [counters]);
  const idle = { ...counters, ready: 0, active: 0 };
  world.report({ ...suspended, replicatedJobsStatus: [{ ...idle, suspended: 1 }] });
  await world.settle();
  equal(world.jobSet, undefined);
  equal(world.trainJob.status?.state, "EarlyStopped");
  deepEqual(world.trainJob.status?.jobsStatus, [{ ...counters, ready: 0, active: 0 }]);
  deepEqual(world.conditions, [
    "EarlyStopped=True/RulesMet: loss greater 0.5",
    "Complete=True/EarlyStopped: loss greater 0.5",
  ]);
  const deletions = world.cluster.writes.filter(({ verb }) => verb === "delete");
  deepEqual(deletions.map(({ kind, key }) => [kind, key]), [["JobSet", KEY]]);
});

Deno.test("reconcileTrainJob() deletes the JobSet of a stopped job whose executor is away", async () => {
  const world = begin();
  await world.settle();
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const conditions = EARLY_STOPPED.map((it) => ({ ...it, lastTransitionTime }));
  world.cluster.edit(KINDS.trainJob, KEY, { status: { conditions } });
  world.now = START + 4_000;
  deepEqual(await world.reconcile(), { requeueAfterMs: 6_000 });
  equal(world.jobSet?.spec?.suspend, true);
  world.now = START + 10_000;
  await world.settle();
  equal(world.jobSet, undefined);
});

Deno.test("reconcileTrainJob() does not resume what a stop has halted, and shows the job as it was", async () => {
  const world = begin();
  await world.settle();
  world.cluster.edit(KINDS.trainJob, KEY, { status: { state: "Running" } });
  world.cluster.edit(KINDS.jobSet, KEY, { spec: { suspend: true } });
  world.report({ conditions: [world.condition("Suspended")] });
  world.isStopping = true;
  await world.settle();
  equal(world.jobSet?.spec?.suspend, true);
  equal(world.trainJob.status?.state, "Running");
  world.isStopping = false;
  await world.settle();
  equal(world.jobSet?.spec?.suspend, false, "what nobody stops goes on");
});

Deno.test("reconcileTrainJob() does not resume a halted job whose status holds the decision", async () => {
  const world = begin();
  await world.settle();
  const stop = { reason: "Pruned", message: "m", time: "2026-01-01T00:00:00Z", graceSeconds: 0 };
  world.cluster.edit(KINDS.trainJob, KEY, { status: { stop } });
  world.cluster.edit(KINDS.jobSet, KEY, { spec: { suspend: true } });
  world.report({ conditions: [world.condition("Suspended")] });
  await world.settle();
  equal(world.jobSet?.spec?.suspend, true);
});

for (
  const [finalizer, want] of [["foregroundDeletion", true], ["orphan", false], [
    "acme/keep",
    false,
  ]] as const
) {
  const does = want ? "ends" : "leaves";
  Deno.test(`reconcileTrainJob() ${does} the pods of a job that is being deleted with the finalizer ${finalizer}`, async () => {
    const world = begin();
    await world.settle();
    world.cluster.edit(KINDS.trainJob, KEY, {
      metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [finalizer] },
    });
    await world.settle();
    equal(world.jobSet?.spec?.suspend, want);
  });
}

Deno.test("reconcileTrainJob() keeps an early stop that was written before another end", async () => {
  const world = begin();
  await world.settle();
  world.report({ conditions: [world.condition("Failed", "True", "FailedJobs", "killed")] });
  let isFirst = true;
  world.cluster.faults.push((call, phase) => {
    if (call.subresource === "status" && phase === "before" && isFirst) {
      isFirst = false;
      world.cluster.edit(KINDS.trainJob, KEY, { status: { conditions: EARLY_STOPPED } });
    }
    return undefined;
  });
  await world.settle();
  deepEqual(world.conditions.map((it) => it.split(":")[0]), [
    "EarlyStopped=True/RulesMet",
    "Complete=True/EarlyStopped",
  ]);
  equal(world.jobSet, undefined);
});

interface Settled {
  readonly clock: FakeClock;
  readonly woken: string[];
  readonly asked: AbortSignal[];
}

function settlingWith(settle: (signal: AbortSignal) => Promise<void> | undefined) {
  const world: Settled = { clock: new FakeClock(), woken: [], asked: [] };
  const settling = createSettling({
    settle: (_job, signal) => {
      world.asked.push(signal);
      return settle(signal);
    },
    clock: world.clock,
  });
  const end = settling.start((key) => void world.woken.push(key));
  return { ...world, settling: { ...settling, end } };
}

Deno.test("createSettling() lets a job end at once if there is nothing to wait for", () => {
  const { settling, woken } = settlingWith(() => undefined);
  equal(settling.isSettled(trainJob()), true);
  deepEqual(woken, []);
  settling.end();
});

for (const how of ["resolves", "rejects"] as const) {
  Deno.test(`createSettling() wakes the job when the wait ${how}, having asked once`, async () => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { settling, woken, asked } = settlingWith(() => promise);
    equal(settling.isSettled(trainJob()), false);
    equal(settling.isSettled(trainJob()), false);
    if (how === "resolves") resolve();
    else reject(new Error("the log is out of reach"));
    await until("the job is woken", () => woken.length > 0);
    deepEqual(woken, [KEY]);
    equal(settling.isSettled(trainJob()), true);
    equal(asked.length, 1);
    settling.end();
  });
}

Deno.test("createSettling() waits at most 5 s, and aborts the question then", async () => {
  const { settling, woken, asked, clock } = settlingWith(() => new Promise(() => {}));
  equal(settling.isSettled(trainJob()), false);
  await clock.advance(SETTLE_MS - 1);
  equal(settling.isSettled(trainJob()), false);
  equal(asked[0]?.aborted, false);
  await clock.advance(1);
  await until("the job is woken", () => woken.length > 0);
  equal(settling.isSettled(trainJob()), true);
  equal(asked[0]?.aborted, true);
  settling.end();
});

Deno.test("createSettling() asks again about another job of the same name", () => {
  const { settling, asked } = settlingWith(() => new Promise(() => {}));
  settling.isSettled(trainJob());
  settling.isSettled(trainJob({}, { uid: "another" }));
  equal(asked.length, 2);
  settling.end();
});
