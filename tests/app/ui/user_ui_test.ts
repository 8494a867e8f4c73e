/** Tests of `milepost ui` for a kubeconfig's cluster: as an administrator, as users of few rights, and through a port-forward. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { z } from "zod";
import { startControlPlane } from "../../../app/standalone/control_plane.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { MANAGER } from "../../../crds/names.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { connectionTo, loadKubeconfig } from "../../../platform/kube/connection/kubeconfig.ts";
import type { Connection } from "../../../platform/kube/connection/connection.ts";
import { startApiGateway } from "../../support/api_gateway.ts";
import { managerLauncher } from "../../support/manager_process.ts";
import { pushingJob } from "../../support/pushing_job.ts";
import { SIGNING_KEY } from "../../support/signing_key.ts";
import {
  shareStandalone,
  shellRuntime,
  trainJob,
  withStandalone,
} from "../../support/standalone.ts";
import { jobNames, managerSlice, withUserPage } from "../../support/user_page.ts";
import { until } from "../../support/until.ts";

const RBAC = "rbac.authorization.k8s.io";
const [OWN, OTHER] = ["team-a", "team-b"] as const;
const SECRET = "secret-of-b";
const idOf = (namespace: string, name: string) => `${TRAINJOB.id}/${namespace}/${name}`;
const json = ({ text }: { text: string }) => JSON.parse(text);

async function post(client: KubeClient, path: string, object: unknown): Promise<void> {
  await client.read(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(object),
  });
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const LIST_JOBS: Rule = {
  apiGroups: [TRAINJOB.group],
  resources: [TRAINJOB.plural],
  verbs: ["get", "list", "watch"],
};

/** Makes a user with these rights in these namespaces; returns its token for the API server. */
async function user(
  client: KubeClient,
  name: string,
  rights: Readonly<Record<string, readonly Rule[]>>,
): Promise<string> {
  const account = { namespace: OWN, name };
  const metadata = account;
  await client.create(KINDS.serviceAccount, { apiVersion: "v1", kind: "ServiceAccount", metadata });
  for (const [namespace, rules] of Object.entries(rights)) {
    const base = `/apis/${RBAC}/v1/namespaces/${namespace}`;
    await post(client, `${base}/roles`, { metadata: { name }, rules });
    await post(client, `${base}/rolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: RBAC, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", ...account }],
    });
  }
  const asked = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const answer = await client.createSubresource(KINDS.serviceAccount, account, "token", asked);
  return z.object({ status: z.object({ token: z.string() }) }).parse(answer).status.token;
}

const standalone = shareStandalone(async (client) => {
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "echo ready; sleep 600"));
  for (const name of [OWN, OTHER]) await client.create(KINDS.namespace, { metadata: { name } });
});

/** The connection of a user of the standalone. */
function as(token: string): Connection {
  const { server = "", caData = "" } = loadKubeconfig(standalone().kubeconfig).cluster;
  return connectionTo({ server, caPem: atob(caData), token });
}

Deno.test("with the kubeconfig of a standalone, lists, curves, events, logs and changes come by `milepost ui`", async () => {
  const all = standalone();
  const job = await pushingJob(all, "seen", OWN);
  await job.push(30, "0.5");
  const connection = loadKubeconfig(all.kubeconfig);
  await withUserPage(connection, async (page, missing) => {
    await until("nothing is missing", () => missing().length === 0);
    assert.deepEqual(await jobNames(page, "?text=seen"), ["seen"]);
    const stream = await page.streamUntil(
      `/view/v1/events?namespace=${OWN}&job=${idOf(OWN, "seen")}`,
      (text) => /"name":"loss","points":\[\[\d+,0\.5,0\.5,0\.5\]\]/.test(text),
    );
    assert.match(stream, /event: jobs\n.*\n.*"progress":30/);
    const details = json(await page.get(`/objects/${idOf(OWN, "seen")}`));
    assert.equal(details.object.metadata.name, "seen");
    assert.ok(details.events.length > 0);
    assert.match((await page.get(`/logs/${OWN}/${job.pod.name}`)).text, /ready/);
    const rights = json(await page.get(`/rights/${idOf(OWN, "seen")}`));
    assert.equal(rights.stop, true);
    const session = json(await page.get("/session"));
    assert.deepEqual(session.missing, []);
    assert.equal(session.user, "admin");
    const token = connection.user?.token ?? "";
    assert.ok(token.length > 20 && !JSON.stringify([stream, details, session]).includes(token));
    const stopped = await page.post(`/stop/${idOf(OWN, "seen")}`, { reason: "Enough" });
    assert.equal(stopped.status, 200, stopped.text);
    assert.equal((await page.post(`/delete/${idOf(OWN, "seen")}`)).status, 200);
    await until("it is gone", async () => (await jobNames(page, "?text=seen")).length === 0);
  });
});

Deno.test("a user of one namespace sees its jobs and their curves, and learns of no other", async () => {
  const all = standalone();
  const job = await pushingJob(all, "mine", OWN);
  const secret = await pushingJob(all, SECRET, OTHER);
  await job.push(30, "0.5");
  await secret.push(70, "0.25");
  const token = await user(all.client, "ada", {
    [OWN]: [LIST_JOBS],
    [MANAGER.namespace]: [{
      apiGroups: ["discovery.k8s.io"],
      resources: ["endpointslices"],
      verbs: ["list"],
    }],
  });
  await withUserPage(as(token), async (page, missing) => {
    await until("the manager is found", () => !missing().join().includes("manager"));
    assert.deepEqual(await jobNames(page), ["mine"], "the namespace is the one that was given");
    await page.streamUntil(
      `/view/v1/events?job=${idOf(OWN, "mine")}`,
      (text) => /0\.5,0\.5,0\.5/.test(text),
    );
    for (
      const path of [
        `/view/v1/jobs?namespace=${OTHER}`,
        `/view/v1/jobs?namespace=${OWN}&namespace=${OTHER}`,
        `/view/v1/curves?job=${idOf(OTHER, SECRET)}`,
        `/objects/${idOf(OTHER, SECRET)}`,
      ]
    ) {
      const { text } = await page.get(path);
      const unseen = text.replaceAll(`"name":"${SECRET}"`, "").replaceAll(`"${SECRET}"`, "");
      assert.ok(!unseen.includes(secret.uid) && !unseen.includes("0.25"), `${path}: ${text}`);
    }
    assert.equal((await page.post(`/delete/${idOf(OWN, "mine")}`)).status, 403);
  }, [OWN]);
});

Deno.test("where a right is lacking, the objects are shown and what is missing is named", async () => {
  const all = standalone();
  const job = await pushingJob(all, "few", OWN);
  await job.push(40, "0.125");
  const token = await user(all.client, "bob", { [OWN]: [LIST_JOBS] });
  await withUserPage(as(token), async (page, missing) => {
    const why = await until("it says why", () => {
      const text = missing().join("\n");
      return text.includes("endpointslices") && text;
    });
    assert.match(why, /the user may not list endpointslices in kubeflow-system/);
    await until("progress is what the object says", async () => {
      const { rows = [] } = json(await page.get("/view/v1/jobs?text=few"));
      return rows[0]?.progress === 40;
    });
    const curves = await page.get(`/view/v1/curves?job=${idOf(OWN, "few")}`);
    assert.equal(curves.status, 503, curves.text);
    assert.match(json(curves).message, /endpointslices/);
    const stop = await page.post(`/stop/${idOf(OWN, "few")}`, { reason: "Enough" });
    assert.equal(stop.status, 503, stop.text);
    assert.ok(json(await page.get("/session")).missing.length > 0);
  }, [OWN]);
});

Deno.test("a manager that takes no tokens of the API server is named, and the session goes on", () =>
  withStandalone(async ({ client, kubeconfig }) => {
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 600"));
    await client.create(KINDS.trainJob, trainJob("seen", "idle"));
    await withUserPage(loadKubeconfig(kubeconfig), async (page, missing) => {
      await until("it is said", () => /with --read-with-api-tokens alone/.test(missing().join()));
      assert.deepEqual(await jobNames(page), ["seen"]);
      const curves = await page.get(`/view/v1/curves?job=${idOf("default", "seen")}`);
      assert.equal(curves.status, 503, curves.text);
      assert.match(json(curves).message, /--read-with-api-tokens/);
      assert.equal(json(await page.get(`/rights/${idOf("default", "seen")}`)).stop, false);
    });
  }, { settings: { readWithApiTokens: "false" } }));

Deno.test("through a port-forward curves come; without the manager the objects are shown; and curves come back", async () => {
  await using stack = new AsyncDisposableStack();
  const plane = await startControlPlane({ port: 0, signingKey: SIGNING_KEY });
  stack.defer(() => plane.stop());
  const { client } = plane;
  const launcher = managerLauncher(plane.kubeconfig, ["--read-with-api-tokens"]);
  let manager = launcher.start();
  stack.defer(async () => void await manager.end("SIGTERM"));
  await until("the manager is ready", launcher.isReady);
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 600"));
  const { status: port } = launcher.ports;
  const configuration = await client.get(KINDS.mutatingWebhookConfiguration, {
    name: MANAGER.mutatingConfiguration,
  });
  const ca = configuration.webhooks?.[0]?.clientConfig.caBundle ?? "";
  const caBundle = () => Buffer.from(ca, "base64").toString("utf8");
  const all = { client, status: `https://127.0.0.1:${port}`, caBundle };
  const job = await pushingJob(all, "far", "default");
  const { server = "", caData = "" } = loadKubeconfig(plane.kubeconfig).cluster;
  await using gateway = startApiGateway({ server, caPem: atob(caData) });
  const connection = connectionTo({ server: gateway.url, token: plane.adminToken });
  await withUserPage(connection, async (page, missing) => {
    await until("no manager is found", () => /no manager is found/.test(missing().join()));
    assert.deepEqual(await jobNames(page), ["far"]);
    const { path: slices, object } = managerSlice("manager-0", port);
    await post(client, slices, object);
    await until("the manager is found", () => missing().length === 0);
    await job.push(10, "0.5");
    const events = `/view/v1/events?job=${idOf("default", "far")}`;
    await page.streamUntil(events, (text) => /0\.5,0\.5,0\.5/.test(text));
    const path = `/api/v1/namespaces/${MANAGER.namespace}/pods/manager-0/portforward?ports=${port}`;
    assert.deepEqual([...new Set(gateway.forwards)], [path]);

    await manager.end("SIGKILL");
    const outage = await page.streamUntil(events, (text) => text.includes("event: outage"));
    assert.match(outage, /event: jobs\n.*\n.*"progress":10/);
    await until("it is said", () => /pod manager-0 cannot be forwarded/.test(missing().join()));
    assert.deepEqual(await jobNames(page), ["far"]);

    manager = launcher.start();
    await until("a push is taken", async () => (await job.push(20, "0.25"), true));
    await page.streamUntil(events, (text) => /0\.25,0\.25,0\.25/.test(text));
    await until("nothing is missing", () => missing().length === 0);
  });
});

Deno.test("a user whose credentials are not accepted is told so, and so is one of a server that is not there", async () => {
  await assert.rejects(
    withUserPage(as("wrong"), async () => {}),
    /does not accept the credentials of the context .*--context/,
  );
  const nowhere = connectionTo({ server: "https://127.0.0.1:1", token: "any" });
  await assert.rejects(
    withUserPage(nowhere, async () => {}),
    /cannot reach the cluster of the context .*127\.0\.0\.1:1/,
  );
});
