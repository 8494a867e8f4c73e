/** Tests of requests to stop jobs on a real API server: stored, read back, and refused where it drops the field. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { stopPath } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { crdManifests } from "../../crds/manifests.ts";
import { CA_KEY, childNames, OBSERVATION_AUDIENCE } from "../../crds/names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { requestToken, shellRuntime, trainJob, trainJobThat } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { apply } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";
import { reporterOf } from "./support/pushing.ts";

const withSharedCluster = shareCluster();

const inDefault = (name: string) => ({ namespace: "default", name });
const TUNER = "tuner";

/** An account that may update TrainJobs. */
function accounts() {
  const metadata = inDefault(TUNER);
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata,
      rules: [{
        apiGroups: ["trainer.kubeflow.org"],
        resources: ["trainjobs"],
        verbs: ["get", "update"],
      }],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: TUNER },
      subjects: [{ kind: "ServiceAccount", ...metadata }],
    },
  ];
}

/** Asks for a stop, by the CA that Milepost puts beside the job. */
async function ask(
  at: { client: KubeClient; status: string },
  name: string,
  body: unknown,
  account = TUNER,
) {
  const { client, status } = at;
  const config = await client.get(KINDS.configMap, inDefault(childNames.tlsConfig(name)));
  const token = await requestToken(client, inDefault(account), { audience: OBSERVATION_AUDIENCE });
  using trusting = Deno.createHttpClient({ caCerts: [config.data?.[CA_KEY] ?? ""] });
  const answer = await fetch(`${status}${stopPath(TRAINJOB, "default", name)}`, {
    client: trusting,
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  return { code: answer.status, body: await answer.json() };
}

/** The definition of TrainJobs without the field, as upstream's is. */
function prunedCrd() {
  const [crd] = crdManifests().filter(({ spec }) => spec.names.kind === "TrainJob");
  const copy = JSON.parse(JSON.stringify(crd));
  delete copy.spec.versions[0].schema.openAPIV3Schema.properties.status.properties.stop;
  return copy;
}

Deno.test("a stop is stored in a real API server's TrainJob, or refused where its definition drops it", (t) =>
  withSharedCluster(async ({ plane, manager }) => {
    const { client } = plane;
    const at = { client, status: manager.statusUrl };
    await apply(plane, accounts());
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 600"));
    const names = ["stopped", "pruned"];
    for (const name of names) await client.create(KINDS.trainJob, trainJob(name, "idle"));
    for (const name of names) {
      await trainJobThat(client, name, "runs", ({ status }) => status?.state === "Running");
    }

    await t.step("an account without the right to update may not", async () => {
      const { code, body } = await ask(at, "stopped", { reason: "Pruned" }, "default");
      assert.equal(code, 403, JSON.stringify(body));
      assert.match(body.message, /may not update TrainJob default\/stopped/);
    });
    await t.step("one that may update is answered with what is stored", async () => {
      const wish = { reason: "Pruned", message: "worse than the median", graceSeconds: 600 };
      const { code, body } = await ask(at, "stopped", wish);
      assert.equal(code, 200, JSON.stringify(body));
      const { status } = await client.get(KINDS.trainJob, inDefault("stopped"));
      assert.deepEqual(status?.stop, body.stop);
      assert.partialDeepStrictEqual(body.stop, {
        ...wish,
        user: "system:serviceaccount:default:tuner",
      });
    });
    await t.step("a pod hears of it with its next push", async () => {
      using reporter = await reporterOf(client, { trainJob: "stopped" });
      const pushed = await reporter.send(manager.statusUrl, {
        metrics: [{ name: "loss", value: "0.5" }],
        lastUpdatedTime: new Date().toISOString(),
      });
      assert.equal(pushed, 200, reporter.lastAnswer);
      assert.match(reporter.lastAnswer, /"control":\{"stop":true,"reason":"EarlyStopped"/);
      assert.match(reporter.lastAnswer, /Pruned: worse than the median/);
    });
    await t.step(
      "a shorter grace ends it, with the first reason, and its JobSet goes",
      async () => {
        const { body } = await ask(at, "stopped", { reason: "Other", graceSeconds: 0 });
        assert.equal(body.stop.reason, "Pruned");
        const { status } = await trainJobThat(
          client,
          "stopped",
          "is stopped",
          ({ status }) => status?.state === "EarlyStopped",
        );
        assert.deepEqual(status?.conditions?.map(({ type, reason }) => [type, reason]), [
          ["EarlyStopped", "Pruned"],
          ["Complete", "EarlyStopped"],
        ]);
        await until("the JobSet is gone", async () => {
          const { items } = await client.list(KINDS.jobSet, { namespace: "default" });
          return items.every(({ metadata }) => metadata.name !== "stopped");
        });
        assert.equal((await ask(at, "stopped", { reason: "Pruned" })).code, 200);
      },
    );
    await t.step(
      "where the definition drops the field nothing is stopped, and it says so",
      async () => {
        await apply(plane, [prunedCrd()]);
        const { body } = await until("the field is dropped", async () => {
          const answer = await ask(at, "pruned", { reason: "Pruned", graceSeconds: 600 });
          return answer.code === 503 ? answer : undefined;
        }, { timeoutMs: 30_000, everyMs: 500 });
        assert.match(body.message, /drops status\.stop: install the one that comes with Milepost/);
        const { status } = await client.get(KINDS.trainJob, inDefault("pruned"));
        assert.equal(status?.stop, undefined);
        assert.equal(status?.state, "Running");
      },
    );
  }));
