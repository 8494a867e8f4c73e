/** Tests of the Kubeflow SDK and Transformers' KubeflowCallback, unmodified, on a real control plane. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { pythonEnvironment, type PythonPackage } from "../support/python_environment.ts";
import { checkSdkSession } from "../clients/sdk_session.ts";
import { shellRuntime, trainJob } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { type Cluster } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";

const withSharedCluster = shareCluster();

/** Runs `work` with a cluster and a Python that has the package; says so if there is none. */
async function withPython(
  name: PythonPackage,
  work: (bin: string, cluster: Cluster) => Promise<void>,
): Promise<void> {
  const python = await pythonEnvironment(name);
  if ("missing" in python) {
    // deno-lint-ignore no-console -- a word to whoever runs the tests
    console.log(`the test of ${name} is skipped: ${python.missing}`);
    return;
  }
  await withSharedCluster((cluster) => work(python.bin, cluster));
}

Deno.test("the Kubeflow SDK's session works as on the embedded control plane", () =>
  withPython("kubeflow==0.5.0", (bin, { plane }) => {
    const { client, kubeconfig, folder: home } = plane;
    return checkSdkSession({ client, kubeconfig, home, bin });
  }));

const training = new URL("../clients/transformers_training.py", import.meta.url).pathname;

type TrainerStatus = NonNullable<NonNullable<TrainJob["status"]>["trainerStatus"]>;

function metric({ metrics }: TrainerStatus, name: string): number {
  return Number(metrics?.find((one) => one.name === name)?.value);
}

Deno.test("Transformers' KubeflowCallback reports from a TrainJob's pod", () =>
  withPython("transformers==5.23.0", async (bin, { plane: { client }, kubectl }) => {
    const runtime = shellRuntime("transformers", `${bin}/python ${training}`);
    await client.create(KINDS.clusterTrainingRuntime, runtime);
    await client.create(KINDS.trainJob, trainJob("callback", "transformers"));
    const seen: TrainerStatus[] = [];
    await until("the callback's last words", async () => {
      const job = await client.get(KINDS.trainJob, { namespace: "default", name: "callback" });
      const now = job.status?.trainerStatus;
      if (now && now.lastUpdatedTime !== seen.at(-1)?.lastUpdatedTime) seen.push(now);
      return now?.progressPercentage === 100 && job.status?.state === "Complete";
    }, { timeoutMs: 90_000, everyMs: 50 });
    const [first, ...later] = seen;
    const last = seen.at(-1);
    assert.ok(first && last);
    assert.equal(first.progressPercentage, 0);
    assert.equal(metric(first, "total_steps"), 14);
    const between = later.find(({ progressPercentage = 0 }) => progressPercentage < 100);
    assert.ok(between, "no progress between the first and the last");
    assert.ok((between.estimatedRemainingSeconds ?? 0) > 0);
    assert.ok(metric(between, "current_step") > 0);
    assert.ok(metric(last, "loss") < 1, "the loss of the last step arrived");
    const log = await kubectl(["logs", "job/callback-node-0"]);
    assert.match(log, /^callbacks: .*KubeflowCallback/m);
    assert.match(log, /^trained$/m);
  }));
