/** Tests of streams of many jobs from end to end: pushed by pods, told with step and pod, through a change of the owner. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { jobGoneSchema, jobObservationSchema } from "../../../katib/api/messages.ts";
import type { EventReader } from "../../support/event_client.ts";
import { type ObservationEndpoint, type Observer, observer } from "../../support/observer.ts";
import { push, shareStandalone, shellRuntime, trainJob } from "../../support/standalone.ts";
import type { ControlPlane } from "../../../app/standalone/control_plane.ts";
import { until } from "../../support/until.ts";
import { pusher, type Replica, withReplicas } from "../manager/replicas.ts";
import { withLoggedReplicas } from "./shared_log.ts";
import { podToken } from "./trial_support.ts";

const shared = shareStandalone((client) =>
  client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 60"))
);

const MANY = ["get", "list", "watch"];
const inSweep = (sweep: string, annotations: Record<string, string> = {}) => ({
  labels: { sweep },
  annotations,
});

/** What a reader has of each job, however many streams that took. */
function held() {
  const rows = new Map<string, string[]>();
  const from: Record<string, string> = {};
  return {
    rows,
    from,
    /** Reads events until the jobs have so many rows together. */
    async take(events: EventReader, count: number) {
      const all = () => [...rows.values()].reduce((sum, { length }) => sum + length, 0);
      while (all() < count) {
        const heard = await events.next();
        assert.ok("event" in heard, JSON.stringify(heard));
        if (heard.event !== "observation") continue;
        const { job, log, continue: next } = jobObservationSchema.parse(heard.data);
        rows.set(job.name, [...rows.get(job.name) ?? [], ...log.map(({ value }) => value)]);
        if (next !== undefined) from[job.uid] = next;
      }
    },
  };
}

Deno.test("jobs that push are told with step and pod, come and go, and end", async () => {
  const standalone = shared();
  const { client } = standalone;
  const reader = await observer(client, "reads-many", TRAINJOB, MANY);
  const create = (name: string) =>
    client.create(KINDS.trainJob, trainJob(name, "idle", inSweep("steps")));
  await create("many-a");
  const { pod, token } = await podToken(client, "many-a");
  await using events = await reader.watchMany(standalone, { labelSelector: "sweep=steps" });
  assert.equal(events.status, 200);
  assert.equal(events.headers.get("content-type"), "text/event-stream");
  const next = async (event: string) => {
    for (;;) {
      const heard = await events.next();
      assert.ok("event" in heard, JSON.stringify(heard));
      if (heard.event === event) return heard.data;
      assert.equal(heard.event, "observation");
    }
  };
  const first = jobObservationSchema.parse(await next("observation"));
  assert.partialDeepStrictEqual(first, { job: { name: "many-a" }, state: "Running", log: [] });
  assert.deepEqual(await next("synced"), {});
  const time = new Date().toISOString();
  const metrics = [{ name: "loss", value: "0.5" }];
  const pushed = await push(standalone, { name: "many-a" }, token, {
    trainerStatus: { metrics, step: 12, lastUpdatedTime: time },
  });
  assert.equal(pushed.status, 200, JSON.stringify(pushed.body));
  const rows = async () => jobObservationSchema.parse(await next("observation")).log;
  let told = await rows();
  while (told.length === 0) told = await rows();
  assert.partialDeepStrictEqual(told, [{ value: "0.5", step: 12, podUid: pod.metadata?.uid }]);
  const { body } = await reader.read(standalone, "many-a");
  assert.partialDeepStrictEqual(body, { log: told });
  await create("many-b");
  let added = jobObservationSchema.parse(await next("observation"));
  while (added.job.name !== "many-b") {
    added = jobObservationSchema.parse(await next("observation"));
  }
  await client.delete(KINDS.trainJob, { namespace: "default", name: "many-a" });
  const gone = jobGoneSchema.parse(await next("gone"));
  assert.deepEqual(gone.job, first.job);
});

Deno.test("rights are list and watch: get of each job is not enough", async () => {
  const standalone = shared();
  const reader = await observer(standalone.client, "gets-only", TRAINJOB, ["get"]);
  await using events = await reader.watchMany(standalone, { labelSelector: "sweep=steps" });
  assert.equal(events.status, 403);
});

const endpoint = ({ status, manager }: Replica): ObservationEndpoint => ({
  status,
  caBundle: manager.caBundle,
});

/** Rules make the log the job's own business: then a push is acknowledged when its rows are in it. */
const RECORDED = JSON.stringify({
  objective: { name: "loss", type: "minimize" },
  rules: [{ name: "loss", value: "1000", comparison: "greater" }],
});
const JOBS = ["one", "two", "three"];
const STEPS = 12;
const ALL = STEPS * JOBS.length;

/** Creates jobs with a label and rules. Returns how all push a step, until it is acknowledged, to those that are alive. */
async function sweepOf(plane: ControlPlane, sweep: string) {
  const annotations = { "trainer.kubeflow.org/early-stopping": RECORDED };
  const jobs = await Promise.all(JOBS.map(async (name) => {
    await plane.client.create(KINDS.trainJob, trainJob(name, "plain", inSweep(sweep, annotations)));
    return await pusher(plane, name, { exists: true });
  }));
  return async (step: number, alive: readonly Replica[]) => {
    for (const job of jobs) {
      await until(`push ${step} of ${job.name} is taken`, async () => {
        const replica = alive[step % alive.length];
        assert.ok(replica);
        const { status } = await job.push(replica, step, undefined, { loss: String(step) });
        assert.ok(status === 200 || status === 503, `${status}`);
        return status === 200;
      }, { timeoutMs: 60_000, everyMs: 100 });
    }
  };
}

/** Asserts that each row of each job was told once. */
async function assertEachOnce(
  { rows }: ReturnType<typeof held>,
  reader: Observer,
  at: Replica,
): Promise<void> {
  const want = Array.from({ length: STEPS }, (_, step) => String(step));
  for (const name of JOBS) {
    const told = rows.get(name) ?? [];
    // A push that nobody acknowledged, and that came again, is another row of its own time.
    assert.deepEqual([...new Set(told)], want, name);
    const { body } = await reader.read(endpoint(at), name, { query: "?limit=5000" });
    assert.ok(typeof body === "object" && body !== null && "log" in body);
    assert.ok(Array.isArray(body.log));
    assert.deepEqual(body.log.map(({ value }) => value), told);
  }
}

Deno.test("each acknowledged row of each job is told once, also if the owner is killed and the reader's replica ends", async () => {
  await withLoggedReplicas(["a", "b", "c"], async ({ plane, leader, followers }) => {
    const [watched, other] = followers;
    assert.ok(watched && other);
    const reader = await observer(plane.client, "observer", TRAINJOB, MANY);
    const pushAll = await sweepOf(plane, "replicas");
    const has = held();
    const body = () => ({ labelSelector: "sweep=replicas", from: has.from });
    {
      await using events = await reader.watchMany(endpoint(watched), body());
      assert.equal(events.status, 200);
      for (let step = 0; step < 4; step++) await pushAll(step, [leader, watched, other]);
      await has.take(events, 3);
      // The owner is killed: it renews no lease, answers nobody of what it had, and writes nothing.
      leader.cutOff();
      leader.pause(60_000);
      for (let step = 4; step < 8; step++) await pushAll(step, [watched, other]);
      await has.take(events, 8 * JOBS.length);
    }
    // The reader goes on at another replica, from the places that it has.
    await using events = await reader.watchMany(endpoint(other), body());
    for (let step = 8; step < STEPS; step++) await pushAll(step, [watched, other]);
    await has.take(events, ALL);
    await assertEachOnce(has, reader, other);
    const stopping = other.manager.stop();
    let last = await events.next();
    while ("event" in last && last.event !== "end") last = await events.next();
    assert.partialDeepStrictEqual(last, {
      data: { reason: "this replica shuts down: connect again" },
    });
    await stopping;
  });
});

Deno.test("with a log in a file each row is told once, by the owner that is killed or by the one that has the file next", async () => {
  const folder = await Deno.makeTempDir();
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => Deno.remove(folder, { recursive: true }));
  await withReplicas(async ({ plane, start }) => {
    const flags = { observationSink: `sqlite:${folder}/log.db` };
    const first = await start("a", { flags });
    const reader = await observer(plane.client, "observer", TRAINJOB, MANY);
    const pushAll = await sweepOf(plane, "file");
    const has = held();
    const body = () => ({ labelSelector: "sweep=file", from: has.from });
    {
      await using events = await reader.watchMany(endpoint(first), body());
      for (let step = 0; step < 2; step++) await pushAll(step, [first]);
      await has.take(events, 2 * JOBS.length);
      // Of these the reader takes none before the owner is gone.
      for (let step = 2; step < 6; step++) await pushAll(step, [first]);
      first.cutOff();
      first.pause(60_000);
    }
    await first.manager.stop();
    const next = await start("b", { flags });
    await using events = await reader.watchMany(endpoint(next), body());
    for (let step = 6; step < STEPS; step++) await pushAll(step, [next]);
    await has.take(events, ALL);
    await assertEachOnce(has, reader, next);
  });
});
