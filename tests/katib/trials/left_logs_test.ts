/** Tests of the removal of logs whose Trials went while no manager ran. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { WATCHED } from "../../../crds/watched.ts";
import { removeLeftLogs } from "../../../katib/trials/left_logs.ts";
import { createMemorySink } from "../../../katib/log/sqlite_sink.ts";
import { SinkError } from "../../../owner/observations/sink.ts";
import { trialIndexes } from "../../../katib/trials/cached_trial.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { type LogKey, logKeyOf, logKeyText } from "../../../trials/recording/observation_row.ts";
import { MemoryCluster } from "../../controller/memory_cluster.ts";
import { FakeClock, settlePromises } from "../../support/fake_clock.ts";
import { trial } from "./builders.ts";

const never = new AbortController().signal;
const keyOf = (name: string, more: Partial<LogKey> = {}): LogKey => ({
  kind: "trial",
  namespace: "ml",
  name,
  uid: `uid-of-${name}`,
  ...more,
});

interface WorldOptions {
  readonly logs: readonly LogKey[];
  /** Trials that the API server has, and the cache. */
  readonly trials?: readonly string[];
  readonly cached?: boolean;
  /** Error of each read. */
  readonly error?: Error;
  resting?: boolean;
  /** The sink fails this often before it lists its logs. */
  readonly failures?: number;
}

/** Runs a removal for some time. Resolves with the logs that are left, and the reads of the API server. */
async function left(options: WorldOptions, seconds = 60) {
  const { logs, trials: names = [], cached = true, error } = options;
  let { failures = 0 } = options;
  const cluster = new MemoryCluster();
  const clock = new FakeClock(undefined, () => settlePromises(200));
  const sink = createMemorySink();
  for (const key of logs) {
    const rows = [{ time: "2026-01-01T00:00:00.000Z", name: "loss", value: "1" }];
    await sink.append(key, rows, never);
  }
  if (!cached) { for (const name of names) cluster.put(KINDS.trial, trial({}, { name })); }
  const informer = cached
    ? cluster.informer(WATCHED.trial, trialIndexes)
    : new MemoryCluster().informer(WATCHED.trial, trialIndexes);
  if (cached) { for (const name of names) cluster.put(KINDS.trial, trial({}, { name })); }
  const reads: string[] = [];
  const inner = cluster.client();
  const get: KubeClient["get"] = async (kind, key, bounds) => {
    reads.push(`${key.namespace}/${key.name}`);
    if (error !== undefined) throw error;
    return await inner.get(kind, key, bounds);
  };
  const over = new AbortController();
  const removing = removeLeftLogs({
    sink: {
      list: (...all) =>
        failures-- > 0
          ? Promise.reject(new SinkError("unavailable", "down"))
          : sink.list?.(...all) ?? Promise.resolve([]),
    },
    trials: {
      get: informer.get,
      get resting() {
        return options.resting ?? false;
      },
    },
    client: { get },
    clock,
    random: () => 0.5,
    drop: (key) => void sink.delete(key, never),
    deadlineMs: 1000,
  }, over.signal);
  await clock.advance(seconds * 1000);
  over.abort();
  await removing;
  const kept = await sink.list?.(undefined, 1000, never) ?? [];
  return { kept: kept.map(({ name, uid }) => `${name}/${uid}`), reads };
}

Deno.test("the log of a Trial that does not exist any more is removed, that of one that does is kept", async () => {
  const logs = [keyOf("t1"), keyOf("gone"), keyOf("t2")];
  const { kept, reads } = await left({ logs, trials: ["t1", "t2"] });
  assert.deepEqual(kept, ["t1/uid-of-t1", "t2/uid-of-t2"]);
  assert.deepEqual(reads, ["ml/gone"], "what the cache has is not read");
});

Deno.test("a Trial that the cache does not have yet is read, and its log kept", async () => {
  const { kept, reads } = await left({ logs: [keyOf("t1")], trials: ["t1"], cached: false });
  assert.deepEqual(kept, ["t1/uid-of-t1"]);
  assert.deepEqual(reads, ["ml/t1"]);
});

Deno.test("the log of an earlier Trial of that name is removed", async () => {
  const logs = [keyOf("t1"), keyOf("t1", { uid: "uid-before" })];
  const { kept } = await left({ logs, trials: ["t1"] });
  assert.deepEqual(kept, ["t1/uid-of-t1"]);
});

const errors: Readonly<Record<string, Error>> = {
  "no right to read it": new KubeError("forbidden", { code: 403, reason: "Forbidden" }),
  "no answer": new Error("no answer"),
  "an API server that is busy": new KubeError("wait", { code: 429, reason: "TooManyRequests" }),
  "a kind that is not served": new KubeError("404 page not found", {
    code: 404,
    reason: "NotFound",
  }),
};
for (const [what, error] of Object.entries(errors)) {
  Deno.test(`a log is kept where its Trial cannot be read for ${what}`, async () => {
    const { kept } = await left({ logs: [keyOf("gone")], error });
    assert.deepEqual(kept, ["gone/uid-of-gone"]);
  });
}

Deno.test("no log is looked at while the cluster serves no Trials, and all are once it does", async () => {
  const options: WorldOptions = { logs: [keyOf("gone")], resting: true };
  assert.deepEqual(await left(options), { kept: ["gone/uid-of-gone"], reads: [] });
  options.resting = false;
  assert.deepEqual((await left(options)).kept, []);
});

Deno.test("logs are removed once the sink can list them", async () => {
  assert.deepEqual((await left({ logs: [keyOf("gone")], failures: 2 })).kept, []);
});

Deno.test("at most ten Trials a second are read, page after page", async () => {
  const logs = Array.from({ length: 450 }, (_, index) => keyOf(`gone-${index}`));
  const { reads } = await left({ logs }, 5);
  assert.ok(reads.length >= 45 && reads.length <= 52, `${reads.length} reads`);
  assert.deepEqual((await left({ logs }, 60)).kept, []);
});

Deno.test("a sink that cannot list its logs is left alone", async () => {
  const clock = new FakeClock();
  const unused = () => Promise.reject(new Error("unused"));
  await removeLeftLogs({
    sink: {},
    trials: { get: () => undefined, resting: false },
    client: { get: unused },
    clock,
    random: () => 0.5,
    drop: () => assert.fail("nothing is removed"),
    deadlineMs: 1000,
  }, never);
});

Deno.test("keys of jobs without a Trial are not listed, and the text of a key is read back", async () => {
  const job = keyOf("t1", { kind: "job" });
  const { kept, reads } = await left({ logs: [job] });
  assert.deepEqual({ kept, reads }, { kept: [], reads: [] });
  for (const key of [job, keyOf("t2")]) assert.deepEqual(logKeyOf(logKeyText(key)), key);
  for (const text of ["", "trial/a/b", "trial/a/b/c/d", "other/a/b/c", "trial//b/c"]) {
    assert.equal(logKeyOf(text), undefined);
  }
});
