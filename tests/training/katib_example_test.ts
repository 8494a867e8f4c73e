/** Test of the example for Katib: what Katib made of its Experiment trains, and is stopped, in `standalone`. */
import assert from "node:assert/strict";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { TRIAL_CONDITIONS } from "../../crds/katib_names.ts";
import { KINDS } from "../../crds/kinds.ts";
import { LABELS } from "../../crds/names.ts";
import type { Trial } from "../../crds/trial.ts";
import { isConditionTrue } from "../../platform/kube/conditions.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { mappingOf } from "../../trials/mapping/trial_template.ts";
import { isInstalled } from "../support/command.ts";
import { withStandalone } from "../support/standalone.ts";
import { createTrialsJob, installTrials, trialThat } from "../support/trials.ts";
import { until } from "../support/until.ts";
import { testWith, textsOf, trains } from "./seen_training.ts";

const EXAMPLE = new URL("../../examples/katib/experiment.yaml", import.meta.url);
const RECORDING = new URL("recordings/katib_example.json", import.meta.url);
const PROGRAM = ["train.py", "report.py", "digits.txt"].map((it) => `examples/training/${it}`);

const object = z.looseObject({});
const assignment = z.looseObject({ name: z.string(), value: z.string() });
const recordingSchema = z.object({
  experiment: z.object({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: object,
    spec: z.looseObject({
      trialTemplate: z.looseObject({ trialSpec: object, retain: z.boolean().optional() }),
    }),
  }),
  trials: z.array(z.object({
    trial: z.looseObject({
      metadata: z.looseObject({ name: z.string() }),
      spec: z.looseObject({ runSpec: object, parameterAssignments: z.array(assignment) }),
    }),
    end: z.enum(["Succeeded", "EarlyStopped"]),
    observation: z.array(z.strictObject({
      name: z.string(),
      min: z.string(),
      max: z.string(),
      latest: z.string(),
    })),
  })),
});
type RecordedTrial = z.infer<typeof recordingSchema>["trials"][number];

const exampleSpec = z.looseObject({
  metricsCollectorSpec: z.looseObject({ collector: z.looseObject({ kind: z.string() }) }),
  trialTemplate: z.looseObject({
    trialSpec: z.looseObject({ apiVersion: z.string(), kind: z.string() }),
  }),
});
const readExample = async () => object.parse(parseYaml(await Deno.readTextFile(EXAMPLE)));
const readRecording = async () =>
  recordingSchema.parse(JSON.parse(await Deno.readTextFile(RECORDING)));

/** What Katib's webhook adds to the Experiment, besides what is there. */
const DEFAULTS = {
  "objective.metricStrategies": [
    { name: "accuracy", value: "max" },
    { name: "loss", value: "max" },
  ],
  resumePolicy: "Never",
  "trialTemplate.primaryPodLabels": {
    "batch.kubernetes.io/job-completion-index": "0",
    "jobset.sigs.k8s.io/replicatedjob-name": "node",
  },
  "trialTemplate.successCondition": 'status.conditions.#(type=="Complete")#|#(status=="True")#',
  "trialTemplate.failureCondition": 'status.conditions.#(type=="Failed")#|#(status=="True")#',
} as const;

/** The fields of `stored` that `written` has not, by their paths; fails where one that both have differs. */
function added(written: unknown, stored: unknown, path = ""): Record<string, unknown> {
  const [one, other] = [object.safeParse(written), object.safeParse(stored)];
  if (!one.success || !other.success) {
    assert.deepEqual(stored, written, path);
    return {};
  }
  for (const key of Object.keys(one.data)) assert.ok(key in other.data, `${path}${key} is lost`);
  return Object.fromEntries(
    Object.entries(other.data).flatMap(([key, value]) =>
      key in one.data
        ? Object.entries(added(one.data[key], value, `${path}${key}.`))
        : [[`${path}${key}`, value]]
    ),
  );
}

Deno.test("Katib's webhook has added its defaults to the example, and nothing else", async () => {
  const { experiment } = await readRecording();
  const { spec } = await readExample();
  assert.deepEqual(added(spec, experiment.spec), DEFAULTS);
});

Deno.test("the Trials of the example have its template, with their values, and Katib's defaults", async () => {
  const { experiment: { spec: { trialTemplate } }, trials } = await readRecording();
  const { trialTemplate: written, metricsCollectorSpec } = exampleSpec.parse(
    (await readExample()).spec,
  );
  const read = mappingOf(written, written.trialSpec);
  assert.ok(read.ok, JSON.stringify(read));
  const { mapping } = read;
  assert.equal(metricsCollectorSpec.collector.kind, "Push");
  assert.deepEqual([mapping.retain, trialTemplate.retain], [false, undefined]);
  for (const { trial: { metadata: { name }, spec } } of trials) {
    const [{ value }] = z.tuple([assignment]).parse(spec.parameterAssignments);
    const text = JSON.stringify(trialTemplate.trialSpec);
    const filled = text.replaceAll("${trialParameters.learningRate}", value);
    const metadata = { name, namespace: "default" };
    assert.deepEqual(spec.runSpec, { ...JSON.parse(filled), metadata });
    assert.deepEqual(spec.primaryPodLabels, mapping.primaryPodLabels);
    assert.equal(spec.primaryContainerName, mapping.primaryContainerName);
    assert.equal(spec.successCondition, mapping.success.expression);
    assert.equal(spec.failureCondition, mapping.failure?.expression);
    assert.equal(spec.retainRun, undefined);
  }
});

/** Makes a Trial and its job as Katib did. */
async function createAsKatib(client: KubeClient, { trial }: RecordedTrial): Promise<Trial> {
  const metadata = { ...trial.metadata, namespace: "default" };
  const created = await client.create(KINDS.trial, KINDS.trial.parse({ ...trial, metadata }));
  await createTrialsJob(client, created);
  return created;
}

/** Deletes the job of a Trial that has ended, as Katib does where `retain` is not set. */
async function deleteAsKatib(client: KubeClient, name: string): Promise<void> {
  await client.delete(KINDS.trainJob, { namespace: "default", name });
  await until(`no pod of ${name} is left`, async () => {
    const labelSelector = `${LABELS.trainJobName}=${name}`;
    const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
    return items.length === 0;
  });
}

async function train(client: KubeClient): Promise<void> {
  const { trials } = await readRecording();
  const of = (end: RecordedTrial["end"]) => {
    const found = trials.find((it) => it.end === end);
    assert.ok(found);
    return found;
  };
  await installTrials(client);
  const metadata = { name: "digits-search", namespace: "default" };
  const data = await textsOf(PROGRAM);
  await client.create(KINDS.configMap, { apiVersion: "v1", kind: "ConfigMap", metadata, data });
  const [good, bad] = [of("Succeeded"), of("EarlyStopped")];
  await createAsKatib(client, good);
  const { metadata: { name = "" } } = await createAsKatib(client, bad);
  const isStopped = ({ status }: Trial) =>
    isConditionTrue(status?.conditions, TRIAL_CONDITIONS.earlyStopped);
  const stopped = await trialThat(client, name, "is stopped", isStopped);
  const observed = stopped.status?.observation?.metrics ?? [];
  assert.deepEqual(observed.toSorted((a, b) => a.name < b.name ? -1 : 1), bad.observation);
  await deleteAsKatib(client, name);
  const [accuracy] = good.observation;
  await trains(client, good.trial.metadata.name, {
    prints: new RegExp(`^epoch 60 of 60 loss \\S+ accuracy ${accuracy?.latest}$`),
    accuracy: 0.93,
  });
}

testWith(
  await isInstalled("python3") ? { bin: "" } : { missing: "python3 is not installed" },
  "a Trial of Katib's example ends with what it achieved, and one that medianstop's rule meets is stopped at the same report",
  () => withStandalone(({ client }) => train(client)),
);
