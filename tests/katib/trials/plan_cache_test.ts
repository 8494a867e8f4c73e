/** Tests of the cache of plans: its reads, primary pods, and notices. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { jobRefOf } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import type { Trial } from "../../../crds/trial.ts";
import { WATCHED } from "../../../crds/watched.ts";
import { trialIndexes } from "../../../katib/trials/cached_trial.ts";
import type { Notice } from "../../../trials/plan/notice.ts";
import type { ObservationPlan, PlanSettings } from "../../../trials/plan/observation_plan.ts";
import { podIndexes } from "../../../katib/trials/primary_runs.ts";
import { NO_RUN } from "../../../trials/recording/present_run.ts";
import { createPlanCache } from "../../../katib/trials/plan_cache.ts";
import { MemoryCluster } from "../../controller/memory_cluster.ts";
import { jobOf, jobSetOf, trial } from "./builders.ts";

const signal = new AbortController().signal;

class World {
  readonly cluster = new MemoryCluster();
  readonly notices: Notice[] = [];
  settings: PlanSettings = {
    adopted: new Set(),
    namesOnly: true,
    keepsPlainJobs: false,
    keepsSteps: true,
  };
  resting = false;
  woken = 0;
  elapsedMs = 0;
  readonly plans;

  constructor() {
    const { cluster } = this;
    const trials = cluster.informer(WATCHED.trial, trialIndexes);
    const isResting = () => this.resting;
    this.plans = createPlanCache({
      jobs: new Map([[TRAINJOB, {
        jobs: cluster.informer(WATCHED.trainJob),
        pods: cluster.informer(WATCHED.pod, podIndexes(TRAINJOB)),
      }]]),
      trials: {
        get: trials.get,
        byIndex: trials.byIndex,
        get resting() {
          return isResting();
        },
        wake: () => void this.woken++,
      },
      jobSets: cluster.informer(WATCHED.jobSet),
      client: cluster.client(),
      settings: () => this.settings,
      notify: (notices) => void this.notices.push(...notices),
      deadlineMs: 1000,
      clock: { monotonic: () => this.elapsedMs },
    });
  }

  put(of: Trial | undefined, job: TrainJob): TrainJob {
    if (of) this.cluster.put(KINDS.trial, of);
    return this.cluster.put(KINDS.trainJob, job);
  }

  planFor(job: TrainJob) {
    return this.plans.planFor(jobRefOf(TRAINJOB, job), signal);
  }

  async plan(job: TrainJob): Promise<ObservationPlan> {
    const answer = await this.planFor(job);
    if (answer.kind !== "plan") throw new Error(JSON.stringify(answer));
    return answer;
  }

  /** Reads of the API server. */
  get reads(): string[] {
    return this.cluster.calls.map(({ verb, kind, key }) => `${verb} ${kind} ${key}`);
  }
}

Deno.test("`planFor()` answers at once by the caches, the same plan until something changes", () => {
  const world = new World();
  const job = world.put(trial(), jobOf(trial()));
  const first = world.planFor(job);
  ok(!(first instanceof Promise));
  equal(first.kind, "plan");
  const trainerStatus = { progressPercentage: 1, lastUpdatedTime: "2026-01-01T00:00:00Z" };
  world.cluster.edit(KINDS.trainJob, "ml/t1", { status: { trainerStatus } });
  equal(world.planFor(job), first);
  world.cluster.edit(KINDS.trial, "ml/t1", {
    metadata: { annotations: { "trainer.kubeflow.org/early-stopping-grace": "5s" } },
  });
  const second = world.planFor(job);
  ok(!(second instanceof Promise) && second.kind === "plan");
  equal(second.graceMs, 5_000);
  deepEqual(world.reads, []);
});

Deno.test("`planFor()` makes the same plan anew where nobody has asked for it for long", async () => {
  const world = new World();
  const job = world.put(trial(), jobOf(trial()));
  const first = await world.plan(job);
  for (let asked = 0; asked < 3; asked++) {
    world.elapsedMs += 500_000;
    equal(await world.plan(job), first);
  }
  world.elapsedMs += 700_000;
  const later = await world.plan(job);
  ok(later !== first);
  deepEqual(later, first);
});

Deno.test("`planFor()` follows the settings: a collector is adopted, and not any more", async () => {
  const world = new World();
  const of = trial({ metricsCollector: { collector: { kind: "StdOut" } } });
  const job = world.put(of, jobOf(of));
  equal((await world.planFor(job)).kind, "none");
  world.settings = { ...world.settings, adopted: new Set(["StdOut"]) };
  equal((await world.planFor(job)).kind, "plan");
  world.settings = { ...world.settings, adopted: new Set() };
  equal((await world.planFor(job)).kind, "none");
});

Deno.test("`planFor()` reads job and Trial that the caches do not have yet, once for all who ask", async () => {
  const world = new World();
  world.cluster.hold();
  const job = world.put(trial(), jobOf(trial()));
  const answers = await Promise.all([world.plan(job), world.plan(job), world.plan(job)]);
  deepEqual(new Set(answers.map(({ key }) => key.uid)), new Set(["uid-of-t1"]));
  deepEqual(world.reads, ["get TrainJob ml/t1", "get Trial ml/t1"]);
});

Deno.test("`planFor()` does not refuse a claim by a cache that is behind", async () => {
  const world = new World();
  world.put(trial({}, { uid: "older" }), jobOf(trial()));
  world.cluster.hold();
  world.cluster.remove(KINDS.trial, "ml/t1");
  const job = world.put(trial(), jobOf(trial()));
  equal((await world.plan(job)).key.uid, "uid-of-t1");
  deepEqual(world.notices, []);
});

Deno.test("`planFor()` reads for an impostor that pushes often now and then, and tells of it", async () => {
  const world = new World();
  const job = world.put(undefined, jobOf(trial()));
  for (let push = 0; push < 20; push++) equal((await world.planFor(job)).kind, "refused");
  deepEqual(world.reads, ["get Trial ml/t1"]);
  deepEqual(world.notices.map(({ about, reason }) => [about.kind, reason]), [
    ["TrainJob", "TrialClaimRefused"],
  ]);
  world.elapsedMs += 2_001;
  world.cluster.put(KINDS.trial, trial());
  equal((await world.planFor(job)).kind, "plan");
});

Deno.test("`planFor()` says that it does not know while the API server does not answer", async () => {
  const world = new World();
  const job = world.put(undefined, jobOf(trial()));
  let isDown = true;
  world.cluster.faults.push(() => isDown ? new Error("connection refused") : undefined);
  const answer = await world.planFor(job);
  ok(answer.kind === "unknown");
  match(answer.why, /connection refused/);
  await rejects(world.plans.trialOf(TRAINJOB, job, signal), /connection refused/);
  isDown = false;
  world.cluster.hold();
  world.cluster.put(KINDS.trial, trial());
  equal((await world.planFor(job)).kind, "plan");
});

Deno.test("`planFor()` has nothing for a job that is gone, or that another has replaced", async () => {
  const world = new World();
  world.settings = { ...world.settings, keepsPlainJobs: true };
  equal((await world.planFor(jobOf(undefined))).kind, "none");
  world.elapsedMs += 2_001;
  world.put(undefined, jobOf(undefined, { uid: "another" }));
  equal((await world.planFor(jobOf(undefined))).kind, "none");
});

Deno.test("`planFor()` wakes the cache of Trials that rests, where a job has one", async () => {
  const world = new World();
  world.resting = true;
  await world.planFor(world.put(undefined, jobOf(undefined)));
  equal(world.woken, 0);
  world.cluster.hold();
  await world.planFor(world.put(trial(), jobOf(trial())));
  equal(world.woken, 1);
});

Deno.test("`planFor()` finds the two Trials that claim a job, and those of one name, in the caches", async () => {
  const world = new World();
  const first = trial();
  const job = world.put(first, jobOf(first));
  world.cluster.put(KINDS.trial, trial({ runSpec: first.spec?.runSpec }, { name: "t2" }));
  equal((await world.planFor(job)).kind, "refused");
  world.cluster.remove(KINDS.trial, "ml/t2");
  equal((await world.planFor(job)).kind, "plan");
  const older = { namespace: "older", uid: "o", creationTimestamp: "2025-01-01T00:00:00Z" };
  world.cluster.put(KINDS.trial, trial({}, older));
  equal((await world.planFor(job)).kind, "refused");
  world.cluster.remove(KINDS.trial, "older/t1");
  equal((await world.planFor(job)).kind, "plan");
});

const FINISHED = [{
  type: "Complete",
  status: "True",
  reason: "R",
  message: "m",
  lastTransitionTime: "2026-01-01T00:00:00Z",
}];

Deno.test("`openPlans()` has the plans with rules of jobs that have not finished", () => {
  const world = new World();
  world.put(trial(), jobOf(trial()));
  world.put(undefined, jobOf(undefined));
  const without = trial({ earlyStoppingRules: undefined }, { name: "t2" });
  world.put(without, jobOf(without));
  const ended = trial({}, { name: "t3" });
  world.put(ended, jobOf(ended));
  world.cluster.edit(KINDS.trainJob, "ml/t3", { status: { conditions: FINISHED } });
  const stopping = JSON.stringify({
    objective: { name: "loss", type: "minimize" },
    rules: [{ name: "loss", value: "1", comparison: "greater" }],
  });
  const annotations = { "trainer.kubeflow.org/early-stopping": stopping };
  world.put(undefined, jobOf(undefined, { name: "annotated", annotations }));
  deepEqual(world.plans.openPlans().map(({ job }) => job.name), ["t1", "annotated"]);
  deepEqual(world.reads, []);
});

Deno.test("`isOpen()` is so until the very job has finished", () => {
  const world = new World();
  world.put(undefined, jobOf(undefined));
  const job = { kind: TRAINJOB, namespace: "ml", name: "tj", uid: "uid-of-job-tj" };
  equal(world.plans.isOpen(job), true);
  equal(world.plans.isOpen({ ...job, uid: "another" }), false);
  world.cluster.edit(KINDS.trainJob, "ml/tj", { status: { conditions: FINISHED } });
  equal(world.plans.isOpen(job), false);
});

/** A condition of a Trial or a TrainJob. */
function conditionOf(type: string, status = "True") {
  const times = { lastUpdateTime: "2026-01-01T00:00:30Z" };
  const lastTransitionTime = "2026-01-01T00:00:30Z";
  return { type, status, reason: "R", message: `${type} m`, lastTransitionTime, ...times };
}

Deno.test("`stopShown()` tells pods to stop by the end of their job, else of its Trial", () => {
  const world = new World();
  const ref = jobRefOf(TRAINJOB, world.put(trial(), jobOf(trial())));
  equal(world.plans.stopShown(ref), undefined);
  const control = { stop: true, reason: "EarlyStopped" };
  const ofTrial = (conditions: unknown[]) =>
    world.cluster.edit(KINDS.trial, "ml/t1", { status: { conditions } });
  ofTrial([conditionOf("EarlyStopped", "False")]);
  equal(world.plans.stopShown(ref), undefined);
  ofTrial([conditionOf("EarlyStopped")]);
  deepEqual(world.plans.stopShown(ref), { ...control, message: "EarlyStopped m" });
  ofTrial([conditionOf("Succeeded")]);
  equal(world.plans.stopShown(ref), undefined);
  const stop = { reason: "RulesMet", message: "m", time: "2026-01-01T00:00:00Z", graceSeconds: 0 };
  world.cluster.edit(KINDS.trainJob, "ml/t1", { status: { stop } });
  equal(world.plans.stopShown(ref), undefined, "its grace may go on");
  world.cluster.edit(KINDS.trainJob, "ml/t1", {
    status: { conditions: [conditionOf("EarlyStopped")] },
  });
  equal(world.plans.stopShown(ref)?.stop, true);
  equal(world.plans.stopShown({ ...ref, uid: "another" }), undefined);
});

for (const end of ["Succeeded", "Failed", "Killed", "MetricsUnavailable"]) {
  Deno.test(`\`hasEnded()\` is so once the Trial is ${end}`, async () => {
    const world = new World();
    const plan = await world.plan(world.put(trial(), jobOf(trial())));
    equal(world.plans.hasEnded(plan), false);
    world.cluster.edit(KINDS.trial, "ml/t1", { status: { conditions: [conditionOf(end)] } });
    equal(world.plans.hasEnded(plan), true);
  });
}

Deno.test("`hasEnded()` is so once the job of a Trial has ended, since Katib reads its log then", async () => {
  const world = new World();
  const plan = await world.plan(world.put(trial(), jobOf(trial())));
  world.cluster.edit(KINDS.trainJob, "ml/t1", {
    status: { conditions: [conditionOf("Complete")] },
  });
  equal(world.plans.hasEnded(plan), true);
  equal(world.plans.hasEnded({ ...plan, key: { ...plan.job, kind: "job" } }), false, "its own log");
});

Deno.test("`primaryProblem()` says that no container of the job is the one that its Trial names", async () => {
  const world = new World();
  const of = trial({ primaryContainerName: "pytorch" });
  const plan = await world.plan(world.put(of, jobOf(of)));
  equal(world.plans.primaryProblem(plan), undefined, "there is no JobSet yet");
  const template = { spec: { containers: [{ name: "node", image: "none" }] } };
  const jobSet = jobSetOf(jobOf(of));
  const replicatedJobs = [{ name: "node", replicas: 1, template: { spec: { template } } }];
  const put = (changes: object) =>
    world.cluster.put(
      KINDS.jobSet,
      KINDS.jobSet.parse({ ...jobSet, spec: { replicatedJobs }, ...changes }),
    );
  put({ metadata: { ...jobSet.metadata, ownerReferences: [] } });
  equal(world.plans.primaryProblem(plan), undefined, "it is another's");
  put({});
  match(world.plans.primaryProblem(plan) ?? "", /no container "pytorch".*its containers: node/);
  equal(world.plans.primaryProblem({ ...plan, mapping: undefined }), undefined);
});

function podWith(labels: Record<string, string>) {
  return { metadata: { name: "p", namespace: "ml", uid: "uid-of-p", labels } };
}
const POD = { name: "p", uid: "uid-of-p" };
const PRIMARY = {
  "jobset.sigs.k8s.io/replicatedjob-name": "node",
  "batch.kubernetes.io/job-completion-index": "0",
};

const PODS: Record<string, { labels: Record<string, string>; want: boolean }> = {
  "the first of the trainers": { labels: PRIMARY, want: true },
  "another trainer": {
    labels: { ...PRIMARY, "batch.kubernetes.io/job-completion-index": "1" },
    want: false,
  },
  "an initializer": {
    labels: { ...PRIMARY, "jobset.sigs.k8s.io/replicatedjob-name": "dataset-initializer" },
    want: false,
  },
  "one without labels": { labels: {}, want: false },
};
for (const [sentence, { labels, want }] of Object.entries(PODS)) {
  Deno.test(`\`isPrimary()\` is ${want} for ${sentence}, by the cache`, async () => {
    const world = new World();
    const plan = await world.plan(world.put(trial(), jobOf(trial())));
    world.cluster.put(KINDS.pod, podWith(labels));
    equal(world.plans.isPrimary(plan, POD), want);
    deepEqual(world.reads, []);
  });
}

Deno.test("`isPrimary()` reads a pod whose labels the cache does not keep, once", async () => {
  const world = new World();
  const of = trial({ primaryPodLabels: { role: "master" } });
  const plan = await world.plan(world.put(of, jobOf(of)));
  world.cluster.put(KINDS.pod, podWith({ role: "master" }));
  deepEqual(await Promise.all([1, 2, 3].map(() => world.plans.isPrimary(plan, POD))), [
    true,
    true,
    true,
  ]);
  equal(world.plans.isPrimary(plan, POD), true);
  deepEqual(world.reads, ["get Pod ml/p"]);
});

Deno.test("`isPrimary()` is not known of a pod that is gone, nor while nobody answers", async () => {
  const world = new World();
  const plan = await world.plan(world.put(trial(), jobOf(trial())));
  equal(await world.plans.isPrimary(plan, POD), undefined);
  world.cluster.put(KINDS.pod, { metadata: { ...podWith(PRIMARY).metadata, uid: "another" } });
  equal(await world.plans.isPrimary(plan, POD), undefined);
  world.cluster.faults.push(() => new Error("connection refused"));
  equal(await world.plans.isPrimary(plan, { name: "q", uid: "q" }), undefined);
});

Deno.test("`isPrimary()` of an adopted trial asks for the trial's label", async () => {
  const world = new World();
  world.settings = { ...world.settings, adopted: new Set(["StdOut"]) };
  const of = trial({ metricsCollector: { collector: { kind: "StdOut" } } });
  const plan = await world.plan(world.put(of, jobOf(of)));
  world.cluster.put(KINDS.pod, podWith(PRIMARY));
  equal(world.plans.isPrimary(plan, POD), false);
  world.cluster.edit(KINDS.pod, "ml/p", {
    metadata: { labels: { "trainer.kubeflow.org/trial": "t1" } },
  });
  equal(world.plans.isPrimary(plan, POD), true);
});

/** Puts a pod of the job, which has started if it has a time. */
function putPod(world: World, uid: string, labels: Record<string, string>, startTime?: string) {
  const named = { "trainer.kubeflow.org/trainjob-name": "t1", ...labels };
  world.cluster.put(KINDS.pod, {
    metadata: { name: uid, namespace: "ml", uid, labels: named },
    status: startTime === undefined ? {} : { startTime },
  });
}

Deno.test("`presentRun()` is the primary pod that started last", async () => {
  const world = new World();
  const plan = await world.plan(world.put(trial(), jobOf(trial())));
  deepEqual(await world.plans.presentRun(plan), NO_RUN);
  putPod(world, "pending", PRIMARY);
  deepEqual(await world.plans.presentRun(plan), NO_RUN);
  putPod(world, "one", PRIMARY, "2026-01-01T00:00:01Z");
  const one = { run: "one", since: "2026-01-01T00:00:01.000000Z" };
  deepEqual(await world.plans.presentRun(plan), one);
  const other = { ...PRIMARY, "batch.kubernetes.io/job-completion-index": "1" };
  putPod(world, "other", other, "2026-01-01T00:00:09Z");
  putPod(
    world,
    "foreign",
    { ...PRIMARY, "trainer.kubeflow.org/trainjob-name": "t2" },
    "2026-01-01T00:00:09Z",
  );
  deepEqual(await world.plans.presentRun(plan), one);
  putPod(world, "two", PRIMARY, "2026-01-01T00:00:02Z");
  deepEqual(await world.plans.presentRun(plan), {
    run: "two",
    since: "2026-01-01T00:00:02.000000Z",
  });
  deepEqual(world.reads, []);
});

Deno.test("`presentRun()` is not an earlier pod's while it is not known whether a later one is primary", async () => {
  const world = new World();
  const of = trial({ primaryPodLabels: { role: "master" } });
  const plan = await world.plan(world.put(of, jobOf(of)));
  putPod(world, "one", { role: "master" }, "2026-01-01T00:00:01Z");
  equal((await world.plans.presentRun(plan)).run, "one");
  let isDown = true;
  world.cluster.faults.push(() => isDown ? new Error("connection refused") : undefined);
  putPod(world, "two", { role: "master" }, "2026-01-01T00:00:02Z");
  await rejects(async () => await world.plans.presentRun(plan), /pod two is a primary pod/);
  isDown = false;
  equal((await world.plans.presentRun(plan)).run, "two");
});

Deno.test("`trialOf()` names the Trial whose claim holds and whose metrics come by push", async () => {
  const world = new World();
  equal(await world.plans.trialOf(TRAINJOB, world.put(trial(), jobOf(trial())), signal), "t1");
  equal(await world.plans.trialOf(TRAINJOB, jobOf(undefined), signal), undefined);
  const impostor = jobOf(trial(), { name: "copy" });
  equal(await world.plans.trialOf(TRAINJOB, impostor, signal), undefined);
  deepEqual(world.notices.map(({ about, reason }) => [about.name, reason]), [
    ["copy", "TrialClaimRefused"],
  ]);
  const other = trial({ metricsCollector: { collector: { kind: "File" } } }, { name: "t2" });
  equal(await world.plans.trialOf(TRAINJOB, world.put(other, jobOf(other)), signal), undefined);
});

Deno.test("`trialOf()` reads the Trial that the cache does not have yet", async () => {
  const world = new World();
  world.cluster.hold();
  const job = world.put(trial(), jobOf(trial()));
  equal(await world.plans.trialOf(TRAINJOB, job, signal), "t1");
  deepEqual(world.reads, ["get Trial ml/t1"]);
});

Deno.test("`trialOf()` names a trial that is not recorded for its name, too: its pods are a trial's", async () => {
  const world = new World();
  const older = { namespace: "older", uid: "o", creationTimestamp: "2025-01-01T00:00:00Z" };
  world.cluster.put(KINDS.trial, trial({}, older));
  equal(await world.plans.trialOf(TRAINJOB, world.put(trial(), jobOf(trial())), signal), "t1");
});
