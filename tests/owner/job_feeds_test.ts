/** Tests of the feeds of streams: which jobs a call asks for, and when the next call comes. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { createJobFeeds } from "../../owner/job_feeds.ts";
import type { JobVersion, PollEntry } from "../../owner/owner_poll.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";

const job = (name: string) => ({ kind: TRAINJOB, namespace: "team", name, uid: `uid-${name}` });

/** The state of a job: a number. */
interface Counted extends JobVersion {
  readonly count: number;
}

const counted = (name: string, count: number): Counted => ({
  uid: `uid-${name}`,
  cursor: `c${count}`,
  count,
});

interface Call {
  readonly asked: string[];
  readonly answer: (states: readonly Counted[] | undefined) => void;
  readonly signal: AbortSignal;
}

/** Feeds over an owner whose answers a test gives. */
function start(options: Partial<Parameters<typeof createJobFeeds<Counted, number>>[0]> = {}) {
  const clock = new FakeClock();
  const calls: Call[] = [];
  const feeds = createJobFeeds<Counted, number>({
    clock,
    valueAfter: ({ count }: Counted) => count,
    random: () => 0,
    poll: (entries: readonly PollEntry[], _waitMs, signal) =>
      new Promise((answer) => {
        const asked = entries.map(({ job: { name }, cursor }) => `${name}@${cursor ?? ""}`);
        calls.push({ asked, answer, signal });
        signal.addEventListener("abort", () => answer(undefined));
      }),
    ...options,
  });
  const heard: string[] = [];
  const follow = (name: string, reader = name) =>
    feeds.follow(job(name), ({ value, outage }) => {
      heard.push(`${reader}:${outage === undefined ? value : "outage"}`);
    });
  const lastCall = () => {
    const call = calls.at(-1);
    assert(call !== undefined);
    return call;
  };
  return { clock, calls, feeds, heard, follow, lastCall };
}

Deno.test("`follow()` of one job by several readers asks the owner once", async () => {
  const { clock, calls, feeds, heard, follow, lastCall } = start();
  follow("a", "r1");
  follow("a", "r2");
  assert.deepEqual(calls.map(({ asked }) => asked), [["a@"]]);
  lastCall().answer([counted("a", 1)]);
  await settle();
  follow("a", "r3");
  assert.deepEqual(heard, ["r1:1", "r2:1", "r3:1"]);
  await clock.advance(50);
  assert.deepEqual(lastCall().asked, ["a@c1"]);
  assert.equal(feeds.jobs(), 1);
  await feeds.close();
});

Deno.test("`follow()` of one more job asks for it with the others, at once", async () => {
  const { clock, calls, feeds, heard, follow, lastCall } = start();
  follow("a");
  lastCall().answer([counted("a", 1)]);
  await clock.advance(50);
  follow("b");
  await clock.advance(50);
  assert.equal(calls[1]?.signal.aborted, true);
  assert.deepEqual(lastCall().asked, ["a@c1", "b@"]);
  lastCall().answer([counted("b", 2)]);
  await clock.advance(50);
  assert.deepEqual([heard, lastCall().asked], [["a:1", "b:2"], ["a@c1", "b@c2"]]);
  await feeds.close();
});

Deno.test("jobs that had news are asked for last, so that a full answer starves no job", async () => {
  const { clock, feeds, follow, lastCall } = start();
  for (const name of ["a", "b", "c"]) follow(name);
  await clock.advance(50);
  lastCall().answer([counted("a", 1)]);
  await clock.advance(50);
  assert.deepEqual(lastCall().asked, ["b@", "c@", "a@c1"]);
  await feeds.close();
});

Deno.test("a call without answer is made again after a pause that grows, up to 2 s", async () => {
  const { clock, calls, feeds, follow, lastCall } = start();
  follow("a");
  const pauses: number[] = [];
  for (let round = 0; round < 7; round++) {
    const count = calls.length;
    lastCall().answer(undefined);
    await settle();
    const began = clock.monotonic();
    while (calls.length === count) await clock.advance(clock.nextWakeMs ?? 0);
    pauses.push(clock.monotonic() - began);
  }
  assert.deepEqual(pauses, [100, 200, 400, 800, 1600, 2000, 2000]);
  await feeds.close();
});

Deno.test("jobs beyond the bound of a call go into another one", async () => {
  const { clock, calls, feeds, follow } = start({ jobsPerCall: 2 });
  for (const name of ["a", "b", "c"]) follow(name);
  await clock.advance(50);
  const open = calls.filter(({ signal }) => !signal.aborted);
  assert.deepEqual(open.map(({ asked }) => asked), [["c@"], ["a@", "b@"]]);
  await feeds.close();
});

Deno.test("polling ends with the last follower, and starts again with the next", async () => {
  const { clock, calls, feeds, heard, follow, lastCall } = start();
  const stop = follow("a");
  lastCall().answer([counted("a", 1)]);
  await clock.advance(50);
  stop();
  stop();
  await clock.advance(50);
  assert.deepEqual([clock.sleeping, feeds.jobs(), calls.at(-1)?.signal.aborted], [0, 0, true]);
  follow("a", "again");
  assert.deepEqual(lastCall().asked, ["a@"]);
  lastCall().answer([counted("a", 2)]);
  await settle();
  assert.deepEqual(heard, ["a:1", "again:2"]);
  await feeds.close();
  assert.equal(clock.sleeping, 0);
});

Deno.test("a follower that leaves and returns at once causes one call, not two", async () => {
  const { clock, calls, feeds, follow } = start();
  for (let round = 0; round < 20; round++) follow("a")();
  follow("a");
  await clock.advance(1000);
  assert.equal(calls.filter(({ signal }) => !signal.aborted).length, 1);
  await feeds.close();
});

Deno.test("followers are told when nobody owns the state, and when that is over", async () => {
  const { clock, feeds, heard, follow, lastCall } = start();
  follow("a");
  lastCall().answer([counted("a", 1)]);
  await clock.advance(50);
  lastCall().answer(undefined);
  await clock.advance(100);
  assert.deepEqual(heard, ["a:1"], "one call that fails is no outage");
  lastCall().answer(undefined);
  await settle();
  assert.deepEqual(heard, ["a:1", "a:outage"]);
  follow("a", "late");
  assert.deepEqual(heard.slice(2), ["late:outage"]);
  await clock.advance(200);
  lastCall().answer([]);
  await settle();
  assert.deepEqual(heard.slice(3), ["a:1", "late:1"]);
  await feeds.close();
});

Deno.test("what a follower gets is made of the news and of what it had", async () => {
  const { clock, feeds, heard, follow, lastCall } = start({
    valueAfter: ({ count }, before = 0) => count === 0 ? undefined : before + count,
  });
  follow("a");
  for (const count of [2, 0, 3]) {
    lastCall().answer([counted("a", count)]);
    await clock.advance(50);
  }
  assert.deepEqual(heard, ["a:2", "a:5"]);
  assert.deepEqual(lastCall().asked, ["a@c3"], "the cursor goes on without a value, too");
  await feeds.close();
});

Deno.test("a job that is left and followed anew is asked for from its beginning, whatever was under way", async () => {
  const { clock, feeds, heard, follow, lastCall } = start();
  follow("other");
  const stop = follow("a");
  await clock.advance(50);
  lastCall().answer([counted("a", 1)]);
  await clock.advance(50);
  const underWay = lastCall();
  assert.deepEqual(underWay.asked, ["other@", "a@c1"]);
  stop();
  follow("a", "again");
  underWay.answer([counted("a", 2)]);
  await clock.advance(50);
  assert.deepEqual(lastCall().asked, ["other@", "a@"]);
  lastCall().answer([counted("a", 3)]);
  await settle();
  assert.deepEqual(heard, ["a:1", "again:3"]);
  await feeds.close();
});

Deno.test("the first call after a failure does not wait for news", async () => {
  const waits: number[] = [];
  let isOwned = false;
  const { clock, feeds, heard, follow } = start({
    poll: (_entries, waitMs, signal) => {
      waits.push(waitMs);
      if (waitMs > 0) return clock.sleep(waitMs, signal).then(() => []);
      return Promise.resolve(isOwned ? [] : undefined);
    },
  });
  follow("a");
  await clock.advance(300);
  isOwned = true;
  await clock.advance(1_000);
  assert.deepEqual([...new Set(heard)], ["a:outage", "a:undefined"]);
  assert.deepEqual(waits.slice(-2), [0, 10_000]);
  await feeds.close();
});

Deno.test("one of two followers leaves, and the other one goes on hearing", async () => {
  const { clock, feeds, heard, follow, lastCall } = start();
  const stop = follow("a", "first");
  follow("a", "second");
  stop();
  await clock.advance(50);
  lastCall().answer([counted("a", 1)]);
  await settle();
  assert.deepEqual([heard, feeds.jobs()], [["second:1"], 1]);
  await feeds.close();
});
