/** Tests of what is read for the page, end to end: lists, curves and one stream of both, by the rights of each reader. */
import assert from "node:assert/strict";
import { z } from "zod";
import type { Standalone } from "../../../app/standalone/standalone.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { CA_KEY, LABELS, MANAGER, PUSH_AUDIENCE } from "../../../crds/names.ts";
import { openEvents } from "../../support/event_client.ts";
import { observer, readObservation } from "../../support/observer.ts";
import {
  progress,
  push,
  requestToken,
  shareStandalone,
  shellRuntime,
  trainJob,
} from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

const standalone = shareStandalone(async (client) => {
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 600"));
  for (const name of ["seen", "hidden"]) {
    await client.create(KINDS.namespace, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name },
    });
  }
});

const listSchema = z.object({
  rows: z.array(z.looseObject({ uid: z.string(), name: z.string(), state: z.string() })),
  total: z.number(),
  states: z.record(z.string(), z.number()),
  denied: z.array(z.object({ kind: z.string(), namespace: z.string().optional() })).optional(),
});
const curvesSchema = z.object({
  curves: z.array(z.object({
    job: z.object({ name: z.string() }),
    metrics: z.array(z.object({
      name: z.string(),
      isProgress: z.boolean().optional(),
      points: z.array(z.array(z.number())),
    })),
    marks: z.array(z.object({ kind: z.string(), text: z.string(), time: z.string() })),
  })),
  missing: z.array(z.object({ name: z.string() })).optional(),
});

const idOf = (name: string, namespace = "default") => `${TRAINJOB.id}/${namespace}/${name}`;

/** Creates a TrainJob, and returns a function that pushes as its pod. */
async function pushing(all: Standalone, name: string, namespace = "default") {
  await all.client.create(KINDS.trainJob, trainJob(name, "idle", { namespace }));
  const { metadata } = await until(`a pod of ${name}`, async () => {
    const labelSelector = `${LABELS.trainJobName}=${name}`;
    const { items } = await all.client.list(KINDS.pod, { namespace, labelSelector });
    return items.find(({ status }) => status?.startTime !== undefined);
  }, { timeoutMs: 60_000 });
  const pod = { name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
  const account = { namespace, name: "default" };
  const token = await requestToken(all.client, account, { audience: PUSH_AUDIENCE, pod });
  return async (percentage: number, loss: string) => {
    const body = progress(percentage, { loss });
    const { status } = await push(all, { name, namespace }, token, body);
    assert.equal(status, 200);
  };
}

async function read<T>(all: Standalone, path: string, token: string, schema: z.ZodType<T>) {
  const { status, body } = await readObservation(all, path, { token });
  assert.equal(status, 200, JSON.stringify(body));
  return schema.parse(body);
}

const codeOf = async (all: Standalone, path: string, token?: string) =>
  (await readObservation(all, path, { token })).status;

Deno.test("a reader lists jobs, reads their curves and follows both", async (t) => {
  const all = standalone();
  const pushed = await pushing(all, "shown");
  const verbs = ["get", "list"];
  const { token } = await observer(all.client, "viewer", TRAINJOB, verbs);
  await pushed(10, "0.9");
  await pushed(20, "0.5");

  await t.step("the list of a namespace, with what was pushed, written or not", async () => {
    const list = await read(all, "/view/v1/jobs?namespace=default", token, listSchema);
    assert.partialDeepStrictEqual(list.rows, [{
      kind: TRAINJOB.id,
      namespace: "default",
      name: "shown",
      progress: 20,
      metrics: [{ name: "loss", value: "0.5" }],
    }]);
    const others = JOB_KINDS.all.length - 1;
    assert.equal(list.denied?.length, others, "kinds that it may not list are named");
  });

  await t.step("curves with a point of each sample", async () => {
    const path = `/view/v1/curves?job=${idOf("shown")}&job=${idOf("never")}`;
    const { curves: [shown], missing } = await read(all, path, token, curvesSchema);
    assert.deepEqual(missing?.map(({ name }) => name), ["never"]);
    const loss = shown?.metrics.find(({ name }) => name === "loss");
    const points = loss?.points ?? [];
    assert.deepEqual(Math.max(...points.map(([, , max = 0]) => max)), 0.9);
    assert.equal(points.at(-1)?.[3], 0.5);
    const done = shown?.metrics.find(({ isProgress }) => isProgress);
    assert.equal(done?.points.at(-1)?.[3], 20);
  });

  await t.step("a stream of changes, each once", async () => {
    const path = `/view/v1/events?namespace=default&job=${idOf("shown")}&points=32`;
    await using events = await openEvents(all.status + path, { token, ca: all.caBundle() });
    const first = await events.next();
    assert.partialDeepStrictEqual(first, { event: "jobs", data: { total: 1 } });
    assert.partialDeepStrictEqual(await events.next(), {
      event: "curves",
      data: { curves: [{ job: { name: "shown" } }] },
    });
    await pushed(30, "0.4");
    const next = [await events.next(), await events.next()];
    const names = next.flatMap((it) => "event" in it ? [it.event] : []);
    assert.deepEqual(new Set(names), new Set(["jobs", "curves"]), JSON.stringify(next));
  });

  await t.step("a stop leaves a mark", async () => {
    const name = { namespace: "default", name: "shown" };
    const body = { spec: { suspend: true } };
    await all.client.patch(KINDS.trainJob, name, { type: "merge", body });
    await until("the mark", async () => {
      const path = `/view/v1/curves?job=${idOf("shown")}`;
      const { curves: [shown] } = await read(all, path, token, curvesSchema);
      return shown?.marks.some(({ kind }) => kind === "suspended");
    });
  });
});

Deno.test("a viewer of one namespace learns nothing of another", async () => {
  const all = standalone();
  const pushed = await pushing(all, "secret-job", "hidden");
  await pushed(50, "0.1");
  const { token } = await observer(all.client, "insider", TRAINJOB, ["get", "list"]);
  const list = await read(all, "/view/v1/jobs?namespace=default", token, listSchema);
  assert.ok(list.rows.every(({ name }) => name !== "secret-job"));
  for (const namespace of ["hidden", "no-such-namespace", "seen"]) {
    const { status, body } = await readObservation(all, `/view/v1/jobs?namespace=${namespace}`, {
      token,
    });
    assert.equal(status, 403);
    assert.doesNotMatch(JSON.stringify(body), /secret-job/);
  }
  assert.equal(await codeOf(all, "/view/v1/jobs", token), 403, "all namespaces");
  const both = await read(
    all,
    "/view/v1/jobs?namespace=default&namespace=hidden",
    token,
    listSchema,
  );
  assert.ok(both.rows.every((it) => it["namespace"] === "default"));
  assert.ok(both.denied?.some(({ namespace }) => namespace === "hidden"));
  assert.equal(Object.values(both.states).reduce((sum, it) => sum + it, 0), both.total);
  const answers = await Promise.all(
    ["secret-job", "no-such-job"].map(async (name) => {
      const path = `/view/v1/curves?job=${idOf(name, "hidden")}`;
      const { missing, curves } = await read(all, path, token, curvesSchema);
      return [missing?.length, curves];
    }),
  );
  assert.deepEqual(answers[0], answers[1], "there and not there look the same");
});

Deno.test("one stream has several lists, of which each is shown or refused by itself", async () => {
  const all = standalone();
  const { token } = await observer(all.client, "tabs", TRAINJOB, ["get", "list"]);
  const query = new URLSearchParams([
    ["list", "namespace=default&limit=5"],
    ["list", "namespace=hidden"],
    ["list", "namespace=default&limit=999"],
    ["job", idOf("never")],
    ["job", "no-kind/default/a"],
  ]);
  const path = `/view/v1/events?${query}`;
  await using events = await openEvents(all.status + path, { token, ca: all.caBundle() });
  const first = [];
  for (let count = 0; count < 4; count++) first.push(await events.next());
  assert.partialDeepStrictEqual(first, [
    { event: "jobs", data: { list: 0 } },
    { event: "refused", data: { list: 1, code: 403 } },
    { event: "refused", data: { list: 2, code: 422 } },
    { event: "curves", data: { missing: [{ name: "never" }, { kind: "no-kind", name: "a" }] } },
  ]);
  assert.doesNotMatch(JSON.stringify(first), /secret-job/);
  assert.equal(await codeOf(all, `${path}&limit=5`, token), 422);
  const many = Array.from({ length: 17 }, () => "list=limit%3D1").join("&");
  assert.equal(await codeOf(all, `/view/v1/events?${many}`, token), 422);
});

Deno.test("tokens, paths and parameters that are wrong are refused", async () => {
  const all = standalone();
  const { token } = await observer(all.client, "tester", TRAINJOB, ["get", "list"]);
  assert.equal(await codeOf(all, "/view/v1/jobs"), 401);
  assert.equal(await codeOf(all, "/view/v1/jobs", "made-up"), 401);
  assert.equal(await codeOf(all, "/view/v1/jobs?limit=999&namespace=default", token), 422);
  assert.equal(await codeOf(all, "/view/v1/jobs?job=x&namespace=default", token), 422);
  assert.equal(await codeOf(all, "/view/v1/curves?job=nothing", token), 422);
  assert.equal(await codeOf(all, "/view/v1/curves?limit=1", token), 422);
  assert.equal(await codeOf(all, "/view/v1/nothing", token), 404);
  const jobs = Array.from({ length: 101 }, (_, index) => `job=${idOf(`j${index}`)}`).join("&");
  assert.equal(await codeOf(all, `/view/v1/curves?${jobs}`, token), 422);
  const { status } = await readObservation(all, "/view/v1/jobs", { token, method: "POST" });
  assert.equal(status, 405);
});

Deno.test("the token of the kubeconfig reads, where tokens for the API server are taken", async () => {
  const all = standalone();
  const text = await Deno.readTextFile(all.kubeconfig);
  const token = /token: (\S+)/.exec(text)?.[1] ?? "";
  assert.equal(await codeOf(all, "/view/v1/jobs", token), 200);
});

Deno.test("the manager publishes its CA for clients that are in no job", async () => {
  const all = standalone();
  const { namespace, publicConfigMap: name } = MANAGER;
  await until("the CA is there", async () => {
    const { data } = await all.client.get(KINDS.configMap, { namespace, name });
    return data?.[CA_KEY] === all.caBundle() && data?.kubeflow_trainer_version !== undefined;
  }, { timeoutMs: 30_000 });
});
