/** Tests of the store of curves: budget, order of giving way, versions and listeners. */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  createCurveStore,
  CURVE_STORE_LIMITS,
  type CurveStore,
} from "../../../owner/curves/curve_store.ts";

const NOW_MS = Date.parse("2026-03-01T12:00:00Z");
const POD = { name: "pod", uid: "pod-1" };

const storeOf = (maxBytes?: number) => createCurveStore({ clock: { now: () => NOW_MS }, maxBytes });

/** Records samples of one metric, one a second until now. */
function push(store: CurveStore, uid: string, { count = 1, name = "loss" } = {}): void {
  const samples = Array.from({ length: count }, (_, index) => ({
    timeMs: NOW_MS - (count - index) * 1000,
    metrics: [{ name, value: String(index) }],
  }));
  store.record({ uid }, POD, samples);
}

/** Bytes of one job with one metric. */
function bytesOfOne(): number {
  const store = storeOf();
  push(store, "job-0");
  return store.bytes;
}

const keptOf = (store: CurveStore, uids: readonly string[]) =>
  uids.filter((uid) => store.curvesOf(uid) !== undefined);

const names = (count: number) => Array.from({ length: count }, (_, index) => `job-${index}`);

Deno.test("an empty store keeps nothing of a job", () => {
  const store = storeOf();
  assert.equal(store.curvesOf("job-0"), undefined);
  assert.equal(store.marksOf("job-0"), undefined);
  assert.deepEqual(store.newsOf("job-0", undefined), { uid: "job-0", metrics: [], marks: [] });
  assert.deepEqual([store.jobs, store.bytes], [0, 0]);
  store.end("job-0");
  store.forget("job-0");
  store.record({ uid: "job-0" }, POD, []);
  store.record({ uid: "job-0" }, POD, [{ timeMs: NOW_MS, metrics: [{ name: "a", value: "x" }] }]);
  assert.deepEqual([store.jobs, store.bytes], [0, 0]);
});

Deno.test("curves of a job have its metrics, marks and width", () => {
  const store = storeOf();
  push(store, "job-0", { count: 300 });
  store.mark("job-0", { timeMs: NOW_MS - 5, kind: "restarted", text: "again" });
  const curves = store.curvesOf("job-0");
  assert.equal(curves?.widthMs, 4000);
  assert.deepEqual(curves?.metrics.map(({ name }) => name), ["loss"]);
  assert.deepEqual(curves?.marks, [{ timeMs: NOW_MS - 5, kind: "restarted", text: "again" }]);
  const [small] = store.curvesOf("job-0", { points: 5, fromMs: NOW_MS - 60_000 })?.metrics ?? [];
  assert.ok(small !== undefined && small.points.length <= 5 && small.points.length > 2);
  assert.deepEqual(small.points.at(-1)?.slice(2), [299, 299]);
});

Deno.test("cursors change with each change, and no job has that of another, nor a former one of its own", () => {
  const store = storeOf();
  const seen: string[] = [];
  const see = (uid: string) => seen.push(store.cursorOf(uid));
  for (const uid of ["job-0", "job-1", "job-0"]) {
    push(store, uid);
    see(uid);
  }
  store.mark("job-0", { timeMs: NOW_MS, kind: "gap", text: "" });
  see("job-0");
  store.forget("job-0");
  push(store, "job-0");
  see("job-0");
  assert.equal(new Set(seen).size, seen.length);
  const cursor = store.cursorOf("job-0");
  store.record({ uid: "job-0" }, POD, []);
  store.end("job-0");
  assert.equal(store.cursorOf("job-0"), cursor);
});

Deno.test("listeners hear of changes and drops, once for each, until they leave", () => {
  const store = storeOf(bytesOfOne() * 2.5);
  const heard: string[] = [];
  const stop = store.onChange((uid) => heard.push(`${uid} ${keptOf(store, [uid]).length > 0}`));
  push(store, "job-0");
  push(store, "job-1");
  store.mark("job-1", { timeMs: NaN, kind: "gap", text: "" });
  push(store, "job-2");
  store.forget("job-1");
  store.forget("job-1");
  assert.deepEqual(heard, [
    "job-0 true",
    "job-1 true",
    "job-0 false",
    "job-2 true",
    "job-1 false",
  ]);
  stop();
  push(store, "job-3");
  assert.equal(heard.length, 5);
});

Deno.test("the ended give way first, then the least recently changed", () => {
  const store = storeOf(bytesOfOne() * 4.5);
  const uids = names(7);
  for (const uid of uids.slice(0, 4)) push(store, uid);
  store.end("job-3");
  store.end("job-2");
  // A push that was late: the other one is now the least recently changed of those that have ended.
  push(store, "job-2");
  push(store, "job-0");
  push(store, "job-4");
  assert.deepEqual(keptOf(store, uids), ["job-0", "job-1", "job-2", "job-4"]);
  push(store, "job-5");
  assert.deepEqual(keptOf(store, uids), ["job-0", "job-1", "job-4", "job-5"]);
  push(store, "job-6");
  assert.deepEqual(keptOf(store, uids), ["job-0", "job-4", "job-5", "job-6"]);
});

Deno.test("a job that is larger than the budget is not kept", () => {
  const store = storeOf(bytesOfOne() - 1);
  push(store, "job-0");
  assert.deepEqual([store.jobs, store.bytes], [0, 0]);
});

Deno.test("bytes are those of the jobs that are kept, within the budget, whatever happens", () => {
  const uid = fc.constantFrom(...names(6));
  const step = fc.oneof(
    fc.record({ do: fc.constant("push"), uid, name: fc.constantFrom("a", "bb", "ccc") }),
    fc.record({ do: fc.constantFrom("mark", "end", "forget", "nothing"), uid, name: fc.string() }),
  );
  const maxBytes = bytesOfOne() * 4;
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const store = storeOf(maxBytes);
    for (const { do: what, uid, name } of steps) {
      if (what === "push") push(store, uid, { name });
      if (what === "mark") store.mark(uid, { timeMs: NOW_MS, kind: "gap", text: name });
      if (what === "end") store.end(uid);
      if (what === "forget") store.forget(uid);
      if (what === "nothing") {
        // Changes what is known of pods alone.
        store.record({ uid }, POD, [{ timeMs: NOW_MS, metrics: [{ name, value: "NaN" }] }]);
      }
      assert.ok(store.bytes <= maxBytes);
    }
    assert.equal(keptOf(store, names(6)).length, store.jobs);
    for (const uid of names(6)) store.forget(uid);
    assert.deepEqual([store.jobs, store.bytes], [0, 0]);
  }));
});

Deno.test("with many jobs curves have fewer buckets: new ones at once, others a few at a time", () => {
  const { manyJobs, buckets, bucketsOfMany, shrunkAtOnce } = CURVE_STORE_LIMITS;
  const store = storeOf();
  const uids = names(manyJobs);
  const pushed = { timeMs: NOW_MS - 100, metrics: [{ name: "loss", value: "1" }] };
  // A sample in the first bucket and one in the last, of the widest axis.
  const wide = [{ ...pushed, timeMs: NOW_MS - 16_000 }, pushed];
  push(store, "gone");
  store.forget("gone");
  for (const uid of uids) store.record({ uid }, POD, wide);
  const widthOf = (uid: string) => store.curvesOf(uid)?.widthMs;
  assert.equal(widthOf("job-0"), 125);
  const { bytes } = store;
  store.record({ uid: "more" }, POD, wide);
  assert.equal(widthOf("more"), 250);
  const shrunk = () => uids.filter((uid) => widthOf(uid) === 250).length;
  assert.equal(shrunk(), shrunkAtOnce);
  for (let turn = 1; turn < manyJobs / shrunkAtOnce; turn++) {
    store.record({ uid: "more" }, POD, [pushed]);
  }
  assert.equal(shrunk(), manyJobs);
  const saved = (buckets - bucketsOfMany) * 3 * Float32Array.BYTES_PER_ELEMENT;
  // Without progress a row is kept free.
  assert.ok(bytes - store.bytes > manyJobs * saved - bytesOfOne());
  for (const uid of [...uids, "more"]) store.forget(uid);
  assert.equal(store.bytes, 0);
});
