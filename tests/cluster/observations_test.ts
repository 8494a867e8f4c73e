/** Tests of access to observations, decided by the TokenReviews and access reviews of a real API server. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { observationPath } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { CA_KEY, childNames, OBSERVATION_AUDIENCE, PUSH_AUDIENCE } from "../../crds/names.ts";
import { observer, readObservation } from "../support/observer.ts";
import { requestToken, shellRuntime, trainJob, trainJobThat } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { shareCluster } from "./support/shared_cluster.ts";
import { reporterOf } from "./support/pushing.ts";

const withSharedCluster = shareCluster();

const NAME = "observed";
const inDefault = (name: string) => ({ namespace: "default", name });
const GROUP = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "RoleBinding",
  metadata: { name: "all-accounts" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "observer" },
  subjects: [{
    apiGroup: "rbac.authorization.k8s.io",
    kind: "Group",
    name: "system:serviceaccounts:default",
  }],
};

Deno.test("a real API server decides who may read an observation, and for how long", (t) =>
  withSharedCluster(async ({ plane, manager }) => {
    const { client } = plane;
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 600"));
    await client.create(KINDS.trainJob, trainJob(NAME, "idle"));
    await trainJobThat(client, NAME, "runs", ({ status }) => status?.state === "Running");
    const config = await client.get(KINDS.configMap, inDefault(childNames.tlsConfig(NAME)));
    const at = { status: manager.statusUrl, caBundle: () => config.data?.[CA_KEY] ?? "" };
    using reporter = await reporterOf(client, { trainJob: NAME });
    const pushed = await reporter.send(manager.statusUrl, {
      metrics: [{ name: "loss", value: "0.5" }],
      lastUpdatedTime: new Date().toISOString(),
    });
    assert.equal(pushed, 200, reporter.lastAnswer);
    const reader = await observer(client);
    const tokenFor = (audience: string, name = "observer") =>
      requestToken(client, inDefault(name), { audience });
    const codeOf = async (token: string) => {
      const { status } = await readObservation(at, observationPath(TRAINJOB, "default", NAME), {
        token,
      });
      return status;
    };

    await t.step("an account that may get the TrainJob can read, with a token for it", async () => {
      const { status, body } = await reader.read(at, NAME);
      assert.equal(status, 200, JSON.stringify(body));
      assert.partialDeepStrictEqual(body, {
        state: "Running",
        metrics: [{ name: "loss", latest: "0.5" }],
        log: [{ name: "loss", value: "0.5" }],
      });
    });
    await t.step("a token for pushes, or for the API server, is refused", async () => {
      assert.equal(await codeOf(await tokenFor(PUSH_AUDIENCE)), 401);
      const { iss } = JSON.parse(atob(reader.token.split(".")[1] ?? ""));
      assert.equal(await codeOf(await tokenFor(String(iss))), 401);
    });
    await t.step("an account without the right is refused until its group has it", async () => {
      const token = await tokenFor(OBSERVATION_AUDIENCE, "default");
      assert.equal(await codeOf(token), 403);
      await client.read(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
        {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(GROUP),
        },
      );
      await until("the group's right", async () => await codeOf(token) === 200, {
        timeoutMs: 60_000,
        everyMs: 500,
      });
    });
    await t.step("a deleted account is refused", async () => {
      assert.equal(await codeOf(reader.token), 200);
      await client.delete(KINDS.serviceAccount, inDefault("observer"));
      await until("a refusal", async () => await codeOf(reader.token) === 401, {
        timeoutMs: 60_000,
        everyMs: 500,
      });
    });
  }));
