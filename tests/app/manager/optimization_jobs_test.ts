/** Tests of OptimizationJobs in a whole Milepost: trials that train, the result, and trials that are stopped or deleted by hand. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS } from "../../../crds/names.ts";
import { type OptimizationJob, optimizationJobSchema } from "../../../crds/optimization_job.ts";
import { readTrialRecords } from "../../../crds/trial_records.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { trueCondition } from "../../../platform/kube/conditions.ts";
import { shareStandalone, shellRuntime, trainJobThat } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { parameter } from "../../trials/search/builders.ts";

const standalone = shareStandalone((client) =>
  client.create(KINDS.clusterTrainingRuntime, shellRuntime("forever", "exec sleep 600"))
);
const inDefault = (name: string) => ({ namespace: "default", name });

/** A search over trials of a runtime. */
function search(
  name: string,
  { runtime, trainer, parameters = ["LEARNING_RATE logUniform 0.01 1"], spec }: {
    readonly runtime: string;
    readonly trainer?: unknown;
    readonly parameters?: readonly string[];
    readonly spec?: Record<string, unknown>;
  },
): OptimizationJob {
  return optimizationJobSchema.parse({
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "OptimizationJob",
    metadata: inDefault(name),
    spec: {
      objectives: [{ metric: "loss" }],
      parameters: parameters.map(parameter),
      trainJobTemplate: { spec: { runtimeRef: { name: runtime }, trainer } },
      ...spec,
    },
  });
}

async function recordsOf(name: string) {
  const { data } = await standalone().client.get(KINDS.configMap, inDefault(`${name}-trials`));
  return [...readTrialRecords(data).trials].sort(([one], [other]) => one - other)
    .map(([, record]) => record);
}

async function trialsOf(name: string) {
  const labelSelector = `${LABELS.optimizationJob}=${name}`;
  const { items } = await standalone().client.list(KINDS.trainJob, {
    namespace: "default",
    labelSelector,
  });
  return items;
}

/** Waits until the search has ended. */
function ended(name: string) {
  return until(`${name} ends`, async () => {
    const { status } = await standalone().client.get(KINDS.optimizationJob, inDefault(name));
    const end = trueCondition(status?.conditions, "Complete", "Failed");
    return end && { end, status };
  }, { timeoutMs: 120_000 });
}

Deno.test("a search trains its trials, the first one within 2 s, and has the best as its result", async () => {
  const { client } = standalone();
  const began = performance.now();
  await client.create(
    KINDS.optimizationJob,
    search("digits", {
      runtime: "plain",
      trainer: {
        command: ["milepost", "example", "softmax"],
        env: [{ name: "EPOCHS", value: "5" }, { name: "REPORT_PAUSE_MS", value: "1" }],
      },
      spec: { searchAlgorithm: { random: { seed: 5 } }, numTrials: 3, parallelTrials: 2 },
    }),
  );
  await until("the first trial is made", async () => (await trialsOf("digits")).length > 0, {
    everyMs: 10,
  });
  const tookMs = performance.now() - began;
  const { end, status } = await ended("digits");
  assert.equal(end.type, "Complete", end.message);
  const records = await recordsOf("digits");
  assert.deepEqual(records.map(({ state }) => state), ["Complete", "Complete", "Complete"]);
  const trials = await trialsOf("digits");
  for (const { name, uid, values, value } of records) {
    const trial = trials.find(({ metadata }) => metadata.name === name);
    assert.equal(trial?.metadata.uid, uid);
    assert.equal(trial?.spec.trainer?.env?.at(-1)?.value, values[0]);
    // The log has it before the object has.
    await trainJobThat(
      client,
      name,
      `shows ${value}`,
      ({ status }) =>
        status?.trainerStatus?.metrics?.find((it) => it.name === "loss")?.value === value,
    );
  }
  const [best] = records.toSorted((one, other) => Number(one.value) - Number(other.value));
  assert.deepEqual(status?.result, {
    trainJobName: best?.name,
    parameters: [{ name: "LEARNING_RATE", value: best?.values[0] }],
  });
  assert.ok(tookMs <= 2_000, `the first trial took ${Math.round(tookMs)} ms`);
});

Deno.test("trials that are stopped or deleted by hand have ended, and the search goes on", async () => {
  const { client } = standalone();
  const grid = { searchAlgorithm: { grid: {} }, numTrials: 3, parallelTrials: 3 };
  await client.create(
    KINDS.optimizationJob,
    search("by-hand", {
      runtime: "forever",
      parameters: ["LAYERS categorical 1 2 3"],
      spec: grid,
    }),
  );
  const trials = await until("three trials", async () => {
    const all = (await recordsOf("by-hand")).map(({ name }) => name);
    return (await trialsOf("by-hand")).length === 3 && all;
  });
  const [stopped = "", deleted = "", failing = ""] = trials;
  await client.delete(KINDS.trainJob, inDefault(deleted));
  const time = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const stop = { reason: "ByHand", message: "enough", time, user: "me" };
  const body = { status: { stop } };
  await client.patch(KINDS.trainJob, inDefault(stopped), { type: "merge", body }, {
    subresource: "status",
  });
  await until("both have ended", async () => {
    const states = (await recordsOf("by-hand")).map(({ state, reason }) => `${state} ${reason}`);
    return states.slice(0, 2).join() === "EarlyStopped ByHand,Failed TrainJobDeleted";
  });
  await client.delete(KINDS.trainJob, inDefault(failing));
  const { end, status } = await ended("by-hand");
  assert.match(
    `${end.type}: ${end.message}`,
    /^Complete: All 3 trials.*1 stopped early, 2 failed;/,
  );
  assert.equal(status?.result, undefined);
  await client.delete(KINDS.optimizationJob, inDefault("by-hand"));
  await until("its trials and records go with it", async () => {
    const { items } = await client.list(KINDS.configMap, { namespace: "default" });
    const records = items.some(({ metadata }) => metadata?.name === "by-hand-trials");
    return (await trialsOf("by-hand")).length === 0 && !records;
  });
});

Deno.test("a search whose trials cannot be rendered is refused, and the answer says why", async () => {
  await assert.rejects(
    standalone().client.create(
      KINDS.optimizationJob,
      search("no-runtime", { runtime: "absent" }),
    ),
    (error) => error instanceof KubeError && /"absent" not found/.test(error.message),
  );
});
