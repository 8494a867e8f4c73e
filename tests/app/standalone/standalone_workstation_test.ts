/** Tests of `standalone` as a workstation's control plane: runtimes from the start, and GPUs. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { loadKubeconfig } from "../../../platform/kube/connection/kubeconfig.ts";
import { listing, standIn } from "../../standalone/kubelet/gpus/stand_in.ts";
import { startStandaloneProcess } from "../../support/milepost_process.ts";
import { trainJob, trainJobThat, withStandalone } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { boundedReads } from "../../../views/details/bounded_reads.ts";
import { jobDetails } from "../../../views/details/details_of_job.ts";

Deno.test("standalone has the runtimes that a machine can run, leaves changed ones alone, and keeps its ports", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "milepost-test-" });
  const all = (nodesOfPlain: number) => [
    ["deepspeed-distributed", 1],
    ["jax-distributed", 1],
    ["mlx-distributed", 1],
    ["plain", nodesOfPlain],
    ["tensorflow-distributed", 1],
    ["torch-distributed", 1],
    ["xgboost-distributed", 1],
  ];
  const runtimes = async (client: KubeClient) =>
    (await client.list(KINDS.clusterTrainingRuntime)).items
      .map(({ metadata, spec }) => [metadata.name, spec?.mlPolicy?.numNodes]);
  try {
    let where: readonly string[] = [];
    await withStandalone(async ({ client, server, status }) => {
      where = [server, status];
      assert.deepEqual(await runtimes(client), all(1));
      const body = { spec: { mlPolicy: { numNodes: 3 } } };
      await client.patch(KINDS.clusterTrainingRuntime, { name: "plain" }, { type: "merge", body });
      await client.delete(KINDS.clusterTrainingRuntime, { name: "torch-distributed" });
    }, { dataDir });
    await withStandalone(async ({ client, server, status }) => {
      assert.deepEqual(await runtimes(client), all(3));
      assert.deepEqual([server, status], where, "clients and pods go on where they were told to");
    }, { dataDir });
    const [api, endpoint] = where.map((url) =>
      Deno.listen({ hostname: "127.0.0.1", port: Number(new URL(url).port) })
    );
    await withStandalone(async ({ client, server, status }) => {
      assert.ok(!where.includes(server) && !where.includes(status));
      assert.deepEqual(await runtimes(client), all(3));
    }, { dataDir });
    api?.close();
    endpoint?.close();
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

/** A TrainJob of some nodes with a GPU each that write down what they see, and wait for a file. */
function gpuJob(name: string, numNodes: number, gate: string, gpus = "1") {
  const script =
    `echo "$CUDA_VISIBLE_DEVICES" >> ${gate}.seen; until [ -e ${gate} ]; do sleep 0.1; done`;
  return trainJob(name, "plain", {
    spec: {
      trainer: {
        numNodes,
        command: ["sh", "-c", script],
        resourcesPerNode: { limits: { "nvidia.com/gpu": gpus } },
      },
    },
  });
}

async function podsOf(client: KubeClient, job: string) {
  const labelSelector = `jobset.sigs.k8s.io/jobset-name=${job}`;
  return (await client.list(KINDS.pod, { namespace: "default", labelSelector })).items;
}

Deno.test("standalone gives TrainJobs the GPUs that nvidia-smi shows, and lets the next wait", async () => {
  const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
  await standIn(folder, listing("GPU-aa11", "GPU-bb22", "GPU-cc33"));
  const env = { PATH: `${folder}:${Deno.env.get("PATH")}`, CUDA_VISIBLE_DEVICES: "0,2" };
  const start = () => startStandaloneProcess(["--data-dir", `${folder}/data`], env);
  let standalone = await start();
  try {
    {
      const client = createClient({ connection: loadKubeconfig(standalone.ready.kubeconfig) });
      const [node] = (await client.list(KINDS.node)).items;
      assert.equal(node?.status?.allocatable?.["nvidia.com/gpu"], "2");
      await client.create(KINDS.trainJob, gpuJob("first", 2, `${folder}/gate`));
      await trainJobThat(client, "first", "runs", ({ status }) => status?.state === "Running");
      await client.create(KINDS.trainJob, gpuJob("second", 1, `${folder}/gate`));
      await until("the second job's pod waits", async () => {
        const [pod] = await podsOf(client, "second");
        return pod?.status?.conditions?.some(({ message }) =>
          message === "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
        );
      });
      const told = await until("the scheduler tells it", async () => {
        const fieldSelector = "reason=FailedScheduling";
        const { items } = await client.list(KINDS.event, { namespace: "default", fieldSelector });
        return items[0];
      });
      assert.match(told.involvedObject.name ?? "", /^second-node-0-0-/);
      assert.deepEqual([told.type, told.source?.component], ["Warning", "default-scheduler"]);
      await client.create(KINDS.trainJob, gpuJob("many", 1, `${folder}/gate`, "3"));
      for (
        const [name, wait] of [
          ["second", "waits for 1 nvidia.com/gpu; this machine has 2, and other pods use them"],
          ["many", "waits for 3 nvidia.com/gpu; this machine has 2"],
        ] as const
      ) {
        const job = { kind: TRAINJOB, namespace: "default", name };
        const reads = boundedReads(client, AbortSignal.timeout(30_000));
        const told = await until(
          `the wait of ${name}`,
          async () => (await jobDetails(reads, job)).wait,
        );
        assert.equal(told, wait);
      }
      await client.delete(KINDS.trainJob, { namespace: "default", name: "many" });
      const seen = await until("both pods have written", async () => {
        const lines = (await Deno.readTextFile(`${folder}/gate.seen`)).trim().split("\n");
        return lines.length === 2 ? lines.sort() : undefined;
      });
      assert.deepEqual(seen, ["GPU-aa11", "GPU-cc33"]);
      client.close();
    }
    // The pods of the first job have failed with the kubelet, and their GPUs are free.
    await standalone.stop("SIGKILL");
    await Deno.writeTextFile(`${folder}/gate`, "");
    standalone = await start();
    const client = createClient({ connection: loadKubeconfig(standalone.ready.kubeconfig) });
    await trainJobThat(client, "second", "completes", ({ status }) => status?.state === "Complete");
    client.close();
  } finally {
    await standalone.stop();
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("standalone starts behind a proxy, and says whether mount paths are real", async () => {
  const env = {
    HTTPS_PROXY: "http://127.0.0.1:9",
    HTTP_PROXY: "http://127.0.0.1:9",
    NO_PROXY: "x",
  };
  for (const flags of [[], ["--mount-namespaces=false"]]) {
    const standalone = await startStandaloneProcess(flags, env);
    try {
      const { mountNamespaces, rewritingReason } = standalone.ready;
      assert.equal(mountNamespaces, rewritingReason === undefined);
      if (flags.length > 0) assert.equal(rewritingReason, "mount namespaces are turned off");
    } finally {
      assert.equal(await standalone.stop(), 0);
    }
  }
});
