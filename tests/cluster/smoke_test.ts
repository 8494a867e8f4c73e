/** Smoke test on a real control plane: a TrainJob trains, reports and completes, and nothing is left. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { processesThatMention } from "../support/processes.ts";
import { shellRuntime, trainJob, trainJobThat } from "../support/standalone.ts";
import { withCluster } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";

const withSharedCluster = shareCluster();

/** Pushes its progress as `docs/guides/push.md` says, with what every container is given. */
const REPORT = `cat > push.ts <<'END'
const client = Deno.createHttpClient({
  caCerts: [Deno.readTextFileSync(Deno.env.get("KUBEFLOW_TRAINER_STATUS_CA_CERT"))],
});
const answer = await fetch(Deno.env.get("KUBEFLOW_TRAINER_STATUS_URL"), {
  client,
  method: "POST",
  headers: {
    authorization: "Bearer " + Deno.readTextFileSync(Deno.env.get("KUBEFLOW_TRAINER_STATUS_TOKEN")),
  },
  body: JSON.stringify({
    trainerStatus: {
      progressPercentage: 100,
      metrics: [{ name: "loss", value: "0.5" }],
      lastUpdatedTime: new Date().toISOString(),
    },
  }),
});
console.log(answer.status, await answer.text());
if (!answer.ok) Deno.exit(1);
END
deno run -A push.ts`;

Deno.test("a TrainJob of two nodes runs to Complete on a real control plane, with its progress", async () => {
  let folder = "";
  await withCluster(async ({ plane, kubectl }) => {
    folder = plane.folder;
    const { client } = plane;
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("report", REPORT));
    const spec = { trainer: { numNodes: 2 } };
    await client.create(KINDS.trainJob, trainJob("smoke", "report", { spec }));
    await kubectl(["wait", "--for=condition=Complete", "trainjob/smoke", "--timeout=90s"]);
    const job = await trainJobThat(
      client,
      "smoke",
      "has its progress",
      ({ status }) => status?.trainerStatus?.progressPercentage === 100,
    );
    assert.deepEqual(job.status?.trainerStatus?.metrics, [{ name: "loss", value: "0.5" }]);
    assert.equal(job.status?.state, "Complete");
    const pods = await client.list(KINDS.pod, { namespace: "default" });
    assert.deepEqual(pods.items.map(({ status }) => status?.phase), ["Succeeded", "Succeeded"]);
    await kubectl(["delete", "trainjob", "smoke", "--cascade=foreground", "--timeout=60s"]);
    assert.deepEqual((await client.list(KINDS.pod, { namespace: "default" })).items, []);
  });
  assert.deepEqual([...await processesThatMention(folder)], []);
  await assert.rejects(Deno.stat(folder), Deno.errors.NotFound);
});

Deno.test("a deletion in the foreground ends while no replica answers the webhooks", () =>
  withSharedCluster(async ({ plane: { client }, kubectl, manager }) => {
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("quick", "true"));
    const patched = { manager: "example.com/queue", trainingRuntimeSpec: { template: {} } };
    const specs = { plain: {}, patched: { runtimePatches: [patched] } };
    for (const [name, spec] of Object.entries(specs)) {
      await client.create(KINDS.trainJob, trainJob(name, "quick", { spec }));
    }
    const names = Object.keys(specs).map((name) => `trainjob/${name}`);
    await kubectl(["wait", "--for=condition=Complete", ...names, "--timeout=90s"]);
    await manager.kill();
    await kubectl(["delete", ...names, "--cascade=foreground", "--timeout=60s"]);
    assert.deepEqual((await client.list(KINDS.trainJob, { namespace: "default" })).items, []);
    // An update of what is not being deleted is still asked for, and refused without an answer.
    await assert.rejects(client.create(KINDS.trainJob, trainJob("next", "quick")), /webhook/);
  }));
