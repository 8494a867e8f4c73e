/** Tests of the page's server on a whole standalone: what a session reads and changes, and that no secret comes out. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { isNotFound } from "../../../platform/kube/errors.ts";
import { loadKubeconfig } from "../../../platform/kube/connection/kubeconfig.ts";
import { openSession, type PageSession, sendTo } from "../../support/page_client.ts";
import { shellRuntime, trainJob, trainJobThat, withStandalone } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

const json = ({ text }: { text: string }) => JSON.parse(text);
const pathOf = (action: string, name: string) => `/${action}/${TRAINJOB.id}/default/${name}`;

async function podOf(page: PageSession, name: string) {
  return await until(`${name} has a pod that runs`, async () => {
    const [pod] = json(await page.get(pathOf("objects", name))).pods;
    return pod?.phase === "Running" ? pod : undefined;
  });
}

Deno.test("a session reads and changes jobs of a standalone, and never sees the administrator's token", () =>
  withStandalone(async ({ page, client, kubeconfig }) => {
    assert.ok(page !== undefined);
    const token = loadKubeconfig(kubeconfig).user?.token ?? "";
    assert.ok(token.length > 20);
    const session = await openSession(page.newAddress());
    const seen: string[] = [];
    const keep = <T extends { text: string; headers?: unknown }>(answer: T): T => {
      seen.push(answer.text, JSON.stringify(answer.headers));
      return answer;
    };
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("talk", "echo ready; sleep 60"));
    await client.create(KINDS.trainJob, trainJob("talks", "talk"));

    const stream = await session.streamUntil(
      `/view/v1/events?job=${TRAINJOB.id}/default/talks`,
      (text) => /event: jobs\n.*\n.*"state":"Running"/.test(text),
    );
    seen.push(stream);
    const list = keep(await session.get("/view/v1/jobs"));
    assert.equal(list.status, 200);
    assert.deepEqual(json(list).rows.map(({ name }: { name: string }) => name), ["talks"]);
    assert.equal(keep(await session.get("/view/v1/jobs?limit=9999")).status, 422);

    const pod = await podOf(session, "talks");
    assert.equal(pod.rank, "node-0");
    assert.equal(pod.restarts, 0);
    assert.deepEqual(pod.containers, ["node"]);
    const details = json(keep(await session.get(pathOf("objects", "talks"))));
    assert.equal(details.object.metadata.name, "talks");
    assert.equal(details.object.metadata.managedFields, undefined);
    await until("there are events", async () => {
      const { events } = json(await session.get(pathOf("objects", "talks")));
      return events.some(({ object }: { object: string }) => object === `Pod/${pod.name}`) &&
          events.some(({ object }: { object: string }) => object === "TrainJob/talks")
        ? true
        : undefined;
    });
    assert.match(
      await session.streamUntil(
        `/logs/default/${pod.name}?follow=true&container=node`,
        (text) => text.includes("ready"),
      ),
      /^ready/,
    );
    const rights = keep(await session.get(pathOf("rights", "talks")));
    const all = { suspend: true, resume: true, restart: true, stop: true, delete: true };
    assert.deepEqual(json(rights), all);

    const change = async (action: string, body: unknown = {}) =>
      keep(await session.post(pathOf(action, "talks"), body));
    assert.equal((await change("suspend", { uid: "another" })).status, 422);
    assert.equal((await change("suspend")).status, 200);
    await trainJobThat(client, "talks", "rests", ({ status }) => status?.state === "Suspended");
    await until("the pod is gone, and its log is kept", async () => {
      const pods = await client.list(KINDS.pod, { namespace: "default" });
      const kept = await session.get(`/logs/default/${pod.name}`);
      return pods.items.length === 0 && kept.status === 200 && /^ready/.test(keep(kept).text);
    });
    const never = keep(await session.get("/logs/default/never"));
    assert.deepEqual([never.status, json(never).kind], [404, "Status"]);
    assert.equal((await change("resume")).status, 200);
    await podOf(session, "talks");
    const unnamed = await change("stop", { graceSeconds: 1 });
    assert.equal(unnamed.status, 422, unnamed.text);
    const stopped = await change("stop", { reason: "Enough", graceSeconds: 0 });
    assert.equal(stopped.status, 200, stopped.text);
    await trainJobThat(client, "talks", "stops", ({ status }) => status?.state === "EarlyStopped");
    assert.equal((await change("delete")).status, 200);
    await until("the job is gone", async () => {
      const { status } = keep(await session.get(pathOf("objects", "talks")));
      return status === 404 ? true : undefined;
    });
    await assert.rejects(
      client.get(KINDS.trainJob, { namespace: "default", name: "talks" }),
      (error) => isNotFound(error),
    );
    keep(await sendTo(page.url, { path: "/" }));
    assert.ok(seen.length > 20);
    for (const text of seen) assert.ok(!text.includes(token), "the token came out");
  }, { uiPort: 0 }));
