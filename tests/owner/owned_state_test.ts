/** Tests of the state that the owner holds for a term: how it begins, and the ways in which it ends. */
import assert from "node:assert/strict";
import { configure, type LogRecord, reset } from "@logtape/logtape";
import { createOwnedState } from "../../owner/owned_state.ts";
import { KINDS } from "../../crds/kinds.ts";
import { WATCHED } from "../../crds/watched.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import type { AnyJob, JobKind } from "../../crds/job_kind.ts";
import type { ObservationSink } from "../../owner/observations/sink.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Change } from "../../platform/kube/watching/informer_cache.ts";
import { MemoryCluster } from "../controller/memory_cluster.ts";
import { FakeClock, settlePromises } from "../support/fake_clock.ts";
import { trainJob } from "../support/standalone.ts";
import { recordingParts } from "./recording_parts.ts";

const FLUSH_MS = 5_000;

/** Log lines of the term, by message. */
async function logged(work: () => Promise<void>): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  await configure({
    sinks: { memory: (it) => records.push(it) },
    loggers: [
      { category: "milepost", sinks: ["memory"] },
      { category: ["logtape", "meta"], lowestLevel: "fatal" },
    ],
  });
  try {
    await work();
  } finally {
    await reset();
  }
  return records;
}

/** A term over TrainJobs in memory; a write takes `latencyMs`, and is recorded. */
function term(names: readonly string[], { latencyMs = 20, statusWritesQps = 50 } = {}) {
  const cluster = new MemoryCluster();
  const clock = new FakeClock(undefined, () => settlePromises(80));
  const uids = new Map<string, string>();
  for (const name of names) {
    const { metadata } = cluster.put(KINDS.trainJob, { ...trainJob(name, "any"), status: {} });
    uids.set(name, metadata.uid ?? "");
  }
  const writes: string[] = [];
  const client = cluster.client();
  const patch: KubeClient["patch"] = async (kind, key, change, options) => {
    writes.push(key.name);
    await clock.sleep(latencyMs, options?.signal);
    options?.signal?.throwIfAborted();
    return await client.patch(kind, key, change, options);
  };
  const drops = new Map<string, number>();
  const leadership = { leading: true, deadlineMs: () => 4_000 };
  const stopped = new Set<string>();
  const control = { stop: true, reason: "EarlyStopped", message: "m" } as const;
  const owned = createOwnedState({
    recording: () =>
      recordingParts({ stopShown: ({ uid }) => stopped.has(uid) ? control : undefined }),
    jobSets: { onChange: () => () => {} },
    curveBytes: 1 << 20,
    client: { ...client, patch },
    jobs: new Map([[TRAINJOB, {
      jobs: cluster.informer(KINDS.trainJob),
      pods: cluster.informer(WATCHED.pod),
    }]]),
    clock,
    leadership,
    intervalMs: 1000,
    writesPerSecond: statusWritesQps,
    onWrite: () => {},
    onDrop: (cause, count) => drops.set(cause, (drops.get(cause) ?? 0) + count),
  });
  const stop = new AbortController();
  const running = owned.run(stop.signal, FLUSH_MS);
  return {
    clock,
    cluster,
    owned,
    writes,
    uid: (name: string) => uids.get(name) ?? "",
    /** The job was stopped early. */
    stop: (name: string) => void stopped.add(uids.get(name) ?? ""),
    lose: () => leadership.leading = false,
    push: (name: string, progressPercentage: number) =>
      owned.accept({
        job: { kind: TRAINJOB, namespace: "default", name, uid: uids.get(name) ?? "" },
        pod: { name: "pod", uid: "pod-uid" },
        trainerStatus: { progressPercentage, lastUpdatedTime: "2026-01-01T00:00:00Z" },
        receivedMs: clock.now(),
      }, new AbortController().signal),
    shown: (name: string) =>
      cluster.peek(KINDS.trainJob, `default/${name}`)?.status?.trainerStatus?.progressPercentage,
    dropped: (cause: string) => drops.get(cause) ?? 0,
    /** Ends it. Returns how long that took by its clock. */
    async end(): Promise<number> {
      const began = clock.monotonic();
      let tookMs: number | undefined;
      running.then(() => tookMs = clock.monotonic() - began);
      stop.abort();
      while (tookMs === undefined) await clock.advance(10);
      return tookMs;
    },
  };
}

const crowdOf = (count: number) => Array.from({ length: count }, (_, index) => `job-${index}`);

Deno.test("`Term.statuses` know a push before it is written, while the term runs", async () => {
  const { owned, push, end, uid } = term(["a"]);
  let pushes = 0;
  const stop = owned.onPush(() => pushes++);
  await push("a", 1);
  await push("a", 2);
  assert.equal(owned.term?.ledger.pending(), 1);
  assert.equal(owned.term?.statuses.newestOf(uid("a"))?.progressPercentage, 2);
  assert.equal(owned.term?.statuses.newestOf("another"), undefined);
  stop();
  await push("a", 3);
  assert.equal(pushes, 2);
  await end();
  assert.equal(owned.term?.statuses.newestOf(uid("a")), undefined);
});

/** A cache whose changes the test makes up. */
function changingCache(kind: JobKind) {
  let tell = (_change: Change<AnyJob>): void => {};
  const jobs = {
    get: () => undefined,
    onChange: (listener: (change: Change<AnyJob>) => void) => {
      tell = listener;
      return () => {};
    },
  };
  const { metadata, ...rest } = trainJob("a", "any");
  const object: AnyJob = { ...rest, metadata: { ...metadata, uid: "uid-a" }, status: {} };
  return {
    jobs: new Map([[kind, { jobs }]]),
    tell: (type: Change<AnyJob>["type"]) => tell({ type, object }),
  };
}

Deno.test("a job that is not followed any more is not deleted: its log stays", async () => {
  const { jobs, tell } = changingCache(TRAINJOB);
  const told: string[] = [];
  const deleted: ObservationSink["delete"] = ({ name }) => {
    told.push(`the log of ${name} is deleted`);
    return Promise.resolve();
  };
  const owned = createOwnedState({
    client: new MemoryCluster().client(),
    jobs,
    clock: new FakeClock(),
    leadership: { leading: true, deadlineMs: () => 4_000 },
    intervalMs: 1000,
    writesPerSecond: 50,
    onWrite: () => {},
    onDrop: () => {},
    jobSets: { onChange: () => () => {} },
    curveBytes: 1 << 20,
    recording: () => recordingParts({ sink: { delete: deleted } }),
  });
  const stop = new AbortController();
  const running = owned.run(stop.signal, FLUSH_MS);
  tell("left");
  await settlePromises(20);
  assert.deepEqual(told, []);
  tell("deleted");
  await settlePromises(20);
  assert.deepEqual(told, ["the log of a is deleted"]);
  stop.abort();
  await running;
});

Deno.test("`OwnedState.accept()` tells the pods of a stopped job so, and writes nothing of what they push", async () => {
  const { owned, push, stop, shown, end, uid } = term(["a"]);
  await push("a", 1);
  stop("a");
  const control = { stop: true, reason: "EarlyStopped", message: "m" };
  assert.deepEqual(await push("a", 2), { ok: true, control });
  assert.equal(owned.term?.statuses.newestOf(uid("a"))?.progressPercentage, 1);
  await end();
  assert.equal(shown("a"), 1);
});

Deno.test("`OwnedState.run()` writes 2,000 pending jobs at its end, within 5 s, and loses none", async () => {
  const names = crowdOf(2_000);
  const records = await logged(async () => {
    const { push, end, shown, dropped, owned } = term(names);
    for (const name of names) await push(name, 1);
    for (const name of names) await push(name, 2);
    assert.equal(owned.term?.ledger.pending(), 2_000);
    const tookMs = await end();
    assert.ok(tookMs <= FLUSH_MS, `took ${tookMs} ms`);
    assert.deepEqual(names.filter((name) => shown(name) !== 2), []);
    assert.equal(dropped("shutdown"), 0);
    const refused = await push("job-0", 3);
    assert.ok(refused.ok !== true && refused.retryAfterMs > 0);
  });
  assert.deepEqual(records, []);
});

Deno.test("`OwnedState.run()` counts and logs the jobs that it could not write within 5 s", async () => {
  const names = crowdOf(3_000);
  const records = await logged(async () => {
    const { push, end, shown, dropped } = term(names);
    for (const name of names) await push(name, 1);
    const tookMs = await end();
    assert.ok(tookMs <= FLUSH_MS + 10, `took ${tookMs} ms`);
    const left = names.filter((name) => shown(name) === undefined).length;
    assert.ok(left >= 400 && left <= 600, `${left} left`);
    assert.equal(dropped("shutdown"), left);
  });
  assert.deepEqual(records.map(({ rawMessage }) => rawMessage), [
    "stopped with unwritten progress",
  ]);
  assert.ok(Number(records[0]?.properties.jobs) > 0);
});

Deno.test("`OwnedState.run()` ends within 5 s if every write hangs, earlier ones included", async () => {
  const names = crowdOf(30);
  const records = await logged(async () => {
    const { clock, push, end, dropped } = term(names, { latencyMs: 60_000 });
    for (const name of names) await push(name, 1);
    await clock.advance(1_000);
    assert.equal(await end(), FLUSH_MS);
    assert.equal(dropped("shutdown"), 30);
  });
  assert.deepEqual(records.map(({ rawMessage }) => rawMessage), [
    "stopped with unwritten progress",
  ]);
});

Deno.test("`OwnedState.run()` stops, counts and logs pending jobs if the lease is lost", async () => {
  const names = crowdOf(100);
  const records = await logged(async () => {
    const { clock, push, end, lose, shown, dropped, writes } = term(names);
    for (const name of names) await push(name, 1);
    await clock.advance(500);
    const written = names.filter((name) => shown(name) === 1).length;
    assert.ok(written > 0 && written < 100);
    lose();
    const begun = writes.length;
    assert.ok(await end() <= 10);
    assert.equal(writes.length, begun, "no write begins any more");
    assert.equal(names.filter((name) => shown(name) === 1).length, written);
    assert.equal(dropped("lease_lost"), 100 - written);
  });
  const messages = records.map(({ rawMessage }) => rawMessage);
  assert.deepEqual(messages, ["lost the lease with unwritten progress"]);
});

Deno.test("`OwnedState.run()` treats the objects' values as written, by UID", async () => {
  const names = ["other", "known", "again", "new"];
  const { clock, cluster, push, end, writes } = term(names, { statusWritesQps: 1 });
  const status = {
    trainerStatus: { progressPercentage: 5, lastUpdatedTime: "2026-01-01T00:00:00Z" },
  };
  for (const name of ["known", "again"]) {
    cluster.edit(KINDS.trainJob, `default/${name}`, { status });
  }
  // What another job of that name shows says nothing of the one that is pushed for.
  cluster.remove(KINDS.trainJob, "default/again");
  cluster.put(KINDS.trainJob, { ...trainJob("again", "any"), status });
  for (const name of ["other", "known", "new", "again"]) await push(name, 6);
  await clock.advance(5_000);
  await end();
  assert.deepEqual(writes, ["other", "new", "again", "known"]);
});
