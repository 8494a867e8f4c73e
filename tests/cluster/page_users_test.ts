/** Tests of `milepost ui --in-cluster` on a real API server: its own rights suffice and change nothing, users have theirs. */
import assert from "node:assert/strict";
import { flagOf } from "../../app/configuration/setting_entries.ts";
import { JOB_KINDS, TRAINJOB } from "../../crds/job_kinds.ts";
import { KINDS } from "../../crds/kinds.ts";
import { CA_KEY, childNames, MANAGER, OBSERVATION_AUDIENCE, UI } from "../../crds/names.ts";
import { DEFAULTS } from "../../deploy/installation_settings.ts";
import { ui } from "../../deploy/ui_manifests.ts";
import { createAuthority, issueServingCertificate } from "../../webhook/certificate_authority.ts";
import { openEvents } from "../support/event_client.ts";
import { freePort } from "../support/free_port.ts";
import { CHANGE_HEADERS, sendTo } from "../support/page_client.ts";
import { requestToken, shellRuntime, trainJob } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { createDaemon } from "./control_plane/daemon.ts";
import { apply, type Cluster, serviceAccountToken } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";
import { reporterOf } from "./support/pushing.ts";

const withSharedCluster = shareCluster();

const UI_USER = `system:serviceaccount:${MANAGER.namespace}:${UI.name}`;
const MAIN = new URL("../../main.ts", import.meta.url).pathname;

/** Starts the page as a process, with the account, the role and the tokens of its manifests. */
async function startPage(
  { plane, manager }: Cluster,
  caBundle: string,
  stack: AsyncDisposableStack,
) {
  const { client, folder } = plane;
  const account = { namespace: MANAGER.namespace, name: UI.name };
  const file = async (name: string, text: string) => {
    await Deno.writeTextFile(`${folder}/${name}`, text);
    return `${folder}/${name}`;
  };
  const token = await serviceAccountToken(client, account);
  const observing = await requestToken(client, account, { audience: OBSERVATION_AUDIENCE });
  const authority = await createAuthority(Date.now());
  const pair = await issueServingCertificate(authority, ["127.0.0.1"], Date.now());
  const [port, healthPort] = [freePort(), freePort()];
  const flags = {
    kubeconfig: await plane.kubeconfigFor("ui", { token }),
    bindAddress: "127.0.0.1",
    uiPort: port,
    healthPort,
    managerUrl: manager.statusUrl,
    managerToken: await file("manager-token", observing),
    managerCa: await file("manager-ca.crt", caBundle),
    tlsCert: await file("page.crt", pair.certificate),
    tlsKey: await file("page.key", pair.key),
  };
  const daemon = createDaemon({
    name: "milepost ui",
    program: Deno.execPath(),
    args: [
      ...["run", "-A", "--no-check", MAIN, "ui", "--in-cluster"],
      ...Object.entries(flags).map(([name, value]) => `${flagOf(name)}=${value}`),
    ],
    env: { NO_COLOR: "1" },
    logFile: `${folder}/ui.log`,
    async isReady() {
      const answer = await fetch(`http://127.0.0.1:${healthPort}/readyz`);
      await answer.body?.cancel();
      return answer.ok;
    },
  });
  await daemon.start();
  stack.defer(() => daemon.stop());
  const url = `https://127.0.0.1:${port}`;
  const ca = authority.certificate;
  return {
    url,
    ca,
    stop: () => daemon.stop(),
    log: () => Deno.readTextFile(daemon.logFile),
    get: (path: string, bearer: string) =>
      sendTo(url, { path, headers: { Authorization: `Bearer ${bearer}` } }, ca),
    post: (path: string, bearer: string) => {
      const headers = { ...CHANGE_HEADERS, Authorization: `Bearer ${bearer}` };
      return sendTo(url, { method: "POST", path, headers, body: "{}" }, ca);
    },
  };
}

/** A user of a namespace, by a cluster's own roles. */
async function user({ plane, kubectl }: Cluster, namespace: string, name: string, role: string) {
  await kubectl(["create", "serviceaccount", name, "-n", namespace]);
  const subject = `--serviceaccount=${namespace}:${name}`;
  await kubectl([
    "create",
    "rolebinding",
    name,
    "-n",
    namespace,
    `--clusterrole=${role}`,
    subject,
  ]);
  return await serviceAccountToken(plane.client, { namespace, name });
}

const json = ({ text }: { text: string }) => JSON.parse(text);

Deno.test("on a real API server two users of the page see and change what each may, and its account changes nothing", (t) =>
  withSharedCluster(async (cluster) => {
    await using stack = new AsyncDisposableStack();
    const { plane, manager, kubectl } = cluster;
    const { client } = plane;
    await apply(plane, [
      ...ui(DEFAULTS, JOB_KINDS).filter(({ kind }) =>
        /^(ServiceAccount|ClusterRole.*)$/.test(kind)
      ),
      ...["team-a", "team-b"].map((name) => ({
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name },
      })),
      {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        metadata: { name: "jobs" },
        rules: [
          { apiGroups: [TRAINJOB.group], resources: [TRAINJOB.plural], verbs: ["*"] },
          { apiGroups: [""], resources: ["pods", "events"], verbs: ["get", "list"] },
        ],
      },
      {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        metadata: { name: "jobs-seen" },
        rules: [{
          apiGroups: [TRAINJOB.group],
          resources: [TRAINJOB.plural],
          verbs: ["get", "list", "watch"],
        }],
      },
    ]);
    const ada = await user(cluster, "team-a", "ada", "jobs-seen");
    const bob = await user(cluster, "team-b", "bob", "jobs");
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 600"));
    await client.create(KINDS.trainJob, trainJob("seen", "idle", { namespace: "team-a" }));
    await client.create(KINDS.trainJob, trainJob("secret", "idle", { namespace: "team-b" }));
    await until("the pods run", async () => {
      const jobs = await client.list(KINDS.trainJob);
      return jobs.items.length === 2 &&
        jobs.items.every(({ status }) => status?.state === "Running");
    });
    const key = { namespace: "team-a", name: childNames.tlsConfig("seen") };
    const caBundle = (await client.get(KINDS.configMap, key)).data?.[CA_KEY] ?? "";
    const page = await startPage(cluster, caBundle, stack);

    await t.step("each lists its own jobs, and a push comes to who may see it", async () => {
      const list = json(await page.get("/view/v1/jobs?namespace=team-a&namespace=team-b", ada));
      assert.deepEqual([list.total, list.rows[0].name], [1, "seen"]);
      const other = json(await page.get("/view/v1/jobs?namespace=team-a&namespace=team-b", bob));
      assert.deepEqual([other.total, other.rows[0].name], [1, "secret"]);
      assert.equal((await page.get("/view/v1/jobs", ada)).status, 403);
      const path = `/view/v1/events?namespace=team-a&job=${TRAINJOB.id}/team-a/seen` +
        `&job=${TRAINJOB.id}/team-b/secret`;
      await using events = await openEvents(page.url + path, { token: ada, ca: page.ca });
      using reporter = await reporterOf(client, { namespace: "team-a", trainJob: "seen" });
      const status = {
        progressPercentage: 25,
        metrics: [{ name: "loss", value: "0.125" }],
        lastUpdatedTime: new Date().toISOString(),
      };
      assert.equal(await reporter.send(manager.statusUrl, status), 200, reporter.lastAnswer);
      await until("the push is in the stream", async () => {
        const text = JSON.stringify(await events.next());
        assert.ok(!text.includes('"uid":"secret'), text);
        return text.includes("0.125,0.125,0.125");
      });
    });

    await t.step(
      "the API server refuses changes of who may not make them, in its words",
      async () => {
        for (const action of ["suspend", "delete", "stop"]) {
          const refused = await page.post(`/${action}/${TRAINJOB.id}/team-a/seen`, ada);
          assert.equal(refused.status, 403, refused.text);
          assert.match(json(refused).message, /system:serviceaccount:team-a:ada/);
        }
        assert.equal((await page.get(`/objects/${TRAINJOB.id}/team-b/secret`, ada)).status, 403);
        assert.equal((await page.post(`/suspend/${TRAINJOB.id}/team-b/secret`, bob)).status, 200);
        const { spec } = await client.get(KINDS.trainJob, { namespace: "team-b", name: "secret" });
        assert.equal(spec?.suspend, true);
      },
    );

    await t.step(
      "a manager that is killed is missed in words, and curves come back by themselves",
      async () => {
        const path = `/view/v1/events?namespace=team-a&job=${TRAINJOB.id}/team-a/seen`;
        await using events = await openEvents(page.url + path, { token: ada, ca: page.ca });
        const heard = (what: RegExp) =>
          until(
            `the stream says ${what}`,
            async () => what.test(JSON.stringify(await events.next())),
          );
        await heard(/"event":"curves"/);
        await manager.kill("SIGKILL");
        await heard(/"event":"outage".*the manager/);
        assert.equal((await page.get("/view/v1/jobs?namespace=team-a", ada)).status, 200);
        await manager.restart();
        using reporter = await reporterOf(client, { namespace: "team-a", trainJob: "seen" });
        await until("a push is taken", async () => {
          const metrics = [{ name: "loss", value: "0.0625" }];
          const status = { metrics, lastUpdatedTime: new Date().toISOString() };
          return await reporter.send(manager.statusUrl, status) === 200;
        });
        await heard(/"event":"curves".*0\.0625/);
      },
    );

    await t.step("a right that is taken away ends a stream within 80 s", async () => {
      const path = "/view/v1/events?namespace=team-a";
      await using events = await openEvents(page.url + path, { token: ada, ca: page.ca });
      await events.next();
      await kubectl(["delete", "rolebinding", "ada", "-n", "team-a"]);
      const began = performance.now();
      await until("the stream has ended", async () => "closed" in await events.next(), {
        timeoutMs: 80_000,
      });
      assert.ok(performance.now() - began < 80_000);
      assert.match(events.comments.join(), /ended: .*may not list/);
      assert.equal((await page.get("/view/v1/jobs?namespace=team-a", ada)).status, 403);
    });

    await t.step("its account was refused nothing, and has changed nothing", async () => {
      await page.stop();
      const log = await page.log();
      assert.ok(!log.includes(ada) && !log.includes(bob), "no token is in its log");
      const events = (await plane.auditLog()).filter(({ user }) => user.username === UI_USER);
      const refused = events.filter(({ responseStatus }) => responseStatus?.code === 403);
      assert.deepEqual(refused.map(({ requestURI }) => requestURI), []);
      const used = new Set(events.map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}`));
      const kinds = JOB_KINDS.all.flatMap(({ plural }) => [`list ${plural}`, `watch ${plural}`]);
      const allowed = ["create tokenreviews", "create subjectaccessreviews", ...kinds];
      assert.deepEqual([...used].filter((it) => !allowed.includes(it)), []);
      for (const it of ["list trainjobs", "watch trainjobs", ...allowed.slice(0, 2)]) {
        assert.ok(used.has(it), it);
      }
    });
  }, {
    env: { MILEPOST_READ_WITH_API_TOKENS: "true" },
  }));
