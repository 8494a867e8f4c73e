/** Tests of the list of jobs with what was pushed and is not in the objects yet. */
import assert from "node:assert/strict";
import { type AnyJob, jobSchema } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { Change } from "../../../platform/kube/watching/informer_cache.ts";
import type { TrainerStatus } from "../../../crds/trainjob.ts";
import { createJobList } from "../../../views/list/job_list.ts";
import { listQuery } from "../../../crds/wire/list_query.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const AT = "2026-01-01T00:00:00Z";
const EVERYTHING = { key: "all", allows: () => true };

const trainerStatus = (percentage: number, lastUpdatedTime = AT): TrainerStatus => ({
  progressPercentage: percentage,
  metrics: [{ name: "loss", value: `0.${percentage}` }],
  lastUpdatedTime,
});

const job = (name: string, shown?: TrainerStatus): AnyJob =>
  jobSchema.parse({
    apiVersion: "a/v1",
    kind: "TrainJob",
    metadata: { name, namespace: "ml", uid: name, creationTimestamp: AT },
    spec: {
      runtimeRef: { name: "torch" },
      trainer: { args: ["--lr=0.1", `--from=${"x".repeat(99)}/${name}`] },
    },
    status: { ...(shown && { trainerStatus: shown }) },
  });

/** A list of two jobs, and what changes them. */
function world() {
  const objects = new Map([["a", job("a", trainerStatus(10))], ["b", job("b", trainerStatus(20))]]);
  const newest = new Map<string, TrainerStatus>();
  const onChange = new Set<(change: Change<AnyJob>) => void>();
  const onPush = new Set<() => void>();
  const clock = new FakeClock();
  let read = 0;
  const list = createJobList({
    jobs: new Map([[TRAINJOB, {
      jobs: {
        list() {
          read += 1;
          return [...objects.values()];
        },
        onChange(listener) {
          onChange.add(listener);
          return () => onChange.delete(listener);
        },
      },
    }]]),
    pushed: {
      newestOf: (uid) => newest.get(uid),
      onPush(listener) {
        onPush.add(listener);
        return () => onPush.delete(listener);
      },
      clock,
    },
  });
  return {
    clock,
    list,
    /** How often all jobs were read. */
    reads: () => read,
    listeners: () => onChange.size + onPush.size,
    push(name: string, pushed: TrainerStatus) {
      newest.set(name, pushed);
      onPush.forEach((it) => it());
    },
    write(name: string, written: TrainerStatus) {
      const object = job(name, written);
      objects.set(name, object);
      onChange.forEach((it) => it({ type: "updated", object }));
    },
    remove(name: string, type: "deleted" | "left") {
      const object = objects.get(name) ?? job(name);
      objects.delete(name);
      onChange.forEach((it) => it({ type, object }));
    },
    rows(text = "sort=progress&order=descending") {
      const read = listQuery(new URLSearchParams(text));
      assert.ok("query" in read);
      return list.window(read.query, EVERYTHING).rows;
    },
  };
}

Deno.test("a window shows what was pushed, in the order of the objects until it is written", () => {
  const { push, write, rows } = world();
  push("a", { ...trainerStatus(90, "2026-01-01T00:00:01.5Z"), estimatedRemainingSeconds: 7 });
  const of = () => rows().map(({ name, progress }) => [name, progress]);
  assert.deepEqual(of(), [["b", 20], ["a", 90]]);
  assert.partialDeepStrictEqual(rows()[1], {
    state: "Created",
    remainingSeconds: 7,
    metrics: [{ name: "loss", value: "0.90" }],
    updated: "2026-01-01T00:00:01.5Z",
  });
  write("a", trainerStatus(90));
  assert.deepEqual(of(), [["a", 90], ["b", 20]]);
  push("a", { lastUpdatedTime: AT });
  assert.equal(rows()[0]?.progress, undefined, "what is not pushed any more is not shown");
});

Deno.test("all jobs are put in an order once, and stay in it as they change, come and go", () => {
  const { rows, reads, write, remove } = world();
  const names = (text: string) => rows(text).map(({ name }) => name);
  for (const offset of [0, 1, 0, 1]) rows(`sort=name&limit=1&offset=${offset}`);
  for (const text of ["a", "b", "ml"]) rows(`sort=name&text=${text}`);
  assert.equal(reads(), 1, "whichever part is looked at, and whatever the filter is");
  assert.deepEqual(names("sort=progress"), ["b", "a"]);
  assert.equal(reads(), 2, "another order");
  write("a", trainerStatus(90));
  assert.deepEqual(names("sort=progress"), ["a", "b"]);
  write("c", trainerStatus(50));
  assert.deepEqual(names("sort=progress"), ["a", "c", "b"]);
  assert.deepEqual(names("sort=name&limit=1&offset=2"), ["c"]);
  remove("a", "deleted");
  remove("b", "left");
  assert.deepEqual(names("sort=progress"), ["c"]);
  assert.deepEqual(names("sort=name"), ["c"]);
  assert.equal(reads(), 2);
});

Deno.test("a row that was pushed stays the same object when it is written", () => {
  const { push, write, rows } = world();
  push("a", trainerStatus(15, "2026-01-01T00:00:01.5Z"));
  const [, first] = rows();
  assert.equal(first?.progress, 15);
  write("a", trainerStatus(15, "2026-01-01T00:00:01Z"));
  assert.equal(rows()[1], first);
  push("a", trainerStatus(16));
  assert.notEqual(rows()[1], first);
});

Deno.test("pushes that come together are told of once, and not after the end", async () => {
  const { clock, list, push, listeners } = world();
  let told = 0;
  list.onChange(() => told++);
  for (let count = 0; count < 100; count++) push("a", trainerStatus(count));
  await clock.advance(100);
  assert.equal(told, 1);
  push("b", trainerStatus(30));
  await clock.advance(100);
  assert.equal(told, 2);
  list.close();
  assert.equal(listeners(), 0);
});

Deno.test("rows have what their jobs were started with where that is asked for, and are the same rows until they change", () => {
  const { push, rows } = world();
  assert.equal("configuration" in (rows()[0] ?? {}), false);
  const [b, a] = rows("configuration=true&sort=progress");
  const from = (name: string) => `${"x".repeat(32)}…${"x".repeat(29)}/${name}`;
  assert.deepEqual(b?.configuration, [["Runtime", "torch"], ["lr", "0.1"], ["from", from("b")]]);
  push("a", trainerStatus(90));
  const after = rows("configuration=true&sort=progress");
  assert.equal(after[0], b);
  assert.deepEqual([after[1]?.progress, after[1]?.configuration], [90, a?.configuration]);
  assert.equal("configuration" in (rows()[0] ?? {}), false);
});
