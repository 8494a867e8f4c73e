/** Tests of an Experiment that the real Kubeflow SDK makes, and of a job of it that runs to its end. */
import assert from "node:assert/strict";
import { z } from "zod";
import { KINDS } from "../../crds/kinds.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { isPrimaryPod, outcomeOf } from "../../trials/mapping/outcome.ts";
import type { JobOutcome, TrialMapping } from "../../trials/mapping/trial_mapping.ts";
import { mappingOf } from "../../trials/mapping/trial_template.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Kind } from "../../platform/kube/resource.ts";
import { run } from "../support/command.ts";
import { shellRuntime, trainJobThat, withStandalone } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { pythonEnvironment } from "../support/python_environment.ts";

const sessionOf = (name: string) => new URL(`./${name}.py`, import.meta.url).pathname;

const anyObject = z.looseObject({ metadata: z.looseObject({ name: z.string().optional() }) });

function kind(group: string, version: string, name: string, namespaced: boolean) {
  const plural = `${name.toLowerCase()}s`;
  const parse = (value: unknown) => anyObject.parse(value);
  return { group, version, kind: name, plural, namespaced, parse } satisfies Kind<unknown>;
}

/** The template of an Experiment, as far as Katib makes jobs of it. */
const templateSchema = z.looseObject({
  trialParameters: z.array(z.strictObject({ name: z.string(), reference: z.string() })),
  trialSpec: z.looseObject({ apiVersion: z.string(), kind: z.string() }),
});
type Template = z.infer<typeof templateSchema>;
const experimentSchema = z.looseObject({
  spec: z.looseObject({ trialTemplate: templateSchema }),
});

const EXPERIMENT = kind("kubeflow.org", "v1beta1", "Experiment", true);
const DEFINITION = kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", false);

/** A definition without validation, as Katib's. */
const experimentDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "experiments.kubeflow.org" },
  spec: {
    group: "kubeflow.org",
    names: { kind: "Experiment", plural: "experiments", singular: "experiment" },
    scope: "Namespaced",
    versions: [{
      name: "v1beta1",
      served: true,
      storage: true,
      schema: {
        openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
      subresources: { status: {} },
    }],
  },
};

/** Where sessions of the SDK run, and for which cluster. */
interface Python {
  readonly bin: string;
  readonly kubeconfig: string;
  readonly home: string;
}

/** What a session of the SDK has printed. */
async function printed(python: Python, session: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(`${python.bin}/python`, {
    args: [sessionOf(session), ...args],
    env: { KUBECONFIG: python.kubeconfig, HOME: python.home, PYTHONWARNINGS: "ignore" },
    timeoutMs: 120_000,
  });
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

/** The template of the Experiment that a session of the SDK has made. */
async function optimized(client: KubeClient, python: Python): Promise<Template> {
  const name = await printed(python, "optimizer_session");
  const made = await client.get(EXPERIMENT, { namespace: "default", name });
  return experimentSchema.parse(made).spec.trialTemplate;
}

/** The job of a trial, as Katib makes it: values replace their placeholders in the template's text. */
function jobOf(template: Template, name: string, values: Record<string, string>): TrainJob {
  const text = template.trialParameters.reduce(
    (it, { name, reference }) =>
      it.replaceAll(`\${trialParameters.${name}}`, values[reference] ?? ""),
    JSON.stringify(template.trialSpec),
  );
  const job = z.looseObject({}).parse(JSON.parse(text));
  return KINDS.trainJob.parse({
    ...job,
    metadata: { name, namespace: "default" },
  });
}

function assertTakenApart({ trialSpec, trialParameters }: Template, mapping: TrialMapping): void {
  const { apiVersion, kind } = trialSpec;
  assert.deepEqual([apiVersion, kind], ["trainer.kubeflow.org/v1alpha1", "TrainJob"]);
  assert.deepEqual(trialParameters, [
    { name: "lr", reference: "lr" },
    { name: "layers", reference: "layers" },
  ]);
  assert.deepEqual({ ...mapping, success: mapping.success.expression, failure: undefined }, {
    primaryPodLabels: {
      "jobset.sigs.k8s.io/replicatedjob-name": "node",
      "batch.kubernetes.io/job-completion-index": "0",
    },
    primaryContainerName: "node",
    success: `status.conditions.#(type=="Complete")#|#(status=="True")#`,
    failure: undefined,
    retain: true,
  });
  assert.equal(
    mapping.failure?.expression,
    `status.conditions.#(type=="Failed")#|#(status=="True")#`,
  );
}

function isDecided(outcome: JobOutcome): boolean {
  return !("state" in outcome) || outcome.state !== "Undecided";
}

/** Runs the job of a trial and asks the mapping about it and its pods. */
async function assertMapped(
  client: KubeClient,
  template: Template,
  mapping: TrialMapping,
): Promise<void> {
  const created = await client.create(
    KINDS.trainJob,
    jobOf(template, "trial-1", { lr: "0.05", layers: "4" }),
  );
  assert.deepEqual(outcomeOf(mapping, created), { state: "Undecided" });
  const ended = await trainJobThat(
    client,
    "trial-1",
    "has an outcome",
    (job) => isDecided(outcomeOf(mapping, job)),
  );
  const outcome = outcomeOf(mapping, ended);
  assert.ok("state" in outcome && outcome.state === "Succeeded", JSON.stringify(ended.status));
  assert.ok("reason" in outcome && outcome.reason !== "", JSON.stringify(outcome));
  const pods = await until("both pods are there", async () => {
    const { items } = await client.list(KINDS.pod, { namespace: "default" });
    return items.length === 2 ? items : undefined;
  });
  const primary = pods.filter((it) => isPrimaryPod(mapping, it.metadata?.labels));
  assert.equal(primary.length, 1);
  assert.match(primary[0]?.metadata?.name ?? "", /-node-0-0-/);
  const containers = primary[0]?.spec?.containers.map((it) => it.name);
  assert.ok(containers?.includes(mapping.primaryContainerName ?? ""), `${containers}`);
}

Deno.test("mappingOf() takes the template of the SDK's Experiment, and the mapping fits its jobs", async () => {
  const python = await pythonEnvironment("kubeflow==0.5.0");
  if ("missing" in python) {
    // deno-lint-ignore no-console -- a word to whoever runs the tests
    console.log(`the test of the SDK's Experiment is skipped: ${python.missing}`);
    return;
  }
  await withStandalone(async ({ client, kubeconfig, folder: home }) => {
    const runtime = shellRuntime("sdk", "true");
    const container = runtime.spec?.template.spec?.replicatedJobs?.[0]?.template.spec?.template.spec
      ?.containers[0];
    assert.ok(container !== undefined);
    container.env = [{ name: "PATH", value: `${python.bin}:/usr/local/bin:/usr/bin:/bin` }];
    await client.create(KINDS.clusterTrainingRuntime, runtime);
    await client.create(DEFINITION, experimentDefinition);
    const session = { bin: python.bin, kubeconfig, home };
    const template = await optimized(client, session);
    const result = mappingOf(template, template.trialSpec);
    assert.ok(result.ok, JSON.stringify(result));
    assertTakenApart(template, result.mapping);
    await assertMapped(client, template, result.mapping);
    // A pod that pushes has no container of Katib's, the only one that OptimizerClient reads (docs/compatibility.md).
    const logs = await printed(session, "optimizer_logs", "trial-1");
    assert.match(
      logs,
      /^optimizer Failed to read logs for the pod default\/trial-1-node-0-0-\w+ /m,
    );
    assert.match(logs, /container metrics-logger-and-collector is not valid for pod/);
    assert.match(logs, /^trainer .*lr=0\.05 layers=4 loss=0\.2/m);
  });
});
