/** Tests of the checkpoints of a term: the newest report comes to the job, seldom, and in spite of failures. */
import assert from "node:assert/strict";
import { type AnyJob, type JobKind, jobRefOf, jobSchema } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { checkpointOf } from "../../../crds/job_state.ts";
import { ANNOTATIONS } from "../../../crds/names.ts";
import type { Push } from "../../../crds/wire/push.ts";
import { openTermCheckpoints } from "../../../owner/checkpoints/term_checkpoints.ts";
import { createFieldWriter } from "../../../owner/field_writer.ts";
import { compact } from "../../../platform/base/json.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import type { Change } from "../../../platform/kube/watching/informer_cache.ts";
import { MemoryCluster } from "../../controller/memory_cluster.ts";
import { FakeClock, settlePromises } from "../../support/fake_clock.ts";

const KEY = { namespace: "default", name: "a" };

/** A term over one job of a fake cluster, whose cache follows the writes. */
async function scene({ drops = false, kind = TRAINJOB }: { drops?: boolean; kind?: JobKind } = {}) {
  const clock = new FakeClock(undefined, () => settlePromises(120));
  const cluster = new MemoryCluster();
  const listeners: ((change: Change<AnyJob>) => void)[] = [];
  const writes: string[] = [];
  const state: { leading: boolean; failure?: Error | undefined } = { leading: true };
  const asObject = (it: unknown) => ({ ...jobSchema.parse(it), kind: kind.kind });
  let object: AnyJob = asObject(
    await cluster.client().create(TRAINJOB, {
      apiVersion: "trainer.kubeflow.org/v1alpha1",
      kind: "TrainJob",
      metadata: KEY,
      spec: { runtimeRef: { name: "plain" } },
    }),
  );
  const see = (now: AnyJob) => {
    object = asObject(now);
    listeners.forEach((it) => it({ type: "updated", object, old: object }));
  };
  const client: Pick<KubeClient, "patch"> = {
    async patch(patched, key, patch, options) {
      if (state.failure !== undefined) throw state.failure;
      writes.push(options?.subresource ?? "annotation");
      const now = await cluster.client().patch(TRAINJOB, key, patch, options);
      const status = compact({ ...now.status, checkpoint: undefined });
      const kept = drops ? { ...now, status } : now;
      see(kept);
      return patched.parse(kept);
    },
  };
  const open = () => {
    const checkpoints = openTermCheckpoints({
      jobs: new Map([[kind, {
        jobs: {
          get: () => object,
          onChange: (listener) => (listeners.push(listener), () => {}),
        },
      }]]),
      clock,
      leading: () => state.leading,
      writer: createFieldWriter({ client, keepsProgress: () => false }),
    });
    const over = new AbortController();
    return { checkpoints, over, running: checkpoints.run(over.signal, 1_000) };
  };
  const term = open();
  const ref = () => jobRefOf(kind, object);
  const setStatus = async (status: Record<string, unknown>) =>
    see(
      await cluster.client().patch(TRAINJOB, KEY, { type: "merge", body: { status } }, {
        subresource: "status",
      }),
    );
  return {
    clock,
    writes,
    state,
    setStatus,
    object: () => object,
    newest: () => term.checkpoints.newestOf(ref()),
    report(
      checkpoint: Push["trainerStatus"]["checkpoint"],
      { at = "2026-01-01T00:00:01.5Z", earlier }: { at?: string; earlier?: Push["earlier"] } = {},
    ): void {
      const pod = { name: "a-node-0-0-x", uid: "p" };
      const trainerStatus = { lastUpdatedTime: at, ...(checkpoint && { checkpoint }) };
      const push = { job: ref(), pod, trainerStatus, receivedMs: clock.now() };
      term.checkpoints.reported({ ...push, ...(earlier && { earlier }) });
    },
    async [Symbol.asyncDispose]() {
      term.over.abort();
      await term.running;
    },
  };
}

/** A scene whose job has a status. */
async function running(options?: Parameters<typeof scene>[0]) {
  const made = await scene(options);
  await made.setStatus({ state: "Running" });
  return made;
}

Deno.test("a report comes to the job within two seconds, with its time", async () => {
  await using it = await running();
  it.report({ step: 1200, location: "s3://b/1200" });
  const want = { step: 1200, location: "s3://b/1200", time: "2026-01-01T00:00:01Z" };
  assert.deepEqual(it.newest(), want, "it is known at once");
  await it.clock.advance(2_000);
  assert.deepEqual(checkpointOf(it.object()), want);
  assert.deepEqual([it.newest(), it.writes], [want, ["status"]]);
});

Deno.test("reports of the same checkpoint write nothing, and many are one write each few seconds", async () => {
  await using it = await running();
  for (let second = 0; second < 9; second++) {
    for (let part = 0; part < 10; part++) it.report({ step: 100 * second + part });
    await it.clock.advance(1_000);
  }
  await it.clock.advance(3_000);
  assert.equal(checkpointOf(it.object())?.step, 809);
  assert.ok(it.writes.length >= 3 && it.writes.length <= 4, `${it.writes.length} writes`);
  const before = it.writes.length;
  it.report({ step: 809 }, { at: "2026-01-01T00:10:00Z" });
  await it.clock.advance(10_000);
  assert.equal(it.writes.length, before);
});

Deno.test("the newest report wins: of a lower step, of another place, the last of a history", async () => {
  await using it = await running();
  const step = 300;
  for (const report of [{ step }, { step: 100 }, { step: 100, location: "/b" }]) {
    it.report(report);
    await it.clock.advance(4_000);
    const { time: _time, ...said } = checkpointOf(it.object()) ?? {};
    assert.deepEqual(said, report);
  }
  const lastUpdatedTime = "2026-01-01T00:00:00Z";
  const earlier = [5, 6].map((step) => ({ lastUpdatedTime, checkpoint: { step } }));
  it.report(undefined, { earlier });
  await it.clock.advance(4_000);
  assert.deepEqual(checkpointOf(it.object()), { step: 6, time: lastUpdatedTime });
});

Deno.test("a write that fails is tried again, and one without the lease is not made", async () => {
  await using it = await running();
  it.state.failure = new Error("down");
  it.report({ step: 1 });
  await it.clock.advance(20_000);
  assert.equal(checkpointOf(it.object()), undefined);
  it.state.failure = undefined;
  it.state.leading = false;
  await it.clock.advance(60_000);
  assert.deepEqual(it.writes, []);
  it.state.leading = true;
  await it.clock.advance(60_000);
  assert.equal(checkpointOf(it.object())?.step, 1);
});

Deno.test("a job without a status gets it once it has one", async () => {
  await using it = await scene();
  it.report({ step: 1 });
  await it.clock.advance(10_000);
  assert.equal(checkpointOf(it.object()), undefined);
  await it.setStatus({ state: "Running" });
  await it.clock.advance(4_000);
  assert.equal(checkpointOf(it.object())?.step, 1);
});

Deno.test("what waits is written at the end of a term", async () => {
  const it = await running();
  it.report({ step: 1 });
  await it[Symbol.asyncDispose]();
  assert.equal(checkpointOf(it.object())?.step, 1);
});

Deno.test("under a definition that drops it the owner alone knows it, and does not write again", async () => {
  await using it = await running({ drops: true });
  for (const step of [1, 2, 3]) {
    it.report({ step });
    await it.clock.advance(4_000);
    assert.equal(it.newest()?.step, step);
  }
  assert.deepEqual([checkpointOf(it.object()), it.writes], [undefined, ["status"]]);
});

Deno.test("a kind whose progress is an annotation gets the annotation, with the UID of the job", async () => {
  const progress = { at: "annotation", key: "example.com/progress" } as const;
  await using it = await running({ kind: { ...TRAINJOB, kind: "Other", progress } });
  it.report({ step: 7 });
  await it.clock.advance(2_000);
  assert.deepEqual([checkpointOf(it.object())?.step, it.writes], [7, ["annotation"]]);
  const { annotations, uid } = it.object().metadata;
  const text = annotations?.[ANNOTATIONS.checkpoint] ?? "";
  assert.deepEqual(JSON.parse(text), { step: 7, time: "2026-01-01T00:00:01Z", uid });
});
