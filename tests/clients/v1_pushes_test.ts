/** Tests of the Kubeflow SDK's and Transformers' own pushes, unmodified, from pods of the Training Operator's kinds. */
import assert from "node:assert/strict";
import type { V1Job, V1Status } from "../../crds/v1/job.ts";
import { V1_KINDS, type V1KindName } from "../../crds/v1/kinds.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { pythonEnvironment, type PythonPackage } from "../support/python_environment.ts";
import { shareStandalone } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { podLog } from "../support/pod_log.ts";

const standalone = shareStandalone();
const training = new URL("./transformers_training.py", import.meta.url).pathname;

/** One push by the SDK, at once. */
const SDK_PUSH = `from kubeflow.trainer import update_trainjob_status
print("progress taken:", update_trainjob_status(100, 0, {"loss": 0.25}))`;

/** Returns the programs of an environment; says so if there is none. */
async function binOf(name: PythonPackage): Promise<string | undefined> {
  const python = await pythonEnvironment(name);
  if ("bin" in python) return python.bin;
  // deno-lint-ignore no-console -- a word to whoever runs the tests
  console.log(`the test of ${name} is skipped: ${python.missing}`);
  return undefined;
}

/** Creates a job of one replica of that type, whose container runs a command. */
async function createJob(
  client: KubeClient,
  kind: V1KindName,
  type: string,
  name: string,
  command: readonly string[],
): Promise<void> {
  const { specsKey, container } = V1_KINDS[kind];
  const containers = [{ name: container, image: "acme/train:1", command }];
  const job = V1_RESOURCES[kind].parse({
    apiVersion: "kubeflow.org/v1",
    kind,
    metadata: { name, namespace: "default" },
    spec: {
      [specsKey]: {
        [type]: { replicas: 1, restartPolicy: "Never", template: { spec: { containers } } },
      },
    },
  });
  await client.create(V1_RESOURCES[kind], job);
}

function hasSucceeded({ status }: V1Job): boolean {
  return status?.conditions?.some((it) => it.type === "Succeeded" && it.status === "True") ?? false;
}

type TrainerStatus = NonNullable<V1Status["trainerStatus"]>;

function metric({ metrics }: TrainerStatus, name: string): number {
  return Number(metrics?.find((one) => one.name === name)?.value);
}

async function logOf(client: KubeClient, pod: string): Promise<string> {
  return await podLog(client, pod) ?? "";
}

/** Waits until the job has succeeded with all its progress, and returns each progress that it showed. */
async function progressOf(
  client: KubeClient,
  kind: V1KindName,
  name: string,
  pod: string,
): Promise<TrainerStatus[]> {
  const seen: TrainerStatus[] = [];
  await until(`${kind} ${name} has succeeded and shows 100 %`, async () => {
    const job = await client.get(V1_RESOURCES[kind], { namespace: "default", name });
    const now = job.status?.trainerStatus;
    if (now && now.lastUpdatedTime !== seen.at(-1)?.lastUpdatedTime) seen.push(now);
    if (now?.progressPercentage === 100 && hasSucceeded(job)) return true;
    const failed = job.status?.conditions?.some(({ type }) => type === "Failed");
    if (failed) throw new Error(await logOf(client, pod));
    return false;
  }, { timeoutMs: 90_000, everyMs: 50 });
  return seen;
}

const SDK_KINDS: readonly (readonly [V1KindName, string])[] = [
  ["PyTorchJob", "Master"],
  ["TFJob", "Worker"],
  ["XGBoostJob", "Master"],
];

for (const [kind, type] of SDK_KINDS) {
  Deno.test(`the SDK's update_trainjob_status reports from a pod of a ${kind}`, async () => {
    const bin = await binOf("kubeflow==0.5.0");
    if (bin === undefined) return;
    const { client } = standalone();
    const name = `sdk-${kind.toLowerCase()}`;
    const pod = `${name}-${type.toLowerCase()}-0`;
    await createJob(client, kind, type, name, [`${bin}/python`, "-c", SDK_PUSH]);
    const seen = await progressOf(client, kind, name, pod);
    assert.deepEqual(seen.at(-1)?.metrics, [{ name: "loss", value: "0.25" }]);
    assert.equal(seen.at(-1)?.estimatedRemainingSeconds, 0);
    assert.match(await logOf(client, pod), /^progress taken: True$/m);
  });
}

Deno.test("Transformers' KubeflowCallback reports from a pod of a PyTorchJob", async () => {
  const bin = await binOf("transformers==5.23.0");
  if (bin === undefined) return;
  const { client } = standalone();
  await createJob(client, "PyTorchJob", "Master", "callback", [`${bin}/python`, training]);
  const seen = await progressOf(client, "PyTorchJob", "callback", "callback-master-0");
  const [first, ...later] = seen;
  const last = seen.at(-1);
  assert.ok(first && last);
  assert.equal(first.progressPercentage, 0);
  assert.equal(metric(first, "total_steps"), 14);
  const between = later.find(({ progressPercentage = 0 }) => progressPercentage < 100);
  assert.ok(between, "no progress between the first and the last");
  assert.ok((between.estimatedRemainingSeconds ?? 0) > 0);
  assert.ok(metric(last, "loss") < 1, "the loss of the last step arrived");
  const log = await logOf(client, "callback-master-0");
  assert.match(log, /^callbacks: .*KubeflowCallback/m);
  assert.match(log, /^trained$/m);
});
