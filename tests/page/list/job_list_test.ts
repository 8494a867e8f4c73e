/** Tests of the list of jobs with what was pushed and is not in the objects yet. */
import assert from "node:assert/strict";
import { type AnyJob, jobSchema } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { TrainerStatus } from "../../../crds/trainjob.ts";
import { createJobList } from "../../../page/list/job_list.ts";
import { listQuery } from "../../../page/list/list_query.ts";
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
    status: { ...(shown && { trainerStatus: shown }) },
  });

/** A list of two jobs, and what changes them. */
function world() {
  const objects = new Map([["a", job("a", trainerStatus(10))], ["b", job("b", trainerStatus(20))]]);
  const newest = new Map<string, TrainerStatus>();
  const onChange = new Set<() => void>();
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
          const ring = () => listener({ type: "updated", object: job("a"), old: job("a") });
          onChange.add(ring);
          return () => onChange.delete(ring);
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
      objects.set(name, job(name, written));
      onChange.forEach((it) => it());
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

Deno.test("viewers of one list share its order, whichever part they look at, until a job changes", () => {
  const { rows, reads, write } = world();
  for (const offset of [0, 1, 0, 1]) {
    rows(`sort=name&limit=1&offset=${offset}`);
  }
  assert.equal(reads(), 1);
  assert.deepEqual(rows("sort=name&limit=1&offset=1").map(({ name }) => name), ["b"]);
  rows("sort=progress");
  assert.equal(reads(), 2, "another order is another list");
  write("a", trainerStatus(90));
  rows("sort=name&limit=1");
  assert.equal(reads(), 3);
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
