/** Tests of logs of jobs whose pods are gone: kept, read, bounded, and gone with their job. */
import assert from "node:assert/strict";
import type { AnyJob } from "../../../crds/job_kind.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { boundedReads } from "../../../views/details/bounded_reads.ts";
import { jobDetails } from "../../../views/details/details_of_job.ts";
import { createKeptPods } from "../../../views/details/kept_pods.ts";
import { jobLog } from "../../support/job_log.ts";
import { trainJob, trainJobThat, withStandalone } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

const namespace = "default";
const signal = new AbortController().signal;

const detailsOf = (client: KubeClient, name: string) =>
  jobDetails(boundedReads(client, signal), { kind: TRAINJOB, namespace, name }, createKeptPods());
const keptIn = async (client: KubeClient) => (await client.list(KINDS.keptLog)).items;

function talker(name: string, text: string) {
  const command = ["sh", "-c", `echo "${text}"; exec sleep 600`];
  return trainJob(name, "plain", { spec: { trainer: { numNodes: 2, command } } });
}

/** Runs a job until it has said something, and suspends it: its pods go. */
async function runAndSuspend(client: KubeClient, name: string, text: string): Promise<void> {
  await client.create(KINDS.trainJob, talker(name, text));
  await until("both pods have spoken", async () => (await jobLog(client, name)).length === 2);
  const body = { spec: { suspend: true } };
  await client.patch(KINDS.trainJob, { namespace, name }, { type: "merge", body });
  await trainJobThat(client, name, "is suspended", ({ status }) => status?.state === "Suspended");
  await until("its pods are gone", async () => {
    const { pods } = await detailsOf(client, name);
    return pods.length === 2 && pods.every(({ gone }) => gone);
  });
}

const SAID = ["node-0 | last words", "node-1 | last words"];

Deno.test("logs of a job are read when its pods are gone, after a restart too, until the job is deleted", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "milepost-test-" });
  const folders = async () =>
    (await Array.fromAsync(Deno.readDir(`${dataDir}/kubelet/logs`))).length;
  try {
    await withStandalone(async ({ client }) => {
      await runAndSuspend(client, "talker", "last words");
      assert.deepEqual(await jobLog(client, "talker"), SAID);
    }, { dataDir });
    await withStandalone(async ({ client }) => {
      assert.deepEqual(await jobLog(client, "talker", { follow: false }), SAID);
      assert.deepEqual(await jobLog(client, "talker", { rank: "node-1", tail: 1 }), ["last words"]);
      const { pods, keepsLogs } = await detailsOf(client, "talker");
      assert.equal(keepsLogs, true);
      // As the page reads it, with the rights to pods/log; what never was is not found.
      const log = (pod: string) => client.read(`/api/v1/namespaces/${namespace}/pods/${pod}/log`);
      assert.match((await log(pods[0]?.name ?? "")).text, /^last words\n$/);
      await assert.rejects(log("never"), /pods "never" not found/);
      await client.delete(KINDS.trainJob, { namespace, name: "talker" });
      await until(
        "nothing of it is left",
        async () => (await keptIn(client)).length === 0 && await folders() === 0,
      );
      // A job of that name has none of them.
      await client.create(KINDS.trainJob, talker("talker", "first words"));
      await until("the next one speaks", async () => (await jobLog(client, "talker")).length === 2);
      assert.match((await jobLog(client, "talker")).join(), /first words/);
    }, { dataDir });
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("a rank that printed nothing and is gone has a row that says so, and a line in the logs", () =>
  withStandalone(async ({ client }) => {
    const script = 'test "$JOB_COMPLETION_INDEX" = 1 || echo words; exec sleep 600';
    const command = ["sh", "-c", script];
    const spec = { trainer: { numNodes: 2, command } };
    await client.create(KINDS.trainJob, trainJob("half", "plain", { spec }));
    await until("one has spoken, and both run", async () => {
      const { pods } = await detailsOf(client, "half");
      const areBothThere = pods.length === 2 && pods.every(({ phase }) => phase === "Running");
      return areBothThere && (await jobLog(client, "half")).includes("node-0 | words");
    });
    const body = { spec: { suspend: true } };
    await client.patch(KINDS.trainJob, { namespace, name: "half" }, { type: "merge", body });
    await until("both are gone", async () => (await keptIn(client)).length === 2);
    const { pods } = await detailsOf(client, "half");
    assert.deepEqual(
      pods.map(({ rank, gone, isSilent }) => [rank, gone, isSilent ?? false]),
      [["node-0", true, false], ["node-1", true, true]],
    );
    assert.deepEqual(
      (await jobLog(client, "half")).map((it) => it.replace(/half-\S+/, "POD")),
      ["node-0 | words", "warning: POD has printed nothing"],
    );
  }));

const PYTORCHJOB = JOB_KINDS.byId("pytorchjobs.kubeflow.org") ?? TRAINJOB;

Deno.test("a v1 pod that was made again has the log of the one before as its previous one", () =>
  withStandalone(async ({ client }) => {
    const script = 'echo "run $(ls $0 | wc -l)"; touch $0/$$; exit 130';
    const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
    try {
      const container = { name: "pytorch", image: "none", command: ["sh", "-c", script, folder] };
      const annotations = { "kubectl.kubernetes.io/default-container": "pytorch" };
      const sidecar = { name: "sidecar", image: "none", command: ["true"] };
      const Master = {
        replicas: 1,
        restartPolicy: "ExitCode",
        template: { metadata: { annotations }, spec: { containers: [container, sidecar] } },
      };
      const spec = { runPolicy: { backoffLimit: 1 }, pytorchReplicaSpecs: { Master } };
      const { apiVersion, kind } = PYTORCHJOB;
      const job: AnyJob = { apiVersion, kind, metadata: { name: "pt", namespace }, spec };
      await client.create(PYTORCHJOB, job);
      const read = (previous: boolean) => jobLog(client, "pt", { kind: PYTORCHJOB, previous });
      await until("both runs are over", async () => (await keptIn(client)).length === 2);
      assert.deepEqual(await read(false), ["master-0 | run 1"]);
      assert.deepEqual(await read(true), ["master-0 | run 0"]);
      // A pod that is gone still says which of its containers is meant.
      const path = `/api/v1/namespaces/${namespace}/pods/pt-master-0/log`;
      assert.equal((await client.read(path)).text, "run 1\n");
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }));

Deno.test("logs of ended pods are kept within their bytes: the oldest go first", () =>
  withStandalone(async ({ client }) => {
    const done = ["sh", "-c", "echo done; exit 0"];
    await client.create(
      KINDS.trainJob,
      trainJob("done", "plain", { spec: { trainer: { command: done } } }),
    );
    await trainJobThat(client, "done", "completes", ({ status }) => status?.state === "Complete");
    await runAndSuspend(client, "first", "x".repeat(100));
    await runAndSuspend(client, "second", "y".repeat(100));
    await until("what is beyond the bytes goes", async () => {
      const names = (await keptIn(client)).map(({ spec }) => spec.pod.metadata?.name ?? "");
      return names.length === 2 && names.every((name) => name.startsWith("second-"));
    });
    assert.equal((await jobLog(client, "second")).length, 2);
    assert.deepEqual(await jobLog(client, "first"), []);
    // The pod of the oldest is still there, as in Kubernetes.
    const [told = ""] = await until("its log is gone", async () => {
      const lines = await jobLog(client, "done");
      return lines[0]?.includes("done-node-0-0-") ? lines : undefined;
    });
    assert.match(
      told,
      /^warning: the log of done-\S+ cannot be read: .* was removed: those of ended pods are kept within --history-bytes/,
    );
  }, { historyBytes: 400 }));
