/** Tests of the page for a user of few rights: what it shows, what it refuses, and that it learns of nothing else. */
import assert from "node:assert/strict";
import { createManagerAccess } from "../../../page/user_cluster/manager_access.ts";
import { startPageServer } from "../../../page/server/page_server.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { connectionTo, loadKubeconfig } from "../../../platform/kube/connection/kubeconfig.ts";
import { createProxiedView } from "../../../page/server/proxied_view.ts";
import { observer } from "../../support/observer.ts";
import { openSession } from "../../support/page_client.ts";
import { requestToken, shellRuntime, trainJob, withStandalone } from "../../support/standalone.ts";

const AUDIENCE = "https://kubernetes.default.svc.cluster.local";
const of = (action: string, namespace: string, name: string) =>
  `/${action}/${TRAINJOB.id}/${namespace}/${name}`;

Deno.test("a user who may list the jobs of one namespace sees those, changes nothing, and learns of no other", () =>
  withStandalone(async (all) => {
    const { client, kubeconfig } = all;
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 600"));
    const metadata = { name: "hidden" };
    await client.create(KINDS.namespace, { apiVersion: "v1", kind: "Namespace", metadata });
    await client.create(KINDS.trainJob, trainJob("seen", "idle"));
    await client.create(KINDS.trainJob, trainJob("secret-job", "idle", { namespace: "hidden" }));
    await observer(client, "viewer", TRAINJOB, ["get", "list"]);
    const account = { namespace: "default", name: "viewer" };
    const token = await requestToken(client, account, { audience: AUDIENCE });
    const cluster = loadKubeconfig(kubeconfig).cluster;
    const server = cluster?.server ?? "";
    const caPem = atob(cluster?.caData ?? "");
    await using cleanup = new AsyncDisposableStack();
    const own = createClient({ connection: connectionTo({ server, caPem, token }) });
    cleanup.defer(() => own.close());
    const { status: url, caBundle } = all;
    const manager = createManagerAccess({ url, token, caBundle: () => caBundle.call(all) });
    cleanup.defer(() => manager.close());
    const page = await startPageServer({
      port: 0,
      client: own,
      clock: systemClock,
      kinds: JOB_KINDS,
      server,
      user: "viewer",
      view: createProxiedView(manager.client),
      manager: () => manager.client,
    });
    cleanup.defer(() => page.close(0));
    const session = await openSession(page.newAddress());
    const heard: string[] = [];
    const get = async (path: string) => {
      const answer = await session.get(path);
      heard.push(answer.text);
      return { status: answer.status, body: JSON.parse(answer.text) };
    };

    const list = await get("/view/v1/jobs?namespace=default");
    assert.deepEqual(list.body.rows.map(({ name }: { name: string }) => name), ["seen"]);
    assert.ok(list.body.denied.length > 0);
    const stream = await session.streamUntil(
      `/view/v1/events?list=namespace%3Ddefault&list=namespace%3Dhidden&job=${TRAINJOB.id}/hidden/secret-job`,
      (text) => text.includes("event: refused") && text.includes("event: curves"),
    );
    // The name stands there once: as it was asked for.
    assert.equal(stream.split("secret-job").length, 2, stream);
    assert.match(stream, /event: jobs\n.*\n.*"name":"seen"/);

    const details = await get(of("objects", "default", "seen"));
    assert.deepEqual(details.body.denied, ["pods", "events"]);
    assert.equal(details.body.object.metadata.name, "seen");
    const none = { suspend: false, resume: false, restart: false, stop: false, delete: false };
    assert.deepEqual((await get(of("rights", "default", "seen"))).body, none);
    assert.equal((await get("/logs/default/any-pod")).status, 403);
    for (const action of ["suspend", "resume", "delete", "stop"]) {
      const answer = await session.post(
        of(action, "default", "seen"),
        action === "stop" ? { reason: "Enough" } : {},
      );
      assert.equal(answer.status, 403, `${action}: ${answer.text}`);
      assert.match(JSON.parse(answer.text).message, /viewer|may not/, action);
    }

    const texts = await Promise.all(["secret-job", "never-there"].map(async (name) => {
      const { status, body } = await get(of("objects", "hidden", name));
      return [status, JSON.stringify(body).replaceAll(name, "NAME")];
    }));
    assert.equal(texts[0]?.[0], 403);
    assert.deepEqual(texts[0], texts[1], "there and not there look the same");
    assert.equal((await get("/view/v1/jobs?namespace=hidden")).status, 403);
    assert.equal((await get("/view/v1/jobs")).status, 403);
    for (const text of heard) assert.ok(!text.includes(token), "the token came out");
  }));
