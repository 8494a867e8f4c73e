/** Tests of a PyTorchJob and a TFJob over HTTP: status, history, observation and streams are read, and a request stops them. */
import assert from "node:assert/strict";
import { type JobKind, jobSchema, statusPath, stopPath } from "../../../crds/job_kind.ts";
import { JOB_KINDS } from "../../../crds/job_kinds.ts";
import { V1_KINDS, type V1KindName } from "../../../crds/v1/kinds.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { openEvents } from "../../support/event_client.ts";
import { observer } from "../../support/observer.ts";
import { programIn, TELL } from "../../support/pod_program.ts";
import { progress, shareStandalone } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { v1Job } from "../../controller/jobs/v1_jobs.ts";

const standalone = shareStandalone();

const CASES: readonly { readonly kind: V1KindName; readonly type: string }[] = [
  { kind: "PyTorchJob", type: "Master" },
  { kind: "TFJob", type: "Worker" },
];

function descriptorOf(kind: V1KindName): JobKind {
  const found = JOB_KINDS.all.find((it) => it.kind === kind);
  assert.ok(found);
  return found;
}

/** Creates a job of one replica, whose pod tells what it was given. */
async function createJob(kind: V1KindName, type: string, name: string): Promise<void> {
  const text = JSON.stringify(v1Job(kind, { [type]: 1 }))
    .replaceAll('"image":"i"', `"image":"none","command":${JSON.stringify(["sh", "-c", TELL])}`);
  await standalone().client.create(V1_RESOURCES[kind], {
    ...V1_RESOURCES[kind].parse(JSON.parse(text)),
    metadata: { name, namespace: "default" },
  });
}

/** Sends a body to the status port. */
async function send(path: string, token: string, body: unknown) {
  const { status, caBundle } = standalone();
  using http = Deno.createHttpClient({ caCerts: [caBundle()] });
  const answer = await fetch(status + path, {
    method: "POST",
    client: http,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  return { code: answer.status, body: await answer.json() };
}

for (const { kind, type } of CASES) {
  const { singular } = V1_KINDS[kind];
  const name = `read-${singular}`;
  const descriptor = descriptorOf(kind);
  const live = async () => {
    const { client } = standalone();
    return jobSchema.parse(await client.get(V1_RESOURCES[kind], { namespace: "default", name }));
  };

  Deno.test(`a ${kind} is read, watched and stopped over HTTP`, async (t) => {
    const all = standalone();
    const path = statusPath(descriptor, "default", name);
    await createJob(kind, type, name);
    const pod = await programIn(all.client, `${name}-${type.toLowerCase()}-0`);
    const tuner = await observer(all.client, `tuner-${singular}`, descriptor, ["get", "update"]);
    const reader = await observer(all.client, `reader-${singular}`, descriptor);

    await t.step("its newest status, once and as a stream", async () => {
      await pod.ask(progress(10, { loss: "0.9" }));
      const { body } = await pod.ask();
      assert.partialDeepStrictEqual(body, { trainerStatus: { progressPercentage: 10 } });
      await using events = await openEvents(`${all.status}${path}?watch=true`, {
        token: pod.token,
        ca: all.caBundle(),
      });
      const first = await events.next();
      assert.partialDeepStrictEqual(first, {
        event: "status",
        data: { trainerStatus: { progressPercentage: 10 } },
      });
      await pod.ask(progress(20, { loss: "0.8" }));
      assert.partialDeepStrictEqual(await events.next(), {
        event: "status",
        data: { trainerStatus: { progressPercentage: 20 } },
      });
    });

    await t.step("a history of samples", async () => {
      const samples = ["0.7", "0.6"].map((value) => ({
        metrics: [{ name: "loss", value }],
        lastUpdatedTime: new Date().toISOString(),
      }));
      const { code, body } = await send(`${path}/history`, pod.token, { samples });
      assert.equal(code, 200, JSON.stringify(body));
    });

    await t.step("its observation, for those who may read the job", async () => {
      const { status, body } = await reader.read(all, name);
      assert.equal(status, 200, JSON.stringify(body));
      assert.partialDeepStrictEqual(body, {
        primaryPod: `${name}-${type.toLowerCase()}-0`,
        metrics: [{ name: "loss", latest: "0.6", min: "0.6", max: "0.9" }],
      });
    });

    await t.step("a request to stop it, from those who may update the job", async () => {
      const stop = { reason: "Pruned", message: "worse than the median", graceSeconds: 0 };
      const target = stopPath(descriptor, "default", name);
      assert.equal((await send(target, reader.token, stop)).code, 403);
      await using events = await reader.watch(all, name);
      assert.partialDeepStrictEqual(await events.next(), { event: "observation" });
      const { code, body } = await send(target, tuner.token, stop);
      assert.equal(code, 200, JSON.stringify(body));
      assert.partialDeepStrictEqual(body, { stop: { reason: "Pruned" } });
      let last = await events.next();
      while ("event" in last && last.event === "observation") last = await events.next();
      assert.partialDeepStrictEqual(last, { event: "end", data: { reason: "Complete" } });
    });

    await t.step("its end, in conditions that tell when they were written", async () => {
      const { status } = await until(`${name} is stopped`, async () => {
        const job = await live();
        return job.status?.conditions?.some((it) => it.type === "Succeeded") && job;
      }, { timeoutMs: 60_000 });
      const [stopped, succeeded] = (status?.conditions ?? []).slice(-2);
      assert.partialDeepStrictEqual(stopped, { type: "EarlyStopped", reason: "Pruned" });
      const end = { type: "Succeeded", status: "True", reason: `${kind}EarlyStopped` };
      assert.partialDeepStrictEqual(succeeded, end);
      for (const { type, lastUpdateTime } of status?.conditions ?? []) {
        assert.match(String(lastUpdateTime), /^\d{4}-/, `${type} has no lastUpdateTime`);
      }
      const late = await send(stopPath(descriptor, "default", name), tuner.token, {
        reason: "Again",
      });
      assert.equal(late.code, 200, "the decision that holds is the answer");
      assert.partialDeepStrictEqual(late.body, { stop: { reason: "Pruned" } });
      const { body } = await reader.read(all, name);
      assert.partialDeepStrictEqual(body, { state: "EarlyStopped" });
    });
  });
}
