/** Tests of the short logs of plain jobs: their content and their limits. */
import type { LogRange } from "../../../owner/observations/sink.ts";
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { Push } from "../../../crds/wire/push.ts";
import { createPlainLogs } from "../../../owner/observations/plain_logs.ts";
import type { ObservationPlan } from "../../../trials/plan/observation_plan.ts";

const START_MS = Date.parse("2026-01-01T00:00:00Z");

function plainPlan(uid: string): ObservationPlan {
  const key = { kind: "job", namespace: "team", name: uid, uid } as const;
  const job = { ...key, kind: TRAINJOB };
  return { kind: "plan", key, job, isPlain: true, records: "all", rules: [], graceMs: 0 };
}

const sampleAt = (second: number, metrics: Readonly<Record<string, string>>) => ({
  lastUpdatedTime: new Date(START_MS + second * 1000).toISOString(),
  metrics: Object.entries(metrics).map(([name, value]) => ({ name, value })),
});

/** Logs, and a push to one of them. */
function scene(options: Parameters<typeof createPlainLogs>[0] = {}) {
  const logs = createPlainLogs(options);
  const push = (
    uid: string,
    second: number,
    metrics: Readonly<Record<string, string>>,
    more: Partial<Push> = {},
  ) => {
    const plan = plainPlan(uid);
    return logs.accept(plan, {
      job: plan.job,
      pod: { name: "pod-0", uid: "pod-uid" },
      trainerStatus: sampleAt(second, metrics),
      receivedMs: START_MS,
      ...more,
    });
  };
  const rowsOf = (uid: string) => logs.read(uid, {});
  return { logs, push, rowsOf };
}

Deno.test("`createPlainLogs()` keeps rows in order, and of each metric latest, least and most", () => {
  const { logs, push, rowsOf } = scene();
  assert.deepEqual(push("a", 1, { loss: "0.9", epoch: "1" }), { ok: true });
  push("a", 2, { loss: "0.5" }, { earlier: [sampleAt(1.5, { loss: "0.95" })] });
  assert.deepEqual(rowsOf("a").map(({ name, value }) => [name, value]), [
    ["loss", "0.9"],
    ["epoch", "1"],
    ["loss", "0.95"],
    ["loss", "0.5"],
  ]);
  assert.deepEqual(logs.snapshotOf("a"), {
    metrics: [
      { name: "epoch", latest: "1", min: "1", max: "1" },
      { name: "loss", latest: "0.5", min: "0.5", max: "0.95" },
    ],
    primaryPod: "pod-0",
  });
  assert.equal(logs.snapshotOf("b"), undefined);
});

Deno.test("`accept()` records a retry once, and moves an old time behind the last row", () => {
  const { push, rowsOf } = scene();
  push("a", 5, { loss: "0.9" });
  push("a", 5, { loss: "0.9" });
  push("a", 5, { loss: "0.8" });
  push("a", 4, { loss: "0.7" });
  assert.deepEqual(rowsOf("a").map(({ time, value }) => [time, value]), [
    ["2026-01-01T00:00:05Z", "0.9"],
    ["2026-01-01T00:00:05.000001Z", "0.8"],
    ["2026-01-01T00:00:05.000002Z", "0.7"],
  ]);
});

Deno.test("`accept()` leaves out what is no number, and says so", () => {
  const { push, rowsOf } = scene();
  const answer = push("a", 1, { note: "warming up", loss: "0.9" });
  assert.ok(answer.ok);
  assert.match(answer.warnings?.join() ?? "", /note.*is not a number/);
  assert.deepEqual(rowsOf("a").map(({ name }) => name), ["loss"]);
});

Deno.test("a log is short, and shorter where there are many", () => {
  const { push, rowsOf } = scene({ maxRows: 100, maxRowsInAll: 400 });
  for (let second = 0; second < 1000; second++) push("a", second, { loss: String(second) });
  const alone = rowsOf("a");
  assert.ok(alone.length >= 75 && alone.length <= 100, String(alone.length));
  assert.equal(alone.at(-1)?.value, "999");
  for (let other = 0; other < 19; other++) push(`other-${other}`, 1, { loss: "1" });
  for (let second = 1000; second < 1100; second++) push("a", second, { loss: String(second) });
  assert.ok(rowsOf("a").length <= 20, String(rowsOf("a").length));
});

Deno.test("`createPlainLogs()` gives up the log that was unused for longest", () => {
  const { logs, push, rowsOf } = scene({ maxLogs: 2 });
  for (const uid of ["a", "b", "c"]) push(uid, 1, { loss: "1" });
  assert.deepEqual(["a", "b", "c"].map((uid) => rowsOf(uid).length), [0, 1, 1]);
  logs.forget("b");
  assert.deepEqual(rowsOf("b"), []);
});

Deno.test("a log keeps what docs/reference/limits.md promises: 1,500 to 2,000 rows, and its share of 200,000", () => {
  const { push, rowsOf } = scene();
  for (let second = 0; second < 5000; second++) push("a", second, { loss: String(second) });
  const alone = rowsOf("a").length;
  assert.ok(alone >= 1_500 && alone <= 2_000, String(alone));
  for (let other = 0; other < 999; other++) push(`other-${other}`, 1, { loss: "1" });
  for (let second = 5000; second < 5300; second++) push("a", second, { loss: String(second) });
  const shared = rowsOf("a").length;
  assert.ok(shared >= 150 && shared <= 200, String(shared));
});

Deno.test("pages of a log are those of any log: by time, metric and number", () => {
  const { logs, push } = scene();
  for (let second = 0; second < 100; second++) push("a", second, { loss: `${second}`, lr: "1" });
  const valuesOf = (range: LogRange) => logs.read("a", range).map(({ value }) => value).join(" ");
  const since = new Date(START_MS + 40_000).toISOString();
  const until = new Date(START_MS + 43_000).toISOString();
  assert.equal(valuesOf({ since, limit: 3 }), "40 1 41");
  assert.equal(valuesOf({ since, seen: 1, limit: 2 }), "1 41");
  assert.equal(valuesOf({ since, until, metric: "loss", limit: 4 }), "40 41 42 43");
});

Deno.test("rows of plain jobs have the pod that pushed them, and the step of each sample", () => {
  const { push, rowsOf } = scene();
  const stepped = (step: number) => ({ ...sampleAt(step, { loss: String(step) }), step });
  push("a", 2, {}, { earlier: [stepped(1)], trainerStatus: stepped(2) });
  push("a", 3, { loss: "3" }, { pod: { name: "pod-1", uid: "pod-uid-2" } });
  assert.deepEqual(rowsOf("a").map(({ value, run, step }) => [value, run, step]), [
    ["1", "pod-uid", 1],
    ["2", "pod-uid", 2],
    ["3", "pod-uid-2", undefined],
  ]);
});
