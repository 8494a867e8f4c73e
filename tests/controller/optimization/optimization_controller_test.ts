/** Tests of the controller of OptimizationJobs: from the first trial to the result, and what goes wrong. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS, LABELS } from "../../../crds/names.ts";
import type { TrialRecord } from "../../../crds/trial_records.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { optimizationJob, type SearchParts } from "../../trials/search/builders.ts";
import { invalid } from "../memory_cluster.ts";
import { SearchWorld } from "./search_world.ts";

async function begin(parts: SearchParts = {}): Promise<SearchWorld> {
  const world = new SearchWorld();
  await world.create(optimizationJob(parts));
  return world;
}
const GRID = {
  parameters: ["a categorical x y", "b categorical 1 2 3"],
  spec: { searchAlgorithm: { grid: {} }, numTrials: 100, parallelTrials: 4 },
};
const FAILED = {
  conditions: [{
    type: "Failed",
    status: "True",
    reason: "R",
    message: "m",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  }],
};
const quota = new KubeError('trainjobs "x" is forbidden: exceeded quota: jobs', {
  code: 403,
  reason: "Forbidden",
});

Deno.test("the controller makes as many trials as may run, each with its values", async () => {
  const world = await begin({
    parameters: ["lr logUniform 1e-5 1", "LAYERS uniform 1 8 Int"],
    template: {
      metadata: {
        labels: { team: "a", [LABELS.optimizationJob]: "other" },
        annotations: { note: "n" },
        finalizers: ["example.com/mine"],
      },
      spec: {
        runtimeRef: { name: "torch" },
        trainer: { image: "i", env: [{ name: "A", value: "1" }] },
      },
    },
  });
  deepEqual(world.creations, [`ns/${world.name(0)}`, `ns/${world.name(1)}`]);
  const [trial] = world.trials;
  ok(trial);
  const [lr = "", layers = ""] = world.records.get(0)?.values ?? [];
  ok(Number(lr) >= 1e-5 && Number(lr) < 1);
  deepEqual(trial.spec, {
    runtimeRef: { name: "torch" },
    trainer: {
      image: "i",
      env: [
        { name: "A", value: "1" },
        { name: "KUBEFLOW_TRAINER_OPT_LR", value: lr },
        { name: "KUBEFLOW_TRAINER_OPT_lr", value: lr },
        { name: "KUBEFLOW_TRAINER_OPT_LAYERS", value: layers },
      ],
    },
  });
  deepEqual(trial.metadata.labels, { team: "a", [LABELS.optimizationJob]: "digits" });
  deepEqual(trial.metadata.annotations, {
    note: "n",
    [ANNOTATIONS.trialTemplate]: "{}",
    [ANNOTATIONS.objective]: "minimize loss",
  });
  equal(trial.metadata.finalizers, undefined);
  deepEqual(trial.metadata.ownerReferences, [{
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "OptimizationJob",
    name: "digits",
    uid: "01234567-89ab-4cde-8f01-23456789abcd",
    controller: true,
    blockOwnerDeletion: true,
  }]);
  deepEqual(world.conditions, [
    "Created=True/OptimizationJobCreated: ConfigMap digits-trials has the records of its trials",
    "Running=True/TrialsRunning: 2 of 4 trials are under way; 2 to come",
  ]);
  const configMap = world.cluster.peek(KINDS.configMap, "ns/digits-trials");
  equal(configMap?.metadata?.ownerReferences?.[0]?.uid, world.search.metadata.uid);
});

Deno.test("the controller goes on to the result, which is the best so far", async () => {
  const world = await begin();
  await world.end(0, "Complete", { value: "0.5" });
  equal(world.search.status?.result?.trainJobName, world.name(0));
  match(world.conditions[1] ?? "", /: 2 of 4 trials are under way; 1 complete; 1 to come$/);
  await world.end(1, "Complete", { value: "0.7" });
  equal(world.search.status?.result?.trainJobName, world.name(0));
  await world.end(2, "EarlyStopped", { value: "0.1", reason: "Pruned", message: "asha" });
  equal(world.search.status?.result?.trainJobName, world.name(0));
  await world.end(3, "Complete", { value: "0.25" });
  deepEqual(world.search.status?.result, {
    trainJobName: world.name(3),
    parameters: [{ name: "lr", value: world.records.get(3)?.values[0] }],
  });
  deepEqual(world.states, ["0 Complete", "1 Complete", "2 EarlyStopped Pruned", "3 Complete"]);
  deepEqual(world.conditions.slice(1), [
    "Running=False/OptimizationJobCompleted: the search has ended",
    "Complete=True/OptimizationJobCompleted: All 4 trials have ended: 3 complete, 1 stopped " +
    `early; the best is ${world.name(3)}, with loss 0.25`,
  ]);
  equal(world.creations.length, 4);
  equal(world.mostOpen, 2);
  deepEqual(world.events.map((it) => it.split(":")[0]), [
    "Normal OptimizationJobCreated",
    "Normal OptimizationJobCompleted",
  ]);
  const { length } = world.cluster.writes;
  world.restart();
  await world.settle();
  equal(world.cluster.writes.length, length);
});

Deno.test("the controller maximizes, and takes the first of equal values, and no infinities", async () => {
  const world = await begin({
    spec: { objectives: [{ metric: "acc", direction: "Maximize" }], parallelTrials: 4 },
  });
  await world.end(2, "Complete", { value: "0.9" });
  await world.end(1, "Complete", { value: "0.9" });
  equal(world.search.status?.result?.trainJobName, world.name(1));
  await world.end(0, "Complete", { value: "-Inf" });
  equal(world.search.status?.result?.trainJobName, world.name(1));
  await world.end(3, "Complete", { value: "+Inf" });
  equal(world.search.status?.result?.trainJobName, world.name(1));
});

Deno.test("the controller makes each point of a grid once, and ends with the grid", async () => {
  const world = await begin(GRID);
  for (let index = 0; index < 6; index++) await world.end(index, "Complete", { value: `${index}` });
  const points = [...world.records.values()].map(({ values }) => values.join(""));
  deepEqual(points.sort(), ["x1", "x2", "x3", "y1", "y2", "y3"]);
  equal(world.creations.length, 6);
  match(world.conditions.at(-1) ?? "", /^Complete=True.*All 6 trials have ended/);
});

const ends: Record<string, {
  readonly end: Parameters<SearchWorld["end"]>;
  readonly want: RegExp;
}> = {
  "that has never pushed it": {
    end: [0, "Complete"],
    want: /MetricsUnavailable: it is complete, and has never pushed loss/,
  },
  "whose last value is no number": {
    end: [0, "Complete", { value: "NaN" }],
    want: /MetricsUnavailable: its last loss, the objective, is NaN/,
  },
  "whose last value is infinite": {
    end: [0, "Complete", { value: "-inf" }],
    want: /MetricsUnavailable: its last loss, the objective, is -inf/,
  },
  "that has failed": {
    end: [0, "Failed", { reason: "BackoffLimitExceeded", message: "exit code 1" }],
    want: /TrainJobFailed: BackoffLimitExceeded: exit code 1/,
  },
};
for (const [which, { end, want }] of Object.entries(ends)) {
  Deno.test(`a trial ${which} has failed, and takes of the budget`, async () => {
    const world = await begin();
    await world.end(...end);
    match(world.states[0] ?? "", /^0 Failed/);
    match(world.events.at(-1) ?? "", new RegExp(`^Warning TrialFailed: Trial .*${want.source}`));
    equal(world.creations.length, 3);
  });
}

Deno.test("an objective that no log has is that of the TrainJob's last push", async () => {
  const world = await begin();
  const trainerStatus = {
    metrics: [{ name: "loss", value: "9" }, { name: "loss", value: "2" }],
    lastUpdatedTime: "2026-01-01T00:00:00Z",
  };
  await world.end(0, "Complete", { status: { trainerStatus } });
  equal(world.records.get(0)?.value, "2");
});

Deno.test("a log that cannot be read now fails no trial, and holds no other one up", async () => {
  const world = await begin();
  world.values.set(world.name(0), new Error("the log is replayed"));
  world.values.set(world.name(1), "1");
  const ended = world.end(0);
  await ended.catch(() => {});
  deepEqual(world.states, ["0 Running", "1 Running"]);
  ok(world.driver.errors.length > 0);
  await world.end(1).catch(() => {});
  deepEqual(world.states.slice(0, 3), ["0 Running", "1 Complete", "2 Running"]);
  world.values.set(world.name(0), "3");
  await world.settle();
  equal(world.records.get(0)?.value, "3");
});

Deno.test("a search all trials of which fail has failed", async () => {
  const world = await begin();
  for (let index = 0; index < 4; index++) await world.end(index, "Failed");
  match(
    world.conditions.at(-1) ?? "",
    /^Failed=True\/AllTrialsFailed: 4 out of 4 trials failed; of .*-0: TrainJobFailed: R: m$/,
  );
  equal(world.search.status?.result, undefined);
  equal(world.events.filter((it) => it.startsWith("Warning TrialFailed")).length, 4);
});

Deno.test("a search all trials of which are stopped is complete, without a result", async () => {
  const world = await begin();
  for (let index = 0; index < 4; index++) await world.end(index, "EarlyStopped");
  match(
    world.conditions.at(-1) ?? "",
    /^Complete=True.*none is complete, so that there is no result$/,
  );
  equal(world.search.status?.result, undefined);
});

Deno.test("of many failures the first ten are told", async () => {
  const world = await begin({ spec: { numTrials: 20, parallelTrials: 20 } });
  for (let index = 0; index < 20; index++) await world.end(index, "Failed");
  equal(world.events.filter((it) => it.startsWith("Warning TrialFailed")).length, 10);
  match(world.events.at(-1) ?? "", /^Warning AllTrialsFailed/);
});

Deno.test("a trial whose TrainJob is deleted has failed, and is never made again", async () => {
  const world = await begin();
  world.cluster.remove(KINDS.trainJob, `ns/${world.name(0)}`);
  await world.settle();
  deepEqual(world.states, ["0 Failed TrainJobDeleted", "1 Running", "2 Running"]);
  world.restart();
  await world.settle();
  equal(world.creations.filter((it) => it === `ns/${world.name(0)}`).length, 1);
});

Deno.test("a cache that does not show its trials yet fails none of them", async () => {
  const world = new SearchWorld();
  world.cluster.hold(KINDS.trainJob);
  await world.create(optimizationJob());
  world.driver.enqueue("ns/digits");
  await world.settle();
  deepEqual(world.states, ["0 Running", "1 Running"]);
  equal(world.creations.length, 2);
});

Deno.test("a search whose spec no webhook has checked has failed, with all that is wrong", async () => {
  const world = await begin({ parameters: ["a-b uniform 2 1", "n uniform 0.5 2 Int"] });
  deepEqual(world.conditions, [
    "Failed=True/InvalidSearch: spec.parameters[0].searchSpace.uniform: min must be strictly less " +
    "than max; spec.parameters[1].searchSpace.uniform.min: must be a whole number, since the type " +
    "is Int; spec.parameters[0].name: trials get it as a variable: must consist of letters, digits " +
    "and '_', and must not begin with a digit",
  ]);
  equal(world.creations.length, 0);
  equal(world.events.length, 1);
});

Deno.test("a template that is refused fails the search with its first trials", async () => {
  const world = new SearchWorld();
  world.cluster.admission.push((_verb, kind) =>
    kind === "TrainJob" ? invalid("spec.runtimeRef: not found") : undefined
  );
  await world.create(optimizationJob());
  equal(world.creations.length, 2);
  match(
    world.conditions.at(-1) ?? "",
    /^Failed=True\/TemplateRefused: TrainJob .*-0 is refused: spec.runtimeRef: not found/,
  );
  deepEqual(world.states, ["0 Failed TrainJobRefused", "1 Failed TrainJobRefused"]);
});

Deno.test("a trial that is refused when others were made has failed, and the search goes on", async () => {
  const world = new SearchWorld();
  world.cluster.admission.push((verb, kind, { metadata }) =>
    verb === "create" && kind === "TrainJob" && metadata.name?.endsWith("-1")
      ? invalid("no")
      : undefined
  );
  await world.create(optimizationJob());
  deepEqual(world.states, ["0 Running", "1 Failed TrainJobRefused", "2 Running"]);
});

Deno.test("a quota is waited for, and told", async () => {
  const world = new SearchWorld();
  let isFull = true;
  let refused = 0;
  world.cluster.faults.push(({ verb, kind }, phase) => {
    if (!isFull || verb !== "create" || kind !== "TrainJob" || phase !== "before") return;
    if (++refused === 6) isFull = false;
    return quota;
  });
  const seen = new Set<string>();
  world.afterPass = () => seen.add(world.conditions[0] ?? "");
  await world.create(optimizationJob());
  ok(seen.has(`Created=False/TrainJobsCreationFailed: ${quota.message}`));
  match(world.conditions[0] ?? "", /^Created=True/);
  deepEqual(world.states, ["0 Running", "1 Running"]);
  equal(world.trials.length, 2);
});

Deno.test("what may pass by itself is told once it has lasted, and changes nothing before", async () => {
  const world = new SearchWorld();
  let isBusy = true;
  const busy = new KubeError("too many requests", { code: 429, reason: "TooManyRequests" });
  world.cluster.faults.push(({ verb, kind }, phase) =>
    isBusy && verb === "create" && kind === "TrainJob" && phase === "before" ? busy : undefined
  );
  const created = () => world.conditions.find((it) => it.startsWith("Created")) ?? "";
  const pass = async (ms: number) => {
    await world.clock.advance(ms);
    await world.driver.pass();
    return created();
  };
  world.cluster.put(KINDS.optimizationJob, optimizationJob());
  deepEqual([await pass(0), await pass(29_999)], ["", ""]);
  equal(await pass(1), "Created=False/TrainJobsCreationFailed: too many requests");
  isBusy = false;
  await world.settle();
  match(created(), /^Created=True/);
  isBusy = true;
  world.cluster.edit(KINDS.trainJob, `ns/${world.name(0)}`, { status: FAILED });
  match(await pass(0), /^Created=True/);
  match(await pass(29_999), /^Created=True/);
  match(await pass(1), /^Created=False/);
});

for (const [what, refusal] of Object.entries({ "a quota": quota, "an admission": invalid("no") })) {
  Deno.test(`a trial that was made is known although ${what} refuses to make it again`, async () => {
    const world = new SearchWorld();
    let isKilled = false;
    world.cluster.faults.push(({ verb, kind }, phase) => {
      if (verb === "patch" && kind === "ConfigMap" && phase === "before" && !isKilled) {
        isKilled = true;
        return new Error("killed");
      }
      return isKilled && verb === "create" && kind === "TrainJob" && world.trials.length < 3 &&
          phase === "before"
        ? refusal
        : undefined;
    });
    await world.create(optimizationJob());
    deepEqual(world.states, ["0 Running", "1 Running"]);
    deepEqual(
      [...world.records.values()].map(({ uid }) => uid),
      world.trials.map(({ metadata }) => metadata.uid),
    );
  });
}

Deno.test("trials that wait are told with what they wait for", async () => {
  const world = await begin({ spec: { numTrials: 8, parallelTrials: 8 } });
  const message = 'jobsets "x" is forbidden: exceeded quota';
  for (const index of [0, 1, 2, 3]) await world.end(index, "Suspended");
  world.cluster.edit(KINDS.trainJob, `ns/${world.name(4)}`, {
    status: {
      state: "Created",
      conditions: [{
        type: "ResourcesCreated",
        status: "False",
        reason: "R",
        message,
        lastTransitionTime: "2026-01-01T00:00:00Z",
      }],
    },
  });
  for (const [index, state] of [[5, "Running"], [6, "Running"], [7, "Created"]]) {
    world.cluster.edit(KINDS.trainJob, `ns/${world.name(Number(index))}`, { status: { state } });
  }
  await world.settle();
  const suspended = `${[0, 1, 2].map((it) => world.name(it)).join(", ")}, 1 more wait: suspended ` +
    "until resumed, such as by Kueue once a quota admits it";
  const running = `Running=True/TrialsRunning: 8 of 8 trials are under way; ${suspended}; ` +
    `${world.name(4)} waits: ${message}`;
  equal(world.conditions[1], running);
  const waitMs = world.driver.requeues.get("ns/digits") ?? NaN;
  ok(waitMs > 0 && waitMs <= 300_000, `${waitMs} ms`);
  await world.clock.advance(waitMs);
  world.driver.enqueue("ns/digits");
  await world.settle();
  equal(
    world.conditions[1],
    `${running}; ${world.name(7)} waits: no pod of it runs yet: its events say why`,
  );
});

Deno.test("a log that cannot be read for long is told", async () => {
  const world = await begin();
  world.values.set(world.name(0), new Error("the log is replayed"));
  await world.end(0).catch(() => {});
  equal(world.conditions[1], "Running=True/TrialsRunning: 2 of 4 trials are under way; 2 to come");
  await world.clock.advance(30_000);
  await world.driver.pass();
  equal(
    world.conditions[1],
    `Running=True/TrialsRunning: 2 of 4 trials are under way; 2 to come; ${
      world.name(0)
    } waits: it is ` +
      "complete, and its log cannot be read: the log is replayed",
  );
  world.values.set(world.name(0), "1");
  await world.settle();
  match(world.conditions[1] ?? "", /2 of 4 trials are under way; 1 complete; 1 to come$/);
});

Deno.test("a TrainJob of somebody else that has a trial's name is left as it is", async () => {
  const world = new SearchWorld();
  world.cluster.put(KINDS.trainJob, {
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
    metadata: { namespace: "ns", name: world.name(0) },
    spec: { runtimeRef: { name: "r" } },
  });
  await world.create(optimizationJob());
  deepEqual(world.states, ["0 Failed TrainJobNameTaken", "1 Running", "2 Running"]);
});

Deno.test("a TrainJob that was made under a trial's name with other values is none of its trials", async () => {
  const made = await begin();
  const [trial, second] = made.trials;
  ok(trial && second);
  const { trainer } = trial.spec;
  const world = new SearchWorld();
  const env = trainer?.env?.map(({ name }) => ({ name, value: "666" }));
  world.cluster.put(KINDS.trainJob, { ...trial, spec: { ...trial.spec, trainer: { env } } });
  world.cluster.put(KINDS.trainJob, second);
  await world.create(optimizationJob());
  deepEqual(world.states, ["0 Failed TrainJobNameTaken", "1 Running", "2 Running"]);
  match(
    world.records.get(0)?.message ?? "",
    /^another TrainJob has its name, and has other values/,
  );
  equal(world.records.get(1)?.uid, world.trials[1]?.metadata.uid);
});

Deno.test("records of another search are left as they are, and nothing is made", async () => {
  const world = new SearchWorld();
  world.cluster.put(KINDS.configMap, {
    metadata: { namespace: "ns", name: "digits-trials" },
    data: { mine: "1" },
  });
  await world.create(optimizationJob()).catch(() => {});
  deepEqual(world.conditions, [
    "Created=False/TrialRecordsTaken: ConfigMap digits-trials is not of this search: delete it, " +
    "or give the search another name",
  ]);
  equal(world.creations.length, 0);
  world.cluster.remove(KINDS.configMap, "ns/digits-trials");
  await world.settle();
  equal(world.creations.length, 2);
});

Deno.test("the records of a former search of the name are waited for, and told of nobody", async () => {
  const world = new SearchWorld();
  const { apiVersion, kind } = optimizationJob();
  const owner = { apiVersion, kind, name: "digits", uid: "former", controller: true };
  world.cluster.put(KINDS.configMap, {
    metadata: { namespace: "ns", name: "digits-trials", ownerReferences: [owner] },
    data: { "trial.0": JSON.stringify({ name: "x", values: ["1"], state: "Failed" }) },
  });
  await world.create(optimizationJob());
  deepEqual(world.conditions, []);
  equal(world.driver.requeues.get("ns/digits"), 500);
  world.cluster.remove(KINDS.configMap, "ns/digits-trials");
  world.driver.enqueue("ns/digits");
  await world.settle();
  equal(world.creations.length, 2);
  deepEqual(world.driver.errors, []);
});

const since = "2026-01-01T00:00:00Z";
const forged: Record<string, (own: TrialRecord) => Record<string, unknown>> = {
  "under another name": (own) => ({ ...own, name: "innocent" }),
  "with other values": (own) => ({ ...own, values: ["666"] }),
  "with more values": (own) => ({ ...own, values: [...own.values, "x"] }),
  "with a time that is none": (own) => ({ ...own, created: "x" }),
};
for (const [what, forge] of Object.entries(forged)) {
  Deno.test(`a record ${what} makes no TrainJob, and is written anew`, async () => {
    const world = await begin();
    const [own] = world.records.values();
    ok(own);
    const data = {
      "trial.0": JSON.stringify(forge(own)),
      "trial.99": JSON.stringify({ ...own, name: "digits-01234567-99", uid: undefined }),
    };
    world.cluster.edit(KINDS.configMap, "ns/digits-trials", { data });
    world.driver.enqueue("ns/digits");
    await world.settle();
    deepEqual(world.records.get(0), { ...own, created: since });
    equal(world.trials.length, 2);
    deepEqual([...new Set(world.creations)], [0, 1].map((it) => `ns/${world.name(it)}`));
    ok(!(Number(world.driver.requeues.get("ns/digits")) < 1000));
  });
}

Deno.test("records that were deleted are made again from the TrainJobs that are there", async () => {
  const world = await begin();
  const before = world.trials.map(({ metadata }) => metadata.uid);
  world.cluster.remove(KINDS.configMap, "ns/digits-trials");
  await world.end(0, "Complete", { value: "1" });
  deepEqual(world.states, ["0 Complete", "1 Running", "2 Running"]);
  deepEqual(world.trials.map(({ metadata }) => metadata.uid).slice(0, 2), before);
  equal(world.mostOpen, 2);
});

/** Refuses records of more than that many bytes, as the API server does. */
function withLimit(world: SearchWorld, bytes: number): void {
  world.cluster.admission.push((_verb, kind, { data }) =>
    kind === "ConfigMap" && Object.values(Object(data)).join("").length > bytes
      ? invalid("may not be more than that many bytes")
      : undefined
  );
}

Deno.test("values that a pruner can read again leave their place to records", async () => {
  const world = await begin();
  const key = "ns/digits-trials";
  const values = Array.from({ length: 200 }, (_, step) => [step, 0.5]);
  const pruning = JSON.stringify({ rungs: [1], values });
  world.cluster.edit(KINDS.configMap, key, { data: { "pruning.0": pruning } });
  withLimit(world, 1_500);
  for (const index of [0, 1, 2, 3]) await world.end(index, "Complete", { value: "1" });
  match(world.conditions.at(-1) ?? "", /^Complete=True/);
  equal(world.cluster.peek(KINDS.configMap, key)?.data?.["pruning.0"], '{"rungs":[1]}');
});

Deno.test("a search whose records hold no more has failed, and says why", async () => {
  const world = await begin();
  withLimit(world, 400);
  await world.end(0, "Complete", { value: "1" });
  match(
    world.conditions.at(-1) ?? "",
    /^Failed=True\/TrialRecordsRefused: the records of its trials are too large: may not be more/,
  );
  match(world.events.at(-1) ?? "", /^Warning TrialRecordsRefused/);
  equal(world.creations.length, 2);
});

Deno.test("what a pruner has recorded stays", async () => {
  const world = await begin();
  const key = "ns/digits-trials";
  world.cluster.edit(KINDS.configMap, key, { data: { "pruning.0": '{"rungs":[1]}' } });
  await world.end(0, "Complete", { value: "1" });
  equal(world.cluster.peek(KINDS.configMap, key)?.data?.["pruning.0"], '{"rungs":[1]}');
});

Deno.test("of a search that is being deleted, or is gone, nothing is made", async () => {
  const world = new SearchWorld();
  const metadata = {
    deletionTimestamp: "2026-01-01T00:00:00Z",
    finalizers: ["foregroundDeletion"],
  };
  await world.create(optimizationJob({ metadata }));
  equal(world.cluster.writes.length, 0);
  const stale = new SearchWorld();
  stale.cluster.put(KINDS.optimizationJob, optimizationJob());
  stale.cluster.hold();
  stale.cluster.remove(KINDS.optimizationJob, "ns/digits");
  stale.driver.enqueue("ns/digits");
  await stale.settle();
  equal(stale.cluster.writes.length, 0);
});

Deno.test("progress of trials makes no pass", async () => {
  const world = await begin();
  const { passes } = world.driver;
  world.cluster.edit(KINDS.trainJob, `ns/${world.name(0)}`, {
    status: { trainerStatus: { progressPercentage: 5, lastUpdatedTime: "2026-01-01T00:00:00Z" } },
  });
  await world.settle();
  equal(world.driver.passes, passes);
});
