/** Tests of jobs of the Training Operator's kinds as their own pods push: which pod counts, how a stop shows, and trials. */
import assert from "node:assert/strict";
import { KATIB } from "../../../crds/katib_names.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS, childNames } from "../../../crds/names.ts";
import type { V1Job } from "../../../crds/v1/job.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import type { OwnerRef } from "../../../platform/kube/resource.ts";
import { programIn, TELL } from "../../support/pod_program.ts";
import { progress, withStandalone } from "../../support/standalone.ts";
import { eventsAbout, installTrials, lossAbove, trialThat } from "../../support/trials.ts";
import { until } from "../../support/until.ts";

const STOPPING = JSON.stringify({
  objective: { name: "loss", type: "minimize" },
  rules: [{ name: "loss", value: "0.5", comparison: "greater", startStep: 2 }],
});

const keyOf = (name: string) => ({ namespace: "default", name });

function replicas(count: number) {
  const command = ["sh", "-c", TELL];
  return {
    replicas: count,
    template: { spec: { containers: [{ name: "pytorch", image: "acme/train:1", command }] } },
  };
}

async function createJob(
  client: KubeClient,
  name: string,
  metadata: { annotations?: Record<string, string>; ownerReferences?: OwnerRef[] } = {},
): Promise<V1Job> {
  const job = V1_RESOURCES.PyTorchJob.parse({
    apiVersion: "kubeflow.org/v1",
    kind: "PyTorchJob",
    metadata: { ...keyOf(name), ...metadata },
    spec: { pytorchReplicaSpecs: { Master: replicas(1), Worker: replicas(1) } },
  });
  return await client.create(V1_RESOURCES.PyTorchJob, job);
}

const get = (client: KubeClient, name: string) => client.get(V1_RESOURCES.PyTorchJob, keyOf(name));

function conditionsOf({ status }: V1Job): string[] {
  return (status?.conditions ?? []).map(({ type, status, reason }) =>
    `${type}=${status}/${reason}`
  );
}

/** Waits until the job has ended and none of its pods runs. */
async function stopped(client: KubeClient, name: string): Promise<V1Job> {
  const labelSelector = `training.kubeflow.org/job-name=${name}`;
  await until(`no pod of ${name} runs`, async () => {
    const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
    return items.length === 0;
  }, { timeoutMs: 60_000 });
  return await get(client, name);
}

const STOPPED = [
  "Created=True/PyTorchJobCreated",
  "Running=False/PyTorchJobEarlyStopped",
  "EarlyStopped=True/RulesMet",
  "Succeeded=True/PyTorchJobEarlyStopped",
];

Deno.test("pods of a PyTorchJob report progress with what they are given, and its rules stop it", () =>
  withStandalone(async ({ client }) => {
    const job = await createJob(client, "lit", {
      annotations: { [ANNOTATIONS.earlyStopping]: STOPPING },
    });
    assert.equal(job.metadata.annotations?.[ANNOTATIONS.earlyStoppingCompare], "newest");
    const [master, worker] = [
      await programIn(client, "lit-master-0"),
      await programIn(client, "lit-worker-0"),
    ];
    assert.match(
      master.url,
      /\/apis\/kubeflow\.org\/v1\/namespaces\/default\/pytorchjobs\/lit\/status$/,
    );
    const ca = await client.get(KINDS.configMap, keyOf(childNames.tlsConfig("lit")));
    assert.equal(ca.metadata?.ownerReferences?.[0]?.uid, job.metadata.uid);

    const { status, body } = await worker.ask(progress(10, { loss: "9" }));
    assert.equal(status, 200, JSON.stringify(body));
    await until("the job shows 10", async () => {
      const { status } = await get(client, "lit");
      return status?.trainerStatus?.progressPercentage === 10;
    });
    const read = await master.ask();
    assert.equal(read.status, 200);
    assert.partialDeepStrictEqual(read.body, { trainerStatus: { progressPercentage: 10 } });
    await until(
      "it runs",
      async () => conditionsOf(await get(client, "lit")).some((it) => it.startsWith("Running=")),
    );

    for (const step of [11, 12, 13]) await worker.ask(progress(step, { loss: "9" }));
    const first = await master.ask(progress(20, { loss: "0.9" }));
    assert.equal(first.body.control, undefined, "only the master's reports count");
    const second = await master.ask(progress(30, { loss: "0.8" }));
    assert.equal(second.body.control?.stop, true, JSON.stringify(second.body));
    const ended = await stopped(client, "lit");
    assert.deepEqual(conditionsOf(ended), STOPPED);
    await until("the job shows its last progress", async () => {
      const { status } = await get(client, "lit");
      return status?.trainerStatus?.progressPercentage === 30;
    });
    assert.ok(ended.status?.completionTime);
    await eventsAbout(client, { kind: "PyTorchJob", name: "lit" }, "EarlyStopped");
  }));

Deno.test("a pod of another PyTorchJob may not report for it", () =>
  withStandalone(async ({ client }) => {
    await createJob(client, "mine");
    await createJob(client, "theirs");
    const { url } = await programIn(client, "theirs-master-0");
    const mine = await programIn(client, "mine-master-0");
    assert.equal((await mine.ask(progress(5))).status, 200);
    // A pod whose labels say so alone is no pod of the job.
    await client.create(
      KINDS.pod,
      KINDS.pod.parse({
        apiVersion: "v1",
        kind: "Pod",
        metadata: {
          ...keyOf("theirs-worker-7"),
          labels: {
            "training.kubeflow.org/job-name": "theirs",
            "trainer.kubeflow.org/job-kind": "pytorchjobs",
          },
        },
        spec: replicas(1).template.spec,
      }),
    );
    const stranger = await programIn(client, "theirs-worker-7");
    assert.equal(stranger.url, url);
    assert.equal((await stranger.ask(progress(66))).status, 403);
    assert.equal((await get(client, "theirs")).status?.trainerStatus, undefined);
  }));

Deno.test("a Katib Trial over a PyTorchJob is recorded, and stopped with it", () =>
  withStandalone(async ({ client }) => {
    await installTrials(client);
    const trial = await client.create(
      KINDS.trial,
      KINDS.trial.parse({
        apiVersion: KATIB.apiVersion,
        kind: KATIB.trialKind,
        metadata: keyOf("search"),
        spec: {
          objective: { type: "minimize", objectiveMetricName: "loss" },
          runSpec: {
            apiVersion: "kubeflow.org/v1",
            kind: "PyTorchJob",
            metadata: keyOf("search"),
          },
          metricsCollector: { collector: { kind: "Push" } },
          earlyStoppingRules: [lossAbove("0.5")],
        },
      }),
    );
    const owner = { apiVersion: KATIB.apiVersion, kind: KATIB.trialKind, name: "search" };
    await createJob(client, "search", {
      ownerReferences: [{ ...owner, uid: trial.metadata.uid ?? "", controller: true }],
    });
    const master = await programIn(client, "search-master-0");
    await until("the push is taken", async () => {
      const { status, body } = await master.ask(progress(1, { loss: "0.9" }));
      return status === 200 && body.control?.stop;
    }, { timeoutMs: 60_000 });
    const { status } = await trialThat(
      client,
      "search",
      "is stopped early",
      ({ status }) =>
        status?.conditions?.some((it) => it.type === "EarlyStopped" && it.status === "True") ??
          false,
    );
    assert.partialDeepStrictEqual(status?.observation, {
      metrics: [{ name: "loss", latest: "0.9" }],
    });
    const ended = await stopped(client, "search");
    assert.deepEqual(conditionsOf(ended).slice(-2), STOPPED.slice(-2));
  }));
