/** Tests of the statuses that an owner holds for readers: cursors, waiting readers, and the end of a term. */
import assert from "node:assert/strict";
import type { TrainerStatus } from "../../../crds/trainjob.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { Push } from "../../../crds/wire/push.ts";
import { createHeldStatuses } from "../../../owner/ledger/held_statuses.ts";
import type { Reading } from "../../../owner/ledger/reading.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";

const START = "2026-01-01T00:00:00.000Z";
const job = (name: string) => ({ kind: TRAINJOB, namespace: "team", name, uid: `uid-${name}` });
const push = (name: string, progressPercentage: number): Push => ({
  job: job(name),
  pod: { name: `${name}-pod`, uid: "uid-pod" },
  trainerStatus: { progressPercentage, lastUpdatedTime: START },
  receivedMs: Date.parse(START) + progressPercentage,
});
const never = new AbortController().signal;

function start(options: Partial<Parameters<typeof createHeldStatuses>[0]> = {}) {
  const clock = new FakeClock();
  const held = createHeldStatuses({ shown: () => undefined, clock, term: "t1", ...options });
  /** The answer of a poll, once there is one. */
  function poll(names: readonly string[], cursors: readonly (string | undefined)[], waitMs = 0) {
    const entries = names.map((name, index) => ({ job: job(name), cursor: cursors[index] }));
    const abort = new AbortController();
    const seen: { readings?: readonly Reading[] } = {};
    const done = held.poll(entries, waitMs, abort.signal).then((it) => void (seen.readings = it));
    return { abort, seen, done };
  }
  const cursorOf = async (name: string) => {
    const [reading] = await held.poll([{ job: job(name) }], 0, never);
    return reading?.cursor;
  };
  return { clock, held, poll, cursorOf };
}

const percentages = (readings: readonly Reading[] | undefined) =>
  readings?.map(({ uid, status }) => [uid, status?.trainerStatus.progressPercentage]);

Deno.test("`poll()` returns the last push, with its pod and time", async () => {
  const { held } = start();
  held.put(push("a", 1));
  held.put(push("a", 2));
  const [reading] = await held.poll([{ job: job("a") }], 0, never);
  assert.deepEqual(reading?.status, {
    trainerStatus: { progressPercentage: 2, lastUpdatedTime: START },
    receivedTime: "2026-01-01T00:00:00.002Z",
    pod: "a-pod",
  });
});

Deno.test("`poll()` returns only statuses that differ from the cursors", async () => {
  const { held, poll, cursorOf } = start();
  held.put(push("a", 1));
  held.put(push("b", 1));
  const cursors = [await cursorOf("a"), await cursorOf("b"), await cursorOf("c")];
  held.put(push("b", 2));
  const { seen, done } = poll(["a", "b", "c"], cursors);
  await done;
  assert.deepEqual(percentages(seen.readings), [["uid-b", 2]]);
});

Deno.test("`poll()` reports that a job has no status", async () => {
  const { held } = start();
  assert.deepEqual(await held.poll([{ job: job("a") }], 0, never), [
    { uid: "uid-a", cursor: "t1.0" },
  ]);
});

Deno.test("`poll()` returns the status of the object if nothing was pushed in this term", async () => {
  const shown: TrainerStatus = { progressPercentage: 7, lastUpdatedTime: "2025-12-31T00:00:00Z" };
  const { held } = start({ shown: ({ uid }) => uid === "uid-a" ? shown : undefined });
  const [reading] = await held.poll([{ job: job("a") }], 0, never);
  assert.deepEqual(reading?.status, {
    trainerStatus: shown,
    receivedTime: "2025-12-31T00:00:00Z",
  });
  held.put(push("a", 8));
  const [next] = await held.poll([{ job: job("a"), cursor: reading?.cursor }], 0, never);
  assert.equal(next?.status?.pod, "a-pod");
});

Deno.test("`poll()` waits for news of its own jobs, and returns nothing if none comes", async () => {
  const { clock, held, poll, cursorOf } = start();
  const cursors = [await cursorOf("a")];
  const first = poll(["a"], cursors, 1000);
  held.put(push("b", 1));
  await settle();
  assert.equal(first.seen.readings, undefined);
  held.put(push("a", 5));
  await first.done;
  assert.deepEqual(percentages(first.seen.readings), [["uid-a", 5]]);
  const second = poll(["a"], [await cursorOf("a")], 1000);
  await clock.advance(1000);
  await second.done;
  assert.deepEqual(second.seen.readings, []);
  assert.equal(clock.sleeping, 0);
});

Deno.test("`poll()` returns at once when its caller is gone, or the term ends", async () => {
  const { clock, held, poll, cursorOf } = start();
  const cursors = [await cursorOf("a")];
  const given = poll(["a"], cursors, 60_000);
  given.abort.abort();
  await given.done;
  const closed = poll(["a"], cursors, 60_000);
  held.close();
  await closed.done;
  const late = poll(["a"], cursors, 60_000);
  await late.done;
  assert.deepEqual([given.seen.readings, closed.seen.readings, late.seen.readings], [[], [], []]);
  assert.equal(clock.sleeping, 0);
});

Deno.test("`forget()` removes everything about a deleted job", async () => {
  const { held, poll, cursorOf } = start();
  held.put(push("a", 1));
  const waiting = poll(["a"], [await cursorOf("a")], 1000);
  held.forget("uid-a");
  await waiting.done;
  assert.deepEqual(waiting.seen.readings, [{ uid: "uid-a", cursor: "t1.0" }]);
});

Deno.test("`put()` forgets the job that was used least, beyond the bound", async () => {
  const { held, cursorOf } = start({ maxJobs: 2 });
  for (const name of ["a", "b", "c"]) held.put(push(name, 1));
  assert.equal(await cursorOf("a"), "t1.0");
  assert.notEqual(await cursorOf("b"), "t1.0");
});

Deno.test("cursors of two terms differ", async () => {
  const one = start({ term: "t1" });
  const two = start({ term: "t2" });
  for (const { held } of [one, two]) held.put(push("a", 1));
  assert.notEqual(await one.cursorOf("a"), await two.cursorOf("a"));
});
