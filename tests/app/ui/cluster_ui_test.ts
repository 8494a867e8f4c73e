/** Tests of `milepost ui --in-cluster` on a whole standalone: two users, each of whom sees and changes what it may. */
import assert from "node:assert/strict";
import { z } from "zod";
import { startClusterUi } from "../../../app/ui/in_cluster/cluster_ui.ts";
import type { Standalone } from "../../../app/standalone/standalone.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { JOB_KINDS } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { MANAGER, OBSERVATION_AUDIENCE, UI } from "../../../crds/names.ts";
import { DEFAULTS } from "../../../deploy/installation_settings.ts";
import { ui } from "../../../deploy/ui_manifests.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { createRoutes, pathOf } from "../../../platform/http/routes.ts";
import { PAGE_ROUTES } from "../../../page/server/page_routes.ts";
import { isAlreadyExists } from "../../../platform/kube/errors.ts";
import { connectionTo, loadKubeconfig } from "../../../platform/kube/connection/kubeconfig.ts";
import {
  createAuthority,
  issueServingCertificate,
} from "../../../webhook/certificate_authority.ts";
import { openEvents } from "../../support/event_client.ts";
import {
  CHANGE_HEADERS,
  type PageAnswer,
  type PageRequest,
  sendTo,
} from "../../support/page_client.ts";
import { pushingJob } from "../../support/pushing_job.ts";
import { requestToken, shareStandalone, shellRuntime } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

const RBAC = "rbac.authorization.k8s.io";
const [OWN, OTHER] = ["team-a", "team-b"] as const;
const SECRET = "secret-of-b";

async function post(client: KubeClient, path: string, object: unknown): Promise<void> {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify(object);
  await client.read(path, { method: "POST", headers, body }).catch((error) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

const tokenSchema = z.object({ status: z.object({ token: z.string() }) });

/** Returns a token of an account for the API server itself. */
async function apiToken(client: KubeClient, account: { namespace: string; name: string }) {
  const asked = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const answer = await client.createSubresource(KINDS.serviceAccount, account, "token", asked);
  return tokenSchema.parse(answer).status.token;
}

/** Makes a user that may do that with the TrainJobs of its namespace. */
async function user(client: KubeClient, namespace: string, name: string, verbs: readonly string[]) {
  const metadata = { namespace, name };
  await client.create(KINDS.serviceAccount, { apiVersion: "v1", kind: "ServiceAccount", metadata });
  const base = `/apis/${RBAC}/v1/namespaces/${namespace}`;
  await post(client, `${base}/roles`, {
    apiVersion: `${RBAC}/v1`,
    kind: "Role",
    metadata: { name },
    rules: [
      { apiGroups: [TRAINJOB.group], resources: [TRAINJOB.plural], verbs },
      { apiGroups: [""], resources: ["pods", "pods/log", "events"], verbs: ["get", "list"] },
    ],
  });
  await post(client, `${base}/rolebindings`, {
    apiVersion: `${RBAC}/v1`,
    kind: "RoleBinding",
    metadata: { name },
    roleRef: { apiGroup: RBAC, kind: "Role", name },
    subjects: [{ kind: "ServiceAccount", ...metadata }],
  });
  return await apiToken(client, metadata);
}

/** What the tests share. */
interface World extends AsyncDisposable {
  readonly page: Awaited<ReturnType<typeof startClusterUi>>;
  readonly url: string;
  readonly ca: string;
  readonly ada: string;
  readonly bob: string;
  readonly uiToken: string;
  send(token: string | undefined, request: PageRequest): Promise<PageAnswer>;
}

/** The page with the account and the rights of its manifests, and a certificate from files. */
async function startWorld({ client, kubeconfig, status, caBundle }: Standalone): Promise<World> {
  for (const name of [OWN, OTHER]) {
    const metadata = { name };
    await client.create(KINDS.namespace, { apiVersion: "v1", kind: "Namespace", metadata });
  }
  const account = { namespace: MANAGER.namespace, name: UI.name };
  for (const object of ui(DEFAULTS, JOB_KINDS)) {
    const plural = `${object.kind.toLowerCase()}s`;
    if (object.kind === "ServiceAccount") {
      await post(client, `/api/v1/namespaces/${account.namespace}/${plural}`, object);
    }
    if (object.apiVersion.startsWith(RBAC)) {
      await post(client, `/apis/${RBAC}/v1/${plural}`, object);
    }
  }
  const folder = await Deno.makeTempDir();
  const write = async (name: string, text: string) => {
    await Deno.writeTextFile(`${folder}/${name}`, text);
    return `${folder}/${name}`;
  };
  const authority = await createAuthority(Date.now());
  const { certificate, key } = await issueServingCertificate(authority, ["127.0.0.1"], Date.now());
  const { server = "", caData = "" } = loadKubeconfig(kubeconfig).cluster;
  const uiToken = await apiToken(client, account);
  const observing = await requestToken(client, account, { audience: OBSERVATION_AUDIENCE });
  const page = await startClusterUi({
    bindAddress: "127.0.0.1",
    uiPort: 0,
    healthPort: 0,
    tlsCert: await write("tls.crt", certificate),
    tlsKey: await write("tls.key", key),
    uiHosts: ["page.example"],
    serviceName: UI.name,
    managerNamespace: MANAGER.namespace,
    managerUrl: status,
    managerToken: await write("token", observing),
    managerCa: `${await write("ca.crt", caBundle())},${folder}/ca-next.crt`,
    maxStreams: 100,
    maxStreamsPerSubject: 20,
  }, { connection: connectionTo({ server, caPem: atob(caData), token: uiToken }) });
  await until("the page is ready", () => page.ready());
  const url = `https://127.0.0.1:${page.port}`;
  const ca = authority.certificate;
  return {
    page,
    url,
    ca,
    uiToken,
    ada: await user(client, OWN, "ada", ["get", "list", "watch"]),
    bob: await user(client, OTHER, "bob", ["get", "list", "watch", "patch", "update", "delete"]),
    send: (token, { headers, ...request }) =>
      sendTo(url, {
        ...request,
        headers: { ...(token && { Authorization: `Bearer ${token}` }), ...headers },
      }, ca),
    async [Symbol.asyncDispose]() {
      await page.stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

const standalone = shareStandalone(async (client) => {
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "echo ready; sleep 600"));
});
const json = ({ text }: { text: string }) => JSON.parse(text);
const idOf = (namespace: string, name: string) => `${TRAINJOB.id}/${namespace}/${name}`;

Deno.test("the page in a cluster gives each user what its own rights give", async (t) => {
  const all = standalone();
  await using world = await startWorld(all);
  const { ada, bob, send, url, ca } = world;
  const mine = await pushingJob(all, "mine", OWN);
  const secret = await pushingJob(all, SECRET, OTHER);
  await mine.push(30, "0.5");
  await secret.push(70, "0.25");

  await t.step("a user lists and follows the jobs that it may list, with curves", async () => {
    const listedAt = (progress: number) =>
      until(`the list has the progress ${progress}`, async () => {
        const list = json(await send(ada, { path: `/view/v1/jobs?namespace=${OWN}` }));
        return list.rows?.[0]?.progress === progress && list;
      });
    const listed = await listedAt(30);
    assert.deepEqual([listed.total, listed.rows.length, listed.rows[0].name], [1, 1, "mine"]);
    const path = `/view/v1/events?namespace=${OWN}&job=${idOf(OWN, "mine")}`;
    await using events = await openEvents(`${url}${path}`, { token: ada, ca });
    const seen: unknown[] = [];
    await until("curves come through the page", async () => {
      const heard = await events.next();
      if ("event" in heard) seen.push(heard);
      return "event" in heard && heard.event === "curves";
    });
    assert.match(JSON.stringify(seen), /"name":"loss","points":\[\[\d+,0.5,0.5,0.5\]\]/);
    await mine.push(40, "0.25");
    const news = await until("a push is on the page", async () => {
      const heard = await events.next();
      return "event" in heard && heard.event === "curves" && JSON.stringify(heard);
    });
    assert.match(news, /0\.25\]\]/);
    // Lists that are compared below must not change in between.
    await listedAt(40);
  });

  await t.step("no route tells a user anything of a namespace that it may not see", async () => {
    const pod = secret.pod.name;
    const asked = (name: string, podName: string): readonly PageRequest[] => [
      { path: "/view/v1/jobs" },
      { path: `/view/v1/jobs?namespace=${OWN}` },
      { path: `/view/v1/jobs?namespace=${OWN}&namespace=${OTHER}` },
      { path: `/view/v1/jobs?namespace=${OTHER}` },
      { path: `/view/v1/curves?job=${idOf(OTHER, name)}` },
      { path: `/objects/${idOf(OTHER, name)}` },
      { path: `/logs/${OTHER}/${podName}` },
      { path: `/rights/${idOf(OTHER, name)}` },
      { path: "/searches" },
      { path: `/searches?namespace=${OTHER}` },
      { path: `/searches/experiments.kubeflow.org/${OTHER}/${name}` },
      { path: `/view/v1/events?namespace=${OTHER}` },
      ...["suspend", "resume", "delete", "stop", "restart"].map((change) => ({
        method: "POST",
        path: `/${change}/${idOf(OTHER, name)}`,
        headers: CHANGE_HEADERS,
        body: "{}",
      })),
    ];
    const answersAbout = async (name: string, podName: string) => {
      const answers = await Promise.all(asked(name, podName).map((it) => send(ada, it)));
      return answers.map(({ status, text }) =>
        `${status} ${text}`.replaceAll(podName, "POD").replaceAll(name, "JOB")
      );
    };
    const names = createRoutes(PAGE_ROUTES);
    const all = asked(SECRET, pod).map((it) => names.find(it.method ?? "GET", pathOf(it.path)));
    const routes = all.map((it) => it !== undefined && "route" in it ? it.route?.path : undefined);
    assert.deepEqual(new Set(routes), new Set(PAGE_ROUTES.map(({ path }) => path)), "all routes");
    const there = await answersAbout(SECRET, pod);
    assert.deepEqual(
      there,
      await answersAbout("is-not-there", "no-pod"),
      "as if it were not there",
    );
    for (const text of there) {
      for (const told of [SECRET, secret.uid, "0.25,0.25,0.25", 'progress":70']) {
        assert.ok(!text.includes(told), `${told} is in ${text}`);
      }
    }
    const path = `/view/v1/events?namespace=${OWN}&namespace=${OTHER}&job=${idOf(OTHER, SECRET)}`;
    await using events = await openEvents(`${url}${path}`, { token: ada, ca });
    const first = JSON.stringify(await events.next());
    assert.match(first, /"total":1,/);
    assert.ok(!first.includes(secret.uid));
  });

  await t.step(
    "a change by who may not make it is refused by the API server, and nothing changes",
    async () => {
      const change = (token: string, action: string, namespace: string, name: string) =>
        send(token, {
          method: "POST",
          path: `/${action}/${idOf(namespace, name)}`,
          headers: CHANGE_HEADERS,
          body: "{}",
        });
      for (const action of ["suspend", "delete", "stop", "restart"]) {
        const refused = await change(ada, action, OWN, "mine");
        assert.equal(refused.status, 403, refused.text);
        assert.match(json(refused).message, /ada/, "it says who may not");
      }
      const kept = await all.client.get(KINDS.trainJob, { namespace: OWN, name: "mine" });
      assert.notEqual(kept.spec?.suspend, true);
      const rights = json(await send(ada, { path: `/rights/${idOf(OWN, "mine")}` }));
      assert.deepEqual(rights, {
        suspend: false,
        resume: false,
        restart: false,
        stop: false,
        delete: false,
      });
      assert.equal((await change(bob, "suspend", OTHER, SECRET)).status, 200);
      const changed = await all.client.get(KINDS.trainJob, { namespace: OTHER, name: SECRET });
      assert.equal(changed.spec?.suspend, true);
    },
  );

  await t.step("a viewer's details and log come with the viewer's own token", async () => {
    const details = json(await send(ada, { path: `/objects/${idOf(OWN, "mine")}` }));
    assert.equal(details.object.metadata.name, "mine");
    const log = await until("the pod has a log", async () => {
      const log = await send(ada, { path: `/logs/${OWN}/${mine.pod.name}` });
      return log.status === 200 && log.text.includes("ready") && log;
    });
    assert.match(log.text, /ready/);
  });

  await t.step("only good tokens, and requests of the page itself, are answered", async () => {
    const list: PageRequest = { path: `/view/v1/jobs?namespace=${OWN}` };
    const observing = await requestToken(all.client, { namespace: OWN, name: "ada" }, {
      audience: "someone.example",
    });
    for (const token of [undefined, "made-up", `${ada}x`, observing]) {
      for (const path of [list.path, "/session", `/objects/${idOf(OWN, "mine")}`]) {
        const { status } = await send(token, { path });
        assert.equal(status, 401, `${path} with ${token?.slice(0, 8)}`);
      }
    }
    const session = await send(ada, { path: "/session" });
    assert.equal(json(session).user, `system:serviceaccount:${OWN}:ada`);
    const headersOf: readonly [number, PageRequest["headers"]][] = [
      [421, { Host: "evil.example" }],
      [421, { Host: `evil.example:${world.page.port}` }],
      [200, { Host: "page.example" }],
      [200, { Host: "PAGE.example:8443" }],
      [200, { Host: `${UI.name}.${MANAGER.namespace}.svc` }],
      [200, { Host: "localhost:9999", Origin: "https://localhost:9999" }],
      [200, { Host: "localhost:9999", Origin: "https://page.example" }],
      [403, { Origin: "https://evil.example" }],
      [403, { Origin: "null" }],
      [403, { Host: "localhost:9999", Origin: "http://localhost:9999" }],
      [403, { "Sec-Fetch-Site": "cross-site" }],
    ];
    for (const [want, headers] of headersOf) {
      const { status } = await send(ada, { ...list, headers });
      assert.equal(status, want, JSON.stringify(headers));
    }
    const suspend = { method: "POST", path: `/suspend/${idOf(OWN, "mine")}`, body: "{}" };
    const bare = await send(ada, { ...suspend, headers: { "Content-Type": "application/json" } });
    assert.match(json(bare).message, /X-Milepost/);
    const document = await send(undefined, { path: "/" });
    assert.equal(document.status, 200);
    assert.match(
      String(document.headers["content-security-policy"]),
      /require-trusted-types-for 'script'/,
    );
    assert.equal(document.headers["set-cookie"], undefined);
  });

  await t.step("no header names a user, and the page's own account changes nothing", async () => {
    const posing = {
      "Impersonate-User": "system:admin",
      "X-Remote-User": "system:admin",
      "kubeflow-userid": "bob",
    };
    const path = `/objects/${idOf(OTHER, SECRET)}`;
    assert.equal((await send(ada, { path, headers: posing })).status, 403);
    const refused = await send(world.uiToken, {
      method: "POST",
      path: `/suspend/${idOf(OWN, "mine")}`,
      headers: CHANGE_HEADERS,
      body: "{}",
    });
    assert.equal(refused.status, 403, refused.text);
  });
});
