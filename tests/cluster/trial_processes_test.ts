/**
 * Tests of the processes of trials that are stopped on a real control plane without a garbage collector: they end
 * although Katib deletes the job at once, which it does by default.
 */
import assert from "node:assert/strict";
import { MANAGER_PARTS } from "../../app/manager/rights.ts";
import { KINDS } from "../../crds/kinds.ts";
import { KATIB } from "../../crds/katib_names.ts";
import { V1_KINDS, v1CrdName } from "../../crds/v1/kinds.ts";
import { v1CrdManifests } from "../../crds/v1/manifests.ts";
import { V1_LABELS } from "../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Kind } from "../../platform/kube/resource.ts";
import { programIn, TELL } from "../support/pod_program.ts";
import { processesThatMention } from "../support/processes.ts";
import { progress, shellRuntime } from "../support/standalone.ts";
import {
  createTrial,
  createTrialsJob,
  installTrials,
  lossAbove,
  trialThat,
} from "../support/trials.ts";
import { until } from "../support/until.ts";
import { apply, type ClusterOptions, crdsServed, withCluster } from "./support/installation.ts";
import { startUpstreamJobSet } from "./support/upstream_jobset.ts";

const keyOf = (name: string) => ({ namespace: "default", name });
const isStopped = (status: { readonly conditions?: readonly { readonly type: string }[] } = {}) =>
  status.conditions?.some(({ type }) => type === "EarlyStopped") ?? false;

/** Nothing collects garbage: what is deleted in the foreground stays until the end of the test. */
const WITHOUT_COLLECTOR: ClusterOptions = {
  plane: { flags: { controllerManager: ["--controllers=*,-garbage-collector-controller"] } },
};

/** Deletes each job as Katib's trial controller does, as soon as its Trial has ended. */
async function deleteStopped(
  client: KubeClient,
  kind: Kind<unknown>,
  signal: AbortSignal,
): Promise<void> {
  const { resourceVersion } = await client.list(KINDS.trial, { namespace: "default" });
  const events = client.watch(KINDS.trial, { namespace: "default", resourceVersion, signal });
  for await (const event of events) {
    if (event.type === "error") throw event.error;
    if (event.type === "bookmark" || event.type === "problem") continue;
    const { metadata, status } = event.object;
    if (!isStopped(status)) continue;
    await client.delete(kind, keyOf(metadata.name ?? ""), { propagationPolicy: "Foreground" });
  }
}

/** Runs `work` beside {@link deleteStopped}. */
async function besideKatib(
  client: KubeClient,
  kind: Kind<unknown>,
  work: () => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  const katib = deleteStopped(client, kind, over.signal).catch((error) => {
    if (!over.signal.aborted) throw error;
  });
  try {
    await work();
  } finally {
    over.abort();
    await katib;
  }
}

/** The processes of the pods of a job, each of which its variables name. */
async function processesOf(name: string): Promise<number> {
  return (await processesThatMention(`/${name}/status`)).size;
}

/** Pushes what meets the rule of a trial, and waits for its end and that of its processes. */
async function stopByPush(client: KubeClient, name: string, pod: string): Promise<void> {
  const program = await programIn(client, pod);
  assert.ok(await processesOf(name) > 0, "the program runs");
  const { status, body } = await program.ask(progress(5, { loss: "0.9" }));
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.control?.stop, true, JSON.stringify(body));
  await trialThat(client, name, "is stopped early", (it) => isStopped(it.status));
  await until(`the processes of ${name} end`, async () => await processesOf(name) === 0, {
    timeoutMs: 30_000,
  });
}

/** A trial whose TrainJob Katib does not retain, which is its default. */
async function stopTrainJob(client: KubeClient): Promise<void> {
  await installTrials(client);
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("teller", TELL));
  const name = `tried-${crypto.randomUUID().slice(0, 8)}`;
  await besideKatib(client, KINDS.trainJob, async () => {
    const spec = { retainRun: false, earlyStoppingRules: [lossAbove("0.5")] };
    await createTrialsJob(client, await createTrial(client, name, "teller", { spec }));
    const pod = await until("a pod", async () => {
      const labelSelector = `jobset.sigs.k8s.io/jobset-name=${name}`;
      const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
      return items[0]?.metadata?.name;
    }, { timeoutMs: 60_000 });
    await stopByPush(client, name, pod);
    const { metadata } = await client.get(KINDS.trainJob, keyOf(name));
    assert.ok(metadata.deletionTimestamp, "it was deleted, and nobody has collected it");
  });
}

Deno.test("the process of a stopped trial ends without the garbage collector, with the built-in executor", () =>
  withCluster(({ plane }) => stopTrainJob(plane.client), {
    ...WITHOUT_COLLECTOR,
    flags: { jobset: "builtin", observationSink: "memory" },
  }));

Deno.test("the process of a stopped trial ends without the garbage collector, with upstream's JobSet controller", async () => {
  await using cleanup = new AsyncDisposableStack();
  await withCluster(async ({ plane }) => {
    await stopTrainJob(plane.client);
    await cleanup.disposeAsync();
  }, {
    ...WITHOUT_COLLECTOR,
    jobSetCrd: false,
    parts: MANAGER_PARTS.filter((it) => it !== "executor"),
    flags: { jobset: "external", observationSink: "memory" },
    async beforeManager({ plane }) {
      const upstream = await startUpstreamJobSet(plane);
      cleanup.defer(() => upstream.stop());
    },
  });
});

Deno.test("the process of a stopped trial over a PyTorchJob ends without the garbage collector", () =>
  withCluster(async ({ plane: { client } }) => {
    const { PyTorchJob } = V1_RESOURCES;
    const { container, specsKey } = V1_KINDS.PyTorchJob;
    await besideKatib(client, PyTorchJob, async () => {
      const name = "torched";
      const runSpec = { apiVersion: "kubeflow.org/v1", kind: "PyTorchJob", metadata: keyOf(name) };
      const { metadata: { uid } } = await createTrial(client, name, "", {
        spec: {
          runSpec,
          retainRun: false,
          earlyStoppingRules: [lossAbove("0.5")],
          primaryPodLabels: { [V1_LABELS.jobRole]: "master" },
          primaryContainerName: container,
          successCondition: 'status.conditions.#(type=="Succeeded")#|#(status=="True")#',
        },
      });
      const owner = { apiVersion: KATIB.apiVersion, kind: KATIB.trialKind, name, uid };
      const containers = [{ name: container, image: "acme/train:1", command: ["sh", "-c", TELL] }];
      await client.create(
        PyTorchJob,
        PyTorchJob.parse({
          ...runSpec,
          metadata: { ...keyOf(name), ownerReferences: [{ ...owner, controller: true }] },
          spec: { [specsKey]: { Master: { replicas: 1, template: { spec: { containers } } } } },
        }),
      );
      await stopByPush(client, name, `${name}-master-0`);
    });
  }, {
    ...WITHOUT_COLLECTOR,
    flags: { jobset: "external", observationSink: "memory" },
    async beforeManager({ plane }) {
      await apply(plane, v1CrdManifests());
      await crdsServed(plane, [`crd/${v1CrdName(V1_KINDS.PyTorchJob)}`]);
      await installTrials(plane.client);
    },
  }));
