/** Tests of zooming into logs: what is read, what is shown where a log has less, and bounds. */
import type { Curve, CurvePoint } from "../../../crds/wire/shown_curves.ts";
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { PART_LIMITS } from "../../../owner/curves/log_reading.ts";
import { createLogZoom, ZOOM_LIMITS } from "../../../owner/curves/log_zoom.ts";
import type { LogQuery, ObservationReader } from "../../../owner/observations/observations.ts";
import { createCurveStore, type CurveStore } from "../../../owner/curves/curve_store.ts";
import { partOf } from "../../../owner/observations/log_parts.ts";
import { FakeClock, settlePromises } from "../../support/fake_clock.ts";

const START_MS = Date.parse("2026-01-01T00:00:00Z");
const NOW_MS = START_MS + 100_000_000;
const job = { kind: TRAINJOB, namespace: "team", name: "job", uid: "uid-1" };
const never = new AbortController().signal;

interface Row {
  readonly time: string;
  readonly name: string;
  readonly value: string;
  readonly step?: number;
}

const row = (second: number, value: string | number, name = "loss"): Row => ({
  time: new Date(START_MS + second * 1000).toISOString(),
  name,
  value: String(value),
});
const rowsOf = (count: number, name = "loss") =>
  Array.from({ length: count }, (_, n) => row(n, n, name));
const at = (second: number) => START_MS + second * 1000;

/** The curves that the owner keeps of a job that pushed these rows. */
function keptOf(rows: readonly Row[]): CurveStore {
  const store = createCurveStore({ clock: { now: () => NOW_MS } });
  const byTime = Map.groupBy(rows, ({ time }) => time);
  store.record(
    job,
    undefined,
    [...byTime].map(([time, metrics], index) => ({
      timeMs: Date.parse(time),
      metrics,
      progress: index % 100,
      step: metrics[0]?.step,
    })),
  );
  return store;
}

/** A zoom of a job with a log, and the parts that were read. */
function scene(pushed: readonly Row[], log: readonly Row[] | null = pushed) {
  const parts: LogQuery[] = [];
  const store = keptOf(pushed);
  const clock = new FakeClock(NOW_MS, settlePromises);
  const readLog: ObservationReader["pageOf"] = (_, part) => {
    parts.push(part);
    if (log === null) return Promise.resolve(undefined);
    const rows = partOf(log, { ...part, limit: part.limit + 1 });
    const page = { rows: rows.slice(0, part.limit), more: rows.length > part.limit };
    return Promise.resolve({ ...page, isTold: true });
  };
  const zoom = createLogZoom({ readLog, clock });
  const show = (from: number, to: number, points = 128, metrics?: string[]) => {
    const range = { fromMs: at(from), toMs: at(to) };
    const kept = store.curvesOf(job.uid, { ...range, metrics });
    assert.ok(kept);
    return zoom(job, kept, { ...range, points }, never);
  };
  return { show, parts, store, clock, zoom };
}

const seconds = (points: readonly CurvePoint[]) =>
  points.map(([ms, , , last]) => [(ms - START_MS) / 1000, last]);

Deno.test("a short range has the exact samples of the log, the progress what is kept of it", async () => {
  const { show, parts } = scene(rowsOf(20_000));
  const [loss, progress] = await show(5_000, 5_009);
  assert.deepEqual(
    seconds(loss?.points ?? []),
    Array.from({ length: 10 }, (_, n) => [5_000 + n, 5_000 + n]),
  );
  assert.deepEqual([loss?.source, loss?.cut], ["log", undefined]);
  assert.deepEqual([progress?.source, progress?.isProgress], ["curve", true]);
  assert.deepEqual(parts, [{
    since: "2026-01-01T01:23:20.000Z",
    seen: 0,
    until: "2026-01-01T01:23:29.000Z",
    metric: "loss",
    limit: PART_LIMITS.rows,
  }]);
});

Deno.test("a short range has when a metric was no number, to the millisecond", async () => {
  const rows = rowsOf(20_000).map((it, n) => n === 5_003 ? { ...it, value: "NaN" } : it);
  const all = await scene(rows).show(5_000, 5_009, 128, ["loss"]);
  assert.deepEqual(all.map(({ isNonFinite, source }) => [isNonFinite, source]), [
    [undefined, "log"],
    [true, "log"],
  ]);
  assert.equal(all[0]?.points.length, 9);
  assert.deepEqual(seconds(all[1]?.points ?? []), [[5_003, 0]]);
});

Deno.test("a short range has the steps of the log, where it keeps them", async () => {
  const pushed = rowsOf(20_000).map((it, n) => ({ ...it, step: 10 * n }));
  const last = (curve: Pick<Curve, "points"> | undefined) => seconds(curve?.points ?? []).at(-1);
  const [loss, progress, step] = await scene(pushed).show(5_000, 5_009);
  assert.equal(loss?.points.at(-1)?.[4], 50_090);
  assert.deepEqual([last(loss), last(step)], [[5_009, 5_009], [5_009, 50_090]]);
  assert.deepEqual([progress?.source, step?.source, step?.isStep], ["curve", "log", true]);
  const { show, parts } = scene(pushed, rowsOf(20_000));
  const [, , kept] = await show(5_000, 5_009);
  assert.equal(kept?.source, "curve");
  parts.length = 0;
  assert.equal((await show(5_000, 5_009, 128, ["step"]))[0]?.source, "curve");
  assert.deepEqual(parts, [], "no metric is asked for");
});

Deno.test("a spike of one sample is seen at each zoom, and in ever fewer neighbours", async () => {
  const rows = rowsOf(20_000).map((it, n) => n === 7_777 ? { ...it, value: "1e9" } : it);
  const { show } = scene(rows);
  for (const half of [9_000, 3_000, 500, 60, 3]) {
    const [loss] = await show(7_777 - Math.min(half, 7_777), 7_777 + half);
    const spikes = loss?.points.filter(([, , max]) => max === 1e9) ?? [];
    assert.equal(spikes.length, 1, `${half} s`);
  }
});

Deno.test("a log of several metrics is read once for all of them, in parts", async () => {
  const pushed = Array.from({ length: 5_000 }, (_, n) => [row(n, n), row(n, -n, "lr")]).flat();
  const { show, parts } = scene(pushed);
  const [loss, lr] = await show(1_000, 3_000, 50);
  assert.deepEqual([loss?.source, lr?.source], ["log", "log"]);
  for (const curve of [loss, lr]) assert.ok((curve?.points.length ?? 0) > 20);
  assert.equal(parts.length, Math.ceil(4_002 / PART_LIMITS.rows));
  assert.ok(parts.every(({ metric }) => metric === undefined));
  assert.equal(loss?.points.at(-1)?.[3], 3_000);
  assert.equal(lr?.points.at(-1)?.[3], -3_000);
});

Deno.test("of a range in which the curve has as many points as were asked for no log is read", async () => {
  const { show, parts } = scene(rowsOf(20_000));
  const [loss] = await show(0, 20_000, 16);
  assert.equal(loss?.source, "curve");
  assert.deepEqual(parts, []);
});

const LESS: Readonly<Record<string, { log: readonly Row[] | null; want: unknown[] }>> = {
  "no log": { log: null, want: ["curve", undefined] },
  "an empty log": { log: [], want: ["curve", undefined] },
  "a log of another metric": { log: rowsOf(2_000, "lr"), want: ["curve", undefined] },
  "a log that has lost its begin": { log: rowsOf(2_000).slice(1_500), want: ["log", true] },
  "a log without its end": { log: rowsOf(2_000).slice(0, 1_200), want: ["log", true] },
  "a log that begins before the range": { log: rowsOf(2_000).slice(900), want: ["log", undefined] },
};
for (const [name, { log, want }] of Object.entries(LESS)) {
  Deno.test(`a job with ${name} is shown by its ${want[0]}`, async () => {
    const { show, store } = scene(rowsOf(2_000), log);
    const [loss] = await show(1_000, 1_700, 128, ["loss"]);
    assert.deepEqual([loss?.source, loss?.cut], want);
    const range = { fromMs: at(1_000), toMs: at(1_700), metrics: ["loss"] };
    const kept = store.curvesOf(job.uid, range)?.metrics[0]?.points;
    if (want[0] === "curve") assert.deepEqual(loss?.points, kept);
    else assert.notDeepEqual(loss?.points, kept);
  });
}

Deno.test("more rows than one answer may read are cut, and said to be", async () => {
  const pushed = Array.from({ length: 1_000 }, (_, n) => row(n, n));
  const log = Array.from({ length: 70_000 }, (_, n) => row(n / 100, n));
  const { show, parts } = scene(pushed, log);
  const [loss] = await show(0, 700, 128);
  assert.deepEqual([loss?.source, loss?.cut], ["log", true]);
  assert.equal(parts.length, ZOOM_LIMITS.rows / PART_LIMITS.rows);
  assert.equal(loss?.points.at(-1)?.[3], ZOOM_LIMITS.rows - 1);
});

Deno.test("a log that fails shows the curve, or what was read of it", async () => {
  const pushed = rowsOf(5_000);
  const clock = new FakeClock(NOW_MS, settlePromises);
  const store = keptOf(pushed);
  let left = 0;
  const zoom = createLogZoom({
    clock,
    readLog(_, part) {
      if (left-- <= 0) return Promise.reject(new Error("the database is locked"));
      return Promise.resolve({ rows: partOf(pushed, part), more: true, isTold: true });
    },
  });
  const range = { fromMs: at(0), toMs: at(4_000) };
  const kept = store.curvesOf(job.uid, { ...range, metrics: ["loss"] });
  assert.ok(kept);
  const [coarse] = await zoom(job, kept, { ...range, points: 128 }, never);
  assert.deepEqual([coarse?.source, coarse?.points], ["curve", kept.metrics[0]?.points]);
  left = 2;
  const [partly] = await zoom(job, kept, { ...range, points: 128 }, never);
  assert.deepEqual([partly?.source, partly?.cut, partly?.points.at(-1)?.[3]], [
    "log",
    true,
    2 * PART_LIMITS.rows - 1,
  ]);
});

Deno.test("few logs are read at a time, those that wait give up with their question, and too many do not wait", async () => {
  const clock = new FakeClock(NOW_MS, settlePromises);
  const store = keptOf(rowsOf(5_000));
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  let [reading, most] = [0, 0];
  const zoom = createLogZoom({
    clock,
    async readLog(_, part) {
      most = Math.max(most, ++reading);
      await gate;
      reading--;
      return { rows: partOf(rowsOf(5_000), part), more: false, isTold: true };
    },
  });
  const range = { fromMs: at(1_000), toMs: at(1_100) };
  const kept = store.curvesOf(job.uid, { ...range, metrics: ["loss"] });
  assert.ok(kept);
  const ask = (signal: AbortSignal) => zoom(job, kept, { ...range, points: 128 }, signal);
  const impatient = new AbortController();
  const first = [ask(never), ask(never), ask(never)];
  const gone = ask(impatient.signal);
  const rest = Array.from({ length: ZOOM_LIMITS.waiting }, () => ask(never));
  // Those beyond the bound are answered at once.
  assert.equal((await rest.at(-1))?.[0]?.source, "curve");
  impatient.abort();
  assert.equal((await gone)[0]?.source, "curve");
  open();
  for (const it of first) assert.equal((await it)[0]?.source, "log");
  await Promise.all(rest);
  assert.equal(most, ZOOM_LIMITS.logsAtOnce);
});

Deno.test("after each part other work has several times as long", async () => {
  const rows = rowsOf(5_000);
  const store = keptOf(rows);
  const slept: number[] = [];
  let nowMs = 0;
  const clock = {
    now: () => NOW_MS,
    monotonic: () => nowMs,
    sleep: (ms: number) => {
      slept.push(ms);
      return Promise.resolve();
    },
  };
  const zoom = createLogZoom({
    clock,
    readLog(_, part) {
      nowMs += 3;
      const found = partOf(rows, { ...part, limit: part.limit + 1 });
      return Promise.resolve({
        rows: found.slice(0, part.limit),
        more: found.length > part.limit,
        isTold: true,
      });
    },
  });
  const range = { fromMs: at(0), toMs: at(3_000) };
  const kept = store.curvesOf(job.uid, { ...range, metrics: ["loss"] });
  assert.ok(kept);
  await zoom(job, kept, { ...range, points: 128 }, never);
  // After the last one there is nothing to wait for.
  const parts = Math.ceil(3_001 / PART_LIMITS.rows);
  assert.deepEqual(slept, Array.from({ length: parts - 1 }, () => 3 * PART_LIMITS.pausePerPart));
});
