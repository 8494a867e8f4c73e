/** Tests of observations from end to end: pushed by pods, read and watched by trial controllers. */
import assert from "node:assert/strict";
import type { Standalone } from "../../../app/standalone/standalone.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS, OBSERVATION_AUDIENCE, PUSH_AUDIENCE } from "../../../crds/names.ts";
import { observer, readObservation } from "../../support/observer.ts";
import {
  push,
  requestToken,
  shareStandalone,
  shellRuntime,
  trainJob,
  trainJobThat,
} from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

const shared = shareStandalone((client) =>
  client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 60"))
);

/** A TrainJob, and pushes of its pod: each a loss and a time, in seconds after the first. */
async function pushing(standalone: Standalone, name: string, runtime = "idle") {
  const { client } = standalone;
  await client.create(KINDS.trainJob, trainJob(name, runtime));
  const { metadata, status } = await until(`a pod of ${name} that has started`, async () => {
    const labelSelector = `${LABELS.trainJobName}=${name}`;
    const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
    return items.find(({ status }) => status?.startTime !== undefined);
  });
  const pod = { name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
  const account = { namespace: "default", name: "default" };
  const token = await requestToken(client, account, { audience: PUSH_AUDIENCE, pod });
  const startMs = Date.parse(status?.startTime ?? "");
  return {
    pod: pod.name,
    token,
    timeOf: (micros: number) =>
      `${new Date(startMs).toISOString().slice(0, 19)}.${String(micros).padStart(6, "0")}Z`,
    async push(micros: number, values: Record<string, string>) {
      const answer = await push(standalone, { name }, token, {
        trainerStatus: {
          metrics: Object.entries(values).map(([name, value]) => ({ name, value })),
          lastUpdatedTime: this.timeOf(micros),
        },
      });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
    },
  };
}

/** The values of a log, or of an event's. */
function valuesOf(body: unknown): string[] {
  assert.ok(typeof body === "object" && body !== null && "log" in body && Array.isArray(body.log));
  return body.log.map(({ value }) => String(value));
}

Deno.test("a trial controller reads and watches what the pods of a job push", async (t) => {
  const standalone = shared();
  const { client } = standalone;
  const folder = await Deno.makeTempDir();
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => Deno.remove(folder, { recursive: true }));
  const command = `until [ -e ${folder}/done ]; do sleep 0.1; done`;
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("until-told", command));
  const reader = await observer(client, "reads-all");
  const job = await pushing(standalone, "observed", "until-told");

  await t.step("nothing yet", async () => {
    const { status, body } = await reader.read(standalone, "observed");
    assert.equal(status, 200, JSON.stringify(body));
    assert.partialDeepStrictEqual(body, { state: "Running", metrics: [], log: [] });
  });

  await t.step("metrics and log, from a time on, and page by page", async () => {
    await job.push(1, { loss: "0.9", accuracy: "0.1" });
    await job.push(2, { loss: "0.5" });
    await job.push(3, { loss: "0.7" });
    const { body, headers } = await reader.read(standalone, "observed");
    assert.equal(headers.get("content-type"), "application/json");
    assert.partialDeepStrictEqual(body, {
      state: "Running",
      primaryPod: job.pod,
      metrics: [
        { name: "accuracy", latest: "0.1", min: "0.1", max: "0.1" },
        { name: "loss", latest: "0.7", min: "0.5", max: "0.9" },
      ],
    });
    assert.deepEqual(new Set(valuesOf(body)), new Set(["0.9", "0.1", "0.5", "0.7"]));
    const since = await reader.read(standalone, "observed", { query: `?since=${job.timeOf(2)}` });
    assert.deepEqual(valuesOf(since.body), ["0.5", "0.7"]);
    const read: string[] = [];
    let query = "?limit=1";
    for (let pages = 0; query !== "" && pages < 9; pages++) {
      const { body } = await reader.read(standalone, "observed", { query });
      read.push(...valuesOf(body));
      const next = typeof body === "object" && body && "continue" in body ? body.continue : "";
      query = next === "" ? "" : `?limit=1&continue=${next}`;
    }
    assert.deepEqual(read, valuesOf(body));
  });

  await t.step("a stream sends the log, each new row, and the end", async () => {
    await using events = await reader.watch(standalone, "observed");
    assert.equal(events.status, 200);
    assert.equal(events.headers.get("content-type"), "text/event-stream");
    const first = await events.next();
    assert.ok("event" in first && first.event === "observation");
    assert.equal(valuesOf(first.data).length, 4);
    await job.push(4, { loss: "0.3" });
    const second = await events.next();
    assert.ok("event" in second && (second.id ?? 0) > (first.id ?? 0));
    assert.deepEqual(valuesOf(second.data), ["0.3"]);
    await Deno.writeTextFile(`${folder}/done`, "");
    let last = await events.next();
    let state: unknown;
    while ("event" in last && last.event === "observation") {
      state = typeof last.data === "object" && last.data && "state" in last.data
        ? last.data.state
        : state;
      last = await events.next();
    }
    assert.equal(state, "Succeeded");
    assert.partialDeepStrictEqual(last, { event: "end", data: { reason: "Complete" } });
    assert.deepEqual(await events.next(), { closed: true });
  });

  await t.step(
    "the log of a job that has ended is read as before, and watched to its end",
    async () => {
      const { body } = await reader.read(standalone, "observed");
      assert.partialDeepStrictEqual(body, { state: "Succeeded" });
      assert.equal(valuesOf(body).length, 5);
      await using events = await reader.watch(standalone, "observed");
      const first = await events.next();
      assert.ok("data" in first);
      assert.equal(valuesOf(first.data).length, 5);
      assert.partialDeepStrictEqual(await events.next(), { event: "end" });
    },
  );
});

Deno.test("a stream ends when its job is deleted", async () => {
  const standalone = shared();
  const reader = await observer(standalone.client, "reads-the-deleted");
  await pushing(standalone, "deleted");
  await using events = await reader.watch(standalone, "deleted");
  await events.next();
  await standalone.client.delete(KINDS.trainJob, { namespace: "default", name: "deleted" });
  let last = await events.next();
  while ("event" in last && last.event === "observation") last = await events.next();
  assert.partialDeepStrictEqual(last, { event: "end", data: { reason: "Deleted" } });
});

Deno.test("a job that was stopped early says so, with the rule", async () => {
  const standalone = shared();
  const { client } = standalone;
  const reader = await observer(client, "reads-the-stopped");
  const earlyStopping = JSON.stringify({
    objective: { name: "loss", type: "minimize" },
    rules: [{ name: "loss", value: "0.5", comparison: "greater", startStep: 2 }],
  });
  const annotations = { "trainer.kubeflow.org/early-stopping": earlyStopping };
  await client.create(KINDS.trainJob, trainJob("stopped", "idle", { annotations }));
  const { metadata } = await until("its pod", async () => {
    const labelSelector = `${LABELS.trainJobName}=stopped`;
    return (await client.list(KINDS.pod, { namespace: "default", labelSelector })).items[0];
  });
  const pod = { name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
  const account = { namespace: "default", name: "default" };
  const token = await requestToken(client, account, { audience: PUSH_AUDIENCE, pod });
  await using events = await reader.watch(standalone, "stopped");
  for (const value of ["0.9", "0.8"]) {
    const lastUpdatedTime = new Date().toISOString();
    const { status } = await push(standalone, { name: "stopped" }, token, {
      trainerStatus: { metrics: [{ name: "loss", value }], lastUpdatedTime },
    });
    assert.equal(status, 200);
  }
  const told: unknown[] = [];
  for (let next = await events.next(); "event" in next; next = await events.next()) {
    if (next.event === "observation") told.push(next.data);
  }
  assert.deepEqual(told.flatMap(valuesOf), ["0.9", "0.8"]);
  assert.partialDeepStrictEqual(told.at(-1), { state: "EarlyStopped", reason: "RulesMet" });
  assert.match(JSON.stringify(told.at(-1)), /loss/);
  await trainJobThat(client, "stopped", "shows it", (it) => it.status?.state === "EarlyStopped");
});

Deno.test("a caller without the right cannot read an observation", async (t) => {
  const standalone = shared();
  const { client } = standalone;
  const reader = await observer(client, "reads-the-closed");
  const job = await pushing(standalone, "closed");
  const account = { namespace: "default", name: "default" };
  const refuse = async (token: string | undefined, code: number) => {
    const { status, body, headers } = await readObservation(
      standalone,
      "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs/closed/observation",
      { token },
    );
    assert.equal(status, code, JSON.stringify(body));
    assert.partialDeepStrictEqual(body, { kind: "Status", status: "Failure", code });
    if (code === 401) assert.equal(headers.get("www-authenticate"), "Bearer");
  };

  await t.step("no token", () => refuse(undefined, 401));
  await t.step("the pod's own token, which is for pushes", () => refuse(job.token, 401));
  await t.step(
    "a token for the API server, which standalone takes, and which proves no right",
    async () => {
      const audience = "https://kubernetes.default.svc.cluster.local";
      await refuse(await requestToken(client, account, { audience }), 403);
    },
  );
  await t.step(
    "the right audience, and a signature that is wrong",
    () => refuse(`${reader.token.slice(0, -8)}AAAAAAAA`, 401),
  );
  await t.step("an account without the right to get TrainJobs", async () => {
    await refuse(await requestToken(client, account, { audience: OBSERVATION_AUDIENCE }), 403);
  });
  await t.step("no job of that name, and one of another namespace", async () => {
    assert.equal((await reader.read(standalone, "nobody")).status, 404);
    const path = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/other/trainjobs/x/observation";
    const { status } = await readObservation(standalone, path, { token: reader.token });
    assert.equal(status, 403);
  });
  await t.step("other methods and queries", async () => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
      const { status, headers } = await reader.read(standalone, "closed", { method });
      assert.deepEqual([status, headers.get("allow")], [405, "GET"], method);
    }
    for (const query of ["?limit=1000000", "?since=soon", "?continue=x", "?watch=so", "?x"]) {
      assert.equal((await reader.read(standalone, "closed", { query })).status, 422, query);
    }
  });
  await t.step("anybody may read the OpenAPI description", async () => {
    const { status, body } = await readObservation(standalone, "/openapi/v3");
    assert.equal(status, 200);
    assert.partialDeepStrictEqual(body, { openapi: "3.1.0" });
  });
});
