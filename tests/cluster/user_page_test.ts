/** Tests of `milepost ui` on a real API server: users with a certificate, with a token, and with few rights. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { KINDS } from "../../crds/kinds.ts";
import { MANAGER } from "../../crds/names.ts";
import { connectionTo, loadKubeconfig } from "../../platform/kube/connection/kubeconfig.ts";
import { startApiGateway } from "../support/api_gateway.ts";
import { shellRuntime, trainJob } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { jobNames, managerSlice, withUserPage } from "../support/user_page.ts";
import { apply, serviceAccountToken } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";
import { reporterOf } from "./support/pushing.ts";

const withSharedCluster = shareCluster();

const NAMESPACE = "team-a";
const USER = `system:serviceaccount:${NAMESPACE}:ada`;
const RBAC = "rbac.authorization.k8s.io";
const json = ({ text }: { text: string }) => JSON.parse(text);
const id = `${TRAINJOB.id}/${NAMESPACE}/seen`;

/** A Role, and its binding to the user. */
function rights(namespace: string, rules: readonly unknown[]): unknown[] {
  const metadata = { name: "ada", namespace };
  return [
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: RBAC, kind: "Role", name: "ada" },
      subjects: [{ kind: "ServiceAccount", namespace: NAMESPACE, name: "ada" }],
    },
  ];
}

const rule = (group: string, resources: string, verbs: string) => ({
  apiGroups: [group],
  resources: resources.split(","),
  verbs: verbs.split(","),
});
const OF_JOBS = [
  rule(TRAINJOB.group, TRAINJOB.plural, "get,list,watch"),
  rule("", "configmaps,pods,events", "list"),
];
const FINDS = rule("discovery.k8s.io", "endpointslices", "list");

Deno.test("on a real API server `milepost ui` shows each user what its objects say, and names what is missing", (t) =>
  withSharedCluster(async ({ plane, manager }) => {
    const { client } = plane;
    await apply(plane, [
      { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } },
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "ada", namespace: NAMESPACE } },
      ...rights(NAMESPACE, OF_JOBS),
    ]);
    const token = await serviceAccountToken(client, { namespace: NAMESPACE, name: "ada" });
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 600"));
    await client.create(KINDS.trainJob, trainJob("seen", "idle", { namespace: NAMESPACE }));
    await until("the pod runs", async () => {
      const { status } = await client.get(KINDS.trainJob, { namespace: NAMESPACE, name: "seen" });
      return status?.state === "Running";
    });
    const ada = loadKubeconfig(await plane.kubeconfigFor("ada", { token }));
    const port = Number(new URL(manager.statusUrl).port);

    await t.step(
      "an administrator with a certificate sees all but curves, and why",
      () =>
        withUserPage(loadKubeconfig(plane.kubeconfig), async (page, missing) => {
          assert.deepEqual(await jobNames(page), ["seen"]);
          await until("it is said", () => /has no token, but a client cert/.test(missing().join()));
          assert.equal(json(await page.get("/session")).user, "admin");
          const { object, pods, events } = json(await page.get(`/objects/${id}`));
          assert.equal(object.metadata.name, "seen");
          assert.ok(pods.length === 1 && events.length > 0);
          const curves = await page.get(`/view/v1/curves?job=${id}`);
          assert.equal(curves.status, 503, curves.text);
          assert.match(json(curves).message, /has no token, but a client certificate/);
          assert.equal(json(await page.get(`/rights/${id}`)).stop, false);
          assert.equal((await page.post(`/suspend/${id}`)).status, 200);
          await until("the list follows", async () => {
            const { rows } = json(await page.get("/view/v1/jobs"));
            return rows[0].state === "Suspended";
          });
          assert.equal((await page.post(`/resume/${id}`)).status, 200);
        }),
    );

    await t.step("a user of one namespace is told of each right that is missing", async () => {
      const says = (what: RegExp) =>
        withUserPage(ada, async (page, missing) => {
          await until(`it says ${what}`, () => what.test(missing().join()));
          assert.deepEqual(await jobNames(page), ["seen"]);
        }, [NAMESPACE]);
      await says(/may not list endpointslices in kubeflow-system/);
      await apply(plane, rights(MANAGER.namespace, [FINDS]));
      await says(/no manager is found/);
      await apply(plane, [managerSlice("manager-0", port).object]);
      await says(/no right to get and create pods\/portforward in kubeflow-system/);
      const forwards = [FINDS, rule("", "pods/portforward", "get,create")];
      await apply(plane, rights(MANAGER.namespace, forwards));
      // No kubelet of this cluster forwards ports.
      await says(/of the manager's pod manager-0 cannot be forwarded: no WebSocket/);
    });

    await t.step("with these rights, curves come from where ports can be forwarded", async () => {
      const { server = "", caData = "" } = ada.cluster;
      const caPem = Buffer.from(caData, "base64").toString("utf8");
      await using gateway = startApiGateway({ server, caPem });
      await withUserPage(connectionTo({ server: gateway.url, token }), async (page, missing) => {
        await until("nothing is missing", () => missing().length === 0);
        using reporter = await reporterOf(client, { namespace: NAMESPACE, trainJob: "seen" });
        const metrics = [{ name: "loss", value: "0.125" }];
        const status = {
          progressPercentage: 25,
          metrics,
          lastUpdatedTime: new Date().toISOString(),
        };
        assert.equal(await reporter.send(manager.statusUrl, status), 200, reporter.lastAnswer);
        await page.streamUntil(
          `/view/v1/events?job=${id}`,
          (text) => text.includes("0.125,0.125,0.125") && text.includes('"progress":25'),
        );
      }, [NAMESPACE]);
    });

    await t.step(
      "nothing was changed as that user, and nothing asked for but what it needs",
      async () => {
        const events = (await plane.auditLog()).filter(({ user }) => user.username === USER);
        const used = new Set(events.map(({ verb, objectRef }) => {
          const { resource, subresource } = objectRef ?? {};
          return `${verb} ${[resource, subresource].filter((it) => it).join("/")}`;
        }));
        const unexpected = [...used].filter((it) =>
          !/^(get |list |watch |create self\w+reviews$|(get|create) pods\/portforward$)/.test(it)
        );
        assert.deepEqual(unexpected, []);
        assert.ok(used.has("list endpointslices"), [...used].join());
      },
    );
  }, {
    env: { MILEPOST_READ_WITH_API_TOKENS: "true" },
  }));
